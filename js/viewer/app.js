// app.js - the page: time, what is chosen, and the frame loop.
//
//   recording (or live stream) -> seek to the time -> world -> map, panels, time line
(function (V) {
  'use strict'

  const $ = id => document.getElementById(id)
  const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16]
  const LOG_ROWS = 100, LOG_ROWS_PLAYING = 40, LOG_SCAN = 300000, MOST_IDS = 60
  const DECODE_MS = 8, LIVE_MS = 250, CLOCK_MS = 100, MOST_LIVE = 400 * 2 ** 20

  const escape = text => String(text).replace(/[&<>"]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c])
  const named = id => (V.app && V.app.story.name(id)) || id
  const link = id => `<a data-id="${escape(id)}">${escape(named(id))}</a>`

  class App {
    constructor() {
      this.rec = new V.Recording()
      this.chapters = [this.rec]
      this.map = new V.Map2D($('below'), $('above'))
      this.line = new V.Timeline($('line'), time => this.seek_time(time))
      this.time = 0
      this.playing = false
      this.follows = false // the chosen entity, with the map
      this.now = true // live: shows what comes
      this.chosen = { watcher: undefined, target: undefined }
      this.answer = null // live: what the server says about the chosen ones
      this.engine = '-'
      this.shown = -1 // the frame that the panels show
      this.timing = { intervals: [], work: [] }
      this.fitted = false
      this.story = new V.Story(this)
      this.set_theme(localStorageGet('aoi-theme') || (matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'))
      V.bind(this)
      for (const s of SPEEDS) $('speed').add(new Option(s + '×', s, s === 1, s === 1))
      requestAnimationFrame(now => this.frame(now))
    }

    set_theme(name) {
      this.theme = name
      document.documentElement.dataset.theme = name
      this.map.set_theme(name)
      this.story.map.set_theme(name)
      this.map.colors.kinds.forEach((color, bit) => document.documentElement.style.setProperty('--kind-' + bit, color))
      document.documentElement.style.setProperty('--area', this.map.colors.area)
    }

    get speed() { return Number($('speed').value) }
    get live() { return this.stream !== undefined }

    // ---- data ---------------------------------------------------------------------------------------------------------

    // A piece of the last chapter, or the first one of the next: that begins with a head.
    append(bytes) {
      let rec = this.chapters[this.chapters.length - 1]
      const first = V.blocks(bytes).next().value
      if (!this.live && rec.last >= 0 && first && first.type === 'J' && V.readJSON(bytes, first).what === 'head') {
        this.chapters.push(rec = new V.Recording())
      }
      const { story } = rec
      for (const it of rec.append(bytes)) if (it.what === 'answer') this.take_answer(it)
      this.story.show_chapters(this.chapters)
      this.describe()
      if (rec === this.rec && rec.story !== story) this.story.begin()
    }

    open_chapter(i) {
      this.rec = this.chapters[i]
      this.time = this.rec.frames[0].time
      this.engine = '-'
      $('engine').length = 1
      this.fitted = this.follows = false
      this.hot = []
      this.seen_key = this.panel_key = undefined
      this.map.flashes.length = 0
      this.story.show_chapters(this.chapters)
      this.story.begin()
      this.describe()
      this.select()
    }

    take_answer(it) {
      this.answer = it
      this.shown = -1
    }

    describe() {
      const { rec } = this
      $('title').textContent = rec.head.title || 'aoi'
      document.title = `${rec.head.title || 'aoi'} - aoi`
      const select = $('engine')
      const engines = this.live ? [''] : rec.engines
      for (const name of engines)
        if (![...select.options].some(o => o.value === name)) {
          select.add(new Option(name || rec.head.engine || 'on', name))
        }
    }

    connect(query) {
      this.playing = true
      this.stream = new V.Live(query, bytes => {
        if (this.rec.bytes > MOST_LIVE) return this.start_anew()
        this.append(bytes)
        this.arrived = performance.now()
        if (this.previous) this.gap = 0.8 * (this.gap || 100) + 0.2 * Math.min(1000, this.arrived - this.previous)
        this.previous = this.arrived
      }, state => {
        $('state').textContent = state
        $('state').className = state
      })
    }

    // A page that nobody has looked at for long (browsers stop its pictures) begins again instead of growing.
    start_anew() {
      this.rec = new V.Recording()
      this.stream.restart()
    }

    // What the server is asked for: it makes nothing that the page does not show.
    tell() {
      if (!this.live) return
      const { watcher, target } = this.chosen, wants = {}
      if (watcher !== undefined) wants.watcher = String(watcher)
      if (target !== undefined) wants.target = String(target)
      if (this.engine !== '-') {
        wants.structure = this.map.visible().map(v => Number(v.toPrecision(3))).join()
      }
      this.stream.tell(wants)
    }

    // ---- time ---------------------------------------------------------------------------------------------------------

    seek_time(time) {
      const { frames, last } = this.rec
      if (last < 0) return
      this.time = Math.max(frames[0].time, Math.min(time, frames[last].time))
      this.now = this.live && this.time === frames[last].time
    }

    seek_frame(frame) {
      const { frames, last } = this.rec
      if (last >= 0) this.seek_time(frames[Math.max(0, Math.min(frame, last))].time)
    }

    step(n) {
      this.playing = false
      this.seek_frame(this.rec.frame_at(this.time) + n)
    }

    toggle_play() {
      this.playing = !this.playing
      if (this.playing && !this.live && this.time >= this.rec.frames[this.rec.last].time) this.seek_frame(0)
      if (this.playing && this.live) this.now = true
    }

    advance(ms) {
      const { frames, last } = this.rec
      if (last < 0) return
      if (this.live && this.now) {
        if (this.playing) this.time = frames[last].time
      } else if (this.playing) {
        this.time = Math.min(frames[last].time, this.time + ms / 1000 * this.speed)
        if (this.time === frames[last].time && !this.live) this.end()
      }
      if (this.time < frames[0].time) this.time = frames[0].time
    }

    // The end of a chapter: a story that nobody has taken over goes on with the next.
    end() {
      this.playing = false
      const next = this.chapters.indexOf(this.rec) + 1
      if (this.rec.story && this.story.guided && V.ready && this.chapters[next]) this.open_chapter(next)
    }

    // ---- choosing -----------------------------------------------------------------------------------------------------

    // The first click chooses the watcher, a second one the target; a click on either takes it back.
    choose(id) {
      const c = this.chosen
      this.story.guided = false
      if (id === undefined) this.chosen = c.target !== undefined ? { watcher: c.watcher } : {}
      else if (c.watcher === undefined) this.chosen = { watcher: id }
      else if (id === c.watcher) this.chosen = { watcher: c.target }
      else this.chosen = { watcher: c.watcher, target: id === c.target ? undefined : id }
      this.changed()
    }

    select(watcher, target) {
      this.chosen = { watcher, target }
      this.changed()
    }

    changed() {
      this.answer = null
      this.shown = -1
      if (this.chosen.watcher === undefined) this.follows = false
      this.tell()
    }

    exact() { return this.rec.head.exact === true }

    // What a server has answered about a node, if that counts: it is of areas alone, not of what walls hide.
    answer_of(it) {
      if (!this.answer || !this.now || it.walls !== undefined) return undefined
      return (this.answer.nodes || []).find(n => n.node === String(it.node)) || { view: [] }
    }

    // What a node sees, and what sees an entity, at the frame that is shown.
    view(it) {
      const { world, events, at } = this.rec, answer = this.answer_of(it)
      if (answer) return answer.view.map(V.idOf)
      if (!this.live) return this.rec.view(it)
      const list = [], saw = t => () => events.saw(it.owner, it.node, t, at)
      for (const id of world.slots.keys()) if (V.explain(world, it.owner, it.node, id, saw(id)).sees) list.push(id)
      return list
    }

    // Where walls end the lines from a node to what is in its area.
    cuts_of(it) {
      const { rec } = this, ids = it.walls === undefined ? [] : [...rec.world.slots.keys()]
      const found = ids.map(id => V.explain(rec.world, it.owner, it.node, id, () => rec.saw(it, id)))
      return found.filter(e => e.wall && !e.sees).map(e => e.wall)
    }

    viewers(id) {
      if (this.answer && this.now) {
        const flat = this.answer.viewers || [], list = []
        for (let i = 0; i < flat.length; i += 2) list.push({ owner: V.idOf(flat[i]), node: V.idOf(flat[i + 1]) })
        return list.filter(n => {
          const it = this.rec.world.nodes.get(V.nodeKey(n.owner, n.node))
          return !it || it.walls === undefined || this.explain(it, id).sees
        })
      }
      if (!this.live) return this.rec.viewers(id)
      const { world, events, at } = this.rec, list = []
      for (const it of world.nodes.values())
        if (V.explain(world, it.owner, it.node, id, () => events.saw(it.owner, it.node, id, at)).sees) list.push(it)
      return list
    }

    explain(it, target) {
      const { world, events, at } = this.rec
      const e = V.explain(world, it.owner, it.node, target, () => events.saw(it.owner, it.node, target, at))
      const answer = this.live ? this.answer_of(it) : undefined
      if (answer) {
        if (answer.text) Object.assign(e, { text: answer.text, sees: answer.sees })
      } else if (!this.exact()) e.rounded = true
      return e
    }

    // ---- panels -------------------------------------------------------------------------------------------------------

    ids_text(ids) {
      const more = ids.length > MOST_IDS ? ` and ${ids.length - MOST_IDS} more` : ''
      return ids.slice(0, MOST_IDS).map(link).join(' ') + more
    }

    // What the server has put of an entity; bytes as hexadecimal digits.
    fields_text(id) {
      const hex = bytes => Array.from(bytes.subarray(0, 32), b => b.toString(16).padStart(2, '0')).join(' ') + (bytes.length > 32 ? ' …' : '')
      const text = v => (v instanceof Uint8Array ? hex(v) : typeof v === 'number' ? V.short(v) : String(v))
      const rows = Object.entries(this.rec.world.fields.get(id) || {}).map(([k, v]) => `${escape(k)} <b>${escape(text(v))}</b>`)
      return rows.length ? `<p class="fields">${rows.join(', ')}</p>` : ''
    }

    // What of it counts beside place and kind, and what it rides on.
    looks_text(id) {
      const { layers, extent, carrier } = this.rec.world.looks_of(id), parts = []
      if (extent > 0) parts.push(`extent <b>${V.short(extent)}</b>`)
      if (layers !== 1n) parts.push(`layers <b>${V.kindText(layers)}</b>`)
      if (carrier !== undefined) parts.push(`carried by ${link(carrier)}`)
      return parts.length ? `<p class="fields">${parts.join(', ')}</p>` : ''
    }

    show_chosen() {
      const { watcher, target } = this.chosen, { world } = this.rec
      if (watcher === undefined) {
        $('chosen').innerHTML = '<h2>Nothing is chosen</h2><p><small>Click an entity, then a second one.</small></p>'
        return
      }
      const s = world.slots.get(watcher)
      if (s === undefined) {
        $('chosen').innerHTML = `<h2>Entity ${escape(watcher)}</h2><p>It is not in the space at this time.</p>`
        return
      }
      const at = [world.x[s], world.y[s]].concat(world.dimensions === 3 ? [world.z[s]] : []).map(V.short).join(', ')
      const name = this.story.name(watcher)
      let html = `<h2>${name === undefined ? `Entity ${escape(watcher)}` : escape(name)} <small>kind ${V.kindText(world.kinds[s])}, at ${at}</small></h2>`
      html += this.fields_text(watcher) + this.looks_text(watcher)
      const nodes = world.nodes_of(watcher)
      if (target !== undefined && !nodes.length) html += '<p>It has no node, so it sees nothing.</p>'
      for (const it of nodes) {
        const ids = this.sees.get(it) || []
        if (target !== undefined) {
          const e = this.explain(it, target)
          html += `<p class="why${e.sees ? ' sees' : ''}">${e.sees ? 'Sees' : 'Does not see'} ${link(target)}: <b>${e.why}</b>. ` +
            `${escape(e.reason || '')}${e.rounded ? ' <small>By positions rounded for the stream.</small>' : ''}${this.rec.story ? '' : `<code>${escape(e.text)}</code>`}</p>`
        }
        html += `<p class="ids">${escape(V.nodeText(it.node))}${it.label ? ` <b>${escape(it.label)}</b>` : ''}, ${escape(V.areaText(it.area))}, mask ${V.maskText(it.mask)}${V.layersText(it.layers)}: <b>sees ${ids.length}</b> ` +
          `${this.ids_text(ids)}</p>`
      }
      const by = this.seen_by
      html += `<p class="ids seen"><b>seen by ${by.length}</b> ${this.ids_text(by.map(n => n.owner))}</p>`
      $('chosen').innerHTML = html
    }

    show_part() {
      const hot = this.hot.filter(p => p.lists)
      $('part').hidden = this.engine === '-'
      if (this.engine === '-') return
      const { structure: s } = this
      if (!s) {
        $('part').innerHTML = '<h2>Index</h2><p><small>Nothing is known of it at this time.</small></p>'
        return
      }
      const counts = {}
      for (const p of s.parts) counts[p.kind] = (counts[p.kind] || 0) + 1
      const names = Object.entries(counts).map(([k, n]) => `${n} × ${k}`).join(', ')
      let html = `<h2>Index: ${escape(this.engine || this.rec.head.engine || this.rec.world.engine)} <small>${names || 'empty'}` +
        `${s.left_out ? `, ${s.left_out} more` : ''}${this.rec.frames[s.frame] && s.frame !== this.rec.at ? `, as of ${V.short(this.rec.frames[s.frame].time)}` : ''}</small></h2>`
      if (!hot.length) html += '<p><small>Choose an entity, or point at the map, for what is filed there.</small></p>'
      for (const p of hot.slice(0, 8)) html += this.part_text(p)
      $('part').innerHTML = html
    }

    part_text(p) {
      const mark = { low: '&lt;', high: '&gt;', cover: '■', node: '◦', entity: '' }
      const list = entries => entries.slice(0, 150).map(([what, id, node]) => {
        if (what === 'break') return '<i>│</i>'
        const text = what === 'entity' ? escape(id) : `<i>${mark[what]}${escape(id)}${node === 1 ? '' : ':' + escape(node)}</i>`
        return id === this.chosen.watcher ? `<b>${text}</b>` : text
      }).join(' ') + (entries.length > 150 ? ` … ${entries.length} in all` : '')
      const side = V.short(p.x1 - p.x0), what = `${p.kind} ${p.layer}, side ${side}: ${p.entities} ${p.kind === 'tile' ? 'points' : 'entities'}, ` +
        `${p.nodes} ${p.kind === 'tile' ? 'edges' : 'nodes'}`
      const axes = p.kind === 'tile' ? ['x', 'y', 'z'] : ['']
      return `<p class="entries">${what}<br>${axes.map((a, i) => (p.lists[i].length ? `${a ? a + ': ' : ''}${list(p.lists[i])}` : '')).filter(t => t).join('<br>')}</p>`
    }

    // Which events the filter takes: "7", "7>12" (watcher>target).
    filter() {
      const text = $('filter').value.trim(), [, w, arrow, t] = /^(-?\d*)\s*(>?)\s*(-?\d*)$/.exec(text) || [, '', 'x', '']
      const kind = $('kinds').value, { events } = this.rec, mine = $('mine').checked
      const number = s => (s === '' ? -1 : events.numbers.has(V.idOf(s)) ? events.numbers.get(V.idOf(s)) : -2)
      const a = number(w), b = number(t), chosen = [this.chosen.watcher, this.chosen.target].map(id => events.numbers.get(id))
      return i => {
        const from = events.watcher.a[i], to = events.target.a[i]
        if (events.kind.a[i] === 2 || (kind !== '' && events.kind.a[i] !== Number(kind))) return false
        if (mine && !chosen.includes(from) && !chosen.includes(to)) return false
        if (arrow === 'x') return false
        return arrow ? (a === -1 || a === from) && (b === -1 || b === to) : a === -1 || a === from || a === to
      }
    }

    // Of an event's node, as long as that is there.
    label_of(e) {
      const it = this.rec.world.nodes.get(V.nodeKey(e.watcher, e.node))
      return it && it.label ? ' ' + escape(it.label) : ''
    }

    // While it plays, as many rows as are in view: they are new each time.
    show_log() {
      const { events, at, frames, last } = this.rec
      if (at < 0) return
      const end = at < last ? events.begin[at + 1] : events.count, takes = this.filter(), rows = []
      const most = this.playing ? LOG_ROWS_PLAYING : LOG_ROWS
      for (let i = end - 1, n = 0; i >= 0 && rows.length < most && n < LOG_SCAN; i--, n++) {
        if (!takes(i)) continue
        const e = events.at(i)
        rows.push(`<li data-i="${i}"><span class="t">${frames[e.frame] ? V.short(frames[e.frame].time) : ''}</span>` +
          `<span class="${e.kind ? 'enter' : 'leave'}">${escape(named(e.watcher))} ${['loses', 'sees', '', 'is crossed by'][e.kind]} ${escape(named(e.target))}</span>` +
          `<small>${escape(V.nodeText(e.node))}${this.label_of(e)}</small></li>`)
      }
      $('list').innerHTML = rows.join('')
      $('rate').textContent = `${end - events.begin[at]} in this tick, ${end} so far${events.dropped ? `, ${events.dropped} left out` : ''}`
    }

    // ---- a frame ------------------------------------------------------------------------------------------------------

    frame(now) {
      const started = performance.now()
      if (this.last_frame) this.note(this.timing.intervals, now - this.last_frame)
      this.advance(Math.min(200, now - (this.last_frame || now)))
      this.last_frame = now
      const { rec } = this
      if (rec.last >= 0) {
        const was = rec.at, want = rec.frame_at(this.time)
        this.reach(want, started)
        if (rec.at !== was) this.flash(was, now)
        if (!this.fitted && (V.ready || rec.bounds) && rec.world.count) this.fit()
        this.story.guide(this.time)
        this.draw(now)
        if (!this.first_picture) this.first_picture = performance.now() // since the page was asked for
      }
      this.note(this.timing.work, performance.now() - started)
      requestAnimationFrame(t => this.frame(t))
    }

    note(list, ms) {
      list.push(ms)
      if (list.length > 600) list.splice(0, 300)
    }

    // Towards a frame, as far as the time of one picture allows.
    reach(frame, started) {
      while (!this.rec.seek(frame, 1) && performance.now() - started < DECODE_MS);
    }

    fit() {
      this.fitted = this.framed = true // framed: until the camera is moved by hand
      this.map.fit(this.rec.world.bounds(this.rec.bounds))
    }

    // Of the ticks that were passed since the last picture, if that is not a jump.
    flash(was, now) {
      const { rec } = this
      if (!$('flashes').checked || rec.at < was || rec.at - was > 8) return
      const end = rec.at < rec.last ? rec.events.begin[rec.at + 1] : rec.events.count
      for (let i = rec.events.begin[was + 1]; i < end; i++) {
        const e = rec.events.at(i), s = rec.world.slots.get(e.target)
        if (s === undefined || e.kind > 1) continue
        if (!this.map.flash(rec.world.x[s], rec.world.y[s], e.kind === 1, now)) return
      }
    }

    // How far between the tick before and the one that `world` shows.
    between(now) {
      const { frames, at, last } = this.rec
      if (this.live && this.now) return this.gap ? Math.min(1, (now - this.arrived) / this.gap) : 1
      if (at < 1 || at > last) return 1
      const t0 = frames[at - 1].time, t1 = frames[at].time
      return t1 > t0 ? Math.max(0, Math.min(1, (this.time - t0) / (t1 - t0))) : 1
    }

    draw(now) {
      const { rec, map, chosen } = this, { world } = rec
      map.project(world, this.between(now))
      const s = world.slots.get(chosen.watcher)
      if (this.follows && s !== undefined) {
        map.cx = map.world_x(map.sx[s])
        map.cy = map.world_y(map.sy[s])
        map.project(world, this.between(now))
      }
      map.draw_entities(world)
      map.clear_above()
      this.structure = this.engine === '-' ? null : rec.structure(rec.at, this.engine)
      this.hot = this.hot_parts(s)
      if (this.structure) map.draw_parts(this.structure.parts, this.hot)
      if ($('areas').checked) map.draw_areas(world, 3000, this.story.watching())
      map.draw_walls(world)
      map.draw_looks(world)
      if (s !== undefined) this.draw_chosen(s)
      else this.seen_by = []
      map.draw_flashes(now)
      map.draw_scale()
      this.story.draw_names(map, world, this.time)
      this.story.draw(now)
      this.draw_panels(now, s)
      this.line.draw(rec, this.time, map.colors, map.ratio)
    }

    hot_parts(s) {
      if (!this.structure) return []
      const { world } = this.rec, p = s !== undefined ? [world.x[s], world.y[s]] : this.pointer
      if (!p) return []
      return this.structure.parts.filter(r => r.x0 <= p[0] && p[0] < r.x1 && r.y0 <= p[1] && p[1] < r.y1)
    }

    draw_chosen(s) {
      const { map, chosen, rec } = this, { world } = rec, nodes = world.nodes_of(chosen.watcher)
      const key = [rec.at, chosen.watcher, rec.frames.length === rec.at + 1, this.answer && this.answer.tick].join()
      if (this.seen_key !== key) {
        this.seen_key = key
        this.sees = new Map(nodes.map(it => [it, this.view(it)]))
        this.seen_by = this.viewers(chosen.watcher)
        this.cuts = nodes.flatMap(it => this.cuts_of(it))
      }
      for (const it of nodes) {
        map.draw_area(world, it, map.sx[s], map.sy[s], true)
        map.draw_lines(world, s, this.sees.get(it) || [], map.colors.see, false)
      }
      map.draw_cuts(s, this.cuts)
      map.draw_lines(world, s, this.seen_by.map(n => n.owner), map.colors.seen, true)
      if (chosen.target !== undefined) {
        map.draw_lines(world, s, [chosen.target], map.colors.pair, true)
        map.draw_mark(world, chosen.target, map.colors.pair, this.label(chosen.target))
      }
      map.draw_mark(world, chosen.watcher, map.colors.hot, this.label(chosen.watcher))
    }

    // The number, where no name stands beside the entity.
    label(id) { return this.story.name(id) === undefined ? String(id) : '' }

    // Text changes with the tick, and not more often than one can read.
    draw_panels(now, s) {
      const { rec } = this
      const clock = `${V.short(this.time)} s · tick ${rec.at + 1 + (rec.forgotten || 0)}`
      if (this.clock !== clock && !(this.playing && now - this.clock_at < CLOCK_MS)) {
        $('clock').textContent = this.clock = clock
        this.clock_at = now
      }
      const sign = this.playing ? '▮▮' : '▶'
      if ($('play').textContent !== sign) $('play').textContent = sign
      const key = [rec.at, this.playing, this.chosen.watcher, this.chosen.target, this.engine, this.pointer, $('filter').value, $('kinds').value, $('mine').checked].join()
      if ((key === this.panel_key && this.shown >= 0) || now - (this.panels_at || 0) < (this.playing ? LIVE_MS : 30)) return
      this.panel_key = key
      this.panels_at = now
      this.shown = rec.at
      $('facts').textContent = `${rec.world.engine}, ${rec.world.dimensions}D, ${rec.world.count} entities, ${rec.world.nodes.size} nodes`
      if (this.live) $('engine').options[1].text = rec.world.engine
      if (s === undefined) this.sees = new Map()
      this.show_chosen()
      this.show_part()
      this.show_log()
      this.tell()
    }
  }

  function localStorageGet(key) {
    try { return localStorage.getItem(key) } catch { return null } // a page from a file may have none
  }

  Object.assign(V, { App, SPEEDS, escape })
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
