// Filters that narrow a search by a click: chips for years, folders and types, a column of months, and
// a list of places, each with how many pictures it would leave.

import { $, el, icon } from './dom.js'
import { get } from './api.js'

const SHOWN = 9
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const FILTER = /^((1[89]|20)\d\d(-\d\d){0,2}|(in|captioned|after|before|near|type|camera|lens|rating|person|every|field\.[\w-]+):.+)$/i

export class QuickFilters {
  constructor({ onAsk }) {
    this.onAsk = onAsk
    this.box = $('filters')
    this.aside = $('aside')
    this.asked = 0
    this.years = []
    this.unfolds = $('when')
    this.unfolds.addEventListener('click', () => this.unfold(this.aside.dataset.open !== 'true'))
  }

  async load(query) {
    const number = ++this.asked
    const counted = asked => get('/filters', { query: asked })
    // Pictures for a word that nobody knows yet are narrowed as well.
    const { filters } = await counted(query).catch(() => counted(filtersOf(query))).catch(() => ({ filters: [] }))
    if (number !== this.asked) return
    const of = kind => filters.filter(one => one.kind === kind)
    const [years, months, places] = [of('year'), of('month'), of('place')]
    const others = [...of('folder'), ...of('type'), ...of('field')]
    const given = terms(query).filter(isFilter)
    this.years = years.map(one => one.term)
    this.box.replaceChildren(...[
      this.unfolds,
      ...given.map(term => this.chip(query, term)),
      ...years.slice(0, SHOWN).map(one => this.chip(query, one.term, one.count)),
      years.length > SHOWN ? this.rest(query, years.slice(SHOWN)) : null,
      ...others.slice(0, SHOWN).map(one => this.chip(query, one.term, one.count)),
    ].filter(Boolean))
    this.box.hidden = this.box.children.length < 2
    this.aside.replaceChildren(...this.when(query, months), ...this.where(query, places))
    this.aside.hidden = !this.aside.children.length
    this.unfolds.hidden = this.aside.hidden
    this.unfold(false)
  }

  hide() {
    this.asked += 1
    for (const one of [this.box, this.aside]) one.hidden = true
  }

  /** On narrow pages months and places wait behind a button. */
  unfold(isOpen) {
    this.aside.dataset.open = String(isOpen)
    this.unfolds.setAttribute('aria-expanded', String(isOpen))
  }

  /** A term to add, with how many pictures it leaves, or one to take away. */
  chip(query, term, count = null) {
    const isHeld = count === null
    const { kind, name } = named(term)
    return el('button', {
      type: 'button', class: `chip filter ${kind}`, 'aria-pressed': String(isHeld),
      title: isHeld ? `Search without ${term}` : `Only ${term}`,
      onclick: () => this.onAsk(isHeld
        ? terms(query).filter(one => one !== term).join(' ') : `${query} ${term}`.trim()),
    }, kind in { folder: 1, place: 1 } ? icon(kind) : null, name,
    isHeld ? icon('close') : el('span', { class: 'count' }, ` ${count.toLocaleString('en')}`))
  }

  rest(query, years) {
    const select = el('select', {
      class: 'chip filter', 'aria-label': 'Earlier years',
      onchange: () => select.value && this.onAsk(`${query} ${select.value}`.trim()),
    }, el('option', { value: '' }, 'earlier …'),
    years.map(one => el('option', { value: one.term }, `${one.term} (${one.count.toLocaleString('en')})`)))
    return select
  }

  /** The months of each year, as bars whose lengths are counts. */
  when(query, months) {
    if (months.length < 2) return []
    const most = Math.max(...months.map(one => one.count))
    const years = byYear(months)
    return [el('h2', {}, 'When'), ...[...years].map(([year, some]) => el('section', {}, el('h3', {}, year),
      el('ul', {}, some.map(one => {
        const bar = el('i')
        bar.style.width = `${Math.max(4, 100 * one.count / most)}%`
        return el('li', {}, this.row(query, one, MONTHS[Number(one.term.slice(5)) - 1], el('span', { class: 'length', 'aria-hidden': 'true' }, bar)))
      }))))]
  }

  where(query, places) {
    if (!places.length) return []
    return [el('h2', {}, 'Where'), el('ul', {}, places.map(one => el('li', {},
      this.row(query, one, named(one.term).name, el('span', { class: 'length' })))))]
  }

  row(query, one, name, bar) {
    return el('button', {
      type: 'button', class: 'month', title: `Only ${one.term}`, onclick: () => this.onAsk(`${query} ${one.term}`.trim()),
    }, el('span', {}, name), bar, el('span', { class: 'count' }, one.count.toLocaleString('en')))
  }
}

/** Whether a query asks for more than what filters let through. */
export function hasWords(query) {
  return terms(query).some(term => !isFilter(term))
}

/** Whether a query asks for one of several things: no yes or no can be said to it as a whole. */
export function hasAlternatives(query) {
  return /(^|[\s)])OR(?=[\s(]|$)|\|/.test(query.replace(/"[^"]*"/g, ' '))
}

/** The filters of a query, without its words. */
export function filtersOf(query) {
  return terms(query).filter(isFilter).join(' ')
}

/** How a filter reads on the page, and of which kind it is. */
export function named(term) {
  const [, name, value] = term.match(/^(in|near|type):"?(.*?)"?$/) || []
  if (name === 'in') return { kind: 'folder', name: value }
  if (term.startsWith('field.')) return { kind: 'other', name: term.slice(6).replace(/[:"]+/g, ' ').trim() }
  if (name === 'type') return { kind: 'type', name: { raw: 'RAW', video: 'videos', picture: 'pictures' }[value] || value }
  if (name !== 'near') return { kind: /^\d/.test(term) ? 'year' : 'other', name: term }
  const [latitude, longitude] = value.split(',').map(Number)
  const side = (degrees, plus, minus) => `${Math.abs(degrees).toFixed(1)}° ${degrees < 0 ? minus : plus}`
  return { kind: 'place', name: `${side(latitude, 'N', 'S')}, ${side(longitude, 'E', 'W')}` }
}

/** The parts of a query between spaces; quotes hold spaces together. */
function terms(query) {
  return query.match(/(?:[^\s"]|"[^"]*")+/g) || []
}

function isFilter(term) {
  return FILTER.test(term)
}

function byYear(months) {
  const years = new Map()
  for (const one of months) {
    const year = one.term.slice(0, 4)
    years.set(year, [...(years.get(year) || []), one])
  }
  return years
}
