// explain_check.js PAGE EXPECTED - reads a page in node and compares what it explains and sees with what the library said.
// EXPECTED: lines "frame owner node target text", "view frame owner node id,id,...", ids sorted, and
// "fields frame id hp name", "looks frame id layers extent carrier" (0: none).
'use strict'
const fs = require('fs')
globalThis.aoiSync = require('../../js/aoi-sync.js')
for (const name of ['blocks', 'world', 'rule', 'recording']) require(`../../js/viewer/${name}.js`)
const V = globalThis.aoiViewer

const rec = new V.Recording()
const html = fs.readFileSync(process.argv[2], 'latin1')
for (const [, text] of html.matchAll(/<script type="aoi-blocks">([^<]*)</g)) rec.append(new Uint8Array(Buffer.from(text, 'base64')))

let lines = 0, wrong = 0
function compare(what, expected, got) {
  lines++
  if (expected !== got && wrong++ < 5) console.log(`${what}\n  expected ${expected}\n  got      ${got}`)
}

for (const line of fs.readFileSync(process.argv[3], 'utf8').split('\n')) {
  if (!line) continue
  const words = line.split(' ')
  if (words[0] === 'fields') { // those that are 0 or empty may never have been told
    const [frame, id, hp] = words.slice(1).map(Number), name = words.slice(4).join(' ')
    rec.seek(frame)
    const { hp: told = 0, name: named = '' } = rec.world.fields.get(id) || {}
    compare(line, `${hp} ${name}`, `${told} ${named}`)
    continue
  }
  if (words[0] === 'looks') {
    const [frame, id] = words.slice(1).map(Number)
    rec.seek(frame)
    const { layers, extent, carrier = 0 } = rec.world.looks_of(id)
    compare(line, words.slice(3).join(' '), `${layers} ${extent} ${carrier}`)
    continue
  }
  if (words[0] === 'view') {
    const [, frame, owner, node, ids] = words
    rec.seek(Number(frame))
    const it = rec.world.nodes.get(V.nodeKey(owner, node))
    const got = (it ? rec.view(it) : []).sort((a, b) => (a < b ? -1 : 1)).join(',')
    compare(line, ids || '', got)
    continue
  }
  const [frame, owner, node, target] = words.map(V.idOf), text = words.slice(4).join(' ')
  if (!rec.seek(frame)) throw new Error('cannot seek')
  const e = V.explain(rec.world, owner, node, target, () => rec.events.saw(owner, node, target, frame))
  compare(line, text, e.text)
}
console.log(`${lines} answers, ${wrong} otherwise; ${rec.frames.length} ticks`)
process.exit(wrong ? 1 : 0)
