// Pictures in justified rows: each row is as wide as the page, each picture keeps its shape.

import { $, el, icon } from './dom.js'
import { likelihood } from './answer.js'
import { said, says } from './evidence.js'

const SIDES = [160, 320, 640, 1280, 2048]
const MARGIN = 4000 // pixels around the window whose pictures are in the page
const LINE = 52 // the height of a line between pictures
const USUAL = 1.5 // the shape of a picture whose file cannot be read

/** The address of a thumbnail that is sharp at this many CSS pixels. */
export function thumbnail(one, pixels) {
  const needed = pixels * Math.min(devicePixelRatio || 1, 3)
  return `${one.thumbnail}&side=${SIDES.find(side => side >= needed * 0.9) || SIDES.at(-1)}`
}

export function shape(one) {
  return one.width && one.height ? Math.min(Math.max(one.width / one.height, 0.4), 3.2) : USUAL
}

/** Widths and heights in rows: the formula, without the page. */
export function rows(shapes, width, height, gap) {
  const found = []
  let first = 0
  while (first < shapes.length) {
    let sum = 0
    let stop = first
    while (stop < shapes.length && sum * height + gap * (stop - first) < width) {
      sum += shapes[stop]
      stop += 1
    }
    const room = width - gap * (stop - first - 1)
    const full = sum * height >= room * 0.98
    // The picture that filled the row may have overfilled it: then it had better begin the next.
    const without = sum - shapes[stop - 1]
    if (full && stop - first > 1 && room / sum < height * 0.72) {
      stop -= 1
      sum = without
    }
    const tall = full ? (width - gap * (stop - first - 1)) / sum : height
    let left = full ? Math.floor(width) - gap * (stop - first - 1) : Infinity
    for (let place = first; place < stop; place += 1) {
      const wide = place === stop - 1 && full ? left : Math.floor(shapes[place] * tall)
      left -= wide
      found.push({ width: wide, height: Math.round(tall) })
    }
    first = stop
  }
  return found
}

export class Grid {
  constructor({ onOpen, onJudge, onChoose, onSimilar }) {
    this.list = $('results')
    this.onOpen = onOpen
    this.onJudge = onJudge
    this.onChoose = onChoose
    this.onSimilar = onSimilar
    this.chosen = new Set()
    this.boxes = []
    this.fresh = true
    this.items = []
    this.lines = []
    this.judges = false
    this.active = 0
    this.tiles = new Map()
    this.list.addEventListener('keydown', event => this.key(event))
    this.list.addEventListener('focusin', event => {
      const tile = event.target.closest('.tile')
      if (tile) this.activate(this.items.findIndex(one => one.picture === Number(tile.dataset.picture)))
    })
    let width = 0
    new ResizeObserver(() => {
      const now = Math.floor(this.list.getBoundingClientRect().width)
      if (now !== width) this.layOut()
      width = now
    }).observe(this.list)
    let waiting = false
    addEventListener('scroll', () => {
      if (waiting) return
      waiting = true
      requestAnimationFrame(() => { waiting = false; this.render() })
    }, { passive: true })
  }

  /** Show these pictures; those that were there before glide to their new places. */
  show(items, { lines = [], judges = false, onlyYes = false, glide = false } = {}) {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    const before = glide && !still ? this.places() : null
    const active = this.items[this.active]?.picture
    this.items = items
    this.lines = lines.map(line => ({ ...line, element: el('li', { class: 'line' }, el('span', {}, line.text)) }))
    this.judges = judges
    this.list.classList.toggle('only-yes', onlyYes)
    // Who is at a picture stays there, wherever it has moved to.
    const moved = glide || this.list.contains(document.activeElement) ? items.findIndex(one => one.picture === active) : -1
    this.active = moved >= 0 ? moved : 0
    this.fresh = true
    this.layOut()
    if (before) this.glide(before)
  }

  /** Put what is near the window into the page, in its order, and take the rest out. */
  render() {
    const top = this.list.getBoundingClientRect().top
    const [first, last] = [this.at(-top - MARGIN), this.at(innerHeight - top + MARGIN)]
    const kept = new Map()
    const children = []
    const focused = this.list.contains(document.activeElement) ? this.active : -1
    for (let number = 0; number < this.items.length; number += 1) {
      for (const line of this.lines) {
        if (number === line.at && number >= first && number <= last + 1) children.push(line.element)
      }
      if (number < first) number = focused >= 0 && focused < first && number <= focused ? focused : first
      if (number > last && number !== focused) {
        if (focused <= last) break
        number = focused
      }
      const one = this.items[number]
      const tile = this.tiles.get(one.picture) || this.tile(one)
      if (this.fresh || tile.shows !== one || tile.number !== number) this.update(tile, one, number)
      this.place(tile, one, this.boxes[number])
      kept.set(one.picture, tile)
      children.push(tile)
    }
    this.fresh = false
    this.tiles = kept
    const wanted = new Set(children)
    for (const old of [...this.list.children]) if (!wanted.has(old)) old.remove()
    for (const [place, child] of children.entries()) {
      if (this.list.children[place] !== child) this.list.insertBefore(child, this.list.children[place] || null)
    }
  }

  /** The number of the first picture whose row ends below a height. */
  at(y) {
    let [low, high] = [0, this.boxes.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.boxes[middle].y + this.boxes[middle].height < y) low = middle + 1
      else high = middle
    }
    return low
  }

  place(tile, one, box) {
    const key = `${box.x} ${box.y} ${box.width} ${box.height}`
    if (tile.dataset.laid === key) return
    tile.dataset.laid = key
    for (const [name, value] of [['left', box.x], ['top', box.y], ['width', box.width], ['height', box.height]]) {
      tile.style[name] = `${value}px`
    }
    const picture = tile.querySelector('img')
    const address = thumbnail(one, Math.max(box.width, box.height))
    if (picture.getAttribute('src') !== address) picture.src = address
  }

  tile(one) {
    const picture = el('img', { alt: '', loading: 'lazy', decoding: 'async' })
    picture.addEventListener('error', () => tile.classList.add('gone'))
    picture.addEventListener('load', () => tile.classList.add('there'))
    const link = el('a', { class: 'open', tabindex: '-1' }, picture, el('span', { class: 'at', 'aria-hidden': 'true' }), el('span', { class: 'name' }))
    link.addEventListener('click', event => {
      if (event.metaKey || event.ctrlKey) return
      event.preventDefault()
      if (event.shiftKey || this.chosen.size) {
        this.onChoose(Number(tile.dataset.picture), event.shiftKey)
        return
      }
      this.onOpen(Number(tile.dataset.picture))
    })
    const verdict = relevant => el(
      'button',
      {
        type: 'button', class: relevant ? 'yes' : 'no', tabindex: '-1', 'aria-pressed': 'false',
        'aria-label': relevant ? 'Yes, it fits' : 'No, it does not fit',
        title: relevant ? 'Yes, it fits (y)' : 'No, it does not fit (n)',
        onclick: () => this.onJudge(Number(tile.dataset.picture), relevant),
      },
      icon(relevant ? 'yes' : 'no'),
    )
    const tick = el('button', {
      type: 'button', class: 'tick', tabindex: '-1', 'aria-label': 'Select', 'aria-pressed': 'false', title: 'Select (x)',
      onclick: event => this.onChoose(Number(tile.dataset.picture), event.shiftKey),
    }, icon('yes'))
    const similar = el('button', {
      type: 'button', class: 'similar', tabindex: '-1', 'aria-label': 'Find similar pictures', title: 'Find similar pictures (s)',
      onclick: () => this.onSimilar(Number(tile.dataset.picture)),
    }, icon('similar'))
    const tile = el('li', { class: 'tile' }, link, tick,
      el('div', { class: 'verdicts' }, verdict(true), verdict(false)), similar)
    tile.dataset.picture = one.picture
    return tile
  }

  update(tile, one, number) {
    tile.shows = one
    tile.number = number
    tile.setAttribute('aria-posinset', number + 1)
    tile.setAttribute('aria-setsize', this.items.length)
    tile.classList.toggle('weak', this.lines.some(line => line.weak && number >= line.at))
    const link = tile.querySelector('.open')
    const asked = new URLSearchParams(location.search)
    asked.set('picture', one.picture)
    link.href = `/?${asked}`
    link.setAttribute('aria-label', label(one, number))
    tile.querySelector('.name').textContent = named(one)
    tile.querySelector('.at').textContent = at(one)
    tile.querySelector('.verdicts').hidden = !this.judges
    const written = says(one.evidence)
    tile.classList.toggle('written', written.length > 0)
    tile.dataset.says = written.map(([who, words]) => `${who}: ${words.join(', ')}`).join(' · ')
    tile.classList.toggle('said-yes', one.judged === true)
    tile.classList.toggle('said-no', one.judged === false)
    tile.querySelector('.yes').setAttribute('aria-pressed', String(one.judged === true))
    tile.querySelector('.no').setAttribute('aria-pressed', String(one.judged === false))
    this.tick(tile, this.chosen.has(one.picture))
    this.setTab(tile, number === this.active)
  }

  /** Show which pictures are chosen. */
  mark(chosen) {
    this.chosen = chosen
    this.list.classList.toggle('choosing', chosen.size > 0)
    for (const [picture, tile] of this.tiles) this.tick(tile, chosen.has(picture))
  }

  tick(tile, isChosen) {
    tile.classList.toggle('chosen', isChosen)
    tile.querySelector('.tick').setAttribute('aria-pressed', String(isChosen))
  }

  layOut() {
    // clientWidth is rounded, and a row that is a hair too wide loses its last picture.
    const width = Math.floor(this.list.getBoundingClientRect().width)
    if (!width) return
    const height = width < 500 ? 118 : width < 900 ? 168 : width < 1600 ? 208 : 240
    const gap = width < 500 ? 4 : 8
    this.boxes = []
    let y = 0
    const starts = [0, ...this.lines.map(line => line.at), this.items.length]
    for (let number = 0; number < starts.length - 1; number += 1) {
      const part = this.items.slice(starts[number], starts[number + 1])
      if (number) {
        this.lines[number - 1].element.style.top = `${y}px`
        y += LINE
      }
      let x = 0
      let tall = 0
      for (const size of rows(part.map(shape), width, height, gap)) {
        if (x && x + size.width > width + 1) {
          x = 0
          y += tall + gap
        }
        this.boxes.push({ x, y, width: size.width, height: size.height })
        x += size.width + gap
        tall = size.height
      }
      y += part.length ? tall + gap : 0
    }
    this.list.style.height = `${y}px`
    this.render()
  }

  places() {
    return new Map([...this.tiles].map(([number, tile]) => [number, tile.getBoundingClientRect()]))
  }

  glide(before) {
    for (const [number, tile] of this.tiles) {
      const old = before.get(number)
      const now = tile.getBoundingClientRect()
      if (!old) {
        tile.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 350 })
      } else if (Math.abs(old.x - now.x) + Math.abs(old.y - now.y) > 1) {
        const from = `translate(${old.x - now.x}px, ${old.y - now.y}px)`
        tile.animate([{ transform: from }, { transform: 'none' }],
          { duration: 450, easing: 'cubic-bezier(.3,.9,.3,1)' })
      }
    }
  }

  activate(number) {
    if (number < 0 || number === this.active) return
    const old = this.tiles.get(this.items[this.active]?.picture)
    if (old) this.setTab(old, false)
    this.active = number
    const tile = this.tiles.get(this.items[number].picture)
    if (tile) this.setTab(tile, true)
  }

  setTab(tile, on) {
    for (const one of tile.querySelectorAll('a, button')) {
      one.setAttribute('tabindex', on ? '0' : '-1')
    }
  }

  focus(number) {
    const one = this.items[number]
    if (!one) return
    this.activate(number)
    const box = this.boxes[number]
    const top = this.list.getBoundingClientRect().top + box.y
    if (top < 80) scrollBy(0, top - 80)
    else if (top + box.height > innerHeight) scrollBy(0, top + box.height - innerHeight + 8)
    this.render()
    const link = this.tiles.get(one.picture).querySelector('.open')
    this.setTab(this.tiles.get(one.picture), true)
    link.focus({ preventScroll: true })
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const one = this.items[this.active]
    const key = event.key.toLowerCase()
    const steps = { arrowleft: -1, arrowright: 1, home: -this.active, end: this.items.length }
    if (key in steps) {
      event.preventDefault()
      this.focus(Math.min(Math.max(this.active + steps[key], 0), this.items.length - 1))
    } else if (key === 'arrowup' || key === 'arrowdown') {
      event.preventDefault()
      this.focus(this.beyond(key === 'arrowdown' ? 1 : -1))
    } else if (key === 'x' && one) {
      event.preventDefault()
      this.onChoose(one.picture, event.shiftKey)
    } else if (key === 's' && one) {
      event.preventDefault()
      this.onSimilar(one.picture)
    } else if ((key === 'y' || (key === 'n' && !this.list.matches('.only-yes'))) && one && this.judges) {
      event.preventDefault()
      this.onJudge(one.picture, key === 'y')
    }
  }

  /** The nearest picture in the next row up or down. */
  beyond(direction) {
    const box = number => this.boxes[number]
    const from = box(this.active)
    const middle = from.x + from.width / 2
    let best = this.active
    let row = null
    for (let n = this.active + direction; n >= 0 && n < this.items.length; n += direction) {
      const there = box(n)
      if (Math.abs(there.y - from.y) < 2) continue
      if (row !== null && Math.abs(there.y - row) > 2) break
      row = there.y
      const off = Math.abs(there.x + there.width / 2 - middle)
      const least = best === this.active ? Infinity
        : Math.abs(box(best).x + box(best).width / 2 - middle)
      if (off < least) best = n
    }
    return best
  }
}

/** When the frame of a video is shown. */
export function at(one) {
  if (one.frame_time === null || one.frame_time === undefined) return ''
  const whole = Math.floor(one.frame_time)
  const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, String(whole % 60).padStart(2, '0')]
  return `at ${hours ? `${hours}:${String(minutes).padStart(2, '0')}` : minutes}:${seconds}`
}

/** What a picture is called, after how likely it answers. */
function named(one) {
  return [likelihood(one), one.caption || one.path].filter(Boolean).join(' · ')
}

/** The same for those who hear it: what can be seen of its name comes first. */
function label(one, number) {
  const parts = [named(one)]
  if (at(one)) parts.push(`video, ${at(one)}`)
  if (one.score !== undefined) parts.push(`result ${(number + 1).toLocaleString('en')}`)
  if (says(one.evidence).length) parts.push(said(one.evidence))
  return parts.join(', ')
}
