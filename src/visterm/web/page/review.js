// Reviewing a word: captions that are likely wrong about it, ten at a time, corrected as one step.

import { counted, el, percent, toast } from './dom.js'
import { get, send } from './api.js'
import { complain, round } from './teach.js'
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
      this.sheet.show(title, el('p', {}, 'No caption is in doubt.'))
      return
    }
    const { done, item } = round(this.sheet, word, ['Correct the captions', 'Save'],
      (answers, button) => this.correct(word, answers, button))
    const shown = one => item(one, el('p', { class: 'doubt' }, one.caption || 'no caption',
      el('span', { class: 'quiet-text' }, ` · shows it: ${percent(one.probability)}${one.is_likely ? '' : ', less sure'}`)))
    const kinds = KINDS.map(({ holds, name }) => [name(word), found.results.filter(one => one.holds === holds)])
    this.sheet.show(title,
      el('p', { class: 'quiet-text' }, `Do these show “${word}”? Yes adds the word to a caption; No removes it, but keeps a caption of only that word. Skip a picture if you are not sure.`),
      kinds.map(([name, some]) => (some.length ? el('section', {}, el('h3', {}, name), el('ul', { class: 'questions' }, some.map(shown))) : null)),
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
    if (made.queued) {
      this.sheet.show(`Review “${word}”`, el('p', {}, `${QUEUED}.`))
      return
    }
    await this.ask(word)
    toast(`${counted(made.changed, 'caption')} changed`, { name: 'Undo', run: this.onUndo })
  }
}
