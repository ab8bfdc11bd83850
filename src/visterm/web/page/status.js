// How things stand, and work in the background: looking for pictures, learning from captions.

import { $, announce, counted, el, percent, toast } from './dom.js'
import { events, get, send } from './api.js'

const LOOK = 4000
const FILL = 700
const DOING = { train: 'Learning', add: 'Looking for pictures', duplicates: 'Looking for near-duplicates' }

export class Status {
  constructor({ onDone, onMore, onDuplicates }) {
    this.onDone = onDone
    this.onMore = onMore
    this.onDuplicates = onDuplicates
    this.filled = 0
    this.now = null
    this.job = null
    this.panel = $('panel')
    this.body = el('div')
    this.panel.append(this.body)
    $('status').addEventListener('click', () => this.open())
    this.panel.addEventListener('close', () => $('status').setAttribute('aria-expanded', 'false'))
    setInterval(() => { if (!document.hidden) this.look().catch(() => {}) }, LOOK)
    this.panel.addEventListener('click', event => { if (event.target === this.panel) this.panel.close() })
  }

  async load() {
    this.now = await get('/status')
    if (this.now.job?.state === 'running') this.watch()
    else this.seen ??= this.now.job?.id
    this.draw()
    return this.now
  }

  /** Jobs that the server began by itself: it watches the folder. */
  async look() {
    if (this.stream || !this.now) return
    const { job } = await get('/train')
    if (!job || job.id === this.seen) return
    if (job.state === 'running') {
      this.watch()
    } else {
      this.seen = job.id
      await this.load()
      this.onDone(job)
    }
  }

  open() {
    this.load().catch(() => {})
    $('status').setAttribute('aria-expanded', 'true')
    this.draw()
    this.panel.showModal()
  }

  async start(kind) {
    try {
      this.job = await send('POST', '/train', { kind })
      this.watch()
    } catch (error) {
      toast(error.message)
    }
    this.draw()
  }

  watch() {
    if (this.stream) return
    this.stream = events('/train/events')
    this.stream.addEventListener('job', event => this.hear(JSON.parse(event.data)))
    this.stream.addEventListener('end', () => this.stopWatching())
    this.stream.onerror = () => {
      // A server that was restarted knows nothing of the job; then there is nothing to wait for.
      if (this.stream?.readyState === EventSource.CLOSED) this.stopWatching()
    }
  }

  stopWatching() {
    this.stream?.close()
    this.stream = null
  }

  hear(job) {
    this.job = job
    this.seen = job.id
    if (job.state !== 'running') {
      this.stopWatching()
      this.job = null
      this.finished(job)
    } else if (job.kind === 'add' && job.done) {
      this.fillUp()
    }
    this.draw()
  }

  /** Pictures that are being added are shown as they come, not only in the end. */
  fillUp() {
    if (Date.now() - this.filled < FILL) return
    this.filled = Date.now()
    this.load().then(() => this.onMore()).catch(() => {})
  }

  async finished(job) {
    const said = outcome(job)
    toast(said)
    announce(said)
    await this.load().catch(() => {})
    this.onDone(job)
  }

  draw() {
    const { now, job } = this
    const running = job?.state === 'running' ? job : null
    const share = running && running.total ? running.done / running.total : 0
    const bar = $('job-bar')
    bar.hidden = !running
    bar.firstElementChild.style.width = `${Math.round(100 * share)}%`
    const text = running
      ? `${DOING[running.kind]} ${running.total ? percent(share) : '…'}`
      : now ? counted(now.pictures, 'picture') : '…'
    if ($('status-text').textContent !== text) $('status-text').textContent = text
    if (now) this.fill(this.lines(now, running, share))
  }

  /** Draw the panel anew without taking the focus from whoever is on a button of it. */
  fill(lines) {
    const held = this.body.contains(document.activeElement) ? document.activeElement.textContent : null
    this.body.replaceChildren(...lines)
    if (held === null) return
    const buttons = [...this.body.querySelectorAll('button:not(:disabled)')]
    const same = buttons.find(one => one.textContent === held) || buttons[0]
    same?.focus()
  }

  lines(now, running, share) {
    const { model } = now
    const learnt = model?.learnt_from > 0
    const facts = [
      ['Pictures', now.pictures.toLocaleString('en')],
      ['With captions', now.captioned.toLocaleString('en')],
      now.names === 'none' ? null : ['Names searched', now.names === 'both' ? 'files and folders' : now.names],
      now.skipped ? ['Unreadable files', now.skipped.toLocaleString('en')] : null,
      ['Words it knows', model ? model.words.toLocaleString('en') : 'none yet'],
      model && model.avgp !== null ? ['Ranking quality', `${percent(model.avgp)} on pictures it was not trained on`] : null,
      ['Your answers', now.judgements.toLocaleString('en')],
    ]
    const button = (text, run, given = {}) => el('button', { type: 'button', onclick: run, ...given }, text)
    const buttons = running
      ? [button('Stop', () => send('DELETE', '/train').catch(error => toast(error.message)))]
      : [
        button(learnt ? 'Learn again' : 'Learn from captions', () => this.start('train'),
          { class: 'primary', disabled: !now.captioned || !now.writable }),
        button('Look for new pictures', () => this.start('add'), { disabled: !now.writable }),
        button('Near-duplicates', () => { this.panel.close(); this.onDuplicates() }),
        now.judgements ? button('Take back all answers', event => this.forget(now.judgements, event.target)) : null,
      ]
    return [
      el('div', { class: 'panel-head' }, el('h2', { id: 'panel-title' }, now.name),
        button('Close', () => this.panel.close(), { class: 'quiet' })),
      el('dl', { class: 'facts' }, facts.filter(Boolean).map(([name, value]) => el(
        'div', {}, el('dt', {}, name), el('dd', {}, value)))),
      running ? el('div', { class: 'working' },
        el('p', {}, running.what ? `${running.what[0].toUpperCase()}${running.what.slice(1)}` : 'Starting …'),
        el('progress', { max: running.total || 1, value: running.done, 'aria-label': DOING[running.kind] },
          percent(share))) : null,
      now.writable ? null : el('p', { class: 'quiet-text' }, 'This collection is read-only.'),
      el('div', { class: 'row' }, buttons.filter(Boolean)),
      el('p', { class: 'quiet-text foot' }, `visterm ${now.version}`),
    ].filter(Boolean)
  }

  /** Ask by the button itself: the second press takes all answers back. */
  async forget(count, button) {
    if (button.dataset.asked !== 'true') {
      button.dataset.asked = 'true'
      button.textContent = `Really take back ${counted(count, 'answer')}?`
      return
    }
    try {
      await send('DELETE', '/feedback')
      toast('All answers are taken back')
      await this.load()
      this.onDone({ kind: 'feedback' })
    } catch (error) {
      toast(error.message)
    }
  }
}

function outcome(job) {
  if (job.state === 'stopped') return 'Stopped; what was done so far is kept'
  if (job.state === 'failed') return job.error
  if (job.kind === 'duplicates') return `${counted(job.result?.groups || 0, 'group')} of near-duplicates`
  if (job.kind === 'add') {
    const { new: fresh = 0, vanished = 0 } = job.result || {}
    return fresh || vanished
      ? `${counted(fresh, 'new picture')}${vanished ? `, ${vanished} gone` : ''}` : 'No new pictures'
  }
  const { words, pictures, avgp, kept } = job.result || {}
  if (kept === 'previous') return 'What was learnt is no better than before, so nothing changed'
  const how = avgp === null || avgp === undefined ? '' : `; ranking quality ${percent(avgp)} on pictures it was not trained on`
  return `Learnt ${counted(words, 'word')} from ${counted(pictures, 'picture')}${how}`
}
