// The server, asked: one shape of errors, and a watch over whether it answers at all.

const API = '/api/v1'
const listeners = new Set()
let answering = true

export class Refused extends Error {
  constructor(status, said) {
    super(said.error || 'the server refused')
    this.status = status
    this.kind = said.kind || 'failed'
    this.unknown = said.unknown || null
  }
}

export class Silent extends Error {
  constructor() {
    super('visterm does not answer')
    this.kind = 'silent'
  }
}

export async function get(path, asked = {}, signal = undefined) {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(asked)) {
    if (value !== null && value !== undefined) query.set(name, String(value))
  }
  const end = query.size ? `?${query}` : ''
  return (await request(`${path}${end}`, { signal })).json()
}

export async function send(method, path, body = undefined, signal = undefined) {
  return (await request(path, { method, signal, ...json(body) })).json()
}

/** What the server writes as text. */
export async function text(path, body) {
  return (await request(path, { method: 'POST', ...json(body) })).text()
}

/** Hear when the server stops to answer, and when it is back. */
export function onAnswering(listener) {
  listeners.add(listener)
}

/** Whether the server answers now. */
export async function isAnswering() {
  await request('/train', {}).catch(() => {})
  return answering
}

export function events(path) {
  return new EventSource(`${API}${path}`)
}

function json(body) {
  return body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}

async function request(path, options) {
  let answer
  try {
    answer = await fetch(`${API}${path}`, { credentials: 'same-origin', ...options })
  } catch (error) {
    if (error.name === 'AbortError') throw error
    tell(false)
    throw new Silent()
  }
  tell(true)
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})))
  return answer
}

function tell(now) {
  if (now === answering) return
  answering = now
  for (const listener of listeners) listener(now)
  if (!now) tryAgain()
}

async function tryAgain() {
  while (!answering) {
    await new Promise(done => setTimeout(done, 1000))
    await isAnswering()
  }
}
