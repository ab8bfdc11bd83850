// Where one is: the question and the open picture stand in the address, so that Back works.

const listeners = new Set()

/**
 * What is asked for: words, a picture of the collection (`like`) or a `region` of it, or one that was sent (`upload`, its
 * name; its pixels are kept with the history's entry).
 */
export function here() {
  const asked = new URLSearchParams(location.search)
  return {
    query: asked.get('q') || '',
    like: number(asked.get('like')),
    region: asked.get('like') ? asked.get('region') || '' : '',
    upload: asked.get('upload') || '',
    image: history.state?.image || '',
    sort: asked.get('sort') === 'time' ? 'time' : 'relevance',
    picture: number(asked.get('picture')),
  }
}

/** Ask something new; no picture is open then. */
export function ask({ query = '', like = null, region = '', upload = '', image = '', sort = here().sort }) {
  move({ query, like, region, upload, image, sort, picture: null })
}

/** Open a picture of what is shown, in the place of the open one where that is to be replaced. */
export function open(picture, { replace = false } = {}) {
  move({ ...here(), picture }, replace)
}

/** Leave the open picture: by Back where we came from the grid, so that Forward reopens it. */
export function leave() {
  if (history.state?.inside) history.back()
  else move({ ...here(), picture: null }, true)
}

export function onMove(listener) {
  listeners.add(listener)
}

function number(text) {
  const found = Number.parseInt(text, 10)
  return found > 0 ? found : null
}

function move({ query, like, region, upload, image, sort, picture }, replace = false) {
  const asked = new URLSearchParams()
  if (query) asked.set('q', query)
  if (like) asked.set('like', String(like))
  if (like && region) asked.set('region', region)
  if (upload) asked.set('upload', upload)
  if (query && sort === 'time') asked.set('sort', sort)
  if (picture) asked.set('picture', String(picture))
  const address = asked.size ? `/?${asked}` : '/'
  if (replace) history.replaceState({ image, inside: history.state?.inside }, '', address)
  else history.pushState({ image, inside: true }, '', address)
  tell()
}

function tell() {
  for (const listener of listeners) listener(here())
}

addEventListener('popstate', tell)
