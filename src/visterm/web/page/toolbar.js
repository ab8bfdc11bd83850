// One Tab stop for many controls: arrow keys go from one to the next, as in a toolbar.

import { isTouch } from './dom.js'

const CONTROLS = 'a[href], button, select'
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }

/** Controls in these elements, or the elements themselves, share one Tab stop, wherever they stand. */
export function oneTabStop(parts) {
  if (isTouch()) return // fingers need no stops, and rows that they scroll must hold some
  let current = null

  const controls = () => parts
    .flatMap(part => (part.matches(CONTROLS) ? [part] : [...part.querySelectorAll(CONTROLS)]))
    .filter(one => one.offsetParent !== null && !one.disabled)

  const settle = () => {
    const all = controls()
    if (!all.includes(current)) current = all[0] || null
    for (const one of all) {
      const index = one === current ? 0 : -1
      if (one.tabIndex !== index) one.tabIndex = index
    }
  }

  for (const part of parts) {
    part.addEventListener('focusin', event => {
      const control = event.target.closest(CONTROLS)
      if (control) current = control
      settle()
    })
    part.addEventListener('keydown', event => {
      // Up and down choose within a list of choices.
      const isList = event.target.tagName === 'SELECT' && /^Arrow(Up|Down)$/.test(event.key)
      const step = STEPS[event.key]
      if (!step || isList || event.ctrlKey || event.metaKey || event.altKey) return
      event.preventDefault()
      event.stopPropagation()
      const all = controls()
      all[(all.indexOf(current) + step + all.length) % all.length]?.focus()
    })
    new MutationObserver(settle).observe(part, { childList: true, subtree: true, attributeFilter: ['hidden', 'disabled'] })
  }
  addEventListener('resize', settle)
  settle()
}
