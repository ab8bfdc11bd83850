// The searches of late, kept in this browser only.

const KEY = 'visterm-searches'
const MOST = 5

export function recentSearches() {
  try {
    return [JSON.parse(localStorage.getItem(KEY) || '[]')].flat().map(String).slice(0, MOST)
  } catch {
    return [] // a browser may forbid to keep anything
  }
}

export function remember(query) {
  const found = [query, ...recentSearches().filter(one => one !== query)].slice(0, MOST)
  try {
    localStorage.setItem(KEY, JSON.stringify(found))
  } catch {
    // then there are none to offer
  }
}
