// world.js - a space as the page knows it at one tick: entities in typed arrays, nodes, and what an engine was made of.
//
//   slots     id -> slot      x y z   where it is      px py   where it was a tick ago (if stamp is this tick's)
//   nodes     "owner:node" -> { owner, node, area, mask, ... }; the map is shared with keyframes until it changes
//   walls     "sight:id" -> { walls, id, line, open, ... }, replaced when it changes
(function (V) {
  'use strict'

  const KINDS = 8 // colours
  const LOOKS = { layers: 1n, extent: 0, carrier: undefined }

  // The lowest bit of a kind chooses the colour; 0 has one of its own.
  function tintOf(kind) {
    let big = BigInt.asUintN(64, BigInt(kind)), bit = 0
    if (big === 0n) return KINDS
    while (!(big & 1n)) big >>= 1n, bit++
    return bit % KINDS
  }

  const nodeKey = (owner, node) => owner + ':' + node

  class World {
    constructor() {
      this.dimensions = 2
      this.engine = '?'
      this.tick = 1
      this.clear()
    }

    clear() {
      this.slots = new Map()
      this.top = this.count = 0
      this.free = []
      this.nodes = new Map()
      this.fields = new Map() // by id: { name: value }, replaced when it changes
      this.looks = new Map() // by id, of those that have others than LOOKS: { layers, extent, carrier }
      this.shared = false // the map of nodes, with a keyframe
      this.walls = new Map()
      this.owners = null
      this.client = undefined // a world of what the client knows
      this.reserve(64)
    }

    reserve(capacity) {
      const grown = (Type, old, n) => {
        const a = new Type(n)
        if (old) a.set(old.subarray(0, Math.min(this.top, n)))
        return a
      }
      const old = this.top ? this : {}
      for (const name of ['x', 'y', 'z', 'px', 'py']) this[name] = grown(Float64Array, old[name], capacity)
      this.tint = grown(Uint8Array, old.tint, capacity)
      this.alive = grown(Uint8Array, old.alive, capacity)
      this.stamp = grown(Uint32Array, old.stamp, capacity)
      this.ids = this.top ? this.ids : []
      this.kinds = this.top ? this.kinds : []
      this.capacity = capacity
    }

    // A copy to come back to; of the ids and kinds, too, and of the map of nodes only when it changes.
    clone() {
      const w = new World()
      w.dimensions = this.dimensions
      w.engine = this.engine
      w.tick = this.tick
      w.top = this.top
      w.count = this.count
      for (const name of ['x', 'y', 'z', 'px', 'py', 'tint', 'alive', 'stamp']) w[name] = this[name].slice(0, this.top)
      w.capacity = this.top
      w.ids = this.ids.slice()
      w.kinds = this.kinds.slice()
      w.free = this.free.slice()
      w.slots = new Map(this.slots)
      w.fields = new Map(this.fields)
      w.looks = new Map(this.looks)
      w.walls = this.walls
      w.nodes = this.nodes
      w.shared = this.shared = true
      w.owners = this.owners
      w.client = this.client && this.client.clone()
      return w
    }

    add(it) {
      let slot = this.free.pop()
      if (slot === undefined) {
        if (this.top === this.capacity) this.reserve(Math.max(64, 2 * this.capacity))
        slot = this.top++
      }
      this.slots.set(it.id, slot)
      this.ids[slot] = it.id
      this.alive[slot] = 1
      this.count++
      this.stamp[slot] = 0
      this.set_kind(slot, it.kind)
      this.place(slot, it)
    }

    place(slot, it) {
      this.x[slot] = it.x
      this.y[slot] = it.y
      this.z[slot] = it.z === undefined ? 0 : it.z
    }

    set_kind(slot, kind) {
      this.kinds[slot] = kind
      this.tint[slot] = tintOf(kind)
    }

    apply_entities(bytes) {
      const news = aoiSync.read(bytes)
      for (const id of news.gone) {
        const slot = this.slots.get(id)
        if (slot === undefined) continue
        this.alive[slot] = 0
        this.count--
        this.slots.delete(id)
        this.fields.delete(id)
        this.looks.delete(id)
        this.free.push(slot)
      }
      for (const it of news.appeared) if (!this.slots.has(it.id)) this.add(it)
      for (const it of news.moved) {
        const slot = this.slots.get(it.id)
        if (slot === undefined) continue
        this.px[slot] = this.x[slot]
        this.py[slot] = this.y[slot]
        this.stamp[slot] = this.tick
        this.place(slot, it)
      }
      for (const it of news.touched) if (this.slots.has(it.id)) this.set_kind(this.slots.get(it.id), it.kind)
      for (const it of news.fields) this.fields.set(it.id, { ...this.fields.get(it.id), ...it.values })
    }

    // A message that the client was sent; an empty one: the client is gone.
    hear(bytes) {
      const client = this.client = this.client && bytes.length ? this.client : new World()
      client.tick = this.tick
      if (!bytes.length) return
      if (aoiSync.read(bytes).anew) client.clear()
      client.apply_entities(bytes)
    }

    apply_looks(list) {
      for (const it of list) this.looks.set(it.id, it)
    }

    looks_of(id) { return this.looks.get(id) || LOOKS }

    apply_nodes(list) {
      if (this.shared) {
        this.nodes = new Map(this.nodes)
        this.shared = false
      }
      this.owners = null
      for (const it of list)
        if (it.gone) this.nodes.delete(nodeKey(it.owner, it.node))
        else this.nodes.set(nodeKey(it.owner, it.node), it)
    }

    apply_walls(list) {
      this.walls = new Map(this.walls)
      for (const it of list)
        if (it.void) this.walls.clear()
        else if (it.gone) this.walls.delete(nodeKey(it.walls, it.id))
        else this.walls.set(nodeKey(it.walls, it.id), it)
    }

    // The nodes of an entity, by node id.
    nodes_of(id) {
      if (!this.owners) {
        this.owners = new Map()
        for (const it of this.nodes.values()) {
          const list = this.owners.get(it.owner)
          if (list) list.push(it)
          else this.owners.set(it.owner, [it])
        }
        for (const list of this.owners.values()) list.sort((a, b) => (a.node < b.node ? -1 : 1))
      }
      return this.owners.get(id) || []
    }

    // Where everything is, as [x0, y0, x1, y1], or null: the walls and, where `known` does not say that, the entities.
    bounds(known) {
      let [x0, y0, x1, y1] = known || [Infinity, Infinity, -Infinity, -Infinity]
      for (let s = 0; !known && s < this.top; s++) {
        if (!this.alive[s]) continue
        x0 = Math.min(x0, this.x[s])
        x1 = Math.max(x1, this.x[s])
        y0 = Math.min(y0, this.y[s])
        y1 = Math.max(y1, this.y[s])
      }
      for (const { line: [ax, ay, bx, by] } of this.walls.values())
        [x0, y0, x1, y1] = [Math.min(x0, ax, bx), Math.min(y0, ay, by), Math.max(x1, ax, bx), Math.max(y1, ay, by)]
      return x0 <= x1 ? [x0, y0, x1, y1] : null
    }
  }

  Object.assign(V, { World, nodeKey, tintOf, KINDS })
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
