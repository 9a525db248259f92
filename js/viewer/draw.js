// draw.js - the map: entities, areas, lines of sight, the engine's parts and flashes of events, on two canvases.
//
//   below   entities, as pixels in an image when there are many: some milliseconds for tens of thousands
//   above   everything else
(function (V) {
  'use strict'

  const THEMES = {
    dark: {
      back: '#11151c', grid: '#1d2430', text: '#c9d3e0', dim: '#74839a', part: '#3d6fb5', hot: '#f5c542', see: '#4cc38a', seen: '#ff9d5c',
      area: '#7aa2f7', enter: '#4cc38a', leave: '#ff6b6b', pair: '#d36bff', hidden: '#ff6b6b',
      kinds: ['#7aa2f7', '#f5c542', '#4cc38a', '#ff9d5c', '#d36bff', '#5fd7e8', '#ff6b9d', '#b5d36b', '#5c6675']
    },
    light: {
      back: '#fbfcfe', grid: '#e6eaf1', text: '#1b2430', dim: '#66748a', part: '#86a8dc', hot: '#b97d00', see: '#12805c', seen: '#c4520a',
      area: '#2f5fc4', enter: '#12805c', leave: '#c62828', pair: '#8e24aa', hidden: '#c62828',
      kinds: ['#2f5fc4', '#b97d00', '#12805c', '#c4520a', '#8e24aa', '#00798c', '#c2185b', '#5d7a00', '#9aa4b2']
    }
  }

  const MANY = 1500, MOST_LINES = 2000, MOST_SHADOWS = 200, FLASH_MS = 700, MOST_FLASHES = 400, FLASH_STEPS = 12

  const packed = css => { // 0xAABBGGRR, as the bytes of an image stand in memory
    const n = parseInt(css.slice(1), 16)
    return (0xff000000 | (n & 0xff) << 16 | (n & 0xff00) | n >> 16) >>> 0
  }

  // Opacity of one of `n` lines: many fade, so that a crowd is no ball of wool.
  const fade = (alpha, n) => Math.max(0.08, alpha * Math.min(1, Math.sqrt(12 / Math.max(1, n))))

  class Map2D {
    constructor(below, above) {
      this.below = below
      this.above = above
      this.b = below.getContext('2d', { alpha: false })
      this.a = above.getContext('2d')
      this.scale = 1
      this.cx = this.cy = 0
      this.sx = new Float32Array(64) // where each slot was drawn last, in pixels of the canvas
      this.sy = new Float32Array(64)
      this.flashes = []
      this.set_theme('dark')
      this.resize()
    }

    set_theme(name) {
      this.colors = THEMES[name]
      this.packed = this.colors.kinds.map(packed)
      this.ground = packed(this.colors.back)
      this.image = this.rings = null
    }

    resize() {
      const ratio = Math.min(2, window.devicePixelRatio || 1), box = this.below.parentElement.getBoundingClientRect()
      this.ratio = ratio
      this.width = Math.max(1, Math.round(box.width * ratio))
      this.height = Math.max(1, Math.round(box.height * ratio))
      for (const canvas of [this.below, this.above]) {
        canvas.width = this.width
        canvas.height = this.height
      }
      this.image = this.rings = null
    }

    fit(bounds) {
      if (!bounds) return
      const w = Math.max(bounds[2] - bounds[0], 1e-9), h = Math.max(bounds[3] - bounds[1], 1e-9)
      this.scale = 0.9 * Math.min(this.width / w, this.height / h)
      if (w <= 1e-9 && h <= 1e-9) this.scale = 10
      this.cx = (bounds[0] + bounds[2]) / 2
      this.cy = (bounds[1] + bounds[3]) / 2
    }

    zoom(factor, px = this.width / 2, py = this.height / 2) {
      const x = this.world_x(px), y = this.world_y(py)
      this.scale = Math.min(1e9, Math.max(1e-9, this.scale * factor))
      this.cx = x - (px - this.width / 2) / this.scale
      this.cy = y + (py - this.height / 2) / this.scale
    }

    screen_x(x) { return (x - this.cx) * this.scale + this.width / 2 }
    screen_y(y) { return this.height / 2 - (y - this.cy) * this.scale }
    world_x(px) { return (px - this.width / 2) / this.scale + this.cx }
    world_y(py) { return this.cy - (py - this.height / 2) / this.scale }
    visible() { return [this.world_x(0), this.world_y(this.height), this.world_x(this.width), this.world_y(0)] }

    // Where all stand between the tick before (0) and this one (1), in pixels.
    project(world, between) {
      const n = world.top
      if (this.sx.length < n) {
        this.sx = new Float32Array(2 * n)
        this.sy = new Float32Array(2 * n)
      }
      const { x, y, px, py, stamp, alive, tick } = world, { sx, sy, scale } = this
      const ox = this.width / 2 - this.cx * scale, oy = this.height / 2 + this.cy * scale
      for (let s = 0; s < n; s++) {
        if (!alive[s]) continue
        let wx = x[s], wy = y[s]
        if (between < 1 && stamp[s] === tick) {
          wx = px[s] + (wx - px[s]) * between
          wy = py[s] + (wy - py[s]) * between
        }
        sx[s] = wx * scale + ox
        sy[s] = oy - wy * scale
      }
    }

    // The slot nearest to a place on the canvas, or -1.
    pick(world, px, py) {
      let best = -1, least = (14 * this.ratio) ** 2
      for (let s = 0; s < world.top; s++) {
        if (!world.alive[s]) continue
        const d = (this.sx[s] - px) ** 2 + (this.sy[s] - py) ** 2
        if (d < least) [best, least] = [s, d]
      }
      return best
    }

    radius(count) {
      const share = Math.sqrt(this.width * this.height / Math.max(1, count))
      return Math.min(6, Math.max(1.5, share / 9)) * this.ratio
    }

    draw_entities(world) {
      const r = this.radius(world.count)
      if (world.count > MANY) this.draw_pixels(world, r)
      else this.draw_discs(world, r)
    }

    draw_discs(world, r) {
      const c = this.b, { sx, sy } = this
      c.fillStyle = this.colors.back
      c.fillRect(0, 0, this.width, this.height)
      for (let tint = 0; tint < this.colors.kinds.length; tint++) {
        c.fillStyle = this.colors.kinds[tint]
        c.beginPath()
        for (let s = 0; s < world.top; s++) {
          if (!world.alive[s] || world.tint[s] !== tint || !this.on_canvas(sx[s], sy[s], r)) continue
          c.moveTo(sx[s] + r, sy[s])
          c.arc(sx[s], sy[s], r, 0, 7)
        }
        c.fill()
      }
    }

    on_canvas(px, py, r) { return px > -r && py > -r && px < this.width + r && py < this.height + r }

    draw_pixels(world, r) {
      if (!this.image) {
        this.image = this.b.createImageData(this.width, this.height)
        this.pixels = new Uint32Array(this.image.data.buffer)
      }
      const { pixels, width, height, sx, sy, packed: colors } = this, side = Math.max(2, Math.round(2 * r)), half = side / 2
      pixels.fill(this.ground)
      for (let s = 0; s < world.top; s++) {
        if (!world.alive[s]) continue
        const x0 = Math.max(0, Math.round(sx[s] - half)), y0 = Math.max(0, Math.round(sy[s] - half))
        const x1 = Math.min(width, Math.round(sx[s] - half) + side), y1 = Math.min(height, Math.round(sy[s] - half) + side)
        const color = colors[world.tint[s]]
        for (let y = y0; y < y1; y++) {
          const row = y * width
          for (let x = x0; x < x1; x++) pixels[row + x] = color
        }
      }
      this.b.putImageData(this.image, 0, 0)
    }

    // ---- above ------------------------------------------------------------------------------------------------------

    clear_above() {
      this.a.clearRect(0, 0, this.width, this.height)
      this.texts = []
    }

    // A line every 1, 2 or 5 times a power of ten, and what that is.
    draw_scale() {
      const c = this.a, want = 120 * this.ratio / this.scale, power = 10 ** Math.floor(Math.log10(want))
      const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= want) || want, pixels = step * this.scale
      const y = this.height - 14 * this.ratio, x = 14 * this.ratio
      c.strokeStyle = c.fillStyle = this.colors.dim
      c.lineWidth = this.ratio
      c.beginPath()
      c.moveTo(x, y - 4 * this.ratio)
      c.lineTo(x, y)
      c.lineTo(x + pixels, y)
      c.lineTo(x + pixels, y - 4 * this.ratio)
      c.stroke()
      c.font = `${11 * this.ratio}px system-ui, sans-serif`
      c.fillText(V.short(step), x + 4 * this.ratio, y - 5 * this.ratio)
    }

    path_of(area, px, py, grown) {
      const c = this.a, k = this.scale, m = grown ? area.margin || 0 : 0
      const r = (grown && area.keep !== undefined ? area.keep : area.radius + m) * k
      c.beginPath()
      switch (area.shape) {
        case 'square': c.rect(px - r, py - r, 2 * r, 2 * r); break
        case 'box': {
          const w = (area.extents[0] + m) * k, h = (area.extents[1] + m) * k
          c.rect(px - w, py - h, 2 * w, 2 * h)
          break
        }
        case 'sector': {
          const from = -area.facing - area.angle / 2
          if (area.angle < 6.283185) c.moveTo(px, py)
          c.arc(px, py, r, from, from + area.angle)
          c.closePath()
          break
        }
        case 'polygon':
          for (const ring of area.rings) {
            c.moveTo(px + ring[0] * k, py - ring[1] * k)
            for (let i = 2; i < ring.length; i += 2) c.lineTo(px + ring[i] * k, py - ring[i + 1] * k)
            c.closePath()
          }
          break
        default: c.arc(px, py, r, 0, 7)
      }
    }

    // What no wall of `lines` hides from a place, as a path: rays to the ends of walls and just beside them, and around.
    path_of_sight(lines, px, py) {
      const c = this.a, far = 1e5, angles = []
      const near = lines.map(([ax, ay, bx, by]) => [this.screen_x(ax) - px, this.screen_y(ay) - py, this.screen_x(bx) - px, this.screen_y(by) - py])
      for (let i = 0; i < 16; i++) angles.push(i * Math.PI / 8 - Math.PI)
      for (const [ax, ay, bx, by] of near)
        for (const at of [Math.atan2(ay, ax), Math.atan2(by, bx)]) angles.push(at - 1e-4, at, at + 1e-4)
      c.beginPath()
      for (const angle of angles.sort((a, b) => a - b)) {
        const dx = Math.cos(angle), dy = Math.sin(angle)
        let t = far
        for (const [ax, ay, bx, by] of near) {
          const ex = bx - ax, ey = by - ay, d = dx * ey - dy * ex, s = (ax * dy - ay * dx) / d, at = (ax * ey - ay * ex) / d
          if (d !== 0 && s >= 0 && s <= 1 && at >= 0 && at < t) t = at
        }
        c.lineTo(px + t * dx, py + t * dy)
      }
      c.closePath()
    }

    // The shut walls of a sight; none, if there are so many that the picture would be late.
    lines_of(world, sight) {
      const lines = []
      for (const it of sight === undefined ? [] : world.walls.values()) if (it.walls === sight && !it.open) lines.push(it.line)
      return lines.length > MOST_SHADOWS ? [] : lines
    }

    // `faint`: one of many, of that opacity; `lit`: it sees something. Walls of `world` cut it off.
    draw_area(world, it, px, py, strong, faint = 0.35, lit = false) {
      const [ox, oy] = it.area.offset
      const lines = it.area.radius === Infinity ? [] : this.lines_of(world, it.walls)
      this.a.save()
      if (lines.length) {
        this.path_of_sight(lines, px, py)
        this.a.clip()
      }
      this.draw_whole_area(it, px + ox * this.scale, py - oy * this.scale, strong, faint, lit)
      this.a.restore()
    }

    draw_whole_area(it, px, py, strong, faint, lit) {
      const c = this.a, a = it.area
      if (a.radius === Infinity) return
      c.strokeStyle = c.fillStyle = lit ? this.colors.leave : this.colors.area
      c.lineWidth = (strong ? 1.5 : 1) * this.ratio
      this.path_of(a, px, py, false)
      if (strong || lit) {
        c.globalAlpha = lit ? 0.3 : 0.08
        c.fill('evenodd')
      }
      c.globalAlpha = strong ? 1 : faint
      c.stroke()
      if (it.keeps && (a.keep > a.radius || a.margin > 0)) {
        c.setLineDash([5 * this.ratio, 4 * this.ratio])
        this.path_of(a, px, py, true)
        c.stroke()
        c.setLineDash([])
      }
      c.globalAlpha = 1
    }

    // All areas of the world, thin, the fainter the more there are; at most `most`. Those in `lit` are filled.
    draw_areas(world, most, lit) {
      const faint = fade(0.5, world.nodes.size)
      for (const it of world.nodes.values()) {
        const s = world.slots.get(it.owner)
        if (s === undefined || !this.on_canvas(this.sx[s], this.sy[s], this.scale * 1e4)) continue
        if (most-- === 0) return
        this.draw_area(world, it, this.sx[s], this.sy[s], false, faint, lit.has(it))
      }
    }

    // Large entities as the discs that they are, and a line from each passenger to its carrier.
    draw_looks(world) {
      const c = this.a
      c.strokeStyle = this.colors.text
      c.lineWidth = this.ratio
      c.globalAlpha = fade(0.6, world.looks.size)
      c.beginPath()
      for (const { id, extent, carrier } of world.looks.values()) {
        const s = world.slots.get(id), to = carrier === undefined ? undefined : world.slots.get(carrier), r = extent * this.scale
        if (s === undefined) continue
        if (extent > 0 && this.on_canvas(this.sx[s], this.sy[s], r)) {
          c.moveTo(this.sx[s] + r, this.sy[s])
          c.arc(this.sx[s], this.sy[s], r, 0, 7)
        }
        if (to === undefined) continue
        c.moveTo(this.sx[s], this.sy[s])
        c.lineTo(this.sx[to], this.sy[to])
      }
      c.stroke()
      c.globalAlpha = 1
    }

    draw_lines(world, from, ids, color, dashed) {
      const c = this.a
      c.strokeStyle = color
      c.lineWidth = this.ratio
      c.globalAlpha = fade(0.8, ids.length)
      if (dashed) c.setLineDash([2 * this.ratio, 4 * this.ratio])
      c.beginPath()
      let n = 0
      for (const id of ids) {
        const s = world.slots.get(id)
        if (s === undefined || s === from || n++ === MOST_LINES) continue
        c.moveTo(this.sx[from], this.sy[from])
        c.lineTo(this.sx[s], this.sy[s])
      }
      c.stroke()
      c.setLineDash([])
      c.globalAlpha = 1
    }

    // Walls; those that are open, doors, are faint and dashed.
    draw_walls(world) {
      const c = this.a
      c.strokeStyle = this.colors.text
      c.lineCap = 'round'
      c.lineWidth = 2 * this.ratio
      for (const open of [false, true]) {
        c.globalAlpha = open ? 0.35 : 0.9
        if (open) c.setLineDash([this.ratio, 5 * this.ratio])
        c.beginPath()
        for (const it of world.walls.values()) {
          if (it.open !== open) continue
          c.moveTo(this.screen_x(it.line[0]), this.screen_y(it.line[1]))
          c.lineTo(this.screen_x(it.line[2]), this.screen_y(it.line[3]))
        }
        c.stroke()
      }
      c.setLineDash([])
      c.globalAlpha = 1
    }

    // Lines of sight from a slot, each up to the place where a wall ends it.
    draw_cuts(from, cuts) {
      const c = this.a, r = 3 * this.ratio
      c.strokeStyle = this.colors.hidden
      c.lineWidth = this.ratio
      c.globalAlpha = fade(0.8, cuts.length)
      c.beginPath()
      for (const { x, y } of cuts.slice(0, MOST_LINES)) {
        const px = this.screen_x(x), py = this.screen_y(y)
        c.moveTo(this.sx[from], this.sy[from])
        c.lineTo(px, py)
        c.moveTo(px + r, py)
        c.arc(px, py, r, 0, 7)
      }
      c.stroke()
      c.globalAlpha = 1
    }

    // A name under an entity, small; names of several on one spot stand below each other.
    draw_text(world, id, text, r) {
      const s = world.slots.get(id), c = this.a, k = this.ratio
      if (s === undefined) return
      c.fillStyle = this.colors.text
      c.font = `${11 * k}px system-ui, sans-serif`
      const w = c.measureText(text).width, x = this.sx[s] - w / 2
      c.fillText(text, x, this.free(x, this.sy[s] + r + k, w, 13 * k, 13 * k) + 11 * k)
    }

    // Where a text goes: at y, or so many steps farther, that it covers none of those before it.
    free(x, y, w, h, step) {
      while (this.texts.some(b => x < b.x + b.w && b.x < x + w && y < b.y + b.h && b.y < y + h)) y += step
      this.texts.push({ x, y, w, h })
      return y
    }

    // What an entity says.
    draw_bubble(world, id, text, r) {
      const s = world.slots.get(id), c = this.a, k = this.ratio
      if (s === undefined) return
      c.font = `600 ${13 * k}px system-ui, sans-serif`
      const w = c.measureText(text).width + 14 * k, x = this.sx[s] - w / 2
      const y = this.free(x, this.sy[s] - r - 30 * k, w, 28 * k, -15 * k)
      c.fillStyle = this.colors.text
      c.beginPath()
      c.roundRect(x, y, w, 22 * k, 8 * k)
      c.moveTo(x + w / 2 - 5 * k, y + 22 * k)
      c.lineTo(x + w / 2, y + 28 * k)
      c.lineTo(x + w / 2 + 5 * k, y + 22 * k)
      c.fill()
      c.fillStyle = this.colors.back
      c.fillText(text, x + 7 * k, y + 16 * k)
    }

    draw_mark(world, id, color, label) {
      const s = world.slots.get(id), c = this.a
      if (s === undefined) return
      const r = this.radius(world.count) + 4 * this.ratio
      c.strokeStyle = c.fillStyle = color
      c.lineWidth = 2 * this.ratio
      c.beginPath()
      c.arc(this.sx[s], this.sy[s], r, 0, 7)
      c.stroke()
      c.font = `600 ${12 * this.ratio}px system-ui, sans-serif`
      c.fillText(label, this.sx[s] + r + 2, this.sy[s] - r)
    }

    // Parts of an index; `hot` are drawn strong. Infinite borders are those of the canvas.
    draw_parts(parts, hot) {
      const c = this.a, clamp = (v, most) => Math.max(-2, Math.min(most + 2, v))
      c.lineWidth = this.ratio
      let most = 1
      for (const p of parts) most = Math.max(most, p.entities + p.nodes)
      for (const strong of [false, true])
        for (const p of parts) {
          if (hot.includes(p) !== strong) continue
          const x0 = clamp(this.screen_x(p.x0), this.width), x1 = clamp(this.screen_x(p.x1), this.width)
          const y0 = clamp(this.screen_y(p.y1), this.height), y1 = clamp(this.screen_y(p.y0), this.height)
          if (x1 < 0 || y1 < 0 || x0 > this.width || y0 > this.height) continue
          c.fillStyle = c.strokeStyle = strong ? this.colors.hot : this.colors.part
          const fill = 0.02 + 0.12 * Math.sqrt((p.entities + p.nodes) / most)
          c.globalAlpha = p.kind === 'square' || p.kind === 'all' ? 0 : strong ? 0.05 : fill
          c.fillRect(x0, y0, x1 - x0, y1 - y0)
          c.globalAlpha = strong ? 1 : 0.6
          c.lineWidth = (strong ? 2 : 1) * this.ratio
          c.strokeRect(x0, y0, x1 - x0, y1 - y0)
        }
      c.globalAlpha = 1
    }

    // False when there are as many as one can see: nothing more is taken.
    flash(x, y, enters, now) {
      if (this.flashes.length >= MOST_FLASHES) return false
      this.flashes.push({ x, y, enters, born: now })
      return true
    }

    // Rings of every age, once: to stroke each again would be most of the time of a picture. Upper row: enter; lower: leave.
    draw_rings() {
      const k = this.ratio, side = (this.ring_side = Math.ceil(34 * k)), rings = (this.rings = document.createElement('canvas'))
      rings.width = side * FLASH_STEPS
      rings.height = 2 * side
      const c = rings.getContext('2d')
      c.lineWidth = 2 * k
      for (let step = 0; step < FLASH_STEPS; step++)
        for (const enters of [true, false]) {
          const age = (step + 0.5) / FLASH_STEPS
          c.strokeStyle = enters ? this.colors.enter : this.colors.leave
          c.globalAlpha = 1 - age
          c.beginPath()
          c.arc((step + 0.5) * side, (enters ? 0.5 : 1.5) * side, (4 + 10 * (enters ? age : 1 - age)) * k, 0, 7)
          c.stroke()
        }
    }

    draw_flashes(now) {
      if (!this.rings) this.draw_rings()
      const c = this.a, side = this.ring_side, half = side / 2
      let n = 0
      c.globalAlpha = fade(1, this.flashes.length / 4)
      for (const f of this.flashes) {
        const step = Math.floor((now - f.born) / FLASH_MS * FLASH_STEPS)
        if (step >= FLASH_STEPS) continue
        this.flashes[n++] = f
        const px = Math.round(this.screen_x(f.x) - half), py = Math.round(this.screen_y(f.y) - half)
        if (px < -side || py < -side || px > this.width || py > this.height) continue
        c.drawImage(this.rings, Math.max(0, step) * side, f.enters ? 0 : side, side, side, px, py, side, side)
      }
      this.flashes.length = n
      c.globalAlpha = 1
    }
  }

  Object.assign(V, { Map2D, THEMES, fade })
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
