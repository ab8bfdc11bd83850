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
    const { done, item } = round(this.sheet, query, ['Learn from these answers', 'Learn from'],
      (answers, button) => this.learn(query, answers, button))
    const about = /\s/.test(query) ? null
      : el('button', { type: 'button', class: 'quiet', onclick: () => this.sheet.word(query) }, 'About this word')
    this.sheet.show(`Do these show “${query}”?`,
      el('p', { class: 'quiet-text' }, 'visterm learns most from these. Skip a picture if you are not sure.'),
      el('ul', { class: 'questions' }, found.results.map(one => item(one))), el('div', { class: 'row foot-row' }, done, about))
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

/** Questions of a round, and the button that saves its answers once there is one. */
export function round(sheet, query, [name, verb], save) {
  const answers = new Map()
  const done = el('button', { type: 'button', class: 'primary', disabled: true, onclick: () => save(answers, done) }, name)
  const say = (picture, relevant) => {
    if (relevant === null) answers.delete(picture)
    else answers.set(picture, relevant)
    done.disabled = !answers.size
    done.textContent = answers.size ? `${verb} ${counted(answers.size, 'answer')}` : name
  }
  return { done, item: (one, about = null) => question(sheet, query, one, relevant => say(one.picture, relevant), about) }
}

/** A picture, and whether it fits; `about` says more below it. A second click takes the answer back: null. */
function question(sheet, query, one, say, about) {
  const row = el('div', { class: 'row', role: 'group', 'aria-label': `Does ${one.caption || one.path} fit ${query}?` })
  for (const relevant of [true, false]) {
    const button = el('button', {
      type: 'button', class: `say ${relevant ? 'yes' : 'no'}`, 'aria-pressed': 'false',
      onclick: () => {
        const isTaken = button.getAttribute('aria-pressed') === 'false'
        for (const other of row.children) other.setAttribute('aria-pressed', String(isTaken && other === button))
        say(isTaken ? relevant : null)
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
