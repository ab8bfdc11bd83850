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

export function get(path, asked = {}, signal = undefined) {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(asked)) {
    if (value !== null && value !== undefined) query.set(name, value)
  }
  const end = query.size ? `?${query}` : ''
  return request(`${API}${path}${end}`, { signal })
}

export function send(method, path, body = undefined) {
  const json = body === undefined ? {} : {
    headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  }
  return request(`${API}${path}`, { method, ...json })
}

/** Hear when the server stops to answer, and when it is back. */
export function onAnswering(listener) {
  listeners.add(listener)
}

export function events(path) {
  return new EventSource(`${API}${path}`)
}

async function request(address, options) {
  let answer
  try {
    answer = await fetch(address, { credentials: 'same-origin', ...options })
  } catch (error) {
    if (error.name === 'AbortError') throw error
    tell(false)
    throw new Silent()
  }
  tell(true)
  const said = await answer.json().catch(() => ({}))
  if (!answer.ok) throw new Refused(answer.status, said)
  return said
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
    await request(`${API}/train`, {}).catch(() => {})
  }
}
