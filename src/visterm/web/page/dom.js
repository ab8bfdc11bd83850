// Small tools to build and speak: elements without markup in strings, icons, toasts.

const DRAWN = {
  yes: 'm4.5 10.5 3.7 3.7 7.3-8',
  no: 'm5.5 5.5 9 9M14.5 5.5l-9 9',
  left: 'm12.5 4-6 6 6 6',
  right: 'm7.5 4 6 6-6 6',
  close: 'm5 5 10 10M15 5 5 15',
  similar: 'M3 6h10v10H3zM7 6V3h10v10h-4',
  detail: 'M3 7V4h4M13 4h4v3M17 13v3h-4M7 16H3v-3M7.5 8h5v4h-5z',
  picture: 'M3 4h14v12H3zm0 9 4-4 4 4 2-2 4 4M13 8h.01',
  folder: 'M3 5h5l2 2h7v9H3z',
  place: 'M10 17s5-5 5-9a5 5 0 0 0-10 0c0 4 5 9 5 9zm0-8h.01',
  larger: 'M9 3a6 6 0 1 1 0 12A6 6 0 0 1 9 3zm4.5 10.5L17 17M6.5 9h5M9 6.5v5',
  smaller: 'M9 3a6 6 0 1 1 0 12A6 6 0 0 1 9 3zm4.5 10.5L17 17M6.5 9h5',
  full: 'M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4',
  original: 'M8 4H4v12h12v-4M11 3h6v6M17 3l-8 8',
  download: 'M10 3v10m-4-4 4 4 4-4M4 17h12',
}

/**
 * An element: el('p', {class: 'quiet', onclick: f}, 'text', other).
 * @returns {any}
 */
export function el(tag, given = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value)
    else if (name in made && !name.includes('-') && name !== 'list') made[name] = value
    else made.setAttribute(name === 'class' ? 'class' : name, value === true ? '' : value)
  }
  made.append(...children.flat().filter(child => child !== null && child !== undefined))
  return made
}

export function icon(name) {
  const space = 'http://www.w3.org/2000/svg'
  const svg = document.createElementNS(space, 'svg')
  svg.setAttribute('viewBox', '0 0 20 20')
  svg.setAttribute('aria-hidden', 'true')
  const path = document.createElementNS(space, 'path')
  path.setAttribute('d', DRAWN[name])
  svg.append(path)
  return svg
}

/** @type {(id: string) => any} */
export const $ = id => document.getElementById(id)

/** What is said must stand in the open dialog: everything outside it is hidden and mute. */
function takePlace() {
  const home = [...document.querySelectorAll('dialog[open]')].at(-1) || document.body
  if ($('said').parentNode !== home) home.append($('toasts'), $('said'))
}

for (const dialog of document.querySelectorAll('dialog')) dialog.addEventListener('close', takePlace)

/** Say something to those who cannot see it change. */
export function announce(text) {
  takePlace()
  $('said').textContent = text
}

/** A line that goes away by itself, with something one can still do about it. */
export function toast(text, action = null) {
  const line = el('p', { class: 'toast' }, text)
  if (action) {
    line.append(
      el('button', { type: 'button', onclick: () => { line.remove(); action.run() } }, action.name),
    )
  }
  takePlace()
  $('toasts').replaceChildren(line)
  const wait = action ? 8000 : 5000
  setTimeout(() => line.remove(), wait)
}

export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

/** Whole percents, rounded down: what is below 50 % never reads as 50 %. */
export function percent(share) {
  if (share > 0 && share < 0.01) return '< 1 %'
  if (share > 0.99 && share < 1) return '> 99 %'
  return `${Math.floor(100 * share + 1e-9)} %`
}

/** Whether fingers are used here, and no keys. */
export const isTouch = () => matchMedia('(hover: none)').matches

/** Whether letters typed now are meant for a field. */
export function isTyping(event) {
  const at = event.target
  return at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)
}
