// blocks.js - reads the blocks of a viewer; the format is in docs/viewer-wire.md. Plain JavaScript, in the page and in node.
//
//   for (const b of blocks(bytes)) ...        { type, at, end } of each block of a Uint8Array
//   readNodes(bytes, b, dimensions), readWalls(bytes, b, dimensions), readLooks(bytes, b), readEvents(bytes, b, take), readStructure(bytes, b)
//
// Ids are numbers up to 2^53 and BigInts beyond, as in aoi-sync.js.
(function (V) {
  'use strict'

  const PARTS = ['all', 'cell', 'nodes', 'tower', 'tile', 'leaf', 'square']
  const ENTRIES = ['entity', 'node', 'cover', 'low', 'high', 'break']
  const SHAPES = ['square', 'circle', 'box', 'cylinder', 'sector', 'polygon']
  const HOWS = ['', 'hide', 'show', 'match']
  const VIEWS = -6755399441055744 // ids from here down are of the views of aoi.sync, whose events nobody is handed
  const ALL = 0xffffffffffffffffn // kinds
  const text = new TextDecoder()

  const fail = why => { throw new RangeError('no blocks of a viewer: ' + why) }

  // An id as the maps have it: a number, or a BigInt beyond 2^53.
  function idOf(text) {
    if (!/^-?\d+$/.test(text)) return undefined
    const big = BigInt(text)
    return big >= -9007199254740992n && big <= 9007199254740992n ? Number(big) : big
  }

  // The bytes of a base64 text.
  function fromBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text)
    const binary = atob(text.trim()), bytes = new Uint8Array(binary.length)
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
    return bytes
  }

  class Cursor {
    constructor(bytes, at, end) {
      this.bytes = bytes
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      this.at = at
      this.end = end
    }

    byte() {
      if (this.at >= this.end) fail('a block is cut off')
      return this.bytes[this.at++]
    }

    // Unsigned: a number as long as it is exact, else a BigInt.
    varint() {
      let value = 0
      for (let shift = 0; shift < 49; shift += 7) {
        const byte = this.byte()
        value += (byte & 0x7f) * 2 ** shift
        if (byte < 0x80) return value
      }
      let big = BigInt(value)
      for (let shift = 49n; ; shift += 7n) {
        const byte = this.byte()
        if (shift > 63n) fail('a number is too large')
        big |= BigInt(byte & 0x7f) << shift
        if (byte < 0x80) return big < 9007199254740992n ? Number(big) : big
      }
    }

    id() {
      const z = this.varint()
      if (typeof z === 'number') return z % 2 ? -(z + 1) / 2 : z / 2
      const v = z & 1n ? -(z >> 1n) - 1n : z >> 1n
      return v >= -9007199254740992n && v <= 9007199254740992n ? Number(v) : v
    }

    double() {
      if (this.at + 8 > this.end) fail('a block is cut off')
      this.at += 8
      return this.view.getFloat64(this.at - 8, true)
    }

    // A text that a 0 ends.
    line() {
      const end = this.bytes.indexOf(0, this.at)
      if (end < 0 || end >= this.end) fail('a block is cut off')
      const line = text.decode(this.bytes.subarray(this.at, end))
      this.at = end + 1
      return line
    }

    text() {
      const length = this.byte()
      this.at += length
      if (this.at > this.end) fail('a block is cut off')
      return text.decode(this.bytes.subarray(this.at - length, this.at))
    }
  }

  function * blocks(bytes, from = 0) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let at = from; at < bytes.length;) {
      if (at + 5 > bytes.length) fail('a block is cut off')
      const size = view.getUint32(at + 1, true), end = at + 5 + size
      if (end > bytes.length) fail('a block is cut off')
      yield { type: String.fromCharCode(bytes[at]), at: at + 5, end }
      at = end
    }
  }

  const cursor = (bytes, block) => new Cursor(bytes, block.at, block.end)

  function readReset(bytes, block) {
    const c = cursor(bytes, block)
    if (c.byte() !== 1) fail('they are of another version')
    return { dimensions: c.byte(), engine: c.text() }
  }

  const doubles = (c, n) => Array.from({ length: n }, () => c.double())

  // An area as snapshots have it (docs/snapshot.md), with what goes with it: { area, outside, mask, layers, silent, keeps, label }.
  function readArea(c, dimensions) {
    let head = c.byte(), label = ''
    if (head === 7) {
      label = c.line()
      head = c.byte()
    }
    const outside = head === 6
    if (outside) head = c.byte()
    const fixed = head === 14
    if (fixed) head = c.byte()
    if (head === 15) head = c.byte() // crosses
    const offset = head === 22 ? doubles(c, dimensions) : [0, 0, 0] // by which it stands off its owner
    if (head === 22) head = c.byte()
    const area = { shape: SHAPES[head & 7] || fail('a shape is unknown') }, simple = (head & 7) < 2, { shape } = area
    area.offset = offset
    const it = { area, outside, fixed, silent: (head & 8) > 0, keeps: (head & 32) > 0, label }
    it.mask = head & 16 ? BigInt(c.varint()) : ALL
    it.layers = head & 128 ? BigInt(c.varint()) : undefined
    let corners, rings
    if (shape === 'box') area.extents = doubles(c, dimensions)
    else if (shape === 'polygon') corners = c.varint(), rings = c.varint()
    else area.radius = c.double()
    if (shape === 'sector') [area.facing, area.angle] = doubles(c, 2)
    if (!simple && shape !== 'box') area.half_height = shape === 'cylinder' || head & 64 ? c.double() : Infinity
    const grown = it.keeps ? c.double() : 0
    if (simple) area.keep = it.keeps ? grown : area.radius
    else area.margin = grown
    if (shape === 'polygon') {
      const counts = rings ? Array.from({ length: rings }, () => c.varint()) : [corners]
      area.rings = counts.map(n => doubles(c, 2 * n))
    }
    return it
  }

  // Each node that has changed: { owner, node, area, mask (a BigInt), layers (a BigInt; undefined: its owner's), silent, keeps, label ('' without), overrides (a Map) or null,
  // walls (the number of the sight whose walls it sees past, or undefined), linger (ticks) }, or, if it is gone, { owner, node, gone: true }.
  function readNodes(bytes, block, dimensions) {
    const c = cursor(bytes, block), list = []
    while (c.at < c.end) {
      const there = c.byte(), owner = c.id(), node = c.id()
      if (!there) {
        list.push({ owner, node, gone: true })
        continue
      }
      const it = { owner, node, ...readArea(c, dimensions), overrides: null }, a = it.area
      if (a.shape === 'sector') [a.fx, a.fy, a.c] = doubles(c, 3)
      if (node <= VIEWS) it.silent = true
      for (let n = c.varint(); n > 0; n--) {
        it.overrides = it.overrides || new Map()
        it.overrides.set(c.id(), HOWS[c.byte()])
      }
      const past = c.varint()
      if (past) [it.walls, it.linger] = [past - 1, c.varint()]
      list.push(it)
    }
    return list
  }

  // Each wall that has changed: { walls (the number of its sight), id, open, line: [x, y, x, y], z0, z1 }; { walls, id, gone: true };
  // { void: true }: all that have been before it.
  function readWalls(bytes, block, dimensions) {
    const c = cursor(bytes, block), list = []
    while (c.at < c.end) {
      const how = c.byte()
      if (how === 3) {
        list.push({ void: true })
        continue
      }
      const it = { walls: c.varint(), id: c.id(), gone: how === 0, open: how === 2, z0: -Infinity, z1: Infinity }
      if (how) it.line = doubles(c, 4)
      if (how && dimensions === 3) [it.z0, it.z1] = doubles(c, 2)
      list.push(it)
    }
    return list
  }

  // Each entity of which they have changed: { id, layers (a BigInt), extent, carrier (an id, or undefined) }.
  function readLooks(bytes, block) {
    const c = cursor(bytes, block), list = []
    while (c.at < c.end)
      list.push({ id: c.id(), layers: BigInt(c.varint()), extent: c.double(), carrier: c.byte() ? c.id() : undefined })
    return list
  }

  // Calls take(enters, watcher, target, node) for each; returns how many more there were.
  // Calls take(kind, watcher, target, node): kind 1 enter, 0 leave, 3 a crossing.
  function readEvents(bytes, block, take) {
    const c = cursor(bytes, block), n = c.varint(), dropped = c.varint()
    for (let i = 0; i < n; i++) take([0, 1, 0, 3][c.byte()], c.id(), c.id(), c.id())
    return dropped
  }

  // { parts: [{ kind, layer, entities, nodes, x0, x1, y0, y1, lists }], left_out }; lists: null, or three lists of entries
  // [what, id] or [what, owner, node].
  function readStructure(bytes, block, engine) {
    const c = cursor(bytes, block), parts = []
    if (engine) c.text()
    for (let kind; (kind = c.byte()) !== 0;) {
      const listed = c.byte()
      const part = { kind: PARTS[kind - 1] || fail('a part is unknown'), layer: c.varint() }
      part.entities = c.varint()
      part.nodes = c.varint()
      part.x0 = c.double()
      part.x1 = c.double()
      part.y0 = c.double()
      part.y1 = c.double()
      part.lists = listed ? [[], [], []] : null
      for (let tag; listed && (tag = c.byte()) !== 0;) {
        const what = ENTRIES[(tag - 1) % 6], list = part.lists[Math.floor((tag - 1) / 6)]
        if (what === 'break') list.push([what])
        else list.push(what === 'entity' ? [what, c.id()] : [what, c.id(), c.id()])
      }
      parts.push(part)
    }
    return { parts, left_out: c.varint() }
  }

  const nodeText = node => (node <= VIEWS ? 'view of the client' : 'node ' + node)
  const readTime = (bytes, block) => cursor(bytes, block).double()
  const readName = (bytes, block) => cursor(bytes, block).text()
  const readJSON = (bytes, block) => JSON.parse(text.decode(bytes.subarray(block.at, block.end)))

  Object.assign(V, { idOf, nodeText, blocks, readReset, readNodes, readWalls, readLooks, readEvents, readStructure, readTime, readName, readJSON, fromBase64 })
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
