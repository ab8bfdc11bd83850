// One picture, large: what to do with it, what it is called, whether it fits, and others like it.

import { $, el, icon, percent } from './dom.js'
import { get, isAnswering } from './api.js'
import { likelihood } from './answer.js'
import { CaptionEditor } from './captions.js'
import { Detail } from './detail.js'
import { at, shape, thumbnail } from './grid.js'
import { bar, Why } from './why.js'
import { Zoom } from './zoom.js'

const SHOWN = /\.(jpe?g|png|webp|gif|avif)$/i // what browsers show
const LARGEST = 2048 // pixels of the largest thumbnail

export class View {
  constructor({ feed, onLeave, onGo, onJudge, onUndo, onCaption, onAsk, onSimilar }) {
    this.feed = feed
    this.onJudge = onJudge
    this.onUndo = onUndo
    this.onSimilar = onSimilar
    this.go = onGo
    this.ask = onAsk
    this.leave = onLeave
    this.dialog = $('view')
    this.picture = null
    this.one = null
    this.img = el('img', { alt: '', decoding: 'async' })
    this.canvas = el('canvas', { hidden: true, 'aria-hidden': 'true' })
    this.mount = el('div', { class: 'mount' }, this.img, this.canvas)
    this.gone = el('p', { class: 'gone-text', role: 'status', hidden: true })
    this.stage = el('div', { class: 'stage' }, this.mount, this.gone)
    this.zoom = new Zoom(this.stage, this.mount, { onTurn: step => this.turn(step), onScale: scale => this.sharpen(scale) })
    this.title = el('h2', { id: 'view-title', tabindex: '-1' })
    this.where = el('p', { class: 'where' })
    this.location = el('code', { class: 'location' })
    this.copyButton = el('button', { type: 'button', class: 'quiet', onclick: () => this.copy() }, 'Copy path')
    this.editor = new CaptionEditor({ onSaved: onCaption })
    this.why = new Why(this.canvas)
    this.words = el('section', { class: 'says', hidden: true })
    this.alike = el('section', { class: 'alike', hidden: true })
    this.side = el('div', { class: 'side' },
      el('button', { type: 'button', class: 'close', 'aria-label': 'Close', onclick: onLeave }, icon('close')),
      this.title, this.where, el('p', { class: 'path' }, this.location, ' ', this.copyButton), this.question(),
      this.editor.form, this.why.section, this.words, this.alike)
    this.detail = new Detail(this.stage, this.mount, {
      onFramed: region => onSimilar(this.picture, region), onEnd: () => this.detailButton.focus(),
    })
    this.stage.append(this.tools(), ...this.turns())
    this.dialog.append(this.stage, this.side)
    this.dialog.addEventListener('cancel', event => { event.preventDefault(); this.escape() })
    this.dialog.addEventListener('keydown', event => this.key(event))
    this.img.addEventListener('load', () => { this.gone.hidden = true; this.mount.hidden = false })
    this.img.addEventListener('error', () => this.lost())
    this.stage.addEventListener('dragstart', event => event.preventDefault())
    addEventListener('resize', () => this.fit())
    document.addEventListener('fullscreenchange', () => { if (!document.fullscreenElement) this.fill(false) })
  }

  /** What can be done with a picture. */
  tools() {
    const tool = (name, label, run) => el('button', { type: 'button', 'aria-label': label, title: label, onclick: run }, icon(name))
    const link = (name, label, given) => el('a', { 'aria-label': label, title: label, ...given }, icon(name))
    this.fullButton = tool('full', 'Full screen (f)', () => this.fill(!this.dialog.classList.contains('bare')))
    this.detailButton = tool('detail', 'Search by a detail (d)', () => this.detail.begin())
    this.original = link('original', 'Open the original file', { target: '_blank', rel: 'noopener' })
    this.download = link('download', 'Download the original file', { download: '' })
    return el('div', { class: 'tools', role: 'group', 'aria-label': 'Picture' },
      tool('larger', 'Zoom in (+)', () => this.zoom.larger()), tool('smaller', 'Zoom out (-)', () => this.zoom.smaller()),
      this.fullButton, this.original, this.download,
      tool('similar', 'Find similar pictures (s)', () => this.onSimilar(this.picture)), this.detailButton)
  }

  turns() {
    const turn = (name, step, key) => el('button', {
      type: 'button', class: `turn ${name}`, 'aria-label': step < 0 ? 'Previous picture' : 'Next picture',
      title: key, onclick: () => this.turn(step),
    }, icon(name))
    this.before = turn('left', -1, '←')
    this.after = turn('right', 1, '→')
    return [this.before, this.after]
  }

  question() {
    const say = relevant => el('button', {
      type: 'button', class: relevant ? 'say yes' : 'say no', 'aria-pressed': 'false',
      onclick: () => this.onJudge(this.picture, relevant),
    }, icon(relevant ? 'yes' : 'no'), relevant ? 'Yes' : 'No')
    this.yes = say(true)
    this.no = say(false)
    this.asks = el('p', { id: 'question' })
    this.verdicts = el('section', { class: 'judge' }, this.asks,
      el('div', { class: 'row', role: 'group', 'aria-labelledby': 'question' }, this.yes, this.no))
    return this.verdicts
  }

  async show(picture) {
    const isSame = this.picture === picture && this.dialog.open
    this.picture = picture
    if (!this.dialog.open) {
      this.dialog.showModal()
      this.title.focus()
      document.documentElement.classList.add('viewing')
    }
    if (isSame) return this.refresh()
    const known = this.feed.of(picture)
    if (known) this.begin(known)
    this.alike.hidden = true
    this.words.hidden = true
    let found
    try {
      found = await get(`/pictures/${picture}`)
    } catch (error) {
      if (this.picture === picture && !known) {
        this.title.textContent = error.kind === 'silent' ? 'visterm has stopped' : 'No such picture'
        this.where.textContent = error.message
      }
      return undefined
    }
    if (this.picture !== picture) return undefined
    if (!known) this.begin(found)
    this.editor.show(picture, found.captions)
    this.where.textContent = where({ ...found, frame_time: known?.frame_time ?? found.frame_time })
    this.location.textContent = found.location
    this.refresh()
    this.why.load(picture, this.feed.query, ratio(found))
    this.describe(picture)
    this.likeThis(picture)
    return undefined
  }

  hide() {
    if (!this.dialog.open) return
    this.detail.end()
    this.picture = null
    this.fill(false)
    document.documentElement.classList.remove('viewing')
    this.dialog.close()
  }

  begin(one) {
    this.one = one
    this.detail.end()
    this.zoom.reset()
    this.title.textContent = one.path.split('/').at(-1)
    this.where.textContent = where(one)
    this.location.textContent = ''
    this.original.href = `/api/v1/pictures/${one.picture}/original`
    this.download.href = `/api/v1/pictures/${one.picture}/original?download=true`
    this.img.alt = one.caption || 'no caption yet'
    this.mount.hidden = false
    this.gone.hidden = true
    this.img.removeAttribute('src')
    this.fit()
    this.load()
    this.editor.show(one.picture, one.caption ? { person: one.caption } : {})
  }

  load() {
    this.img.src = thumbnail(this.one, Math.max(this.mount.clientWidth, this.mount.clientHeight))
  }

  /** What is zoomed into is fetched in as many pixels as are seen. */
  sharpen(scale) {
    if (scale < 1.2 || !this.one) return
    const pixels = Math.max(this.mount.clientWidth, this.mount.clientHeight) * scale
    const largest = Math.max(this.one.width || 0, this.one.height || 0)
    const isOriginal = pixels > LARGEST && largest > LARGEST && SHOWN.test(this.one.path)
    const address = isOriginal ? this.original.getAttribute('href') : thumbnail(this.one, pixels)
    if (this.img.getAttribute('src') === address || address === this.coming) return
    this.coming = address
    const { picture } = this
    const sharper = new Image()
    sharper.onload = () => { if (this.picture === picture && this.coming === address) this.img.src = address }
    sharper.src = address
  }

  /** A picture that does not come: its file has gone, or the server has. */
  async lost() {
    const { picture } = this
    const isThere = await isAnswering()
    if (this.picture !== picture) return
    this.mount.hidden = true
    this.gone.hidden = false
    this.isWaiting = !isThere
    this.gone.textContent = isThere
      ? 'This file cannot be read now. If it was moved, look for new pictures.'
      : 'visterm has stopped. Your picture is safe; start visterm serve again to see it.'
  }

  /** The server is back: what it did not send is asked for again. */
  comeBack() {
    if (!this.isWaiting || !this.one) return
    this.isWaiting = false
    this.load()
  }

  /** What clicks may have changed. */
  refresh() {
    const one = this.feed.of(this.picture)
    this.verdicts.hidden = !this.feed.judges
    this.asks.replaceChildren('Does it fit ', el('em', {}, this.feed.query || ''), '?')
    if (likelihood(one)) this.asks.append(el('span', { class: 'probability' }, ` ${likelihood(one)}`))
    this.yes.setAttribute('aria-pressed', String(one?.judged === true))
    this.no.setAttribute('aria-pressed', String(one?.judged === false))
    this.before.disabled = this.feed.beside(this.picture, -1) === null
    this.after.disabled = this.feed.beside(this.picture, 1) === null
    this.list()
    // A button that was just disabled has let go of the focus, and keys would go nowhere.
    if (!this.dialog.contains(document.activeElement)) this.title.focus()
  }

  async describe(picture) {
    const found = await get(`/pictures/${picture}/words`, { k: 8 }).catch(() => null)
    if (this.picture !== picture) return
    this.described = found?.words.filter(one => one.probability > 0) || []
    this.list()
  }

  /** What is seen besides what was asked for: of that, the question above says how likely it is. */
  list() {
    const asked = new Set(this.feed.query.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [])
    const others = (this.described || []).filter(one => !asked.has(one.word))
    this.words.hidden = !others.length
    this.words.replaceChildren(el('h3', {}, asked.size ? 'What else visterm sees' : 'What visterm sees'), el('ul', { class: 'shares' },
      others.map(one => el('li', {}, el('a', {
        class: 'share', href: `/?q=${encodeURIComponent(one.word)}`,
        onclick: event => { event.preventDefault(); this.ask(one.word) },
      }, el('span', {}, one.word), bar(one.probability), el('span', { class: 'number' }, percent(one.probability)))))))
  }

  async likeThis(picture) {
    const found = await get(`/pictures/${picture}/similar`, { k: 9 }).catch(() => null)
    if (!found?.results.length || this.picture !== picture) return
    this.alike.replaceChildren(el('h3', {}, 'More like this'), el('ul', { class: 'strip' },
      found.results.map(one => {
        const img = el('img', { src: thumbnail(one, 96), alt: one.caption || one.path, loading: 'lazy' })
        const link = el('a', {
          href: `/?picture=${one.picture}`,
          onclick: event => { event.preventDefault(); this.go(one.picture) },
        }, img)
        link.style.aspectRatio = String(shape(one))
        return el('li', {}, link)
      })))
    this.alike.hidden = false
  }

  turn(step) {
    const next = this.feed.beside(this.picture, step)
    if (next !== null) this.go(next, { replace: true })
  }

  /** The picture alone, on the whole screen where the browser allows it. */
  fill(isBare) {
    this.dialog.classList.toggle('bare', isBare)
    this.fullButton.setAttribute('aria-pressed', String(isBare))
    if (isBare) {
      this.fullButton.focus() // the title, which may have had it, is hidden now
      this.stage.requestFullscreen?.().catch(() => {}) // not a dialog, which browsers refuse
    } else if (document.fullscreenElement) {
      document.exitFullscreen().catch(() => {})
    }
    this.zoom.reset()
    this.fit()
  }

  escape() {
    if (this.detail.isOn) this.detail.end()
    else if (this.dialog.classList.contains('bare')) this.fill(false)
    else this.leave()
  }

  async copy() {
    let isCopied = true
    try {
      await navigator.clipboard.writeText(this.location.textContent)
    } catch { // pages from other machines without https have no clipboard
      getSelection().selectAllChildren(this.location)
      isCopied = document.execCommand('copy')
    }
    this.copyButton.textContent = isCopied ? 'Copied ✓' : 'Select it and copy'
    setTimeout(() => { this.copyButton.textContent = 'Copy path' }, 2500)
  }

  /** As large as there is room for; a small picture is enlarged a little, not blown up. */
  fit() {
    if (!this.one || !this.dialog.open) return
    const style = getComputedStyle(this.stage)
    const room = {
      width: this.stage.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight),
      height: this.stage.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom),
    }
    const most = (this.one.width || 640) * 5
    const width = Math.max(Math.min(room.width, room.height * ratio(this.one), most), 48)
    this.mount.style.width = `${Math.floor(width)}px`
    this.mount.style.height = `${Math.floor(width / ratio(this.one))}px`
    this.zoom.apply()
  }

  key(event) {
    if (/^(TEXTAREA|INPUT)$/.test(event.target.tagName)) return
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const acts = {
      arrowleft: () => this.turn(-1),
      arrowright: () => this.turn(1),
      y: () => this.feed.judges && this.onJudge(this.picture, true),
      n: () => this.feed.judges && this.onJudge(this.picture, false),
      u: () => this.onUndo(),
      w: () => this.why.toggle(),
      e: () => this.editor.field.focus(),
      f: () => this.fill(!this.dialog.classList.contains('bare')),
      s: () => this.onSimilar(this.picture),
      d: () => this.detail.begin(),
      '+': () => this.zoom.larger(),
      '-': () => this.zoom.smaller(),
      0: () => this.zoom.reset(),
    }
    const act = acts[event.key.toLowerCase()]
    if (act) {
      event.preventDefault()
      event.stopPropagation()
      act()
    }
  }
}

function ratio(one) {
  return one.width && one.height ? one.width / one.height : 1.5
}

/** The folder, when and where it was taken, and where else the same content lies. */
function where(one) {
  const frame = at(one) ? [`video, ${at(one)}`] : []
  const folder = one.path.includes('/') ? [`in ${one.path.replace(/\/[^/]*$/, '')}`] : []
  const also = one.also?.length ? [`also ${one.also.join(', ')}`] : []
  const sure = { name: ' (by its name)', file: ' (its file’s time)' }[one.taken_from] || ''
  const taken = one.taken ? [`${one.taken.replace('T', ' ')}${sure}`] : []
  const position = one.latitude === null || one.latitude === undefined
    ? [] : [`at ${one.latitude.toFixed(4)}, ${one.longitude.toFixed(4)}`]
  return [...frame, ...folder, ...taken, ...position, ...also].join(' · ')
}
