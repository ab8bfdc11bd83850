// A sheet over the page: teaching, near-duplicates, and the page of a word.

import { $, announce, counted, el, icon, percent, toast } from './dom.js'
import { get, send } from './api.js'
import { shape, thumbnail } from './grid.js'

export class Sheet {
  constructor({ onOpen, onAsk, onChange, status }) {
    Object.assign(this, { onOpen, onAsk, onChange, status })
    this.dialog = $('sheet')
    this.body = el('div') // what is announced stands beside it
    this.dialog.append(this.body)
    this.dialog.addEventListener('click', event => { if (event.target === this.dialog) this.dialog.close() })
  }

  show(title, ...children) {
    const close = el('button', { type: 'button', class: 'quiet', onclick: () => this.dialog.close() }, 'Close')
    this.body.replaceChildren(
      el('div', { class: 'panel-head' }, el('h2', { id: 'sheet-title', tabindex: '-1' }, title), close),
      ...children.flat().filter(Boolean))
    if (!this.dialog.open) this.dialog.showModal()
    $('sheet-title').focus()
  }

  /** A picture that opens large. */
  picture(one, size = 150) {
    const img = el('img', { src: thumbnail(one, size * 1.5), alt: one.caption || one.path, loading: 'lazy' })
    const link = el('a', {
      class: 'card', href: `/?picture=${one.picture}`,
      onclick: event => { event.preventDefault(); this.dialog.close(); this.onOpen(one.picture) },
    }, img)
    link.style.width = `${Math.round(size * Math.min(shape(one), 2))}px`
    link.style.height = `${size}px`
    return link
  }

  /** Ten questions: which of these pictures fit? Nothing is sent before the round is finished. */
  async teach(query) {
    let found
    try {
      found = await get('/teach', { query })
    } catch (error) {
      toast(error.message)
      return
    }
    if (!found.results.length) {
      this.show(`Teach “${query}”`, el('p', {}, 'There is no picture left to ask about.'))
      return
    }
    const answers = new Map()
    const done = el('button', { type: 'button', class: 'primary', disabled: true, onclick: () => this.answered(query, answers) }, 'Learn from these answers')
    const say = (one, relevant, row) => {
      answers.set(one.picture, relevant)
      for (const button of row.querySelectorAll('button')) {
        button.setAttribute('aria-pressed', String(button.dataset.yes === String(relevant)))
      }
      done.disabled = false
      done.textContent = `Learn from ${counted(answers.size, 'answer')}`
    }
    const items = found.results.map(one => {
      const row = el('div', { class: 'row', role: 'group', 'aria-label': `Does ${one.caption || one.path} fit ${query}?` })
      for (const relevant of [true, false]) {
        const button = el('button', {
          type: 'button', class: `say ${relevant ? 'yes' : 'no'}`, 'aria-pressed': 'false', onclick: () => say(one, relevant, row),
        }, icon(relevant ? 'yes' : 'no'), relevant ? 'Yes' : 'No')
        button.dataset.yes = relevant
        row.append(button)
      }
      return el('li', { class: 'question' }, this.picture(one), row)
    })
    this.show(`Do these show “${query}”?`,
      el('p', { class: 'quiet-text' }, 'These pictures teach most: likely ones and uncertain ones, each different. Leave out what you cannot say.'),
      el('ul', { class: 'questions' }, items), el('div', { class: 'row' }, done))
  }

  async answered(query, answers) {
    let report
    try {
      report = await send('POST', '/teach', { query, answers: Object.fromEntries(answers) })
    } catch (error) {
      toast(error.message)
      return
    }
    this.onChange()
    const said = []
    if (report.queued) said.push('Noted; it counts as soon as the work in the background is done.')
    else {
      said.push(`${percent(report.foreseen)} of these answers were foreseen.`)
      if (report.after !== null && report.before !== null) {
        const change = 100 * (report.after - report.before)
        said.push(`On pictures held out: AvgP ${percent(report.after)} (${change < 0 ? '' : '+'}${change.toFixed(1)}).`)
      }
      if (report.enough) said.push('More answers would bring little: it knows this word now.')
    }
    announce(said.join(' '))
    this.show(`“${query}”: ${report.queued ? '' : counted(report.answers, 'answer')}`, said.map(line => el('p', {}, line)),
      el('div', { class: 'row' },
        el('button', { type: 'button', class: report.enough ? '' : 'primary', onclick: () => this.teach(query) }, 'Ten more'),
        el('button', { type: 'button', onclick: () => { this.dialog.close(); this.onAsk(query) } }, 'Show the pictures')))
  }

  async word(word) {
    let found
    try {
      found = await get(`/words/${encodeURIComponent(word)}`)
    } catch (error) {
      toast(error.message)
      return
    }
    const facts = [
      ['Captions that hold it', found.captions.toLocaleString('en')],
      found.names ? ['Names that hold it', found.names.toLocaleString('en')] : null,
      ['Your answers', `${found.yes} yes, ${found.no} no`],
      ['How well it is ranked', found.avgp === null ? (found.known ? 'not measured' : `only ${found.names ? 'names and ' : ''}captions know it`) : `AvgP ${percent(found.avgp)} on pictures held out`],
    ]
    this.show(found.word,
      el('dl', { class: 'facts' }, facts.filter(Boolean).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)))),
      found.nearest.length ? el('section', {}, el('h3', {}, 'Seen in the same pictures'), el('div', { class: 'chips' },
        found.nearest.map(one => el('button', { type: 'button', class: 'chip', onclick: () => this.word(one) }, one)))) : null,
      el('section', {}, el('h3', {}, 'Examples'), el('div', { class: 'cards' }, found.examples.map(one => this.picture(one, 110)))),
      el('div', { class: 'row' },
        el('button', { type: 'button', class: 'primary', onclick: () => this.teach(found.word) }, 'Teach this word'),
        el('button', { type: 'button', onclick: () => { this.dialog.close(); this.onAsk(found.word) } }, 'Show the pictures')))
  }

  async duplicates() {
    const found = await get('/duplicates', { k: 100 }).catch(error => { toast(error.message); return null })
    if (!found) return
    const look = el('button', {
      type: 'button', class: found.up_to_date ? '' : 'primary', onclick: () => { this.dialog.close(); this.status.start('duplicates') },
    }, found.total ? 'Look again' : 'Look for near-duplicates')
    this.show('Near-duplicates',
      el('p', { class: 'quiet-text' }, found.total
        ? `${counted(found.total, 'group')}${found.up_to_date ? '' : ', found before files changed'}. The first of each has the most pixels. Nothing is deleted.`
        : 'Copies, other sizes, re-encoded, cropped or recoloured pictures, in groups. Nothing is deleted.'),
      el('ul', { class: 'groups' }, found.groups.map(group => el('li', { class: 'group' },
        el('figure', {}, this.picture(group.best, 120), el('figcaption', {}, `best: ${group.best.path}`)),
        group.others.map(one => el('figure', {}, this.picture(one, 90), el('figcaption', {}, one.path)))))),
      el('div', { class: 'row' }, look))
  }
}
