// What the grid shows now: the answer to a query or the newest pictures, page after page.

import { $, announce, counted, el } from './dom.js'
import { get } from './api.js'

const PAGE = 60
const LARGEST = 200
const FARTHEST = 100_000

export class Feed {
  constructor(grid, { onTrouble }) {
    this.grid = grid
    this.onTrouble = onTrouble
    this.query = null
    this.sort = 'relevance'
    this.items = []
    this.answer = null
    this.loading = null
    new IntersectionObserver(
      seen => { if (seen.some(one => one.isIntersecting)) this.more() },
      { rootMargin: '1200px' },
    ).observe($('more'))
  }

  get searches() {
    return Boolean(this.query)
  }

  /** Ask anew; whatever was being loaded is of no interest any more. */
  async ask(query, sort = this.sort) {
    this.query = query
    this.sort = sort
    this.items = []
    this.answer = null
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
    try {
      const answer = await this.pages(offset, k, mine.signal)
      if (this.loading !== mine) return
      this.loading = null
      const old = fresh ? [] : this.items
      const there = new Set(old.map(one => one.picture))
      this.items = [...old, ...answer.results.filter(one => !there.has(one.picture))]
      this.answer = fresh ? answer : { ...this.answer, more: answer.more }
      this.show(glide, fresh)
    } catch (error) {
      if (error.name === 'AbortError' || this.loading !== mine) return
      this.loading = null
      if (fresh && !glide) this.grid.show([])
      this.onTrouble(error)
    } finally {
      if (this.loading === null) $('results').ariaBusy = 'false'
    }
  }

  /** So many pictures, in as many questions as the server wants. */
  async pages(offset, k, signal) {
    const path = this.query || this.sort === 'time' ? '/search' : '/pictures'
    const query = this.query || null
    const sort = path === '/search' ? this.sort : null
    const answer = await get(path, { query, sort, k: Math.min(k, LARGEST), offset }, signal)
    while (answer.more && answer.results.length < k) {
      const at = offset + answer.results.length
      const next = await get(path, { query, sort, k: Math.min(k + offset - at, LARGEST), offset: at }, signal)
      answer.results.push(...next.results)
      answer.more = next.more && next.results.length > 0
    }
    return answer
  }

  show(glide, fresh) {
    const { cutoff: good, possible } = this.answer
    const cutoff = this.query && this.sort !== 'time' ? good || possible : null
    this.grid.show(this.items, {
      glide,
      judges: this.searches,
      // Before the first picture the summary says it all, and nobody has scrolled to the line yet.
      cutoff: !cutoff || cutoff > this.items.length ? null : cutoff,
      ending: good ? 'Good matches end here' : 'Possible matches end here',
    })
    if (fresh) this.summarise(glide)
    $('message').hidden = true
    if (!this.items.length) this.onTrouble({ kind: this.query ? 'nothing-found' : 'empty' })
  }

  summarise(quietly) {
    $('heading').textContent = this.query || 'Newest pictures'
    $('heading').classList.toggle('asked', this.searches)
    document.title = this.query ? `${this.query} · visterm` : 'visterm'
    const { cutoff, possible, unknown, replaced, unsure, partial, conditions } = this.answer
    const parts = []
    if (partial) {
      const [searched, all] = [partial.searched, partial.pictures].map(n => n.toLocaleString())
      parts.push(`Only ${searched} of ${all} pictures could be searched just now`)
    }
    const taken = Object.entries(replaced || {}).map(([word, known]) => {
      const how = (unsure || []).includes(word) ? 'is perhaps' : 'is taken for'
      return `“${word}” ${how} ${known.map(one => `“${one}”`).join(', ')}`
    })
    const guessed = unsure?.length > 0 // then what was found is good only if the guess is
    if (guessed) parts.push(...taken)
    if (this.searches && cutoff !== null && cutoff !== undefined) {
      const counts = []
      if (cutoff) counts.push(counted(cutoff, 'good match', 'good matches'))
      if (possible) counts.push(counted(possible, 'possible match', 'possible matches'))
      parts.push(counts.length
        ? `${counts.join(', ')}${guessed ? ' if so' : ''}`
        : `Nothing here looks like “${this.query}”; these come nearest`)
    }
    if (conditions?.length) parts.push(`Only pictures ${conditions.join(' and ')}`)
    if (!guessed) parts.push(...taken)
    const left = Object.keys(unknown || {})
    if (left.length) {
      parts.push(`${left.map(word => `“${word}”`).join(', ')} left out: not known yet; a caption with it teaches it`)
    }
    $('summary').replaceChildren(parts.join('. '))
    $('chips').replaceChildren(...Object.values(unknown || {}).flat().map(word => el(
      'a', { class: 'chip', href: `/?q=${encodeURIComponent(word)}` }, word)))
    if (this.searches && !quietly) {
      announce(parts.length ? parts.join('. ') : counted(this.items.length, 'picture'))
    }
  }

  /** Show pictures that no query found: those like a dropped one. */
  put(title, results) {
    this.loading?.abort()
    this.loading = null
    this.query = null
    this.items = results
    this.answer = { results, more: false }
    this.grid.show(this.items)
    $('heading').textContent = title
    $('summary').replaceChildren(counted(results.length, 'picture'))
    $('chips').replaceChildren()
    $('message').hidden = true
    announce(`${title}: ${counted(results.length, 'picture')}`)
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
