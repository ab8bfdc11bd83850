// A part of the open picture, framed with the mouse, a finger or keys, to search by.

import { el } from './dom.js'

const LEAST = 0.05 // of each side
const STEP = 0.04

export class Detail {
  constructor(stage, mount, { onFramed, onEnd }) {
    this.onEnd = onEnd
    this.frame = el('i')
    this.cover = el('div', { class: 'detail', hidden: true }, this.frame)
    this.done = el('button', {
      type: 'button', class: 'primary', onclick: () => { const region = this.region(); this.end(); onFramed(region) },
    }, 'Find pictures like this part')
    this.bar = el('div', { class: 'detail-bar', role: 'group', 'aria-label': 'Search by a detail', hidden: true },
      el('p', {}, 'Draw a frame around it; arrow keys move the frame, with Shift they change its size'),
      el('div', { class: 'row' }, this.done, el('button', { type: 'button', onclick: () => this.end() }, 'Cancel')))
    mount.append(this.cover)
    stage.append(this.bar)
    this.cover.addEventListener('pointerdown', event => this.down(event))
    this.cover.addEventListener('pointermove', event => { if (this.from) this.draw(this.from, this.at(event)) })
    for (const name of ['pointerup', 'pointercancel']) {
      this.cover.addEventListener(name, () => {
        this.from = null
        this.done.focus() // keys are heard in the bar
      })
    }
    this.cover.addEventListener('dblclick', event => event.stopPropagation())
    this.bar.addEventListener('keydown', event => this.key(event))
    this.bar.addEventListener('pointerdown', event => event.stopPropagation())
  }

  get isOn() {
    return !this.bar.hidden
  }

  begin() {
    this.cover.hidden = false
    this.bar.hidden = false
    this.from = null
    this.draw([0.3, 0.3], [0.7, 0.7])
    this.done.focus()
  }

  end() {
    if (!this.isOn) return
    this.cover.hidden = true
    this.bar.hidden = true
    this.onEnd()
  }

  /** Where a pointer is, as fractions of the picture, however it is zoomed. */
  at(event) {
    const box = this.cover.getBoundingClientRect()
    return [(event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height]
  }

  down(event) {
    event.stopPropagation() // it neither zooms nor turns the page
    this.cover.setPointerCapture(event.pointerId)
    this.from = this.at(event)
  }

  /** The frame between two corners, within the picture and not too small. */
  draw(one, other) {
    const side = n => {
      const low = Math.min(Math.max(Math.min(one[n], other[n]), 0), 1 - LEAST)
      return [low, Math.min(Math.max(one[n], other[n], low + LEAST), 1)]
    }
    const [[left, right], [top, bottom]] = [side(0), side(1)]
    this.corners = [left, top, right, bottom]
    const share = number => `${(100 * number).toFixed(2)}%`
    Object.assign(this.frame.style, { left: share(left), top: share(top), width: share(right - left), height: share(bottom - top) })
  }

  /** As the server wants it. */
  region() {
    return this.corners.map(corner => corner.toFixed(3)).join(',')
  }

  key(event) {
    event.stopPropagation() // keys mean the frame now, and not the picture
    const steps = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }
    if (event.key === 'Escape') {
      event.preventDefault()
      this.end()
    }
    if (!steps[event.key]) return
    event.preventDefault()
    const [left, top, right, bottom] = this.corners
    const within = (step, low, high) => (event.shiftKey ? step : Math.min(Math.max(step, -low), 1 - high))
    const [x, y] = [within(steps[event.key][0], left, right), within(steps[event.key][1], top, bottom)]
    if (event.shiftKey) this.draw([left, top], [Math.max(right + x, left + LEAST), Math.max(bottom + y, top + LEAST)])
    else this.draw([left + x, top + y], [right + x, bottom + y])
  }
}
