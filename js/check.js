// check.js - reads lines "HEX EXPECTED" on standard input, messages and what aoi.sync read of them, and says where
// aoi-sync.js reads something else; "HEX -" must be refused. Used by spec/lua/sync_javascript_spec.lua.
'use strict'
const api = require('./aoi-sync.js')
const { read } = api
api.text = bytes => Buffer.from(bytes).toString('latin1') // every byte counts

const bits = v => { // of a double, as 16 hexadecimal digits
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, v)
  return view.getBigUint64(0).toString(16).padStart(16, '0')
}
const place = it => [it.x, it.y].concat(it.z === undefined ? [] : [it.z]).map(bits)
const signed = kind => BigInt.asIntN(64, BigInt(kind)).toString()

function text(bytes) {
  let news
  try {
    news = read(bytes)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return '-'
  }
  const parts = news.anew ? [['anew']] : []
  for (const id of news.gone) parts.push(['g', id])
  for (const it of news.appeared) parts.push(['a', it.id, signed(it.kind), ...place(it)])
  for (const it of news.moved) parts.push(['m', it.id, ...place(it)])
  for (const it of news.touched) parts.push(['t', it.id, signed(it.kind)])
  for (const { id, values } of news.fields) {
    const shown = Object.keys(values).map(name => {
      const v = values[name], text = typeof v === 'string' ? v : Buffer.from(v.buffer ? v : []).toString('latin1')
      const value = typeof v === 'number' ? bits(v) : typeof v === 'boolean' ? v : '"' + Buffer.from(text, 'latin1').toString('hex')
      return [Buffer.from(name, 'latin1').toString('hex') + '=' + value]
    })
    parts.push(['f', id, ...shown.flat().sort()])
  }
  return parts.map(part => part.join(',')).join(';') || 'nothing'
}

let lines = 0, wrong = 0
for (const line of require('fs').readFileSync(0, 'latin1').split('\n')) {
  if (!line) continue
  const [hex, expected] = line.split(' ')
  const got = text(Uint8Array.from(Buffer.from(hex, 'hex')))
  lines++
  if (got !== expected && wrong++ < 5) console.log(`${hex}\n  expected ${expected}\n  got      ${got}`)
}
console.log(`${lines} messages, ${wrong} read differently`)
