// A sheet over the page, for teaching, near-duplicates, and the page of a word.

import { $, counted, el, percent, toast } from './dom.js'
import { get } from './api.js'
import { shape, thumbnail } from './grid.js'

export class Sheet {
  constructor({ onOpen, onAsk, onTeach, onReview, status }) {
    this.onOpen = onOpen
    this.onAsk = onAsk
    this.onTeach = onTeach
    this.onReview = onReview
    this.status = status
    this.dialog = $('sheet')
    this.body = el('div') // what is announced stands beside it
    this.dialog.append(this.body)
    this.dialog.addEventListener('click', event => { if (event.target === this.dialog) this.dialog.close() })
  }

  show(title, ...children) {
    const close = el('button', { type: 'button', class: 'quiet', onclick: () => this.dialog.close() }, 'Close')
    this.body.replaceChildren(
      el('div', { class: 'panel-head' }, el('h2', { id: 'sheet-title', tabindex: '-1' }, title), close),
      ...children.flat().filter(Boolean))
    if (!this.dialog.open) this.dialog.showModal()
    $('sheet-title').focus()
  }

  close() {
    this.dialog.close()
  }

  /** A picture that opens large. */
  picture(one, size = 150) {
    const img = el('img', { src: thumbnail(one, size * 1.5), alt: one.caption || one.path, loading: 'lazy' })
    const link = el('a', {
      class: 'card', href: `/?picture=${one.picture}`,
      onclick: event => { event.preventDefault(); this.dialog.close(); this.onOpen(one.picture) },
    }, img)
    link.style.width = `${Math.round(size * Math.min(shape(one), 2))}px`
    link.style.height = `${size}px`
    return link
  }

  async word(word) {
    let found
    try {
      found = await get(`/words/${encodeURIComponent(word)}`)
    } catch (error) {
      toast(error.message)
      return
    }
    const facts = [
      ['Captions with it', found.captions.toLocaleString('en')],
      found.names ? ['Names with it', found.names.toLocaleString('en')] : null,
      ['Your answers', `${found.yes} yes, ${found.no} no`],
      ['Seen in pictures', found.known ? 'yes' : `no, only in ${found.names ? 'names and ' : ''}captions`],
      found.avgp === null ? null : ['Ranking quality', `${percent(found.avgp)} on pictures it was not trained on`],
    ]
    this.show(found.word,
      el('dl', { class: 'facts' }, facts.filter(Boolean).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)))),
      found.nearest.length ? el('section', {}, el('h3', {}, 'Seen in the same pictures'), el('div', { class: 'chips' },
        found.nearest.map(one => el('button', { type: 'button', class: 'chip', onclick: () => this.word(one) }, one)))) : null,
      el('section', {}, el('h3', {}, 'Examples'), el('div', { class: 'cards' }, found.examples.map(one => this.picture(one, 110)))),
      el('div', { class: 'row' },
        el('button', { type: 'button', class: 'primary', onclick: () => this.onTeach(found.word) }, 'Teach this word'),
        found.known && found.captions ? el('button', { type: 'button', onclick: () => this.onReview(found.word) }, 'Review captions') : null,
        el('button', { type: 'button', onclick: () => { this.dialog.close(); this.onAsk(found.word) } }, 'Show the pictures')))
  }

  async duplicates() {
    const found = await get('/duplicates', { k: 100 }).catch(error => { toast(error.message); return null })
    if (!found) return
    const look = el('button', {
      type: 'button', class: found.up_to_date ? '' : 'primary', onclick: () => { this.dialog.close(); this.status.start('duplicates') },
    }, found.total ? 'Look again' : 'Look for near-duplicates')
    this.show('Near-duplicates',
      el('p', { class: 'quiet-text' }, found.total
        ? `${counted(found.total, 'group')}${found.up_to_date ? '' : ', found before files changed'}. The first of each has the most pixels. Nothing is deleted.`
        : 'Copies, other sizes, re-encoded, cropped or recoloured pictures, in groups. Nothing is deleted.'),
      el('ul', { class: 'groups' }, found.groups.map(group => el('li', { class: 'group' },
        el('figure', {}, this.picture(group.best, 120), el('figcaption', {}, `best: ${group.best.path}`)),
        group.others.map(one => el('figure', {}, this.picture(one, 90), el('figcaption', {}, one.path)))))),
      el('div', { class: 'row' }, look))
  }
}
