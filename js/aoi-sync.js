// aoi-sync.js - reads messages of aoi.sync; the format is in docs/sync-wire.md. Plain JavaScript without dependencies,
// for browsers (a global `aoiSync`), node (`require`) and, through aoi-sync.mjs, `import`.
//
//   const picture = new aoiSync.Picture({ hp: 100, name: '' })  // the fields of the server, and what they are until put
//   socket.binaryType = 'arraybuffer'
//   socket.onmessage = event => picture.apply(event.data)
//   for (const [id, it] of picture.known) draw(id, it.kind, it.x, it.y)
//
// Ids and kinds are numbers up to 2^53 and BigInts beyond.
(function (root, make) {
  if (typeof module === 'object' && module.exports) module.exports = make()
  else root.aoiSync = make()
})(typeof self !== 'undefined' ? self : this, function () {
  'use strict'

  const VERSION = 2, FLAG_3D = 1, FLAG_ANEW = 2, FLAG_FIELDS = 4, FLAG_REASONS = 8, FLAG_RIDERS = 16
  const FORM_WIDE = 1, FORM_CARRIER = 2
  const MOVED = 0, MOVED_TOUCHED = 1, TOUCHED = 2, APPEARED = 3, GONE = 4, MOVED_WIDE = 5, APPEARED_WIDE = 6, STATE = 7
  // Types of fields, by number; 0 is bool, 12 bytes.
  const U8 = 1, U16 = 2, U32 = 3, I8 = 4, I16 = 5, I32 = 6, F32 = 7, F64 = 8, ANGLE8 = 9, ANGLE16 = 10, STRING = 11
  const TYPES = 13, MOST_NAME = 64, MOST_VALUE = 65535
  const MOST_QUANTA = 2 ** 53

  const number = big => big >= -9007199254740992n && big <= 9007199254740992n ? Number(big) : big
  // By name of a field: any name is one, __proto__ and constructor as well, and nothing is there that was not sent.
  const named = values => Object.assign(Object.create(null), values)
  const fail = why => { throw new RangeError('no message of aoi.sync: ' + why) }

  class Reader {
    constructor(bytes) {
      this.bytes = bytes
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      this.at = 0
      this.last = 0 // id
    }

    byte() {
      if (this.at >= this.bytes.length) fail('it is cut off')
      return this.bytes[this.at++]
    }

    // A varint of at most `bits` bits: a number as long as it is exact, else a BigInt.
    varint(bits) {
      let value = 0, big = 0n
      for (let shift = 0; ; shift += 7) {
        const byte = this.byte(), low = byte & 0x7f
        if (shift >= bits || (bits - shift < 7 && low >> (bits - shift))) fail('a number is too large')
        if (shift < 49) value += low * 2 ** shift
        else {
          if (shift === 49) big = BigInt(value)
          big |= BigInt(low) << BigInt(shift)
        }
        if (byte & 0x80) continue
        if (byte === 0 && shift > 0) fail('a number has more bytes than it needs')
        return shift < 49 ? value : big
      }
    }

    // A difference of up to 2^55 from the origin: only their sum is exact as a number.
    quanta(origin) {
      const z = this.varint(56)
      if (typeof z === 'number') { // most: no BigInt is made
        const sum = origin + (z % 2 ? -(z + 1) / 2 : z / 2)
        if (Math.abs(sum) < MOST_QUANTA) return sum
      }
      const big = BigInt(z), sum = BigInt(origin) + (big & 1n ? -(big >> 1n) - 1n : big >> 1n)
      if (sum > MOST_QUANTA || sum < -MOST_QUANTA) fail('a position is out of range')
      return Number(sum)
    }

    float() {
      if (this.at + 4 > this.bytes.length) fail('it is cut off')
      const value = this.view.getFloat32(this.at, true)
      if (!Number.isFinite(value)) fail('a number is not finite')
      this.at += 4
      return value
    }

    double() {
      if (this.at + 8 > this.bytes.length) fail('it is cut off')
      const value = this.view.getFloat64(this.at, true)
      if (!Number.isFinite(value)) fail('a number is not finite')
      this.at += 8
      return value
    }

    // Tag and id; ids are differences from the last one, modulo 2^64.
    tag() {
      const first = this.byte()
      let z = first >> 3 & 15
      if (first & 0x80) {
        const high = this.varint(60)
        if (high === 0) fail('a number has more bytes than it needs')
        z = typeof high === 'number' && high < 2 ** 44 ? z + 16 * high : BigInt(z) | BigInt(high) << 4n
      }
      if (typeof z === 'number' && typeof this.last === 'number') { // most ids: no BigInt is made
        const sum = this.last + (z % 2 ? -(z + 1) / 2 : z / 2)
        if (Math.abs(sum) < 2 ** 53) {
          this.last = sum
          return first & 7
        }
      }
      z = BigInt(z)
      const difference = z & 1n ? -(z >> 1n) - 1n : z >> 1n
      this.last = number(BigInt.asIntN(64, BigInt(this.last) + difference))
      return first & 7
    }

    kind() {
      const v = this.varint(64)
      return typeof v === 'number' ? v : number(v)
    }

    quantum() {
      const scale = this.byte()
      if (scale === 0) return 0
      if (scale < 17) return 1 / 10 ** (scale - 1)
      if (scale < 49) return 1 / 2 ** (scale - 17)
      if (scale !== 255) fail('its quantum is unknown')
      const value = this.double()
      if (!(value > 0)) fail('its quantum is not positive')
      return value
    }

    head() {
      const version = this.byte(), flags = this.byte()
      if (version !== VERSION) fail('it is of another version')
      if (flags & ~(FLAG_3D | FLAG_ANEW | FLAG_FIELDS | FLAG_REASONS | FLAG_RIDERS)) fail('it has unknown flags')
      this.anew = (flags & FLAG_ANEW) !== 0
      this.reasons = (flags & FLAG_REASONS) !== 0
      this.riders = (flags & FLAG_RIDERS) !== 0
      this.axes = flags & FLAG_3D ? 3 : 2
      this.scale = this.quantum()
      this.records = this.varint(32)
      this.origin = []
      for (let a = 0; a < this.axes && this.scale > 0; a++) this.origin.push(this.quanta(0))
      this.fields = []
      if (flags & FLAG_FIELDS) this.table()
      if (this.records > this.bytes.length - this.at) fail('it is cut off')
    }

    // The numbers of the bits that are 1.
    mask() {
      const bits = BigInt(this.varint(64)), numbers = []
      for (let k = 0; bits >> BigInt(k); k++) if (bits >> BigInt(k) & 1n) numbers.push(k)
      return numbers
    }

    take(size) {
      if (size > this.bytes.length - this.at) fail('it is cut off')
      this.at += size
      return this.bytes.subarray(this.at - size, this.at)
    }

    // Names and types of fields: fields[number] = { type, name }.
    table() {
      const numbers = this.mask()
      if (numbers.length === 0) fail('it has no fields')
      for (const k of numbers) {
        const type = this.byte(), size = this.byte()
        if (type >= TYPES) fail('a field has an unknown type')
        if (size === 0 || size > MOST_NAME) fail('the name of a field is empty or too long')
        this.fields[k] = { type, name: api.text(this.take(size)) }
      }
    }

    // A string or bytes, or a part of one: { bytes, offset, total }.
    piece() {
      const head = this.varint(17), length = head >> 1
      if (!(head & 1)) {
        if (length > MOST_VALUE) fail('a value is too long')
        return { bytes: this.take(length), offset: 0, total: length }
      }
      const offset = this.varint(16), total = this.varint(16)
      if (length === 0 || length >= total || offset + length > total) fail('a part of a value does not fit into it')
      return { bytes: this.take(length), offset, total }
    }

    signed(bits) {
      const z = this.varint(bits), value = z % 2 ? -(z + 1) / 2 : z / 2
      return value
    }

    value(type) {
      if (type === U16) return this.varint(16)
      if (type === U32) return this.varint(32)
      if (type === I16) return this.signed(16)
      if (type === I32) return this.signed(32)
      if (type === F32) return this.float()
      if (type === F64) return this.double()
      const low = this.byte()
      if (type === ANGLE8) return low * Math.PI / 128
      if (type === ANGLE16) return (low + 256 * this.byte()) * Math.PI / 32768
      if (type === I8) return low << 24 >> 24
      if (type === U8) return low
      if (low > 1) fail('a bool is neither 0 nor 1')
      return low === 1
    }

    // The values of a record that are complete; parts of others wait in `parts`: Map id -> { name: { chunks, at } }.
    state(id, parts) {
      const numbers = this.mask(), values = named()
      if (numbers.length === 0) fail('a record has unknown fields')
      for (const k of numbers) {
        const field = this.fields[k]
        if (!field) fail('a record has unknown fields')
        const text = field.type === STRING ? bytes => api.text(bytes) : bytes => bytes.slice()
        if (field.type < STRING) values[field.name] = this.value(field.type)
        else {
          const piece = this.piece(), whole = piece.bytes.length === piece.total ? piece.bytes : join(parts, id, field.name, piece)
          if (whole) values[field.name] = text(whole)
        }
      }
      return values
    }

    // What a record of a position says, if it may be wide: `carrier` is undefined if the record names none.
    place(wide) {
      const form = wide && this.riders ? this.byte() : wide ? FORM_WIDE : 0
      if (wide && (form < FORM_WIDE || form > (FORM_WIDE | FORM_CARRIER))) fail('a record has an unknown form')
      const carrier = form & FORM_CARRIER ? this.carrier() : undefined
      return { carrier, at: this.position(form & FORM_WIDE, carrier ? 0 : undefined) }
    }

    // An id, as a difference from that of the record.
    carrier() {
      const z = BigInt(this.varint(64)), difference = z & 1n ? -(z >> 1n) - 1n : z >> 1n
      return number(BigInt.asIntN(64, BigInt(this.last) + difference))
    }

    position(wide, from) {
      const at = []
      for (let a = 0; a < this.axes; a++) {
        const origin = from === undefined ? this.origin[a] : from
        const v = wide ? this.double() : this.scale > 0 ? this.scale * this.quanta(origin) : this.float()
        if (!Number.isFinite(v)) fail('a position is out of range')
        at.push(v)
      }
      return at
    }
  }

  // All of a text that is complete with this piece. A piece that does not go on where the last one ended is of a text whose
  // beginning was not read.
  function join(parts, id, name, piece) {
    const waiting = named(parts.get(id)) // what is refused in the end changes nothing
    const before = piece.offset === 0 ? { chunks: [], at: 0 } : waiting[name]
    delete waiting[name]
    parts.set(id, waiting)
    if (!before || before.at !== piece.offset) return undefined
    const text = { chunks: before.chunks.concat([piece.bytes.slice()]), at: before.at + piece.bytes.length }
    if (text.at < piece.total) {
      waiting[name] = text
      return undefined
    }
    const whole = new Uint8Array(text.at)
    let at = 0
    for (const chunk of text.chunks) {
      whole.set(chunk, at)
      at += chunk.length
    }
    return whole
  }

  // { anew, gone: [id], appeared: [{ id, kind, x, y [, z] }], moved: [{ id, x, y [, z] }], touched: [{ id, kind }],
  // riding: [{ id, carrier, x, y [, z] }], fields: [{ id, values: { name: value } }] }, to be
  // applied in this order; reasons: why each of gone is, 0: out of view; where anew is true, all that was known before is forgotten first. A RangeError says what is wrong with other bytes. bytes: a Uint8Array.
  // A text that comes in parts is complete in the message of its last one, if the same `parts`, a Map, is given with all.
  function read(bytes, parts = new Map()) {
    if (bytes instanceof ArrayBuffer) bytes = new Uint8Array(bytes)
    const r = new Reader(bytes), news = { anew: false, gone: [], reasons: [], appeared: [], moved: [], touched: [], riding: [], fields: [] }
    r.head()
    news.anew = r.anew
    const held = r.anew ? new Map() : new Map(parts)
    for (let i = 0; i < r.records; i++) {
      const tag = r.tag(), id = r.last
      if (tag === STATE) {
        const values = r.state(id, held)
        if (Object.keys(values).length > 0) news.fields.push({ id, values })
        continue
      }
      if (tag === GONE || tag === APPEARED || tag === APPEARED_WIDE) held.delete(id)
      if (tag === GONE) {
        news.gone.push(id)
        news.reasons.push(r.reasons ? r.byte() : 0)
        continue
      }
      const appears = tag === APPEARED || tag === APPEARED_WIDE, touches = tag === TOUCHED || tag === MOVED_TOUCHED
      const kind = appears || touches ? r.kind() : undefined
      if (touches) news.touched.push({ id, kind })
      if (tag === TOUCHED) continue
      const { carrier, at: [x, y, z] } = r.place(tag === MOVED_WIDE || tag === APPEARED_WIDE)
      const it = appears ? { id, kind, x, y } : { id, x, y }
      if (z !== undefined) it.z = z
      if (carrier !== undefined) {
        const rides = carrier ? { id, carrier, x, y } : { id, carrier, x: 0, y: 0 }
        if (z !== undefined) rides.z = carrier ? z : 0
        news.riding.push(rides)
      }
      if (appears) news.appeared.push(it)
      else if (carrier) continue
      else if (tag === MOVED || tag === MOVED_TOUCHED || tag === MOVED_WIDE) news.moved.push(it)
    }
    if (r.at !== bytes.length) fail('bytes follow its last record')
    parts.clear()
    for (const [id, texts] of held) parts.set(id, texts)
    return news
  }

  // What a client knows: `known` is a Map from ids to { id, kind, x, y [, z], carrier, fields: { name: value } }; with a
  // carrier x, y [, z] is the offset from it. A field that was
  // never put is not sent: `defaults` says what it is.
  class Picture {
    constructor(defaults = {}) {
      this.defaults = defaults
      this.known = new Map()
      this.parts = new Map()
    }

    // Applies a message and returns what it says. Fields of an id that is gone in it are its last: they change nothing here.
    apply(bytes) {
      const news = read(bytes, this.parts)
      if (news.anew) this.known.clear()
      for (const id of news.gone) this.known.delete(id)
      for (const it of news.appeared) this.known.set(it.id, { ...it, fields: Object.assign(named(), this.defaults) })
      for (const it of news.moved) Object.assign(this.known.get(it.id) || {}, it)
      for (const it of news.touched) Object.assign(this.known.get(it.id) || {}, it)
      for (const it of news.riding) {
        const known = this.known.get(it.id) || {}
        if (it.carrier) Object.assign(known, it)
        else delete known.carrier
      }
      for (const { id, values } of news.fields) Object.assign((this.known.get(id) || {}).fields || {}, values)
      return news
    }
  }

  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true }) // every byte counts
  const api = { read, Picture, text: bytes => utf8.decode(bytes) } // text: how strings are shown
  return api
})
