// The search box: words are completed as one types; an empty box offers searches to begin with.

import { $, el } from './dom.js'
import { get } from './api.js'
import { recentSearches } from './recent.js'

export class Box {
  constructor({ onAsk, onLeave }) {
    this.input = $('query')
    this.list = $('completions')
    this.clear = $('clear')
    this.onAsk = onAsk
    this.onLeave = onLeave
    this.examples = []
    this.options = []
    this.chosen = -1
    this.asked = 0
    $('ask').addEventListener('submit', event => { event.preventDefault(); this.submit() })
    this.input.addEventListener('input', () => this.complete())
    this.input.addEventListener('focus', () => this.complete())
    this.input.addEventListener('click', () => { if (this.list.hidden) this.complete() })
    this.input.addEventListener('keydown', event => this.key(event))
    this.input.addEventListener('blur', () => setTimeout(() => { if (document.activeElement !== this.input) this.close() }, 120))
    this.clear.addEventListener('click', () => { this.set(''); this.input.focus(); this.onAsk('') })
  }

  /** Show a query, or the picture that stands in its place: an element and its name. */
  set(query, like = null) {
    this.input.value = query
    $('like').replaceChildren(...(like ? [like.picture, el('span', {}, like.name)] : []))
    $('like').hidden = !like
    this.input.classList.toggle('beside-picture', Boolean(like))
    this.clear.hidden = !query && !like
    this.close()
  }

  /** Words that are there, of which examples of the query language are made. */
  suggest(words, year) {
    const [first] = words
    this.examples = first ? [
      { query: `${first} people`, note: 'both words' },
      { query: `${first} -people`, note: `${first}, but no people` },
      year ? { query: `${first} ${year}`, note: `taken in ${year}` } : { query: `${first}:2 people`, note: `${first} counts twice` },
    ] : []
    const isAwaited = document.activeElement === this.input && !this.input.value
    if (isAwaited && this.chosen < 0) this.complete()
  }

  focus() {
    this.input.focus()
    this.input.select()
  }

  /** Search, and leave the box, so that keys now mean pictures. */
  submit() {
    const query = this.input.value.trim().replace(/\s+/g, ' ')
    this.close()
    this.input.blur()
    this.onAsk(query)
    this.onLeave()
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
    this.clear.hidden = !this.input.value && $('like').hidden
    const { typed, minus } = this.current()
    const number = ++this.asked
    if (!this.input.value.trim()) return this.show(this.beginnings())
    if (!typed || /[:"]/.test(typed)) return this.close()
    const found = await get('/words', { start: typed, k: 8 }).catch(() => null)
    if (!found || number !== this.asked || document.activeElement !== this.input) return undefined
    const chosen = this.options[this.chosen]?.text
    this.show(found.words.filter(one => one.word !== typed.toLowerCase()).map(one => ({
      text: minus ? `-${one.word}` : one.word, word: one.word, note: count(one),
    })))
    // A late answer to an earlier letter does not take away what somebody has chosen meanwhile.
    const still = this.options.findIndex(one => one.text === chosen)
    if (still >= 0) this.choose(still)
    return undefined
  }

  /** What an empty box offers: searches of late, and examples. */
  beginnings() {
    return [
      ...recentSearches().map(query => ({ text: query, query, note: 'searched before' })),
      ...this.examples.map(one => ({ text: one.query, ...one })),
    ]
  }

  show(options) {
    this.options = options
    this.chosen = -1
    this.list.replaceChildren(...options.map((one, number) => el(
      'li',
      {
        id: `completion-${number}`, role: 'option', 'aria-selected': 'false',
        onpointerdown: event => event.preventDefault(),
        onclick: () => this.take(number),
      },
      el('span', {}, one.text), one.note ? el('span', { class: 'count' }, one.note) : null,
    )))
    this.list.hidden = !options.length
    this.input.setAttribute('aria-expanded', String(options.length > 0))
    this.input.removeAttribute('aria-activedescendant')
  }

  close() {
    this.asked += 1
    this.show([])
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const { length } = this.options
    if (step && length) {
      event.preventDefault()
      this.choose((this.chosen + step + length + (this.chosen < 0 && step < 0 ? 1 : 0)) % length)
    } else if (event.key === 'Enter' && this.chosen >= 0) {
      event.preventDefault()
      this.take(this.chosen)
    } else if (event.key === 'Tab' && this.chosen >= 0) {
      event.preventDefault()
      this.fill(this.chosen)
      this.close()
    } else if (event.key === 'Escape') {
      event.stopPropagation()
      if (length) this.close()
      else this.input.blur()
    } else if (event.key === 'ArrowDown') {
      event.preventDefault()
      this.onLeave()
    }
  }

  choose(number) {
    this.chosen = number
    for (const [place, line] of [...this.list.children].entries()) {
      line.setAttribute('aria-selected', String(place === number))
    }
    this.input.setAttribute('aria-activedescendant', `completion-${number}`)
  }

  /** Choose an option: what it says is searched. */
  take(number) {
    this.fill(number)
    this.submit()
  }

  /** Write an option into the box: a whole query, or the word that was begun. */
  fill(number) {
    const option = this.options[number]
    if (option.query) {
      this.input.value = option.query
      return
    }
    const { start, end } = this.current()
    const rest = this.input.value.slice(end)
    const head = `${withoutBeginning(this.input.value.slice(0, start), option.word)}${option.word} `
    this.input.value = head + rest.trimStart()
    this.input.setSelectionRange(head.length, head.length)
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
  const number = captions || names
  return number ? `in ${number.toLocaleString('en')} ${captions ? 'caption' : 'name'}${number === 1 ? '' : 's'}` : ''
}
