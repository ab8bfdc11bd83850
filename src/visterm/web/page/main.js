// The page: parts made, joined, and set going.

import { $, announce, el, isTouch, isTyping } from './dom.js'
import { get, onAnswering } from './api.js'
import { Box } from './box.js'
import { drawn, onPicture } from './drop.js'
import { Feed } from './feed.js'
import { hasWords, QuickFilters } from './filters.js'
import { Grid, thumbnail } from './grid.js'
import { remember } from './recent.js'
import { Review } from './review.js'
import { ask, here, leave, onMove, open } from './route.js'
import { Selection } from './selection.js'
import { Sheet } from './sheet.js'
import { suggestions } from './start.js'
import { explain } from './states.js'
import { Status } from './status.js'
import { Teaching } from './teach.js'
import { oneTabStop } from './toolbar.js'
import { Verdicts } from './verdict.js'
import { View } from './view.js'

let asked = null // what was asked for last, as text
let unanswered = null // the reason why there is no answer
let wantsGrid = false // whether the focus goes to the first picture as soon as there is one

const changed = () => { feed.again().then(offerTeaching); status.load().catch(() => {}) }
const search = query => ask({ query })
const similar = (picture, region = '') => ask({ like: picture, region })

const status = new Status({ onDone: afterJob, onMore: moreCame, onDuplicates: () => sheet.duplicates() })
const grid = new Grid({
  onOpen: picture => open(picture),
  onJudge: (picture, relevant) => verdicts.judge(picture, relevant),
  onChoose: (picture, isRange) => selection.toggle(picture, isRange),
  onSimilar: similar,
})
const feed = new Feed(grid, {
  onTrouble: error => { unanswered = error; explain(error, status) },
})
const verdicts = new Verdicts(feed, {
  onChange: () => { offerTeaching(); view.refresh(); status.load().catch(() => {}) },
})
const view = new View({
  feed,
  onLeave: leave,
  onGo: open,
  onJudge: (picture, relevant) => { verdicts.judge(picture, relevant); view.refresh() },
  onUndo: () => verdicts.undo(),
  onCaption: (picture, caption) => {
    const one = feed.of(picture)
    if (one) one.caption = caption
    status.load().then(offerTeaching).catch(() => {})
  },
  onAsk: search,
  onSimilar: similar,
})
const filters = new QuickFilters({ onAsk: search })
const selection = new Selection({ feed, grid, onChange: changed, onUndo: () => verdicts.undo() })
const sheet = new Sheet({ status, onOpen: picture => open(picture), onAsk: search, onTeach: query => teaching.ask(query), onReview: word => review.ask(word) })
const teaching = new Teaching(sheet, { onAsk: search, onChange: changed })
const review = new Review(sheet, { onChange: changed, onUndo: () => verdicts.undo() })
const box = new Box({
  onAsk: search,
  onLeave: () => {
    if (isTouch()) return
    wantsGrid = true
    if (!feed.loading) toGrid()
  },
})

async function arrive(now) {
  const { query, like, region, upload, image, sort, picture } = now
  const text = JSON.stringify([query, like, region, upload, image, sort])
  if (text !== asked) {
    // What somebody typed while the page was loading stays.
    if (query || like || upload || asked !== null) showAsked(now)
    asked = text
    unanswered = null
    $('order').value = sort
    offerTeaching()
    $('message').hidden = true
    selection.clear()
    if (like || upload) filters.hide()
    else filters.load(query).then(() => { if (!query) suggest() })
    await feed.ask({ query, like, region, upload, image, sort })
    offerTeaching()
    scrollTo(0, 0)
    if (query && !unanswered) remember(query)
    toGrid()
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

/** Questions and an order are for words that visterm knows. */
function offerTeaching() {
  const isKnown = hasWords(here().query) && !feed.isNewWord
  $('order').hidden = !isKnown
  $('teach').hidden = !isKnown || !feed.judges
  $('review').hidden = $('teach').hidden || !status.now?.captioned || !/^[\p{L}\p{N}'-]+$/u.test(feed.query)
}

/** Where the focus was left in the box, it goes to the first picture. */
function toGrid() {
  if (wantsGrid && document.activeElement === document.body) grid.focus(0)
  wantsGrid = false
}

/** What is asked for, in the box; a picture comes later, if nothing else is asked for by then. */
async function showAsked(now) {
  box.set(now.query)
  const found = await pictureOf(now).catch(() => null)
  if (found && here().like === now.like && here().upload === now.upload) box.set('', found)
}

/** The picture that others are to be like, small, with its name; null where words are asked for. */
async function pictureOf({ like, region, upload, image }) {
  if (image) return { name: upload, picture: await drawn(image) }
  if (!like) return null
  const one = await get(`/pictures/${like}`)
  const name = one.path.split('/').at(-1)
  return { name: region ? `part of ${name}` : name, picture: el('img', { src: thumbnail(one, 32), alt: '' }) }
}

/** On the first page: words that the pictures show, and searches made of them. */
async function suggest() {
  const { words, cards } = await suggestions()
  box.suggest(words, filters.years[0])
  if (!here().query && !here().like && !here().upload) $('chips').replaceChildren(...cards)
}

async function afterJob() {
  if (unanswered) await feed.ask({})
  else await feed.again()
  if (!here().like && !here().upload) await filters.load(here().query)
  if (!here().query) suggest()
  offerTeaching()
  view.refresh()
}

/** Who has scrolled down looks at something: nothing moves there until the job is done. */
async function moreCame() {
  if (unanswered) {
    unanswered = null
    await feed.ask({})
  } else if (scrollY < innerHeight) {
    await feed.again()
  }
}

function answers(isBack) {
  const line = $('trouble')
  line.hidden = isBack
  line.textContent = isBack ? '' : 'visterm has stopped. Start visterm serve again; this page then goes on by itself.'
  if (!isBack) return
  announce('visterm answers again')
  status.load().catch(() => {})
  view.comeBack()
  if (unanswered) feed.ask({})
}

/** From nowhere the arrows lead to the first picture. */
function begin() {
  if (document.activeElement !== document.body) return false
  grid.focus(0)
  return true
}

const KEYS = {
  '/': () => box.focus(),
  '?': () => $('help').showModal(),
  t: () => !$('teach').hidden && teaching.ask(feed.query),
  u: () => verdicts.undo(),
  arrowdown: begin,
  arrowright: begin,
}

addEventListener('keydown', event => {
  if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return
  const act = KEYS[event.key.toLowerCase()]
  if (!act || document.querySelector('dialog[open]')) return
  if (act() !== false) event.preventDefault()
})

// Links to searches stay on the page.
document.addEventListener('click', event => {
  const link = event.target instanceof Element && event.target.closest('a.chip, #home')
  if (!(link instanceof HTMLAnchorElement) || event.metaKey || event.ctrlKey || event.shiftKey) return
  event.preventDefault()
  search(new URL(link.href).searchParams.get('q') || '')
})

$('help').addEventListener('click', event => { if (event.target === $('help')) $('help').close() })
$('help-button').addEventListener('click', () => $('help').showModal())
$('teach').addEventListener('click', () => teaching.ask(feed.query))
$('review').addEventListener('click', () => review.ask(feed.query))
$('order').addEventListener('change', () => ask({ query: feed.query, sort: $('order').value }))
oneTabStop([$('home'), $('clear'), $('pick'), $('status'), $('help-button'), $('lead')])
oneTabStop([$('aside')])
onPicture((name, image) => ask({ upload: name, image }))
onAnswering(answers)
onMove(arrive)
status.load().catch(() => {}).then(() => arrive(here()))
