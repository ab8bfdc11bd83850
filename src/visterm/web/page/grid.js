// Pictures in justified rows: each row is as wide as the page, each picture keeps its shape.

import { $, counted, el, icon, percent } from './dom.js'

const SIDES = [160, 320, 640, 1280, 2048]
const USUAL = 1.5 // the shape of a picture whose file cannot be read

/** The address of a thumbnail that is sharp at this many CSS pixels. */
export function thumbnail(one, pixels) {
  const needed = pixels * Math.min(devicePixelRatio || 1, 3)
  return `${one.thumbnail}&side=${SIDES.find(side => side >= needed * 0.9) || SIDES.at(-1)}`
}

/** The words of the query that a picture's caption holds. */
export function says(one) {
  return one?.evidence?.words || []
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
  constructor({ onOpen, onJudge }) {
    this.list = $('results')
    this.onOpen = onOpen
    this.onJudge = onJudge
    this.items = []
    this.cutoff = null
    this.judges = false
    this.active = 0
    this.tiles = new Map()
    this.list.addEventListener('keydown', event => this.key(event))
    this.list.addEventListener('focusin', event => {
      const tile = event.target.closest('.tile')
      if (tile) this.activate(this.items.findIndex(one => one.picture === Number(tile.dataset.picture)))
    })
    new ResizeObserver(() => this.layOut()).observe(this.list)
  }

  /** Show these pictures; those that were there before glide to their new places. */
  show(items, { cutoff = null, judges = false, glide = false, more = false } = {}) {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    const before = glide && !still ? this.places() : null
    this.items = items
    this.cutoff = cutoff
    this.judges = judges
    this.active = Math.min(this.active, Math.max(items.length - 1, 0))
    if (!glide && !more) this.active = 0
    const kept = new Map()
    const children = []
    for (const [number, one] of items.entries()) {
      if (number === cutoff) children.push(this.line())
      const tile = this.tiles.get(one.picture) || this.tile(one)
      // Thousands may be there already, and adding more must not touch them.
      if (!more || tile.shows !== one) this.update(tile, one, number)
      kept.set(one.picture, tile)
      children.push(tile)
    }
    if (cutoff !== null && cutoff === items.length && items.length) children.push(this.line())
    this.tiles = kept
    this.put(children)
    this.layOut()
    if (before) this.glide(before)
  }

  /** More pictures at the end leave those before them alone. */
  put(children) {
    const old = this.list.children
    let same = 0
    while (same < old.length && old[same] === children[same]) same += 1
    if (same === old.length) {
      this.list.append(...children.slice(same))
      return
    }
    const focused = document.activeElement
    this.list.replaceChildren(...children)
    if (focused && this.list.contains(focused)) focused.focus({ preventScroll: true })
  }

  tile(one) {
    const picture = el('img', { alt: '', loading: 'lazy', decoding: 'async', draggable: false })
    picture.addEventListener('error', () => tile.classList.add('gone'))
    picture.addEventListener('load', () => tile.classList.add('there'))
    const link = el('a', { class: 'open', tabindex: '-1' }, picture, el('span', { class: 'name' }))
    link.addEventListener('click', event => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return
      event.preventDefault()
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
    const tile = el('li', { class: 'tile' }, link,
      el('div', { class: 'verdicts' }, verdict(true), verdict(false)))
    tile.dataset.picture = one.picture
    return tile
  }

  update(tile, one, number) {
    tile.shows = one
    const link = tile.querySelector('.open')
    const asked = new URLSearchParams(location.search)
    asked.set('picture', one.picture)
    link.href = `/?${asked}`
    link.setAttribute('aria-label', label(one, number))
    tile.querySelector('.name').textContent = one.probability === null || one.probability === undefined
      ? (one.caption || one.path) : `${percent(one.probability)} · ${one.caption || one.path}`
    tile.querySelector('.verdicts').hidden = !this.judges
    const written = says(one)
    tile.classList.toggle('written', written.length > 0)
    tile.dataset.says = `caption: ${written.join(', ')}`
    tile.classList.toggle('said-yes', one.judged === true)
    tile.classList.toggle('said-no', one.judged === false)
    tile.querySelector('.yes').setAttribute('aria-pressed', String(one.judged === true))
    tile.querySelector('.no').setAttribute('aria-pressed', String(one.judged === false))
    this.setTab(tile, number === this.active)
  }

  line() {
    this.end ??= el('li', { class: 'line' }, el('span', {}, 'Good matches end here'))
    return this.end
  }

  layOut() {
    // clientWidth is rounded, and a row that is a hair too wide loses its last picture.
    const width = Math.floor(this.list.getBoundingClientRect().width)
    if (!width || !this.items.length) return
    const height = width < 500 ? 118 : width < 900 ? 168 : width < 1600 ? 208 : 240
    const gap = width < 500 ? 4 : 8
    const parts = this.cutoff === null
      ? [this.items]
      : [this.items.slice(0, this.cutoff), this.items.slice(this.cutoff)]
    for (const part of parts) {
      const sizes = rows(part.map(shape), width, height, gap)
      for (const [place, one] of part.entries()) {
        const tile = this.tiles.get(one.picture)
        const [wide, tall] = [`${sizes[place].width}px`, `${sizes[place].height}px`]
        if (tile.style.width === wide && tile.style.height === tall && tile.dataset.laid) continue
        Object.assign(tile.style, { width: wide, height: tall })
        tile.dataset.laid = 'yes'
        const picture = tile.querySelector('img')
        const address = thumbnail(one, Math.max(sizes[place].width, sizes[place].height))
        if (picture.getAttribute('src') !== address) picture.src = address
      }
    }
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
    this.setTab(this.tiles.get(this.items[number].picture), true)
  }

  setTab(tile, on) {
    for (const one of tile.querySelectorAll('.open, .verdicts button')) {
      one.setAttribute('tabindex', on ? '0' : '-1')
    }
  }

  focus(number) {
    const one = this.items[number]
    if (!one) return
    this.activate(number)
    const link = this.tiles.get(one.picture).querySelector('.open')
    link.focus({ preventScroll: true })
    link.scrollIntoView({ block: 'nearest' })
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
    } else if ((key === 'y' || key === 'n') && one && this.judges) {
      event.preventDefault()
      this.onJudge(one.picture, key === 'y')
    }
  }

  /** The nearest picture in the next row up or down. */
  beyond(direction) {
    const box = number => this.tiles.get(this.items[number].picture).getBoundingClientRect()
    const from = box(this.active)
    const middle = from.x + from.width / 2
    let best = this.active
    let row = null
    for (let n = this.active + direction; n >= 0 && n < this.items.length; n += direction) {
      const at = box(n)
      if (Math.abs(at.y - from.y) < 2) continue
      if (row !== null && Math.abs(at.y - row) > 2) break
      row = at.y
      const off = Math.abs(at.x + at.width / 2 - middle)
      const least = best === this.active ? Infinity
        : Math.abs(box(best).x + box(best).width / 2 - middle)
      if (off < least) best = n
    }
    return best
  }
}

function label(one, number) {
  const parts = [one.caption || one.path]
  if (one.score !== undefined) parts.push(`place ${counted(number + 1, '', '').trim()}`)
  if (one.probability !== null && one.probability !== undefined) parts.push(`${percent(one.probability)} likely`)
  if (says(one).length) parts.push(`its caption says ${says(one).join(', ')}`)
  if (one.judged === true) parts.push('marked yes')
  if (one.judged === false) parts.push('marked no')
  return parts.join(', ')
}
