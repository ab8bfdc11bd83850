// A picture that is zoomed and moved: by wheel, double click, two fingers, or buttons.

const MOST = 8
const STEP = 1.6
const SWIPE = 60 // pixels

export class Zoom {
  constructor(stage, mount, { onTurn, onScale }) {
    this.stage = stage
    this.mount = mount
    this.onTurn = onTurn
    this.onScale = onScale
    this.pointers = new Map()
    this.reset()
    stage.addEventListener('wheel', event => {
      event.preventDefault()
      this.by(Math.exp(-event.deltaY / 400), event)
    }, { passive: false })
    stage.addEventListener('dblclick', event => {
      if (!event.target.closest('button, a')) this.by(this.scale > 1 ? 1 / this.scale : 2.5, event)
    })
    stage.addEventListener('pointerdown', event => this.down(event))
    stage.addEventListener('pointermove', event => this.move(event))
    for (const name of ['pointerup', 'pointercancel']) stage.addEventListener(name, event => this.up(event))
  }

  reset() {
    this.scale = 1
    this.x = 0
    this.y = 0
    this.swiped = null
    this.apply()
  }

  larger() { this.by(STEP) }

  smaller() { this.by(1 / STEP) }

  /** Zoom so that what lies at a point stays there; at the middle where none is given. */
  by(factor, point = null) {
    const middle = this.middle()
    const [px, py] = point ? [point.clientX - middle.x, point.clientY - middle.y] : [0, 0]
    const scale = Math.min(Math.max(this.scale * factor, 1), MOST)
    const change = scale / this.scale
    this.x = px - (px - this.x) * change
    this.y = py - (py - this.y) * change
    this.scale = scale
    this.apply()
  }

  middle() {
    const box = this.stage.getBoundingClientRect()
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  }

  apply() {
    const room = side => Math.max(0, (this.mount[`offset${side}`] * this.scale - this.stage[`client${side}`]) / 2)
    this.x = Math.min(Math.max(this.x, -room('Width')), room('Width'))
    this.y = Math.min(Math.max(this.y, -room('Height')), room('Height'))
    this.mount.style.transform = this.scale === 1 ? '' : `translate(${this.x}px, ${this.y}px) scale(${this.scale})`
    this.stage.classList.toggle('zoomed', this.scale > 1)
    this.onScale(this.scale)
  }

  down(event) {
    if (event.target.closest('button, a')) return
    this.pointers.set(event.pointerId, event)
    this.stage.setPointerCapture(event.pointerId)
    this.swiped = this.pointers.size === 1 && event.pointerType === 'touch' && this.scale === 1 ? event.clientX : null
  }

  move(event) {
    const before = this.pointers.get(event.pointerId)
    if (!before) return
    const others = [...this.pointers.values()].filter(one => one !== before)
    this.pointers.set(event.pointerId, event)
    if (others.length) {
      const [other] = others
      const far = one => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY)
      const between = { clientX: (event.clientX + other.clientX) / 2, clientY: (event.clientY + other.clientY) / 2 }
      this.by(far(event) / Math.max(far(before), 1), between)
    } else if (this.scale > 1) {
      this.x += event.clientX - before.clientX
      this.y += event.clientY - before.clientY
      this.apply()
    }
  }

  up(event) {
    this.pointers.delete(event.pointerId)
    if (this.swiped === null || event.type === 'pointercancel') return
    const far = event.clientX - this.swiped
    this.swiped = null
    if (Math.abs(far) > SWIPE) this.onTurn(far < 0 ? 1 : -1)
  }
}
