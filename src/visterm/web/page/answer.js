// What an answer says: how likely each picture is, where good and possible matches end, and a summary.

import { counted, percent } from './dom.js'
import { said } from './evidence.js'

/** How likely a picture answers, in words; the only place that says it. '' where nobody knows. */
export function likelihood(one) {
  if (one?.judged === true) return 'you said yes'
  if (one?.judged === false) return 'you said no'
  return one?.probability === null || one?.probability === undefined ? '' : `${percent(one.probability)} likely`
}

/** The lines between pictures: from which picture on they are only possible, and from which unlikely. */
export function lines({ cutoff, possible }, shown) {
  if (cutoff === null || cutoff === undefined) return []
  const found = []
  if (cutoff && possible) found.push({ at: cutoff, text: 'Possible matches', weak: false })
  if (cutoff + (possible || 0)) found.push({ at: cutoff + (possible || 0), text: 'Unlikely matches', weak: true })
  return found.filter(one => one.at < shown)
}

/** One line about all of them. */
export function summary(answer, query, isByTime = false) {
  const { cutoff, possible, unknown, replaced, unsure, partial, conditions } = answer
  if (answer.isNewWord) return newWord(query, unknown)
  const parts = []
  if (partial) {
    const [searched, all] = [partial.searched, partial.pictures].map(n => n.toLocaleString('en'))
    parts.push(`Only ${searched} of ${all} pictures could be searched just now`)
  }
  const taken = Object.entries(replaced || {}).map(([word, known]) => {
    const how = (unsure || []).includes(word) ? 'may mean' : 'is searched as'
    return `“${word}” ${how} ${known.map(one => `“${one}”`).join(', ')}`
  })
  const isGuess = unsure?.length > 0 // then what was found is good only if the guess is
  if (isGuess) parts.push(...taken)
  if (cutoff !== null && cutoff !== undefined) parts.push(counts(cutoff, possible, query, isByTime) + (isGuess && cutoff ? ' if so' : ''))
  else parts.push(...ownWord(answer.results || []))
  if (conditions?.length) parts.push(`Only pictures ${conditions.join(' and ')}`)
  if (!isGuess) parts.push(...taken)
  const left = Object.keys(unknown || {})
  if (left.length) {
    const them = left.length > 1 ? 'them' : 'it'
    parts.push(`visterm does not know ${left.map(word => `“${word}”`).join(', ')} yet and leaves ${them} out: to teach ${them}, say yes to a picture, or write a caption`)
  }
  return parts
}

/** Why a picture was found where something written says so, as a sentence; '' otherwise. */
export function written(evidence) {
  const text = said(evidence, word => `“${word}”`)
  return text && `${text[0].toUpperCase()}${text.slice(1)}.`
}

/** Of a word that only answers have taught, no probability is known: say from what it was learnt. */
function ownWord(results) {
  const count = results.filter(one => one.judged === true).length
  return count ? [`Learnt from ${counted(count, 'picture')} you said yes to; say yes or no to more to improve it`] : []
}

/** How to teach words that nobody knows yet. */
function newWord(query, unknown) {
  const isNear = Object.values(unknown).flat().length > 0
  return [
    `visterm does not know ${Object.keys(unknown).map(word => `“${word}”`).join(', ') || `“${query}”`} yet`,
    'Say yes (✓) to a picture that shows it, and visterm finds more',
    ...(isNear ? ['Pictures of similar words come first:'] : []),
  ]
}

function counts(good, possible, query, isByTime) {
  if (!good && !possible) return `Nothing here looks like “${query}”. The nearest pictures are shown`
  const first = good ? counted(good, 'good match', 'good matches') : 'No good match'
  if (isByTime) return good ? `${first}, latest first` : first
  return possible ? `${first}, ${possible.toLocaleString('en')} possible` : first
}
