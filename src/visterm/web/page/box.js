// The search box: words are completed as one types, with how often captions and names hold them.

import { $, el } from './dom.js'
import { get } from './api.js'

export class Box {
  constructor(onAsk) {
    this.input = $('query')
    this.list = $('completions')
    this.clear = $('clear')
    this.onAsk = onAsk
    this.words = []
    this.chosen = -1
    this.asked = 0
    $('ask').addEventListener('submit', event => { event.preventDefault(); this.submit() })
    this.input.addEventListener('input', () => this.complete())
    this.input.addEventListener('keydown', event => this.key(event))
    this.input.addEventListener('blur', () => setTimeout(() => this.close(), 120))
    this.clear.addEventListener('click', () => { this.set(''); this.input.focus(); this.onAsk('') })
  }

  set(query) {
    this.input.value = query
    this.clear.hidden = !query
    this.close()
  }

  focus() {
    this.input.focus()
    this.input.select()
  }

  submit() {
    this.close()
    this.clear.hidden = !this.input.value
    this.onAsk(this.input.value.trim().replace(/\s+/g, ' '))
  }

  /** The word at the cursor: where it begins, and what is typed of it after a minus. */
  current() {
    const end = this.input.selectionStart
    const before = this.input.value.slice(0, end)
    const start = before.search(/[^\s]*$/)
    const minus = before[start] === '-' ? 1 : 0
    return { start: start + minus, end, typed: before.slice(start + minus), minus: minus === 1 }
  }

  async complete() {
    this.clear.hidden = !this.input.value
    const { typed } = this.current()
    const number = ++this.asked
    if (!typed || /[:"]/.test(typed)) return this.close()
    const found = await get('/words', { start: typed, k: 8 }).catch(() => null)
    if (!found || number !== this.asked || document.activeElement !== this.input) return
    const chosen = this.words[this.chosen]?.word
    this.words = found.words.filter(one => one.word !== typed.toLowerCase())
    this.show()
    // A late answer to an earlier letter does not take away what somebody has chosen meanwhile.
    const still = this.words.findIndex(one => one.word === chosen)
    if (still >= 0) this.choose(still)
  }

  show() {
    const { minus } = this.current()
    this.chosen = -1
    this.list.replaceChildren(...this.words.map((one, number) => el(
      'li',
      {
        id: `completion-${number}`, role: 'option', 'aria-selected': 'false',
        onpointerdown: event => { event.preventDefault(); this.take(number) },
      },
      el('span', {}, minus ? `-${one.word}` : one.word),
      count(one),
    )))
    const open = this.words.length > 0
    this.list.hidden = !open
    this.input.setAttribute('aria-expanded', String(open))
    this.input.removeAttribute('aria-activedescendant')
  }

  close() {
    this.asked += 1
    this.words = []
    this.show()
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && this.words.length) {
      event.preventDefault()
      this.choose((this.chosen + step + this.words.length + (this.chosen < 0 && step < 0 ? 1 : 0))
        % this.words.length)
    } else if ((event.key === 'Enter' || event.key === 'Tab') && this.chosen >= 0) {
      event.preventDefault()
      this.take(this.chosen)
    } else if (event.key === 'Escape') {
      event.stopPropagation()
      if (this.words.length) this.close()
      else this.input.blur()
    } else if (event.key === 'ArrowDown') {
      event.preventDefault()
      document.querySelector('#results .open[tabindex="0"]')?.focus()
    }
  }

  choose(number) {
    this.chosen = number
    for (const [place, line] of [...this.list.children].entries()) {
      line.setAttribute('aria-selected', String(place === number))
    }
    this.input.setAttribute('aria-activedescendant', `completion-${number}`)
  }

  take(number) {
    const { start, end } = this.current()
    const rest = this.input.value.slice(end)
    const word = this.words[number].word
    const head = `${withoutBeginning(this.input.value.slice(0, start), word)}${word} `
    this.input.value = head + rest.trimStart()
    this.input.setSelectionRange(head.length, head.length)
    this.close()
  }
}

// What stands before a name of several words, without those of its words that were typed already.
function withoutBeginning(before, name) {
  const words = name.split(' ')
  for (let typed = words.length - 1; typed > 0; typed -= 1) {
    const beginning = `${words.slice(0, typed).join(' ')} `
    if (` ${before.toLowerCase()}`.endsWith(` ${beginning}`)) return before.slice(0, -beginning.length)
  }
  return before
}

/** How many captions hold a word, or names of files and folders where no caption does. */
function count({ captions, names }) {
  const number = (captions || names).toLocaleString('en')
  const where = captions ? 'captions' : 'names'
  return captions || names ? el('span', { class: 'count', 'aria-label': `in ${number} ${where}` }, number) : null
}
