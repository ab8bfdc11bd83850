// Why a picture was found: its places lit by what they add to the score.

import { el } from './dom.js'
import { get } from './api.js'
import { said } from './evidence.js'

const SHADOW = [12, 14, 20]
const AGAINST = [150, 30, 30]
const DARK = 0.78

/**
 * Draw what places add: the most is left clear, nothing lies in shadow, what counts against is red.
 * Outside the box, which the places fill, nothing is added.
 */
export function shade(canvas, places, [left, top, right, bottom], ratio) {
  const tall = places.length
  const wide = places[0]?.length || 0
  if (!tall || !wide) return
  const most = Math.max(...places.flat().map(Math.abs), Number.MIN_VALUE)
  const small = new OffscreenCanvas(wide, tall)
  const pen = small.getContext('2d')
  const drawn = pen.createImageData(wide, tall)
  for (const [number, value] of places.flat().entries()) {
    const share = value / most
    const dark = share < 0 ? 0.55 + 0.25 * -share : DARK * (1 - share) ** 0.9
    drawn.data.set([...(share < 0 ? AGAINST : SHADOW), Math.round(255 * dark)], 4 * number)
  }
  pen.putImageData(drawn, 0, 0)
  canvas.width = 640
  canvas.height = Math.round(640 / ratio)
  const brush = canvas.getContext('2d')
  brush.fillStyle = `rgb(${SHADOW} / ${DARK})`.replaceAll(',', ' ')
  brush.fillRect(0, 0, canvas.width, canvas.height)
  const x = Math.round(left * canvas.width)
  const y = Math.round(top * canvas.height)
  const across = Math.round(right * canvas.width) - x
  const down = Math.round(bottom * canvas.height) - y
  brush.clearRect(x, y, across, down)
  brush.imageSmoothingEnabled = true
  brush.imageSmoothingQuality = 'high'
  brush.drawImage(small, x, y, across, down)
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
    const written = said(found?.evidence, word => `“${word}”`)
    if (!found || !(found.words.length || written)) return
    const heading = [el('h3', {}, 'Why it was found')]
    if (written) heading.push(el('p', { class: 'written' }, `${written[0].toUpperCase()}${written.slice(1)}.`))
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
        'aria-label': `${one.word}: ${one.total.toFixed(2)} of ${found.score.toFixed(2)}; show where`,
        onclick: () => this.only(one),
      }, el('span', {}, signed(one)), bar(one.total / all), el('span', { class: 'number' }, one.total.toFixed(2)))))),
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
