// Why a picture was found: its places lit by what they add to the score.

import { el } from './dom.js'
import { get } from './api.js'
import { written } from './answer.js'

const SHADOW = [12, 14, 20]
const AGAINST = [150, 30, 30]
const DARK = 0.78
const FINE = 96 // pixels of the longer side before it is enlarged
const FADE = 0.15 // how far beyond the places it fades, as a share of the picture

/**
 * Draw what places add: the most is left clear, nothing lies in shadow, what counts against is red.
 * It is drawn in few pixels and enlarged, so that no edge of a place, nor of the part of the picture
 * that the places fill, is seen; beyond that part it fades into shadow.
 */
export function shade(canvas, places, box, ratio) {
  if (!places.length || !places[0].length) return
  const most = Math.max(...places.flat().map(Math.abs), Number.MIN_VALUE)
  const [wide, tall] = ratio > 1 ? [FINE, Math.round(FINE / ratio)] : [Math.round(FINE * ratio), FINE]
  const small = new OffscreenCanvas(wide, tall)
  const pen = small.getContext('2d')
  const drawn = pen.createImageData(wide, tall)
  for (let y = 0; y < tall; y += 1) {
    for (let x = 0; x < wide; x += 1) {
      const share = between(places, box, (x + 0.5) / wide, (y + 0.5) / tall) / most
      const red = Math.max(0, -share)
      const colour = SHADOW.map((dark, n) => dark + (AGAINST[n] - dark) * red)
      drawn.data.set([...colour, Math.round(255 * DARK * (1 - Math.max(0, share)) ** 0.9)], 4 * (y * wide + x))
    }
  }
  pen.putImageData(drawn, 0, 0)
  canvas.width = 640
  canvas.height = Math.round(640 / ratio)
  const brush = canvas.getContext('2d')
  brush.imageSmoothingEnabled = true
  brush.imageSmoothingQuality = 'high'
  brush.drawImage(small, 0, 0, canvas.width, canvas.height)
}

/** What is added at a point of the picture, by the four places around it. */
function between(places, [left, top, right, bottom], x, y) {
  const along = (at, from, to, count) => {
    const exact = (at - from) / (to - from) * count - 0.5
    const kept = Math.min(Math.max(exact, 0), count - 1)
    const low = Math.min(Math.floor(kept), count - 1)
    return { low, high: Math.min(low + 1, count - 1), part: kept - low, beyond: Math.max(from - at, at - to, 0) }
  }
  const across = along(x, left, right, places[0].length)
  const down = along(y, top, bottom, places.length)
  const row = n => places[n][across.low] * (1 - across.part) + places[n][across.high] * across.part
  const value = row(down.low) * (1 - down.part) + row(down.high) * down.part
  return value * Math.max(0, 1 - (across.beyond + down.beyond) / FADE)
}

function sum(shares) {
  const [first, ...rest] = shares.map(one => one.places)
  return rest.reduce(
    (total, places) => total.map((row, y) => row.map((value, x) => value + places[y][x])), first)
}

export class Why {
  constructor(canvas) {
    this.canvas = canvas
    this.on = false
    this.found = null
    this.section = el('section', { class: 'why', hidden: true })
  }

  /** Ask, and list what each word adds; shading waits until somebody wants it. */
  async load(picture, query, ratio) {
    this.ratio = ratio
    this.section.hidden = true
    this.found = null
    this.hide()
    if (!query) return
    const found = await get(`/pictures/${picture}/why`, { query }).catch(() => null)
    const sentence = written(found?.evidence)
    if (!found || !(found.words.length || sentence)) return
    const heading = [el('h3', {}, 'Why it was found')]
    if (sentence) heading.push(el('p', { class: 'written' }, sentence))
    if (!found.words.length) {
      this.section.replaceChildren(...heading)
      this.section.hidden = false
      return
    }
    this.found = found
    const left = new Set(query.toLowerCase().match(/(?<=(^|\s)-)[^\s:]+/g))
    const signed = one => (left.has(one.word) ? `−${one.word}` : one.word)
    const all = Math.max(...found.words.map(one => Math.abs(one.total)), Number.MIN_VALUE)
    const toggle = el('button', {
      type: 'button', class: 'toggle', 'aria-pressed': 'false', onclick: () => this.toggle(),
    }, 'Show where')
    this.button = toggle
    this.section.replaceChildren(
      ...heading,
      el('ul', { class: 'shares' }, found.words.map(one => el('li', {}, el('button', {
        type: 'button', class: one.total < 0 ? 'share against' : 'share',
        title: `where “${one.word}” is seen`,
        'aria-label': `${one.word}: counts ${one.total < 0 ? 'against' : 'for'} it; show where`,
        onclick: () => this.only(one),
      }, el('span', {}, signed(one)), bar(one.total / all), el('span', { class: 'number' }, one.total < 0 ? 'against' : ''))))),
      toggle,
    )
    this.section.hidden = false
    if (this.wanted) this.toggle(true)
  }

  toggle(on = !this.on) {
    if (!this.found) {
      this.wanted = !this.wanted // it is drawn as soon as the answer is there
      return
    }
    this.wanted = on
    if (!on) return this.hide()
    this.draw(sum(this.found.words))
  }

  only(one) {
    this.wanted = true
    this.draw(one.places)
  }

  draw(places) {
    this.on = true
    shade(this.canvas, places, this.found.box, this.ratio)
    this.canvas.hidden = false
    this.button.setAttribute('aria-pressed', 'true')
    this.button.textContent = 'Hide where'
  }

  hide() {
    this.on = false
    this.canvas.hidden = true
    if (this.button) {
      this.button.setAttribute('aria-pressed', 'false')
      this.button.textContent = 'Show where'
    }
  }
}

export function bar(share) {
  const inner = el('i')
  inner.style.width = `${Math.min(100 * Math.abs(share), 100)}%`
  return el('span', { class: 'bar', 'aria-hidden': 'true' }, inner)
}
