// The first page: words that the pictures really show, each with a picture, to begin with.

import { el } from './dom.js'
import { get } from './api.js'
import { thumbnail } from './grid.js'

/** The words, and links to them. */
export async function suggestions() {
  const { words } = await get('/suggestions', { k: 10 }).catch(() => ({ words: [] }))
  return {
    words: words.map(one => one.word),
    cards: words.map(one => el('a', { class: 'chip beginning', href: `/?q=${encodeURIComponent(one.word)}` },
      el('img', { src: thumbnail(one.picture, 80), alt: '', loading: 'lazy' }), one.word)),
  }
}
