// Yes and no: shown at once, sent, learnt from, and taken back.

import { announce, counted, toast } from './dom.js'
import { get, send } from './api.js'

export const QUEUED = 'Saved; it counts when the background job is done'

export class Verdicts {
  constructor(feed, { onChange }) {
    this.feed = feed
    this.onChange = onChange
    this.line = Promise.resolve()
    this.waiting = 0
  }

  /** Say yes or no; saying the same twice takes it back. Answers are sent one after the other. */
  judge(picture, relevant) {
    const { query, judges } = this.feed
    if (!judges) return this.line
    const before = this.feed.of(picture)?.judged ?? null
    const after = before === relevant ? null : relevant
    this.feed.mark(picture, after)
    return this.next(
      () => (after === null ? this.takeBack(query, picture) : this.say(query, picture, after)),
      () => { this.feed.mark(picture, before); this.feed.marks.delete(picture) })
  }

  /** Take back the last thing that was said, of whatever kind. */
  undo() {
    return this.next(async () => {
      const undone = await send('DELETE', '/many')
      const what = undone.what?.replace(/'(.*)'/, '“$1”')
      const many = undone.changed > 1 ? ` of ${counted(undone.changed, 'picture')}` : ''
      return { text: undone.queued ? QUEUED : `Undone: ${what}${many}` }
    })
  }

  /** Do something after what was said before; the ranking is asked for again after the last. */
  next(act, onFailure = () => {}) {
    this.waiting += 1
    this.line = this.line.then(async () => {
      const done = await act()
      toast(done.text, done.action)
      if (this.waiting > 1 || done.isQueued) return
      this.feed.marks.clear()
      await this.feed.again()
      announce(`${done.text}.${done.isIdle ? '' : ' The order has changed.'}`)
      this.onChange()
    }).catch(error => { onFailure(); toast(error.message) }).finally(() => { this.waiting -= 1 })
    return this.line
  }

  async say(query, picture, relevant) {
    const made = await send('POST', '/feedback', { query, picture, relevant })
    if (made.queued) return { text: QUEUED, isQueued: true }
    const fits = relevant ? 'fits' : 'does not fit'
    const text = `${relevant ? 'Yes' : 'No'}, it ${fits} “${made.query}”${effect(made.weight)}`
    return { text, isIdle: made.weight === 0, action: { name: 'Undo', run: () => this.undo() } }
  }

  async takeBack(query, picture) {
    const { judgements } = await get('/feedback', { query, k: 1000 })
    const same = judgements.find(one => one.picture === picture)
    if (same) await send('DELETE', `/feedback/${same.id}`)
    return { text: 'Answer taken back' }
  }
}

/** What is special about how much an answer counts; '' where it counts in full. */
function effect(weight) {
  if (weight === 0) return '. Saved, but the ranking stays: it contradicts your captions'
  return weight < 1 ? '. It counts less: it contradicts your captions' : ''
}
