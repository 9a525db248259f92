// check.js FILE... - reads files as those of spec/messages (their README.md has the format) and says where aoi-sync.js reads
// something else than they say. Used by spec/lua/sync_decoders_spec.lua.
'use strict'
const api = require('./aoi-sync.js')
const { Picture } = api
api.text = bytes => Buffer.from(bytes).toString('latin1') // every byte counts

const bits = v => { // of a double, as 16 hexadecimal digits
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, v)
  return view.getBigUint64(0).toString(16).padStart(16, '0')
}
const place = it => [it.x, it.y].concat(it.z === undefined ? [] : [it.z]).map(bits)
const signed = kind => BigInt.asIntN(64, BigInt(kind)).toString()


function values(fields) {
  return Object.keys(fields).map(name => {
    const v = fields[name], text = typeof v === 'string' ? v : Buffer.from(v.buffer ? v : []).toString('latin1')
    const value = typeof v === 'number' ? bits(v) : typeof v === 'boolean' ? v : '"' + Buffer.from(text, 'latin1').toString('hex')
    return Buffer.from(name, 'latin1').toString('hex') + '=' + value
  }).sort()
}

function text(picture, bytes) {
  let news
  try {
    news = picture.apply(bytes)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return '-'
  }
  const parts = news.anew ? [['anew']] : []
  news.gone.forEach((id, i) => parts.push(news.reasons[i] ? ['g', id, news.reasons[i]] : ['g', id]))
  for (const it of news.appeared) parts.push(['a', it.id, signed(it.kind), ...place(it)])
  for (const it of news.moved) parts.push(['m', it.id, ...place(it)])
  for (const it of news.touched) parts.push(['t', it.id, signed(it.kind)])
  for (const it of news.riding) parts.push(['r', it.id, it.carrier, ...place(it)])
  for (const it of news.fields) parts.push(['f', it.id, ...values(it.values)])
  return parts.map(part => part.join(',')).join(';') || 'nothing'
}

// A picture as spec/messages/README.md spells it.
function pictured(known) {
  const rows = [...known.values()].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
  return rows.map(it => [it.id, signed(it.kind), ...place(it), ...(it.carrier ? ['on' + it.carrier] : []), ...values(it.fields)].join(',')).join(';') || 'nothing'
}

let lines = 0, wrong = 0
for (const file of process.argv.slice(2)) {
  let picture = new Picture(), each = false
  for (const line of require('fs').readFileSync(file, 'latin1').split('\n')) {
    const [first, expected] = line.split(' ')
    if (first === 'each') each = true
    if (first === '' || first === '#' || first === 'each') continue
    if (each) picture = new Picture()
    const got = first === '=' ? pictured(picture.known) : text(picture, Uint8Array.from(Buffer.from(first, 'hex')))
    lines++
    if (got !== expected && wrong++ < 5) console.log(`${first}\n  expected ${expected}\n  got      ${got}`)
  }
}
console.log(`${lines} lines, ${wrong} read differently`)
process.exit(wrong ? 1 : 0)
