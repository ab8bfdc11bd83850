// Where one is: the query and the open picture stand in the address, so that Back works.

const listeners = new Set()

export function here() {
  const asked = new URLSearchParams(location.search)
  const picture = Number.parseInt(asked.get('picture'), 10)
  return {
    query: asked.get('q') || '',
    picture: picture > 0 ? picture : null,
    sort: asked.get('sort') === 'time' ? 'time' : 'relevance',
  }
}

export function go({ query, picture = null, sort = here().sort }, { replace = false } = {}) {
  const asked = new URLSearchParams()
  if (query) asked.set('q', query)
  if (sort === 'time') asked.set('sort', sort)
  if (picture) asked.set('picture', picture)
  const address = asked.size ? `/?${asked}` : '/'
  if (replace) history.replaceState({ inside: history.state?.inside }, '', address)
  else history.pushState({ inside: true }, '', address)
  for (const listener of listeners) listener(here())
}

/** Leave the open picture: by Back where we came from the grid, so that Forward reopens it. */
export function leave() {
  if (history.state?.inside) history.back()
  else go({ query: here().query }, { replace: true })
}

export function onMove(listener) {
  listeners.add(listener)
}

addEventListener('popstate', () => {
  for (const listener of listeners) listener(here())
})
