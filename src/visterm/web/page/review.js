// Reviewing a word: captions that are likely wrong about it, ten at a time, corrected as one step.

import { counted, el, percent, toast } from './dom.js'
import { get, send } from './api.js'
import { complain, question } from './teach.js'
import { QUEUED } from './verdict.js'

const KINDS = [
  { holds: true, name: word => `Captions with “${word}” whose pictures do not look like it` },
  { holds: false, name: word => `Captions without “${word}” whose pictures look like it` },
]

export class Review {
  constructor(sheet, { onChange, onUndo }) {
    this.sheet = sheet
    this.onChange = onChange
    this.onUndo = onUndo
  }

  /** Ten captions in doubt; nothing is sent before all that are answered are corrected. */
  async ask(word) {
    const found = await get('/review', { query: word }).catch(complain)
    if (!found) return
    const title = `Review “${word}”`
    if (!found.results.length) {
      this.sheet.show(title, el('p', {}, `You have answered for all captions with “${word}”, and for all without it.`))
      return
    }
    const answers = new Map()
    const done = el('button', { type: 'button', class: 'primary', disabled: true, onclick: () => this.correct(word, answers, done) }, 'Correct the captions')
    const item = one => question(this.sheet, word, one, relevant => {
      answers.set(one.picture, relevant)
      done.disabled = false
      done.textContent = `Save ${counted(answers.size, 'answer')}`
    }, el('p', { class: 'doubt' }, one.caption || 'no caption', el('span', { class: 'quiet-text' }, ` · shows it: ${percent(one.probability)}${one.is_likely ? '' : ', less sure'}`)))
    const kinds = KINDS.map(({ holds, name }) => [name(word), found.results.filter(one => one.holds === holds)])
    this.sheet.show(title,
      el('p', { class: 'quiet-text' }, `Do these show “${word}”? Yes adds the word to a caption, No removes it. Skip a picture if you are not sure.`),
      kinds.map(([name, some]) => (some.length ? el('section', {}, el('h3', {}, name), el('ul', { class: 'questions' }, some.map(item))) : null)),
      el('div', { class: 'row foot-row' }, done))
  }

  async correct(word, answers, button) {
    button.disabled = true
    const made = await send('POST', '/review', { query: word, answers: Object.fromEntries(answers) }).catch(complain)
    if (!made) {
      button.disabled = false
      return
    }
    this.onChange()
    await this.ask(word)
    toast(made.queued ? QUEUED : `${counted(made.changed, 'caption')} changed`, { name: 'Undo', run: this.onUndo })
  }
}
