// What the grid shows now: the answer to a question or the newest pictures, page after page.

import { $, announce, counted, el } from './dom.js'
import { get, send } from './api.js'
import { lines, summary } from './answer.js'
import { filtersOf, hasAlternatives, hasWords } from './filters.js'

const PAGE = 60
const LARGEST = 200
const FARTHEST = 100_000

export class Feed {
  constructor(grid, { onTrouble }) {
    this.grid = grid
    this.onTrouble = onTrouble
    this.asked = { query: '', like: null, region: '', upload: '', image: '', sort: 'relevance' }
    this.items = []
    this.answer = null
    this.loading = null
    this.marks = new Map() // answers that are still on their way to the server
    new IntersectionObserver(
      seen => { if (seen.some(one => one.isIntersecting)) this.more() },
      { rootMargin: '1200px' },
    ).observe($('more'))
  }

  get query() {
    return this.asked.query
  }

  /** Whether words are asked for. */
  get searches() {
    return hasWords(this.query)
  }

  /** Whether pictures can be judged: words are asked for, and not one thing or another. */
  get judges() {
    return this.searches && !hasAlternatives(this.query)
  }

  /** Whether nobody knows the words yet: a yes to one of the pictures creates them. */
  get isNewWord() {
    return Boolean(this.answer?.isNewWord)
  }

  get title() {
    const { query, like, region, upload } = this.asked
    if (upload) return `Similar to ${upload}`
    if (like) return region ? 'Similar to a part of this picture' : 'Similar pictures'
    return query || 'Newest pictures'
  }

  /** Ask anew; the pictures of before stay, dimmed, until the answer is there. */
  async ask(asked) {
    this.asked = { ...this.asked, ...asked }
    this.answer = null
    this.marks.clear()
    await this.load(0, PAGE, { fresh: true })
  }

  /** The same question again, for as many pictures as are there: the ranking may have changed. */
  async again() {
    await this.load(0, Math.max(this.items.length, PAGE), { glide: true, fresh: true })
  }

  async more() {
    if (this.loading || !this.answer?.more || this.items.length >= FARTHEST) return
    await this.load(this.items.length, PAGE, {})
    const end = $('more').getBoundingClientRect().top
    if (end < innerHeight + 1200 && this.answer?.more) await this.more()
  }

  async load(offset, k, { glide = false, fresh = false }) {
    this.loading?.abort()
    const mine = new AbortController()
    this.loading = mine
    $('results').ariaBusy = 'true'
    // While pictures glide to new places nobody waits for them.
    document.documentElement.classList.toggle('searching', fresh && !glide)
    try {
      const answer = await this.pages(offset, k, mine.signal)
      if (this.loading !== mine) return
      this.loading = null
      const old = fresh ? [] : this.items
      const there = new Set(old.map(one => one.picture))
      this.items = [...old, ...answer.results.filter(one => !there.has(one.picture))]
      this.answer = fresh ? answer : { ...this.answer, more: answer.more }
      if (fresh) this.head(glide)
      this.show(glide)
    } catch (error) {
      if (error.name === 'AbortError' || this.loading !== mine) return
      this.loading = null
      if (fresh && !glide) {
        this.items = []
        this.grid.show([])
        this.name()
        $('summary').replaceChildren()
        $('chips').replaceChildren()
      }
      this.onTrouble(error)
    } finally {
      if (this.loading === null) {
        $('results').ariaBusy = 'false'
        document.documentElement.classList.remove('searching')
      }
    }
  }

  /** So many pictures, in as many questions as the server wants. */
  async pages(offset, k, signal) {
    const answer = await this.page(offset, Math.min(k, LARGEST), signal)
    while (answer.more && answer.results.length < k) {
      const at = offset + answer.results.length
      const next = await this.page(at, Math.min(k + offset - at, LARGEST), signal)
      answer.results.push(...next.results)
      answer.more = next.more && next.results.length > 0
    }
    return answer
  }

  async page(offset, k, signal) {
    const { query, like, region, upload, image, sort } = this.asked
    if (upload) {
      if (!image) throw Object.assign(new Error(), { kind: 'no-upload' })
      return { ...await send('POST', '/like', { image, k: PAGE }, signal), more: false }
    }
    if (like) return get('/search', { like, region: region || null, k, offset }, signal)
    if (!this.searches) return this.listed(query, 'time', k, offset, signal)
    if (offset && this.isNewWord) return this.toTeach(this.answer.unknown, k, offset, signal)
    try {
      return await get('/search', { query, sort, k, offset }, signal)
    } catch (error) {
      if (error.kind !== 'unknown-words') throw error
      return this.toTeach(error.unknown || {}, k, offset, signal)
    }
  }

  /** Pictures to teach unknown words with: those of known words with a similar meaning first. */
  async toTeach(unknown, k, offset, signal) {
    const known = [...new Set(Object.values(unknown).flat())]
    const query = [...known, filtersOf(this.query)].join(' ').trim()
    const answer = await this.listed(query, known.length ? 'relevance' : 'time', k, offset, signal)
    const results = answer.results.map(one => ({ ...one, probability: null, judged: null, evidence: null }))
    return { results, more: answer.more, unknown, isNewWord: true, cutoff: null }
  }

  listed(query, sort, k, offset, signal) {
    return query ? get('/search', { query, sort, k, offset }, signal) : get('/pictures', { k, offset }, signal)
  }

  show(glide) {
    for (const one of this.items) {
      if (this.marks.has(one.picture)) one.judged = this.marks.get(one.picture)
    }
    const isRanked = this.searches && this.asked.sort !== 'time'
    this.grid.show(this.items, {
      glide, judges: this.judges, onlyYes: this.isNewWord, lines: isRanked ? lines(this.answer, this.items.length) : [],
    })
    $('message').hidden = true
    if (!this.items.length) this.onTrouble({ kind: this.nothing() })
  }

  nothing() {
    if (this.searches && this.asked.sort === 'time' && !this.isNewWord) return 'no-good-match'
    return this.query || this.asked.like || this.asked.upload ? 'nothing-found' : 'empty'
  }

  /** Mark a picture at once, before the server has heard of it. */
  mark(picture, judged) {
    this.marks.set(picture, judged)
    this.show(false)
  }

  name() {
    $('heading').textContent = this.title
    $('heading').classList.toggle('asked', Boolean(this.query))
    document.title = this.title === 'Newest pictures' ? 'visterm' : `${this.title} · visterm`
  }

  /** The heading and the line below it. */
  head(isQuiet) {
    this.name()
    const { query, like, upload } = this.asked
    const isNewest = !query && !like && !upload
    const parts = query ? summary(this.answer, query, this.asked.sort === 'time')
      : [isNewest ? 'By the time they were taken' : counted(this.items.length, 'picture')]
    $('summary').replaceChildren(parts.join('. '))
    if (!isNewest) {
      $('chips').replaceChildren(...Object.values(this.answer.unknown || {}).flat().map(word => el(
        'a', { class: 'chip', href: `/?q=${encodeURIComponent(word)}` }, word)))
    }
    if (!isNewest && !isQuiet) announce(parts.length ? parts.join('. ') : counted(this.items.length, 'picture'))
  }

  /** The picture after or before one, for leafing through. */
  beside(picture, step) {
    const place = this.items.findIndex(one => one.picture === picture)
    if (place < 0) return null
    if (place + step > this.items.length - 8) this.more()
    return this.items[place + step]?.picture ?? null
  }

  of(picture) {
    return this.items.find(one => one.picture === picture) || null
  }
}
