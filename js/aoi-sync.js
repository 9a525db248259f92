// aoi-sync.js - reads messages of aoi.sync; the format is in docs/sync-wire.md. Plain JavaScript without dependencies,
// for browsers (a global `aoiSync`, or `import`ed for its side effect) and node (`require`).
//
//   const picture = new aoiSync.Picture()
//   socket.binaryType = 'arraybuffer'
//   socket.onmessage = event => picture.apply(new Uint8Array(event.data))
//   for (const [id, it] of picture.known) draw(id, it.kind, it.x, it.y)
//
// Ids and kinds are numbers up to 2^53 and BigInts beyond.
(function (root, make) {
  if (typeof module === 'object' && module.exports) module.exports = make()
  else root.aoiSync = make()
})(typeof self !== 'undefined' ? self : this, function () {
  'use strict'

  const VERSION = 2, FLAG_3D = 1, FLAG_ANEW = 2
  const MOVED = 0, MOVED_TOUCHED = 1, TOUCHED = 2, APPEARED = 3, GONE = 4, MOVED_WIDE = 5, APPEARED_WIDE = 6
  const MOST_QUANTA = 2 ** 53

  const number = big => big >= -9007199254740992n && big <= 9007199254740992n ? Number(big) : big
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
      let sum
      if (typeof z === 'number') sum = origin + (z % 2 ? -(z + 1) / 2 : z / 2)
      else sum = Number(BigInt(origin) + (z & 1n ? -(z >> 1n) - 1n : z >> 1n))
      if (Math.abs(sum) > MOST_QUANTA) fail('a position is out of range')
      return sum
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
      if (flags & ~(FLAG_3D | FLAG_ANEW)) fail('it has unknown flags')
      this.anew = (flags & FLAG_ANEW) !== 0
      this.axes = flags & FLAG_3D ? 3 : 2
      this.scale = this.quantum()
      this.records = this.varint(32)
      this.origin = []
      for (let a = 0; a < this.axes && this.scale > 0; a++) this.origin.push(this.quanta(0))
      if (this.records > this.bytes.length - this.at) fail('it is cut off')
    }

    position(wide) {
      const at = []
      for (let a = 0; a < this.axes; a++) {
        const v = wide ? this.double() : this.scale > 0 ? this.scale * this.quanta(this.origin[a]) : this.float()
        if (!Number.isFinite(v)) fail('a position is out of range')
        at.push(v)
      }
      return at
    }
  }

  // { anew, gone: [id], appeared: [{ id, kind, x, y [, z] }], moved: [{ id, x, y [, z] }], touched: [{ id, kind }] }, to be
  // applied in this order; where anew is true, all that was known before is forgotten first. A RangeError says what is wrong with other bytes. bytes: a Uint8Array.
  function read(bytes) {
    const r = new Reader(bytes), news = { anew: false, gone: [], appeared: [], moved: [], touched: [] }
    r.head()
    news.anew = r.anew
    for (let i = 0; i < r.records; i++) {
      const tag = r.tag(), id = r.last
      if (tag > APPEARED_WIDE) fail('a record has an unknown tag')
      if (tag === GONE) {
        news.gone.push(id)
        continue
      }
      const appears = tag === APPEARED || tag === APPEARED_WIDE, touches = tag === TOUCHED || tag === MOVED_TOUCHED
      const kind = appears || touches ? r.kind() : undefined
      if (touches) news.touched.push({ id, kind })
      if (tag === TOUCHED) continue
      const [x, y, z] = r.position(tag === MOVED_WIDE || tag === APPEARED_WIDE)
      const it = appears ? { id, kind, x, y } : { id, x, y }
      if (z !== undefined) it.z = z
      if (appears) news.appeared.push(it)
      else if (tag === MOVED || tag === MOVED_TOUCHED || tag === MOVED_WIDE) news.moved.push(it)
    }
    if (r.at !== bytes.length) fail('bytes follow its last record')
    return news
  }

  // What a client knows: `known` is a Map from ids to { id, kind, x, y [, z] }.
  class Picture {
    constructor() { this.known = new Map() }

    // Applies a message and returns what it says.
    apply(bytes) {
      const news = read(bytes)
      if (news.anew) this.known.clear()
      for (const id of news.gone) this.known.delete(id)
      for (const it of news.appeared) this.known.set(it.id, it)
      for (const it of news.moved) Object.assign(this.known.get(it.id) || {}, it)
      for (const it of news.touched) Object.assign(this.known.get(it.id) || {}, it)
      return news
    }
  }

  return { read, Picture }
})
