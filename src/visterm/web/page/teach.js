// Teaching a word: ten questions, then the first pictures before and after, and what is still uncertain.

import { announce, counted, el, icon, toast } from './dom.js'
import { get, send } from './api.js'
import { QUEUED } from './verdict.js'

const FIRST = 6 // pictures that stand for a ranking
const UNCERTAIN = 4

export class Teaching {
  constructor(sheet, { onAsk, onChange }) {
    this.sheet = sheet
    this.onAsk = onAsk
    this.onChange = onChange
  }

  /** Ten questions: which of these pictures fit? Nothing is sent before the round is finished. */
  async ask(query) {
    const found = await get('/teach', { query }).catch(complain)
    if (!found) return
    if (!found.results.length) {
      this.sheet.show(`Teach “${query}”`, el('p', {}, 'There is no picture left to ask about.'))
      return
    }
    const answers = new Map()
    const done = el('button', { type: 'button', class: 'primary', disabled: true, onclick: () => this.learn(query, answers, done) }, 'Learn from these answers')
    const items = found.results.map(one => question(this.sheet, query, one, relevant => {
      answers.set(one.picture, relevant)
      done.disabled = false
      done.textContent = `Learn from ${counted(answers.size, 'answer')}`
    }))
    const about = /\s/.test(query) ? null
      : el('button', { type: 'button', class: 'quiet', onclick: () => this.sheet.word(query) }, 'About this word')
    this.sheet.show(`Do these show “${query}”?`,
      el('p', { class: 'quiet-text' }, 'visterm learns most from these. Skip a picture if you are not sure.'),
      el('ul', { class: 'questions' }, items), el('div', { class: 'row foot-row' }, done, about))
  }

  async learn(query, answers, button) {
    button.disabled = true
    button.textContent = 'Learning …'
    const first = () => get('/search', { query, k: FIRST })
    const before = await first().catch(() => null)
    const report = await send('POST', '/teach', { query, answers: Object.fromEntries(answers) }).catch(complain)
    if (!report) {
      button.disabled = false
      button.textContent = 'Try again'
      return
    }
    this.onChange()
    if (report.queued) {
      this.sheet.show(`“${query}”`, el('p', {}, `${QUEUED}.`))
      return
    }
    const [after, left] = await Promise.all([first().catch(() => null), get('/teach', { query, k: UNCERTAIN }).catch(() => null)])
    this.report(query, report, before, after, left?.results || [])
  }

  /** What the answers brought, as pictures. */
  report(query, { enough }, before, after, uncertain) {
    const row = (name, answer, known) => answer && el('section', { class: 'ranking' }, el('h3', {}, name), el('div', { class: 'cards' },
      answer.results.map(one => {
        const card = this.sheet.picture(one, 84)
        if (known && !known.has(one.picture)) card.classList.add('new')
        return card
      })))
    const old = before && new Set(before.results.map(one => one.picture))
    const moved = before && after && after.cutoff !== null ? `${matches(before)} before, ${matches(after)} now.` : ''
    const more = enough ? ' More answers would change little.' : ''
    announce(`Learnt. ${moved}${more}`)
    this.sheet.show(`“${query}” now`, el('p', {}, `${moved}${more}`),
      el('div', { class: 'before-after' }, row('First pictures before', before, null), row('First pictures now', after, old)),
      uncertain.length ? row('Still uncertain', { results: uncertain }, null) : null,
      el('div', { class: 'row foot-row' },
        el('button', { type: 'button', class: enough ? '' : 'primary', onclick: () => this.ask(query) }, 'Ten more questions'),
        el('button', { type: 'button', onclick: () => { this.sheet.close(); this.onAsk(query) } }, 'Show the pictures')))
  }
}

/** A picture, and whether it fits; `about` says more below it. */
export function question(sheet, query, one, say, about = null) {
  const row = el('div', { class: 'row', role: 'group', 'aria-label': `Does ${one.caption || one.path} fit ${query}?` })
  for (const relevant of [true, false]) {
    const button = el('button', {
      type: 'button', class: `say ${relevant ? 'yes' : 'no'}`, 'aria-pressed': 'false',
      onclick: () => {
        for (const other of row.children) other.setAttribute('aria-pressed', String(other === button))
        say(relevant)
      },
    }, icon(relevant ? 'yes' : 'no'), relevant ? 'Yes' : 'No')
    row.append(button)
  }
  return el('li', { class: 'question' }, sheet.picture(one), about, row)
}

function matches({ cutoff, possible }) {
  return `${counted(cutoff || 0, 'good match', 'good matches')} and ${(possible || 0).toLocaleString('en')} possible`
}

export function complain(error) {
  toast(error.message)
  return null
}
