// When there is nothing to show: what happened, and what to do next.

import { $, el } from './dom.js'

export function message(title, text, actions = []) {
  const box = $('message')
  box.replaceChildren(el('h2', {}, title), ...[text].flat().map(one => el('p', {}, one)),
    actions.length ? el('div', { class: 'row' }, actions) : '')
  box.hidden = false
}

const button = (text, run) => el('button', { type: 'button', class: 'primary', onclick: run }, text)

/** The right words for a grid that stays empty. */
export function explain(error, status) {
  const { now } = status
  const working = status.job?.state === 'running' || now?.job?.state === 'running'
  if (error.kind === 'empty' || (now && !now.pictures)) {
    $('heading').textContent = now?.name || 'visterm'
    if (working) return message('Looking for pictures …', 'They appear here as soon as they are read.')
    return message('No pictures yet', [
      `Put pictures into the folder ${now ? `“${now.name}”` : ''} and let visterm look for them.`,
      'JPEG, PNG, WebP, GIF, TIFF, BMP and AVIF are read, in this folder and those inside it.',
    ], [button('Look for pictures', () => status.start('add'))])
  }
  if (error.kind === 'no-good-match') {
    return message('No good match', 'Only good matches are sorted by time. Choose “best first” to see the possible ones.')
  }
  if (error.kind === 'no-upload') {
    return message('This picture is no longer here', 'It was only kept in the window where it was dropped. Drop it here again.')
  }
  if (error.kind === 'nothing-learnt') {
    if (working) return message('Learning …', 'Search works as soon as that is done.')
    if (now?.captioned) {
      return message('Nothing to search by yet', 'There are captions, but nothing was learnt from them.',
        [button('Learn from captions', () => status.start('train'))])
    }
    return message('Nothing to search by yet', [
      'visterm learns what words look like from captions, and there are none.',
      'Open some pictures and write what they show, or import a table: visterm caption --from TABLE.',
    ])
  }
  if (error.kind === 'nothing-found') {
    return message('No picture fits these conditions', 'Try without some of the filters; a year in quotes is a word.')
  }
  if (error.kind === 'silent') return null // a line at the top says so, and for how long
  if (error.kind === 'bad-input') return message('This search is not valid', sentence(error.message))
  return message('Something went wrong', sentence(error.message || 'unknown'))
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`
}
