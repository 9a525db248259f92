// recording.js - the ticks of a recording, or of a live space so far: seeking, stepping, events.
//
//   frames     [ blocks | blocks | ... ]     what changed from tick to tick
//   keyframes  every so many ticks a copy of the world, to come back to
//   events     columns of all events, and for each node and each target the chain of its events, newest first:
//
//     frame watcher target node ...  3 <- 17 <- 40    what a node sees at a tick is its chain up to there, folded
(function (V) {
  'use strict'

  const KEYFRAME = 64, LIVE_BYTES = 96 * 2 ** 20

  class Column {
    constructor(Type) {
      this.Type = Type
      this.a = new Type(1024)
    }

    set(i, v) {
      if (i >= this.a.length) {
        const a = new this.Type(2 * Math.max(i, this.a.length))
        a.set(this.a)
        this.a = a
      }
      this.a[i] = v
    }
  }

  class Events {
    constructor() {
      this.count = 0
      this.frame = new Column(Uint32Array)
      this.kind = new Column(Uint8Array) // 1 enters, 0 leaves, 2 was seen when the recording began
      this.watcher = new Column(Uint32Array)
      this.target = new Column(Uint32Array)
      this.node = new Column(Uint32Array)
      this.of_node = new Column(Int32Array) // the event of the same node before this one, or -1
      this.of_target = new Column(Int32Array)
      this.names = [] // ids of entities, by number
      this.numbers = new Map()
      this.node_names = [] // { owner, node }
      this.node_numbers = [] // by number of the owner: node -> number
      this.last_of_node = []
      this.last_of_target = []
      this.begin = [] // by frame: its first event
      this.dropped = 0
    }

    number(id) {
      let n = this.numbers.get(id)
      if (n === undefined) {
        n = this.names.push(id) - 1
        this.numbers.set(id, n)
        this.node_numbers.push(null)
        this.last_of_target.push(-1)
      }
      return n
    }

    node_number(owner, node) {
      const n = this.number(owner), map = this.node_numbers[n] || (this.node_numbers[n] = new Map())
      let k = map.get(node)
      if (k === undefined) {
        k = this.node_names.push({ owner, node }) - 1
        map.set(node, k)
        this.last_of_node.push(-1)
      }
      return k
    }

    add(frame, kind, watcher, target, node) {
      const i = this.count++, n = this.node_number(watcher, node), t = this.number(target)
      this.frame.set(i, frame)
      this.kind.set(i, kind)
      this.watcher.set(i, this.number(watcher))
      this.target.set(i, t)
      this.node.set(i, n)
      this.of_node.set(i, this.last_of_node[n])
      this.of_target.set(i, this.last_of_target[t])
      this.last_of_node[n] = this.last_of_target[t] = i
    }

    at(i) {
      const name = this.node_names[this.node.a[i]]
      return { frame: this.frame.a[i], kind: this.kind.a[i], watcher: name.owner, node: name.node, target: this.names[this.target.a[i]] }
    }

    // Folds a chain up to a frame: calls take(number) for what entered last.
    fold(chain, last, column, frame, take) {
      const decided = new Set()
      for (let i = last; i >= 0; i = chain.a[i]) {
        if (this.frame.a[i] > frame) continue
        const key = column.a[i]
        if (decided.has(key)) continue
        decided.add(key)
        if (this.kind.a[i] % 3) take(key) // what crosses is not seen
      }
    }

    // The targets that a node sees at a frame, as ids.
    view(owner, node, frame) {
      const map = this.node_numbers[this.numbers.get(owner)], n = map && map.get(node), list = []
      if (n !== undefined)
        this.fold(this.of_node, this.last_of_node[n], this.target, frame, t => list.push(this.names[t]))
      return list
    }

    // The nodes that see a target at a frame.
    viewers(target, frame) {
      const t = this.numbers.get(target), list = []
      if (t !== undefined)
        this.fold(this.of_target, this.last_of_target[t], this.node, frame, n => list.push(this.node_names[n]))
      return list
    }

    saw(owner, node, target, frame) {
      const map = this.node_numbers[this.numbers.get(owner)], n = map && map.get(node), t = this.numbers.get(target)
      if (n === undefined || t === undefined) return false
      for (let i = this.last_of_node[n]; i >= 0; i = this.of_node.a[i])
        if (this.frame.a[i] <= frame && this.target.a[i] === t) return this.kind.a[i] % 3 > 0
      return false
    }
  }

  function read_into(w, blocks) {
    for (const b of blocks) {
      if (b.type === 'R') {
        const r = V.readReset(b.bytes, b)
        w.clear()
        w.dimensions = r.dimensions
        w.engine = r.engine
      } else if (b.type === 'S') w.apply_entities(b.bytes.subarray(b.at, b.end))
      else if (b.type === 'N') w.apply_nodes(V.readNodes(b.bytes, b, w.dimensions))
      else if (b.type === 'W') w.apply_walls(V.readWalls(b.bytes, b, w.dimensions))
      else if (b.type === 'L') w.apply_looks(V.readLooks(b.bytes, b))
      else if (b.type === 'C') w.hear(b.bytes.subarray(b.at, b.end))
    }
    return w
  }

  class Recording {
    constructor() {
      this.head = { title: '' }
      this.frames = [] // { time, blocks: [{ bytes, type, at, end }] }
      this.keyframes = new Map()
      this.events = new Events()
      this.world = new V.World()
      this.at = -1 // the frame that `world` shows
      this.bytes = 0
      this.sent = [] // by frame: bytes that the client was sent up to there
      this.open = { blocks: [], bytes: 0 } // the frame that is being read
      this.engines = []
    }

    // Adds blocks; returns the JSON objects that do not belong to a frame.
    append(bytes) {
      const said = []
      for (const b of V.blocks(bytes)) {
        if (b.type === 'J') {
          const it = V.readJSON(bytes, b)
          if (it.what === 'head') this.head = it
          else if (it.what === 'seen') this.seen = it.views
          else if (it.what === 'story') this.story = it.story
          else if (it.what === 'bounds') this.bounds = it.box
          else said.push(it)
        } else if (b.type === 'T') this.close(V.readTime(bytes, b))
        else this.open.blocks.push({ bytes, type: b.type, at: b.at, end: b.end })
      }
      this.open.bytes += bytes.length
      return said
    }

    close(time) {
      const frame = this.frames.length
      this.events.begin[frame] = this.events.count
      if (this.seen) this.begin_seen(frame, read_into(new V.World(), this.open.blocks))
      this.sent[frame] = frame ? this.sent[frame - 1] : 0
      for (const b of this.open.blocks) {
        if (b.type === 'C') this.sent[frame] += b.end - b.at
        if (b.type === 'W') this.walled = true
        if (b.type === 'E') {
          this.events.dropped += V.readEvents(b.bytes, b, (kind, w, t, n) => this.events.add(frame, kind, w, t, n))
        } else if (b.type === 'G' || b.type === 'P') this.know(b.type === 'P' ? V.readName(b.bytes, b) : '')
      }
      this.bytes += this.open.bytes
      this.frames.push({ time, blocks: this.open.blocks })
      this.open = { blocks: [], bytes: 0 }
      if (this.head.live && this.bytes > LIVE_BYTES) this.forget()
    }

    // What areas see when the recording begins; of nodes that see past walls, what no wall hides. What lingers then is not known.
    begin_seen(frame, world) {
      for (const [owner, node, targets] of this.seen) {
        const { walls } = world.nodes.get(V.nodeKey(owner, node)) || {}
        for (const target of targets.map(V.idOf))
          if (walls === undefined || V.explain(world, V.idOf(owner), V.idOf(node), target, () => false).sees)
            this.events.add(frame, 2, V.idOf(owner), target, V.idOf(node))
      }
      this.seen = null
    }

    know(engine) {
      if (!this.engines.includes(engine)) this.engines.push(engine)
    }

    get last() { return this.frames.length - 1 }

    // What the first keyframe in the second half of a live recording does not need.
    forget() {
      const first = [...this.keyframes.keys()].find(k => k > this.frames.length / 2)
      if (first === undefined) return
      const kept = this.frames.slice(first), keyframes = new Map()
      for (const [k, w] of this.keyframes) if (k >= first) keyframes.set(k - first, w)
      const events = new Events()
      for (let i = this.events.begin[first]; i < this.events.count; i++) {
        const e = this.events.at(i)
        while (events.begin.length <= e.frame - first) events.begin.push(events.count)
        events.add(e.frame - first, e.kind, e.watcher, e.target, e.node)
      }
      while (events.begin.length < kept.length) events.begin.push(events.count)
      const share = kept.length / this.frames.length
      Object.assign(this, { frames: kept, keyframes, events, bytes: this.bytes * share, at: Math.max(0, this.at - first) })
      this.forgotten = (this.forgotten || 0) + first
    }

    // One frame forward.
    apply(frame) {
      const w = this.world
      w.tick = frame + 1
      if (w.client) w.client.tick = w.tick
      read_into(w, this.frames[frame].blocks)
      this.at = frame
      if (frame % KEYFRAME === 0 && !this.keyframes.has(frame)) this.keyframes.set(frame, w.clone())
    }

    // Makes `world` what it is at a frame; at most `most` frames are read. True when it is there.
    seek(frame, most = Infinity) {
      frame = Math.max(0, Math.min(frame, this.last))
      if (this.last < 0) return true
      if (frame < this.at || frame - this.at > KEYFRAME) {
        let best = -1
        for (const k of this.keyframes.keys()) if (k <= frame && k > best) best = k
        if (best >= 0 && (best > this.at || frame < this.at)) {
          this.world = this.keyframes.get(best).clone()
          this.at = best
        } else if (frame < this.at) {
          this.world = new V.World()
          this.at = -1
        }
      }
      for (let n = 0; this.at < frame && n < most; n++) this.apply(this.at + 1)
      return this.at === frame
    }

    // The first frame whose time is not before `time`.
    frame_at(time) {
      let lo = 0, hi = this.last
      while (lo < hi) {
        const mid = (lo + hi) >> 1
        if (this.frames[mid].time < time) lo = mid + 1
        else hi = mid
      }
      return lo
    }

    // Whether a node has seen a target at the frame of `world`; of one that makes no events that is not recorded.
    saw(it, target) { return this.events.saw(it.owner, it.node, target, this.at) }

    // What a node sees at the frame of `world`: by its events, or by the rule if it makes none.
    view(it) {
      if (!it.silent) return this.events.view(it.owner, it.node, this.at)
      const list = []
      for (const id of this.world.slots.keys())
        if (V.explain(this.world, it.owner, it.node, id, () => false).sees) list.push(id)
      return list
    }

    // The nodes that see an entity, in the same way.
    viewers(id) {
      const list = this.events.viewers(id, this.at)
      for (const it of this.world.nodes.values())
        if (it.silent && V.explain(this.world, it.owner, it.node, id, () => false).sees) list.push(it)
      return list
    }

    // The structure of an engine ('' the one that is recorded) at the frame, or before it, if that has none.
    structure(frame, engine) {
      for (let f = Math.min(frame, this.last); f >= 0; f--)
        for (const b of this.frames[f].blocks) {
          const is = b.type === 'G' ? engine === '' : b.type === 'P' && V.readName(b.bytes, b) === engine
          if (!is) continue
          if (this.parsed && this.parsed.block === b) return this.parsed
          return (this.parsed = { block: b, frame: f, ...V.readStructure(b.bytes, b, b.type === 'P') })
        }
      return null
    }
  }

  Object.assign(V, { Recording, Events })
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
