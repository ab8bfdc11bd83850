// Quick filters: years, folders and types with how many pictures each would leave, and the order.

import { $, el } from './dom.js'
import { get } from './api.js'

const SHOWN = 9

export class QuickFilters {
  constructor({ onAsk, onSort }) {
    this.onAsk = onAsk
    this.onSort = onSort
    this.box = $('filters')
    this.asked = 0
  }

  async load(query, sort) {
    const number = ++this.asked
    const { filters } = await get('/filters', { query }).catch(() => ({ filters: [] }))
    if (number !== this.asked) return
    const years = filters.filter(one => one.kind === 'year')
    const others = filters.filter(one => one.kind !== 'year')
    const given = terms(query).filter(isFilter)
    this.box.replaceChildren(...[
      ...given.map(term => this.chip(query, term)),
      ...years.slice(0, SHOWN).map(one => this.chip(query, one.term, one.count)),
      years.length > SHOWN ? this.rest(query, years.slice(SHOWN)) : null,
      ...others.slice(0, SHOWN).map(one => this.chip(query, one.term, one.count)),
      this.order(sort),
    ].filter(Boolean))
    this.box.hidden = !filters.length && !given.length
  }

  /** A term to add, with how many pictures it leaves, or one to take away. */
  chip(query, term, count = null) {
    const held = count === null
    return el('button', {
      type: 'button', class: 'chip filter', 'aria-pressed': String(held),
      title: held ? `Search without ${term}` : `Only ${term}`,
      onclick: () => this.onAsk(held
        ? terms(query).filter(one => one !== term).join(' ') : `${query} ${term}`.trim()),
    }, term, held ? null : el('span', { class: 'count' }, ` ${count.toLocaleString('en')}`))
  }

  rest(query, years) {
    const select = el('select', {
      class: 'chip filter', 'aria-label': 'Earlier years',
      onchange: () => select.value && this.onAsk(`${query} ${select.value}`.trim()),
    }, el('option', { value: '' }, 'earlier …'),
    years.map(one => el('option', { value: one.term }, `${one.term} (${one.count.toLocaleString('en')})`)))
    return select
  }

  order(sort) {
    const select = el('select', {
      class: 'chip filter order', 'aria-label': 'Order', onchange: () => this.onSort(select.value),
    }, el('option', { value: 'relevance' }, 'best first'), el('option', { value: 'time' }, 'latest first'))
    select.value = sort
    return select
  }
}

/** The parts of a query between spaces; quotes hold spaces together. */
function terms(query) {
  return query.match(/(?:[^\s"]|"[^"]*")+/g) || []
}

function isFilter(term) {
  return /^((1[89]|20)\d\d(-\d\d){0,2}|(in|captioned|after|before|near|type):.+)$/.test(term)
}
