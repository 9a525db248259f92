// rule.js - whether and why a node sees a target: the rule of the library (include/aoi.h), in doubles as written there.
(function (V) {
  'use strict'

  const inside = (w, t, r) => r >= 0 && w - r <= t && t <= w + r

  function inBall(axes, w, t, r) {
    const dx = t.x - w.x, dy = t.y - w.y, dz = t.z - w.z
    return r >= 0 && (axes < 3 ? dx * dx + dy * dy : dx * dx + dy * dy + dz * dz) <= r * r
  }

  const inHeight = (dims, w, t, half) => dims < 3 || inside(w.z, t.z, half)

  function inPolygon(a, w, t) {
    const dx = t.x - w.x, dy = t.y - w.y
    let is = false
    for (const p of a.rings)
      for (let i = 0, n = p.length, j = n - 2; i < n; j = i, i += 2) {
        const xi = p[i], yi = p[i + 1], xj = p[j], yj = p[j + 1]
        if ((yi > dy) !== (yj > dy) && dx < (xj - xi) * (dy - yi) / (yj - yi) + xi) is = !is
      }
    return is
  }

  const NOWHERE = [0, 0, 0], standsOff = a => (a.offset || NOWHERE).some(v => v !== 0)

  // Inside the area, or, with `grown`, inside the area that it is lost beyond; by a target of this extent.
  function holds(dims, a, owner, t, extent, grown) {
    const [ox, oy, oz] = a.offset || NOWHERE, w = { x: owner.x + ox, y: owner.y + oy, z: owner.z + (oz || 0) }
    const wide = grown ? a.margin : 0, r = (grown && a.keep !== undefined ? a.keep : a.radius + (wide || 0)) + extent
    const far = half => half + wide + extent
    switch (a.shape) {
      case 'square': return inside(w.x, t.x, r) && inside(w.y, t.y, r) && (dims < 3 || inside(w.z, t.z, r))
      case 'circle': return inBall(dims, w, t, r)
      case 'box': return inside(w.x, t.x, far(a.extents[0])) && inside(w.y, t.y, far(a.extents[1])) &&
        (dims < 3 || inside(w.z, t.z, far(a.extents[2])))
      case 'cylinder': return inBall(2, w, t, r) && inHeight(dims, w, t, far(a.half_height))
      case 'polygon': return inPolygon(a, w, t) && inHeight(dims, w, t, a.half_height)
    }
    const dx = t.x - w.x, dy = t.y - w.y
    return inBall(2, w, t, r) && inHeight(dims, w, t, far(a.half_height)) &&
      (a.angle === 6.283185307179586 || dx * a.fx + dy * a.fy >= a.c * Math.sqrt(dx * dx + dy * dy))
  }

  // The layers of a node: its own, else those of its owner, which has looks `own`.
  const layersOf = (it, own) => (it.layers === undefined ? own.layers : it.layers)

  // Why, the first that applies. `saw`: whether the node had seen the target, asked where that decides.
  function why(dims, it, own, target, w, t, kind, looks, saw) {
    if (it.owner === target) return 'self'
    const how = it.overrides ? it.overrides.get(target) : undefined
    if (how === 'hide') return 'hidden'
    if (how === 'show') return 'shown'
    if (how !== 'match' && !(BigInt.asUintN(64, BigInt(kind)) & it.mask)) return 'mask'
    if (!(looks.layers & layersOf(it, own))) return 'layers'
    if (holds(dims, it.area, w, t, it.fixed ? 0 : looks.extent, false)) return 'inside'
    return it.keeps && holds(dims, it.area, w, t, it.fixed ? 0 : looks.extent, true) && saw() !== it.outside ? 'kept' : 'outside'
  }

  const cross = (a, b, p) => (b[0] - a[0]) * (p.y - a[1]) - (b[1] - a[1]) * (p.x - a[0])

  // How far along the line from w to t, which are in order, it meets a shut wall; undefined if that hides neither.
  function crossing(dims, { line, open, z0, z1 }, w, t) {
    const a = [line[0], line[1]], b = [line[2], line[3]], from = [w.x, w.y], to = [t.x, t.y]
    const cw = cross(a, b, w), ct = cross(a, b, t), end = p => cross(from, to, { x: p[0], y: p[1] }) > 0
    if (open || (cw > 0) === (ct > 0) || end(a) === end(b)) return undefined
    const s = cw / (cw - ct), z = w.z + s * (t.z - w.z)
    return dims < 3 || (z0 <= z && z <= z1) ? s : undefined
  }

  // The first wall on the line, and where, as { id, x, y, z }; null: there is none. The rule takes the end with the
  // smaller x (then y, then z) first, whoever looks.
  function cut(world, sight, from, to) {
    const by = ['x', 'y', 'z'].find(k => from[k] !== to[k]), back = by !== undefined && from[by] > to[by]
    const [w, t] = back ? [to, from] : [from, to]
    let id, first
    for (const it of world.walls.values()) {
      const s = it.walls === sight ? crossing(world.dimensions, it, w, t) : undefined
      if (s === undefined) continue
      if (id === undefined || (back ? s > first : s < first) || (s === first && it.id < id)) [id, first] = [it.id, s]
    }
    const at = k => w[k] + first * (t[k] - w[k])
    return id === undefined ? null : { id, x: at('x'), y: at('y'), z: at('z') }
  }

  const SEES = new Set(['shown', 'inside', 'kept']), PLACES = new Set(['inside', 'kept', 'outside'])

  // As Lua writes numbers: %.14g, and whole ones with a decimal point, as Lua 5.3 and later do with floats.
  function luaNumber(v) {
    if (v === Infinity || v === -Infinity) return v > 0 ? 'inf' : '-inf'
    if (v === 0) return Object.is(v, -0) ? '-0.0' : '0.0'
    const exponent = Number(v.toExponential(13).split('e')[1])
    let s
    if (exponent < -5 || exponent >= 14) {
      let [mantissa, e] = v.toExponential(13).split('e')
      if (mantissa.includes('.')) mantissa = mantissa.replace(/\.?0+$/, '')
      s = mantissa + 'e' + e[0] + e.slice(1).padStart(2, '0')
    } else {
      s = v.toPrecision(14)
      if (s.includes('.')) s = s.replace(/\.?0+$/, '')
    }
    return /^-?\d+$/.test(s) ? s + '.0' : s
  }

  // Four digits, and all those before the point.
  const short = v => (Number.isFinite(v) ? String(Math.abs(v) < 1000 ? Number(v.toPrecision(4)) : Math.round(v)) : '∞')
  const signed = big => BigInt.asIntN(64, BigInt(big)).toString()
  const kindText = big => '0x' + BigInt.asUintN(64, BigInt(big)).toString(16)

  const maskText = mask => (BigInt.asUintN(64, BigInt(mask)) === 0xffffffffffffffffn ? 'all kinds' : kindText(mask))

  function areaText(a) {
    const m = a.margin > 0 ? `, margin ${short(a.margin)}` : a.keep > a.radius ? `, leaves at ${short(a.keep)}` : ''
    const h = (a.half_height < Infinity ? `, ±${short(a.half_height)} high` : '') +
      (standsOff(a) ? `, offset ${a.offset.map(short).join(', ')}` : '')
    switch (a.shape) {
      case 'box': return `box ${a.extents.slice(0, 2).map(short).join(' × ')}${h}${m}`
      case 'polygon': {
        const corners = a.rings.reduce((n, ring) => n + ring.length / 2, 0)
        return `polygon of ${corners} corners${a.rings.length > 1 ? ` in ${a.rings.length} rings` : ''}${h}`
      }
      case 'sector': return `sector of ${short(a.angle * 180 / Math.PI)}°, radius ${short(a.radius)}${h}${m}`
      default: return `${a.shape}, radius ${short(a.radius)}${h}${m}`
    }
  }

  // The distance that decides, from where the area stands, in the measure of the shape: of squares and boxes along the axis that is the nearest to
  // its border or the farthest beyond, of cylinders the height where that is it.
  function measure(e, a) {
    const axes = ['x', 'y', 'z'].filter(k => e.high || k !== 'z'), offset = a.offset || NOWHERE
    const half = k => (a.shape === 'box' ? a.extents[axes.indexOf(k)] : a.radius)
    const [dx, dy, dz] = axes.map((k, i) => e['d' + k] - offset[i]), away = k => Math.abs({ x: dx, y: dy, z: dz }[k])
    const beyond = k => away(k) - half(k), flat = Math.sqrt(dx * dx + dy * dy)
    switch (a.shape) {
      case 'square':
      case 'box': {
        const axis = axes.reduce((best, k) => (beyond(k) > beyond(best) ? k : best))
        return `${short(away(axis))} away along ${axis}`
      }
      case 'circle': return `${short(Math.sqrt(dx * dx + dy * dy + (dz || 0) * (dz || 0)))} away`
    }
    if (e.high && Math.abs(dz) > a.half_height) return `${short(Math.abs(dz))} ${dz > 0 ? 'above' : 'below'}`
    return `${short(flat)} away`
  }

  // What decides, in plain words.
  function reason(e, it) {
    const d = measure(e, it.area) + (e.extent > 0 ? `, ${short(e.extent)} large` : '')
    switch (e.why) {
      case 'self': return 'An entity does not see itself.'
      case 'hidden': return 'An override of this pair hides it.'
      case 'shown': return 'An override of this pair shows it, wherever it is.'
      case 'mask': return `Its kind ${kindText(e.kind)} has no bit of the mask ${kindText(it.mask)}.`
      case 'layers': return `Its layers ${kindText(e.layers)} have no bit of the node's, ${kindText(e.node_layers)}.`
      case 'inside': return `It is ${d}, inside the area (${areaText(it.area)}).`
      case 'wall': return `It is ${d}, inside the area, and wall ${e.wall.id} hides it: the line ends at ${short(e.wall.x)}, ${short(e.wall.y)}.`
      case 'lingers': return `It is ${d}, and the node holds on to what it saw for ${it.linger} ticks.`
      case 'kept': return `It is ${d}, outside the area, but not beyond what the node holds on to (${areaText(it.area)}).`
      default: return `It is ${d}, outside the area (${areaText(it.area)}).`
    }
  }

  const looksText = (e, a) => (e.extent !== 0 ? `, extent ${luaNumber(e.extent)}` : '') +
    (standsOff(a) ? `, offset ${a.offset.map(luaNumber).join(', ')}` : '') +
    (e.why === 'layers' ? `, layers ${signed(e.layers)} of it and ${signed(e.node_layers)} of the node` : '')

  // The explanation of Space:explain for a node of a world, with its sentence in `text` and plain words in `reason`.
  function explain(world, owner, node, target, saw) {
    const e = { watcher: owner, node, target, sees: false }
    const from = world.slots.get(owner), to = world.slots.get(target), it = world.nodes.get(V.nodeKey(owner, node))
    e.why = from === undefined ? 'no watcher' : !it ? 'no node' : to === undefined ? 'no target' : ''
    if (!e.why) {
      const place = s => ({ x: world.x[s], y: world.y[s], z: world.z[s] }), w = place(from), t = place(to)
      e.kind = world.kinds[to]
      const own = world.looks_of(owner), looks = world.looks_of(target)
      Object.assign(e, { layers: looks.layers, node_layers: layersOf(it, own), extent: looks.extent })
      e.why = why(world.dimensions, it, own, target, w, t, e.kind, looks, saw)
      e.sees = it.outside && PLACES.has(e.why) ? e.why === 'outside' : SEES.has(e.why)
      e.wall = e.sees && e.why !== 'shown' && it.walls !== undefined ? cut(world, it.walls, w, t) : null
      if (e.wall) [e.why, e.sees] = ['wall', false]
      if (it.linger && !e.sees && e.why !== 'self' && e.why !== 'hidden' && saw()) [e.why, e.sees] = ['lingers', true]
      e.dx = t.x - w.x
      e.dy = t.y - w.y
      e.dz = t.z - w.z
      e.distance = Math.sqrt(world.dimensions < 3 ? e.dx * e.dx + e.dy * e.dy : e.dx * e.dx + e.dy * e.dy + e.dz * e.dz)
      e.high = world.dimensions === 3
      e.reason = reason(e, it)
    }
    const high = world.dimensions === 3 ? `, dz ${luaNumber(e.dz || 0)}` : ''
    const figures = e.distance === undefined ? '' : ` (${it.outside ? 'outside of a ' : ''}${it.area.shape}, dx ${luaNumber(e.dx)}, dy ${luaNumber(e.dy)}${high}, ` +
      `distance ${luaNumber(e.distance)}${it.area.shape === 'sector' ? `, facing ${luaNumber(it.area.facing)}` : ''}, kind ${signed(e.kind)}, mask ${signed(it.mask)}${looksText(e, it.area)})` + (e.wall ? `, by wall ${e.wall.id} at ${luaNumber(e.wall.x)}, ${luaNumber(e.wall.y)}` : '')
    const label = it && it.label ? ` '${it.label}'` : ''
    e.text = `Node ${node}${label} of entity ${owner} ${e.sees ? 'sees' : 'does not see'} entity ${target}: ${e.why}${figures}.`
    return e
  }

  const layersText = layers => (layers === undefined || layers === 1n ? '' : `, layers ${kindText(layers)}`)

  Object.assign(V, { explain, areaText, layersText, kindText, maskText, luaNumber, short, SEES })
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
