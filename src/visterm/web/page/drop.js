// A picture dropped on the page is searched by likeness: made small here, and sent.

import { send } from './api.js'
import { toast } from './dom.js'

const SIDE = 256

export function onDrop(found) {
  addEventListener('dragover', event => {
    if ([...event.dataTransfer.items].some(one => one.kind === 'file')) event.preventDefault()
  })
  addEventListener('drop', async event => {
    const file = [...event.dataTransfer.files].find(one => one.type.startsWith('image/'))
    if (!file) return
    event.preventDefault()
    try {
      const image = await small(file)
      found(file.name, await send('POST', '/like', { image, k: 60 }))
    } catch (error) {
      toast(error.message || 'This picture cannot be read')
    }
  })
}

/** A picture as a small JPEG in base 64. */
async function small(file) {
  const bitmap = await createImageBitmap(file)
  const scale = Math.min(1, SIDE / Math.max(bitmap.width, bitmap.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(bitmap.width * scale))
  canvas.height = Math.max(1, Math.round(bitmap.height * scale))
  const pen = canvas.getContext('2d')
  pen.fillStyle = '#fff'
  pen.fillRect(0, 0, canvas.width, canvas.height)
  pen.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  return canvas.toDataURL('image/jpeg', 0.85).split(',')[1]
}
