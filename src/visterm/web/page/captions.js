// What is to be seen, in a person's own words: typed, saved, and kept in the box if saving fails.

import { el } from './dom.js'
import { send } from './api.js'
import { QUEUED } from './verdict.js'

const SOURCES = {
  table: 'from a table', iptc: 'in the file (IPTC)', xmp: 'in the file (XMP)', exif: 'in the file (EXIF)',
  text: 'in a text file beside it', ocr: 'read in the picture',
}

export class CaptionEditor {
  constructor({ onSaved }) {
    this.onSaved = onSaved
    this.field = el('textarea', {
      id: 'caption', rows: 2, maxLength: 4000, placeholder: 'What does it show? tree snow …',
    })
    this.button = el('button', { type: 'submit', class: 'primary' }, 'Save')
    this.state = el('p', { class: 'state', role: 'status' })
    this.others = el('ul', { class: 'sources' })
    this.form = el('form', { class: 'caption' },
      el('label', { htmlFor: 'caption' }, 'Caption'), this.field,
      el('div', { class: 'row' }, this.button, this.state), this.others)
    this.form.addEventListener('submit', event => { event.preventDefault(); this.save() })
    this.field.addEventListener('input', () => this.mark())
    this.field.addEventListener('change', () => this.save()) // who leaves the box has finished
    this.field.addEventListener('keydown', event => {
      if (event.key === 'Enter' && !event.shiftKey) {
        event.preventDefault()
        this.save()
      }
      if (event.key === 'Escape') {
        event.stopPropagation()
        event.preventDefault()
        this.field.value = this.saved
        this.mark()
        this.field.blur()
      }
    })
  }

  /** @param {any} written captions by their source, and the text that is read in the picture */
  show(picture, written) {
    const { ocr, ...captions } = written
    this.picture = picture
    this.saved = captions.person ?? (Object.values(captions).join(' ') || '')
    this.own = 'person' in captions
    this.field.value = this.saved
    const others = Object.entries(captions).filter(([source]) => source !== 'person')
    this.others.replaceChildren(...[...(this.own ? others : []), ...(ocr ? [['ocr', ocr]] : [])].map(([source, text]) => el(
      'li', {}, el('span', { class: 'quiet-text' }, `${SOURCES[source] || source}: `), text)))
    this.state.textContent = this.own || !this.saved ? '' : `${others.map(([s]) => SOURCES[s] || s).join(', ')}`
    this.mark(true)
  }

  get isChanged() {
    return this.field.value.trim() !== this.saved.trim()
  }

  mark(fresh = false) {
    this.button.hidden = !this.isChanged
    if (!fresh) this.state.textContent = this.isChanged ? 'Enter saves, Esc cancels' : ''
    this.field.rows = Math.min(6, Math.max(2, Math.ceil(this.field.value.length / 34)))
  }

  async save() {
    if (!this.isChanged) return
    const { picture } = this
    this.state.textContent = 'Saving …'
    try {
      const said = await send('PUT', `/pictures/${picture}/captions`, { text: this.field.value })
      if (picture !== this.picture) return
      if (said.queued) {
        this.saved = this.field.value
        this.mark(true)
        this.state.textContent = `${QUEUED}.`
        return
      }
      this.show(picture, said.captions)
      this.state.textContent = 'Saved. The next training learns from it.'
      this.onSaved(picture, said.caption)
    } catch (error) {
      this.state.textContent = `Not saved: ${error.message}`
    }
  }
}
