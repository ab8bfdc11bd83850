// Yes and no: said, learnt from at once, and taken back.

import { announce, toast } from './dom.js'
import { get, send } from './api.js'

export class Verdicts {
  constructor(feed, { onChange }) {
    this.feed = feed
    this.onChange = onChange
    this.line = Promise.resolve()
  }

  /** Say yes or no; saying the same twice takes it back. Clicks wait for each other. */
  judge(picture, relevant) {
    const query = this.feed.query
    if (!query) return this.line
    this.line = this.line.then(() => this.said(query, picture, relevant)).catch(complain)
    return this.line
  }

  undo() {
    this.line = this.line.then(() => this.takeBack()).catch(complain)
    return this.line
  }

  async said(query, picture, relevant) {
    const one = this.feed.of(picture)
    if (one && one.judged === relevant) {
      const { judgements } = await get('/feedback', { query, k: 1000 })
      const same = judgements.find(said => said.picture === picture)
      if (same) await send('DELETE', `/feedback/${same.id}`)
      await this.changed('Taken back')
      return
    }
    const made = await send('POST', '/feedback', { query, picture, relevant })
    if (made.queued) {
      if (one) one.judged = relevant
      this.feed.show(false, false)
      toast('Noted; it counts as soon as the work in the background is done')
      return
    }
    await this.changed(
      relevant ? `Yes, it fits “${made.query}”` : `No, it does not fit “${made.query}”`,
      { name: 'Undo', run: () => this.undo() },
    )
  }

  async takeBack() {
    const undone = await send('DELETE', '/many')
    await this.changed(undone.queued ? 'Noted; it counts as soon as the work in the background is done'
      : `Taken back: ${undone.what}`)
  }

  async changed(text, action = null) {
    toast(text, action)
    await this.feed.again()
    announce(`${text}. The order was learnt anew.`)
    this.onChange()
  }
}

function complain(error) {
  toast(error.message)
}
