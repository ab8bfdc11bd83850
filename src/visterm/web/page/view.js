// One picture, large: its words, its caption, why it was found, and others like it.

import { $, el, icon, percent, toast } from './dom.js'
import { get } from './api.js'
import { CaptionEditor } from './captions.js'
import { said } from './evidence.js'
import { at, shape, thumbnail } from './grid.js'
import { bar, Why } from './why.js'

export class View {
  constructor({ feed, onLeave, onGo, onJudge, onUndo, onCaption, onAsk }) {
    this.feed = feed
    this.dialog = $('view')
    this.picture = null
    this.go = onGo
    this.ask = onAsk
    this.img = el('img', { alt: '', decoding: 'async' })
    this.canvas = el('canvas', { hidden: true, 'aria-hidden': 'true' })
    this.mount = el('div', { class: 'mount' }, this.img, this.canvas)
    this.stage = el('div', { class: 'stage' }, this.mount)
    this.gone = el('p', { class: 'gone-text', hidden: true })
    this.stage.append(this.gone)
    this.title = el('h2', { id: 'view-title', tabindex: '-1' })
    this.where = el('p', { class: 'where' })
    this.location = el('button', {
      type: 'button', class: 'location', title: 'Copy where the file lies',
      onclick: () => navigator.clipboard?.writeText(this.location.textContent).then(() => toast('Copied')),
    })
    this.editor = new CaptionEditor({ onSaved: onCaption })
    this.why = new Why(this.canvas)
    this.words = el('section', { class: 'says', hidden: true })
    this.alike = el('section', { class: 'alike', hidden: true })
    const say = relevant => el('button', {
      type: 'button', class: relevant ? 'say yes' : 'say no', 'aria-pressed': 'false',
      onclick: () => onJudge(this.picture, relevant),
    }, icon(relevant ? 'yes' : 'no'), relevant ? 'Yes' : 'No')
    this.yes = say(true)
    this.no = say(false)
    this.question = el('p', { id: 'question' })
    this.verdicts = el('section', { class: 'judge' }, this.question,
      el('div', { class: 'row', role: 'group', 'aria-labelledby': 'question' }, this.yes, this.no))
    const turn = (name, step, key) => el('button', {
      type: 'button', class: `turn ${name}`, 'aria-label': step < 0 ? 'Picture before' : 'Next picture',
      title: key, onclick: () => this.turn(step),
    }, icon(name))
    this.before = turn('left', -1, '←')
    this.after = turn('right', 1, '→')
    this.stage.append(this.before, this.after)
    this.dialog.append(
      this.stage,
      el('div', { class: 'side' },
        el('button', { type: 'button', class: 'close', 'aria-label': 'Close', onclick: onLeave }, icon('close')),
        this.title, this.where, this.location, this.verdicts, this.editor.form, this.why.section, this.words, this.alike),
    )
    this.dialog.addEventListener('cancel', event => { event.preventDefault(); onLeave() })
    this.dialog.addEventListener('keydown', event => this.key(event, onJudge, onUndo))
    this.img.addEventListener('load', () => { this.gone.hidden = true; this.mount.hidden = false })
    this.img.addEventListener('error', () => {
      this.mount.hidden = true
      this.gone.hidden = false
      this.gone.textContent = 'This picture’s file cannot be read any more. It may have been moved: look for new pictures.'
    })
    addEventListener('resize', () => this.fit())
    swipe(this.stage, step => this.turn(step))
  }

  async show(picture) {
    const again = this.picture === picture && this.dialog.open
    this.picture = picture
    if (!this.dialog.open) {
      this.dialog.showModal()
      this.title.focus()
      document.documentElement.classList.add('viewing')
    }
    if (again) return this.refresh()
    const known = this.feed.of(picture)
    if (known) this.begin(known)
    this.alike.hidden = true
    this.words.hidden = true
    let found
    try {
      found = await get(`/pictures/${picture}`)
    } catch (error) {
      if (this.picture !== picture) return
      this.title.textContent = 'No such picture'
      this.where.textContent = error.message
      return
    }
    if (this.picture !== picture) return
    if (!known) this.begin(found)
    this.editor.show(picture, found.captions)
    this.where.textContent = where({ ...found, frame_time: known?.frame_time ?? found.frame_time })
    this.location.textContent = found.location
    this.refresh()
    this.why.load(picture, this.feed.query, found.width && found.height ? found.width / found.height : 1.5)
    this.describe(picture)
    this.likeThis(picture)
  }

  hide() {
    if (!this.dialog.open) return
    this.picture = null
    document.documentElement.classList.remove('viewing')
    this.dialog.close()
  }

  begin(one) {
    this.one = one
    this.title.textContent = one.path.split('/').at(-1)
    this.where.textContent = where(one)
    this.img.alt = one.caption || 'no caption yet'
    this.mount.hidden = false
    this.gone.hidden = true
    this.img.removeAttribute('src')
    this.fit()
    const longer = Math.max(this.mount.clientWidth, this.mount.clientHeight)
    this.img.src = thumbnail(one, longer)
    this.editor.show(one.picture, one.caption ? { person: one.caption } : {})
  }

  /** What clicks may have changed. */
  refresh() {
    const one = this.feed.of(this.picture)
    this.verdicts.hidden = !this.feed.searches
    this.question.replaceChildren('Does it fit ', el('em', {}, this.feed.query || ''), '?')
    if (one?.probability !== null && one?.probability !== undefined) {
      this.question.append(el('span', { class: 'probability' }, ` ${percent(one.probability)} likely`))
    }
    const written = said(one?.evidence, word => `“${word}”`)
    if (written) this.question.append(el('span', { class: 'reason' }, `: ${written}`))
    this.yes.setAttribute('aria-pressed', String(one?.judged === true))
    this.no.setAttribute('aria-pressed', String(one?.judged === false))
    this.before.disabled = this.feed.beside(this.picture, -1) === null
    this.after.disabled = this.feed.beside(this.picture, 1) === null
    // A button that was just disabled has let go of the focus, and keys would go nowhere.
    if (!this.dialog.contains(document.activeElement)) this.title.focus()
  }

  async describe(picture) {
    const found = await get(`/pictures/${picture}/words`, { k: 8 }).catch(() => null)
    if (!found?.words.length || this.picture !== picture) return
    const seen = found.words.filter(one => (one.probability ?? one.score) > 0)
    const most = Math.max(...seen.map(one => one.score), 1e-9)
    this.words.replaceChildren(el('h3', {}, 'What visterm sees'), el('ul', { class: 'shares' },
      seen.map(one => el('li', {}, el('a', {
        class: 'share', href: `/?q=${encodeURIComponent(one.word)}`,
        onclick: event => { event.preventDefault(); this.ask(one.word) },
      }, el('span', {}, one.word), bar((one.probability ?? one.score) / (one.probability === null ? most : 1)),
      el('span', { class: 'number' }, one.probability === null ? one.score.toFixed(2) : percent(one.probability)))))))
    this.words.hidden = false
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

  /** As large as there is room for; a small picture is enlarged a little, not blown up. */
  fit() {
    if (!this.one || !this.dialog.open) return
    const ratio = this.one.width && this.one.height ? this.one.width / this.one.height : 1.5
    const style = getComputedStyle(this.stage)
    const room = {
      width: this.stage.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight),
      height: this.stage.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom),
    }
    const most = (this.one.width || 640) * 5
    const width = Math.max(Math.min(room.width, room.height * ratio, most), 48)
    this.mount.style.width = `${Math.floor(width)}px`
    this.mount.style.height = `${Math.floor(width / ratio)}px`
  }

  key(event, onJudge, onUndo) {
    if (/^(TEXTAREA|INPUT)$/.test(event.target.tagName)) return
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const acts = {
      arrowleft: () => this.turn(-1),
      arrowright: () => this.turn(1),
      y: () => this.feed.searches && onJudge(this.picture, true),
      n: () => this.feed.searches && onJudge(this.picture, false),
      u: onUndo,
      w: () => this.why.toggle(),
      e: () => this.editor.field.focus(),
    }
    const act = acts[event.key.toLowerCase()]
    if (act) {
      event.preventDefault()
      event.stopPropagation()
      act()
    }
  }
}

/** The folder, and where else the same content lies. */
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

function swipe(area, turned) {
  let from = null
  area.addEventListener('pointerdown', event => {
    from = event.pointerType === 'touch' ? event.clientX : null
  })
  area.addEventListener('pointerup', event => {
    if (from === null) return
    const far = event.clientX - from
    from = null
    if (Math.abs(far) > 60) turned(far < 0 ? 1 : -1)
  })
}
