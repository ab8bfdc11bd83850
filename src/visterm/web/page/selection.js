// Many pictures at once: chosen one by one or as a range, then captioned, answered or exported.

import { $, announce, counted, el, toast } from './dom.js'
import { send } from './api.js'

export class Selection {
  constructor({ feed, grid, onChange }) {
    Object.assign(this, { feed, grid, onChange })
    this.chosen = new Set()
    this.anchor = null
    this.bar = $('selection')
    addEventListener('keydown', event => { if (event.key === 'Escape' && this.chosen.size && !document.querySelector('dialog[open]')) this.clear() })
  }

  /** Choose or let go of a picture; with a range all from the last one chosen. */
  toggle(picture, range = false) {
    const place = this.feed.items.findIndex(one => one.picture === picture)
    const from = this.feed.items.findIndex(one => one.picture === this.anchor)
    if (range && from >= 0) {
      for (let n = Math.min(from, place); n <= Math.max(from, place); n += 1) this.chosen.add(this.feed.items[n].picture)
    } else if (!this.chosen.delete(picture)) {
      this.chosen.add(picture)
    }
    this.anchor = picture
    this.draw()
    announce(`${counted(this.chosen.size, 'picture')} chosen`)
  }

  clear() {
    this.chosen.clear()
    this.anchor = null
    this.draw()
  }

  draw() {
    this.grid.mark(this.chosen)
    this.bar.hidden = !this.chosen.size
    if (!this.chosen.size) return
    const button = (text, run) => el('button', { type: 'button', onclick: run }, text)
    this.bar.replaceChildren(...[
      el('span', { class: 'count' }, `${counted(this.chosen.size, 'picture')}`),
      button('Caption …', () => this.caption()),
      this.feed.query ? button('Yes to all', () => this.answer(true)) : null,
      this.feed.query ? button('No to all', () => this.answer(false)) : null,
      ...['list', 'csv', 'json'].map(kind => button(kind === 'list' ? 'List' : kind.toUpperCase(), () => this.export(kind))),
      button('Clear', () => this.clear()),
    ].filter(Boolean))
  }

  async caption() {
    const text = prompt(`Words to add to ${counted(this.chosen.size, 'caption')}`)
    if (text?.trim()) await this.step({ caption: text.trim(), more: true }, 'captioned')
  }

  async answer(relevant) {
    await this.step({ query: this.feed.query, relevant }, relevant ? 'marked yes' : 'marked no')
  }

  async step(what, said) {
    try {
      const made = await send('POST', '/many', { pictures: [...this.chosen], ...what })
      this.clear()
      this.onChange()
      toast(made.queued ? 'Noted; it counts as soon as the work in the background is done'
        : `${counted(made.changed, 'picture')} ${said}`, { name: 'Undo', run: () => this.undo() })
    } catch (error) {
      toast(error.message)
    }
  }

  async undo() {
    try {
      const made = await send('DELETE', '/many')
      toast(`Taken back for ${counted(made.changed ?? 0, 'picture')}`)
      this.onChange()
    } catch (error) {
      toast(error.message)
    }
  }

  async export(kind) {
    const answer = await fetch('/api/v1/export', {
      method: 'POST', credentials: 'same-origin', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ pictures: [...this.chosen], kind }),
    }).catch(() => null)
    if (!answer?.ok) return toast('The pictures could not be exported')
    const link = el('a', { href: URL.createObjectURL(await answer.blob()), download: `pictures.${kind === 'list' ? 'txt' : kind}` })
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
    return null
  }
}
