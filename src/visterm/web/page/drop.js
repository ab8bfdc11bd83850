// A picture that is dropped on the page, or chosen from the disk, is searched by likeness.

import { $, toast } from './dom.js'

const SIDE = 256 // pixels of the longer side that are sent

/** Hear of such pictures: their name, and a small JPEG in base 64. */
export function onPicture(heard) {
  const target = $('drop')
  const holdsFile = event => [...event.dataTransfer.items].some(one => one.kind === 'file')
  let inside = 0 // elements that the pointer is over, one within the other
  const leave = () => { inside = 0; target.hidden = true }
  addEventListener('dragenter', event => {
    if (!holdsFile(event)) return
    inside += 1
    target.hidden = false
  })
  addEventListener('dragleave', event => { if (holdsFile(event) && --inside <= 0) leave() })
  addEventListener('dragover', event => { if (holdsFile(event)) event.preventDefault() })
  addEventListener('drop', event => {
    if (!holdsFile(event)) return
    event.preventDefault()
    leave()
    take([...event.dataTransfer.files], heard)
  })
  $('pick').addEventListener('click', () => $('file').click())
  $('file').addEventListener('change', () => {
    take([...$('file').files], heard)
    $('file').value = '' // the same file may be chosen again
  })
}

/** A small JPEG in base 64, drawn. */
export async function drawn(image) {
  const canvas = document.createElement('canvas')
  const bytes = Uint8Array.from(atob(image), letter => letter.charCodeAt(0))
  const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/jpeg' }))
  canvas.width = bitmap.width
  canvas.height = bitmap.height
  canvas.getContext('2d').drawImage(bitmap, 0, 0)
  return canvas
}

async function take(files, heard) {
  const file = files.find(one => one.type.startsWith('image/'))
  if (!file) return toast('This is not a picture that the browser can read')
  try {
    return heard(file.name, await small(file))
  } catch {
    return toast(`${file.name} cannot be read as a picture`)
  }
}

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
