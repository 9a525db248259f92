// colyseus.js - 300 clients who see 60 others each, told by @colyseus/schema's StateView: CPU and bytes a client and tick. The
// same scene as bench/clients.lua, with the same random numbers.
//
//   npm install @colyseus/schema && node bench/colyseus.js [CLIENTS NEIGHBOURS TICKS]      NODE_PATH says where it is
'use strict'
const { schema, t, Encoder, Decoder, StateView } = require('@colyseus/schema')

const [P = 300, D = 60, TICKS = 100] = process.argv.slice(2).map(Number)
const R = 50, side = 0.84 * Math.sqrt(P * (2 * R) ** 2 / D) // at the borders less is in view
let seed = 3 % 2147483646 + 1
function random() {
  seed = seed * 16807 % 2147483647
  return (seed - 1) / 2147483646
}

const Entity = schema({ id: t.uint32(), x: t.float32(), y: t.float32(), hp: t.uint16(), name: t.string() }, 'Entity')
const State = schema({ entities: t.map(Entity).view() }, 'State')
Encoder.BUFFER_SIZE = 1024 * 1024

const state = new State(), encoder = new Encoder(state), all = [], views = [], known = []
for (let i = 0; i < P; i++) {
  const e = new Entity()
  e.id = i + 1
  e.x = random() * side
  e.y = random() * side
  e.hp = 100
  e.name = 'player ' + (i + 1)
  all.push(e)
  state.entities.set(String(i + 1), e)
  views.push(new StateView())
  known.push(new Set())
}

// Who is in each square view, by cells as wide as the view; a view gains and loses what has come and gone.
function look() {
  const cells = new Map(), columns = Math.ceil(side / R) + 4
  const cell = v => Math.floor(v / R) + 2
  for (const e of all) {
    const k = cell(e.y) * columns + cell(e.x), list = cells.get(k)
    if (list) list.push(e)
    else cells.set(k, [e])
  }
  for (let i = 0; i < P; i++) {
    const me = all[i], seen = known[i], cx = cell(me.x), cy = cell(me.y)
    const sees = e => e !== me && Math.abs(e.x - me.x) <= R && Math.abs(e.y - me.y) <= R
    for (const e of seen) {
      if (sees(e)) continue
      seen.delete(e)
      views[i].remove(e)
    }
    for (let y = cy - 1; y <= cy + 1; y++)
      for (let x = cx - 1; x <= cx + 1; x++)
        for (const e of cells.get(y * columns + x) || []) {
          if (seen.has(e) || !sees(e)) continue
          seen.add(e)
          views[i].add(e)
        }
  }
}

function encode(deliver) {
  const it = { offset: 0 }
  encoder.encode(it)
  const shared = it.offset
  for (let i = 0; i < P; i++) deliver(i, encoder.encodeView(views[i], shared, it))
  encoder.discardChanges()
}

// The first client's picture, to see that it is right.
const mine = new State(), decoder = new Decoder(mine)
const ms = () => Number(process.hrtime.bigint()) / 1e6
look()
{
  const it = { offset: 0 }
  encoder.encodeAll(it)
  const shared = it.offset
  decoder.decode(encoder.encodeAllView(views[0], shared, it))
  encode(() => {})
}
const best = { look: Infinity, change: Infinity, encode: Infinity }
let bytes = 0, pairs = 0
for (let tick = 0; tick < TICKS; tick++) {
  const a = ms()
  for (const e of all) {
    e.x = Math.min(side, Math.max(0, e.x + (random() * 2 - 1) * 2.5))
    e.y = Math.min(side, Math.max(0, e.y + (random() * 2 - 1) * 2.5))
    if (random() < 0.1) e.hp = Math.floor(random() * 1000)
  }
  const b = ms()
  look()
  const c = ms()
  encode((i, message) => {
    bytes += message.length
    if (i === 0) decoder.decode(message)
  })
  const d = ms()
  best.change = Math.min(best.change, b - a)
  best.look = Math.min(best.look, c - b)
  best.encode = Math.min(best.encode, d - c)
  for (const seen of known) pairs += seen.size
}
let wrong = 0
for (const e of known[0]) {
  const it = mine.entities.get(String(e.id))
  if (!it || it.hp !== e.hp || Math.abs(it.x - e.x) > 1e-3) wrong++
}
const n = v => v.toFixed(2)
const manifest = require.resolve('@colyseus/schema').replace(/build.*$/, 'package.json')
const { version } = JSON.parse(require('fs').readFileSync(manifest, 'utf8'))
console.log(`@colyseus/schema ${version}, node ${process.version}: ${P} clients, ` +
  `${n(pairs / TICKS / P)} in view; ms a tick: changes ${n(best.change)}, who is in view ${n(best.look)}, encoding ${n(best.encode)}; ` +
  `${n(bytes / TICKS / P)} bytes a client and tick; ${wrong} wrong of ${known[0].size} with the first client`)
