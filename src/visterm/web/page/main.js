// The page: parts made, joined, and set going.

import { $, announce, el, isTyping } from './dom.js'
import { get, onAnswering } from './api.js'
import { Box } from './box.js'
import { Feed } from './feed.js'
import { QuickFilters } from './filters.js'
import { Grid } from './grid.js'
import { go, here, leave, onMove } from './route.js'
import { explain } from './states.js'
import { onDrop } from './drop.js'
import { Selection } from './selection.js'
import { Sheet } from './sheet.js'
import { Status } from './status.js'
import { Verdicts } from './verdict.js'
import { View } from './view.js'

let asked = null
let unanswered = null

const status = new Status({ onDone: afterJob, onMore: moreCame })
const grid = new Grid({
  onOpen: picture => go({ query: here().query, picture }),
  onJudge: (picture, relevant) => verdicts.judge(picture, relevant),
  onChoose: (picture, range) => selection.toggle(picture, range),
})
const feed = new Feed(grid, {
  onTrouble: error => { unanswered = error; explain(error, status) },
})
const verdicts = new Verdicts(feed, {
  onChange: () => { view.refresh(); status.load().catch(() => {}) },
})
const view = new View({
  feed,
  onLeave: leave,
  onGo: (picture, how = {}) => go({ query: here().query, picture }, how),
  onJudge: (picture, relevant) => verdicts.judge(picture, relevant),
  onUndo: () => verdicts.undo(),
  onCaption: (picture, caption) => {
    const one = feed.of(picture)
    if (one) one.caption = caption
    status.load().catch(() => {})
  },
  onAsk: query => go({ query }),
})
const filters = new QuickFilters({
  onAsk: query => go({ query }),
  onSort: sort => go({ query: here().query, sort }),
})
const selection = new Selection({
  feed, grid, onChange: () => { feed.again(); status.load().catch(() => {}) },
})
const sheet = new Sheet({
  status,
  onOpen: picture => go({ query: here().query, picture }),
  onAsk: query => go({ query }),
  onChange: () => { feed.again(); status.load().catch(() => {}) },
})
const box = new Box(query => go({ query }))

async function arrive({ query, picture, sort }) {
  if (query !== asked || sort !== feed.sort) {
    // What somebody typed while the page was loading stays.
    if (query || asked !== null) box.set(query)
    asked = query
    unanswered = null
    $('message').hidden = true
    $('summary').replaceChildren()
    $('chips').replaceChildren()
    $('heading').textContent = query || 'Newest pictures'
    $('teach').hidden = !query
    $('about-word').hidden = !query || /\s/.test(query)
    selection.clear()
    $('heading').classList.toggle('asked', Boolean(query))
    scrollTo(0, 0)
    filters.load(query, sort)
    await feed.ask(query, sort)
    if (!query) suggest()
  }
  if (here().picture !== picture) return
  if (picture) {
    await view.show(picture)
  } else if (view.dialog.open) {
    const place = feed.items.findIndex(one => one.picture === view.picture)
    view.hide()
    grid.focus(place)
  }
}

/** On the first page: words one could ask for. */
async function suggest() {
  const { words } = await get('/words', { k: 14 }).catch(() => ({ words: [] }))
  if (here().query) return
  $('chips').replaceChildren(...words.filter(one => one.known && one.captions).map(one => el(
    'a', { class: 'chip', href: `/?q=${encodeURIComponent(one.word)}` }, one.word)))
}

async function afterJob(job) {
  if (unanswered) await feed.ask(asked)
  else await feed.again()
  if (!asked) suggest()
  filters.load(asked, feed.sort)
  view.refresh()
}

/** Who has scrolled down looks at something: nothing moves there until the job is done. */
async function moreCame() {
  if (unanswered) await feed.ask(asked)
  else if (scrollY < innerHeight) await feed.again()
}

function isAnswering(now) {
  const line = $('trouble')
  line.hidden = now
  line.textContent = now ? '' : 'visterm does not answer. Is visterm serve still running? Trying again …'
  if (!now) return
  announce('visterm answers again')
  status.load().catch(() => {})
  if (unanswered) feed.ask(asked)
}

addEventListener('keydown', event => {
  if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return
  const open = document.querySelector('dialog[open]')
  if (event.key === '/' && !open) {
    event.preventDefault()
    box.focus()
  } else if (event.key === '?' && !open) {
    $('help').showModal()
  } else if (event.key.toLowerCase() === 't' && !open && asked) {
    event.preventDefault()
    sheet.teach(asked)
  } else if (event.key.toLowerCase() === 'u' && !open) {
    verdicts.undo()
  } else if (/^Arrow(Down|Right)$/.test(event.key) && !open && document.activeElement === document.body) {
    event.preventDefault()
    grid.focus(0)
  }
})

// Links to queries stay on the page.
document.addEventListener('click', event => {
  const link = event.target.closest('a.chip, #home')
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return
  event.preventDefault()
  go({ query: new URL(link.href).searchParams.get('q') || '' })
})

for (const dialog of [$('help'), $('view')]) {
  dialog.addEventListener('click', event => {
    if (event.target === dialog && dialog.id === 'help') dialog.close()
  })
}

$('teach').addEventListener('click', () => sheet.teach(asked))
$('about-word').addEventListener('click', () => sheet.word(asked))
$('status').addEventListener('duplicates', () => sheet.duplicates())
onDrop((name, { results }) => {
  feed.put(`like ${name}`, results)
  $('filters').hidden = true
})
onAnswering(isAnswering)
onMove(arrive)
status.load().catch(() => {}).then(() => arrive(here()))
