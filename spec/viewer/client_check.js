// client_check.js PAGE - in which frames the client knows entity 2, what the page says of it, and that going back is exact.
'use strict'
globalThis.aoiSync = require('../../js/aoi-sync.js')
for (const name of ['blocks', 'world', 'rule', 'recording']) require(`../../js/viewer/${name}.js`)
const V = globalThis.aoiViewer, rec = new V.Recording()
const text = require('fs').readFileSync(process.argv[2], 'utf8')
for (const [, piece] of text.matchAll(/<script type="aoi-blocks">([^<]*)/g))
  rec.append(new Uint8Array(Buffer.from(piece, 'base64')))
const knows = frame => {
  rec.seek(frame)
  return rec.world.client.slots.has(2) ? 1 : 0
}
const frames = rec.frames.map((_, frame) => frame)
const forwards = frames.map(knows).join(''), backwards = frames.reverse().map(knows).reverse().join('')
console.log(forwards, backwards === forwards, rec.head.client, rec.story.names['1'], rec.sent[9] < rec.sent[10])
