// Many pictures at once: selected one by one, by gestures or as a range, then captioned, judged, exported.

import { $, announce, counted, el, toast } from './dom.js'
import { send, text } from './api.js'
import { onPicking } from './picking.js'
import { QUEUED } from './verdict.js'

const KINDS = [['list', 'List of paths', 'txt'], ['csv', 'Table (CSV)', 'csv'], ['json', 'JSON', 'json']]

export class Selection {
  constructor({ feed, grid, onChange, onUndo }) {
    this.feed = feed
    this.grid = grid
    this.onChange = onChange
    this.onUndo = onUndo
    this.chosen = new Set()
    this.before = new Set()
    this.anchor = null
    this.bar = $('selection')
    addEventListener('keydown', event => { if (event.key === 'Escape' && this.chosen.size && !document.querySelector('dialog[open]')) this.clear() })
    onPicking(grid.list, {
      start: picture => { this.before = new Set(this.chosen).add(picture); this.reach(picture, picture) },
      extend: picture => this.reach(this.anchor, picture),
    })
  }

  place(picture) {
    return this.feed.items.findIndex(one => one.picture === picture)
  }

  /** Select or let go of a picture; with a range all from the last one selected. */
  toggle(picture, isRange = false) {
    if (isRange && this.place(this.anchor) >= 0) {
      this.before = new Set(this.chosen)
      this.reach(this.anchor, picture)
      this.anchor = picture
      return
    }
    if (!this.chosen.delete(picture)) this.chosen.add(picture)
    this.anchor = picture
    this.draw()
  }

  /** Select all from one picture to another, besides what was selected before. */
  reach(from, to) {
    this.anchor = from
    const [first, last] = [this.place(from), this.place(to)].sort((a, b) => a - b)
    this.chosen = new Set([...this.before, ...this.feed.items.slice(first, last + 1).map(one => one.picture)])
    this.draw()
  }

  clear() {
    this.chosen = new Set()
    this.anchor = null
    this.draw()
  }

  draw() {
    this.grid.mark(this.chosen)
    this.bar.hidden = !this.chosen.size
    if (!this.chosen.size) return
    announce(`${counted(this.chosen.size, 'picture')} selected`)
    const button = (name, run) => el('button', { type: 'button', onclick: run }, name)
    this.bar.replaceChildren(...[
      el('span', { class: 'count' }, `${this.chosen.size.toLocaleString('en')} selected`),
      button('Caption', () => this.caption()),
      this.feed.judges ? button('Yes to all', () => this.answer(true)) : null,
      this.feed.judges ? button('No to all', () => this.answer(false)) : null,
      this.exports(),
      button('Clear', () => this.clear()),
    ].filter(Boolean))
  }

  /** A menu of the forms in which pictures can be taken out. */
  exports() {
    const menu = el('details', { class: 'menu' }, el('summary', {}, 'Export'),
      el('div', {}, KINDS.map(([kind, name, ending]) => el('button', {
        type: 'button', onclick: () => { menu.open = false; this.export(kind, ending) },
      }, name))))
    return menu
  }

  /** The bar becomes a field for words to add to the captions. */
  caption() {
    const field = el('input', { type: 'text', maxLength: 4000, 'aria-label': 'Words to add to the captions', placeholder: 'Words to add' })
    const form = el('form', { class: 'row' }, field, el('button', { type: 'submit' }, 'Add'),
      el('button', { type: 'button', onclick: () => this.draw() }, 'Cancel'))
    form.addEventListener('submit', event => {
      event.preventDefault()
      const words = field.value.trim()
      if (words) this.step({ caption: words, more: true }, 'captioned')
    })
    form.addEventListener('keydown', event => {
      if (event.key !== 'Escape') return
      event.stopPropagation()
      this.draw()
    })
    this.bar.replaceChildren(el('span', { class: 'count' }, `${this.chosen.size.toLocaleString('en')} selected`), form)
    field.focus()
  }

  async answer(relevant) {
    await this.step({ query: this.feed.query, relevant }, relevant ? 'marked yes' : 'marked no')
  }

  async step(what, said) {
    try {
      const made = await send('POST', '/many', { pictures: [...this.chosen], ...what })
      this.clear()
      this.onChange()
      toast(made.queued ? QUEUED : `${counted(made.changed, 'picture')} ${said}`, { name: 'Undo', run: this.onUndo })
    } catch (error) {
      toast(error.message)
    }
  }

  async export(kind, ending) {
    try {
      const file = new Blob([await text('/export', { pictures: [...this.chosen], kind })], { type: 'text/plain' })
      const link = el('a', { href: URL.createObjectURL(file), download: `pictures.${ending}` })
      link.click()
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
      toast(`${counted(this.chosen.size, 'picture')} exported as pictures.${ending}`)
    } catch (error) {
      toast(error.message)
    }
  }
}
