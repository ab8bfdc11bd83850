// Pictures picked by a gesture: dragging with the mouse, or a long press and then dragging a finger.

const FAR = 8 // pixels that make a click a drag
const LONG = 450 // milliseconds that make a touch a long press
const LATE = 400 // milliseconds in which the click may come that belongs to the end of a touch

/** Tell of pictures picked in a list: `start` of the first, `extend` of each that is reached then. */
export function onPicking(list, { start, extend }) {
  let from = null
  let timer = 0
  let isPicking = false
  let justPicked = false

  const picture = target => {
    const tile = target instanceof Element ? target.closest('.tile') : null
    return tile instanceof HTMLElement ? Number(tile.dataset.picture) : null
  }
  const begin = () => {
    isPicking = true
    start(from.picture)
  }
  const end = () => {
    clearTimeout(timer)
    justPicked = isPicking
    isPicking = false
    from = null
    setTimeout(() => { justPicked = false }, LATE)
  }

  list.addEventListener('pointerdown', event => {
    justPicked = false
    const at = picture(event.target)
    if (at === null || event.button !== 0 || event.target.closest('button') || event.shiftKey) return
    from = { picture: at, x: event.clientX, y: event.clientY }
    if (event.pointerType === 'touch') timer = setTimeout(begin, LONG)
  })
  addEventListener('pointermove', event => {
    if (!from) return
    const isFar = Math.hypot(event.clientX - from.x, event.clientY - from.y) > FAR
    if (!isPicking && isFar && event.pointerType === 'touch') end()
    else if (!isPicking && isFar) begin()
    if (!isPicking) return
    const at = picture(document.elementFromPoint(event.clientX, event.clientY))
    if (at !== null) extend(at)
  })
  addEventListener('pointerup', end)
  addEventListener('pointercancel', end)
  // A finger that picks does not scroll, and what ends a pick is no click.
  list.addEventListener('touchmove', event => { if (isPicking) event.preventDefault() }, { passive: false })
  list.addEventListener('dragstart', event => event.preventDefault())
  list.addEventListener('contextmenu', event => { if (from || isPicking) event.preventDefault() })
  list.addEventListener('click', event => {
    if (!justPicked) return
    event.preventDefault()
    event.stopPropagation()
  }, { capture: true })
}
