// story.js - what a page tells beside the space: chapters, captions, names, a legend, and what one client knows.
//
//   +-----------------+-----------------+
//   | the space       | the client      |      the client's map is drawn from the very messages of aoi.sync
//   | names, legend   | bytes a second  |
//   |       caption   |                 |
//   +-----------------+-----------------+
(function (V) {
  'use strict'

  const $ = id => document.getElementById(id)
  const MOST_NAMES = 60, RATE_S = 1, RAW_BYTES = 12 // an id and two floats: what a position takes without packing
  const quiet = () => matchMedia('(prefers-reduced-motion: reduce)').matches

  // The last item of a list by time that is not after `time`.
  function latest(list, time) {
    let found
    for (const it of list || []) if (it.time <= time + 1e-9) found = it
    return found
  }

  class Story {
    constructor(app) {
      this.app = app
      this.map = new V.Map2D($('client-below'), $('client-above'))
      this.guided = true // captions choose the watcher, until a click does
      new ResizeObserver(() => this.map.resize()).observe($('client'))
    }

    get tale() { return this.app.rec.story || {} }

    name(id) {
      const names = this.tale.names
      return names && names[String(id)] !== undefined ? names[String(id)] : undefined
    }

    // Buttons for the chapters, once there are several.
    show_chapters(chapters) {
      $('chapters').hidden = chapters.length < 2
      $('chapters').replaceChildren(...chapters.map((rec, i) => {
        const button = document.createElement('button')
        button.textContent = rec.head.title
        button.setAttribute('aria-pressed', String(rec === this.app.rec))
        button.onclick = () => {
          this.guided = true
          this.app.open_chapter(i)
        }
        return button
      }))
    }

    // A chapter is complete, or shown anew.
    begin() {
      const { app, tale } = this, { rec } = app, of_client = rec.head.client !== undefined
      $('client').hidden = $('truth').hidden = !of_client
      $('views').classList.toggle('split', of_client)
      this.split = of_client
      $('areas').checked = tale.areas === true
      this.caption = undefined
      $('caption').hidden = !tale.captions
      $('caption').textContent = ''
      $('legend').hidden = !rec.story
      const rows = (tale.kinds || []).map((text, bit) => `<li><i style="background:var(--kind-${bit % V.KINDS})"></i>${V.escape(text)}</li>`)
      if (tale.areas) rows.push('<li><i class="cone"></i>area; filled: it sees something</li>')
      rows.push('<li><i class="see"></i>the chosen one sees</li><li><i class="seen"></i>sees the chosen one</li>')
      if (rec.walled) rows.push('<li><i class="cut"></i>hidden by a wall</li>')
      $('legend').querySelector('ul').innerHTML = rows.join('')
      if (rec.story && this.guided && !quiet()) app.playing = true
    }

    // The caption of this time, and the watcher that it is about.
    guide(time) {
      const caption = latest(this.tale.captions, time)
      if (caption === this.caption) return
      this.caption = caption
      $('caption').textContent = caption ? this.filled(caption.text) : ''
      if (this.guided && caption && caption.watch !== undefined) this.app.select(caption.watch, caption.target)
    }

    // {events}, {bytes}, {raw} of a caption: events so far, what the client was sent, what all positions would have taken.
    filled(text) {
      const { rec } = this.app, { at, events, sent, world } = rec
      const figures = { events: events.begin[at + 1] ?? events.count, bytes: sent[at], raw: RAW_BYTES * world.count * at }
      return text.replace(/\{(\w+)\}/g, (whole, name) => (name in figures ? Math.round(figures[name]).toLocaleString('en') : whole))
    }

    // Above a map: names where few have one, and what somebody says.
    draw_names(map, world, time) {
      const names = Object.entries(this.tale.names || {}), r = map.radius(world.count)
      if (names.length <= MOST_NAMES)
        for (const [id, name] of names) map.draw_text(world, V.idOf(id), name, r)
      const saying = new Map() // by entity, the last of its words
      for (const it of this.tale.says || []) if (it.time <= time && time < it.time + it.lasts) saying.set(it.id, it.text)
      for (const [id, text] of saying) map.draw_bubble(world, id, text, r)
    }

    // The nodes that see something: their areas are filled.
    watching() {
      const { rec } = this.app, key = [rec.at, rec.world.nodes.size].join()
      if (this.watching_key !== key) {
        this.watching_key = key
        this.lit = new Set()
        if (this.tale.areas && rec.world.nodes.size <= MOST_NAMES)
          for (const it of rec.world.nodes.values()) if (!it.silent && this.app.view(it).length) this.lit.add(it)
      }
      return this.lit
    }

    // The client's half of the page, in the camera of the other one.
    draw(now) {
      const { app, map } = this, { rec } = app, { client = new V.World(), nodes } = rec.world
      if (!this.split) return
      map.scale = app.map.scale * Math.min(map.width / app.map.width, map.height / app.map.height)
      map.cx = app.map.cx
      map.cy = app.map.cy
      const id = V.idOf(String(rec.head.client)), known = client.count
      this.place_self(client, rec.world, id)
      map.project(client, app.between(now))
      map.draw_entities(client)
      map.clear_above()
      const s = client.slots.get(id)
      for (const it of nodes.values()) if (it.owner === id && it.silent && s !== undefined) map.draw_area(rec.world, it, map.sx[s], map.sy[s], true)
      map.draw_walls(rec.world)
      this.draw_names(map, client, app.time)
      this.show_bytes(now, client.slots.has(id) ? client.count - 1 : known)
    }

    // A client knows where it is itself: that is not in its messages.
    place_self(client, world, id) {
      const t = world.slots.get(id)
      if (t === undefined) return
      if (!client.slots.has(id)) client.add({ id, kind: world.kinds[t], x: world.x[t], y: world.y[t], z: world.z[t] })
      const s = client.slots.get(id)
      for (const name of ['x', 'y', 'z', 'px', 'py']) client[name][s] = world[name][t]
      client.stamp[s] = world.stamp[t] === world.tick ? client.tick : 0
    }

    show_bytes(now, known) {
      if (now - (this.bytes_at || 0) < 100) return
      this.bytes_at = now
      const { rec } = this.app, { at, frames, sent } = rec, from = rec.frame_at(frames[at].time - RATE_S)
      const seconds = frames[at].time - frames[from].time || 1, rate = (sent[at] - sent[from]) / seconds
      const raw = RAW_BYTES * rec.world.count * (at - from) / seconds, number = v => Math.round(v).toLocaleString('en')
      $('client-text').innerHTML = `<b>What the client of ${V.escape(this.name(rec.head.client) || rec.head.client)} knows:</b> ` +
        `${known} of ${rec.world.count - 1} · <b>${number(sent[at])}</b> bytes so far, ${number(rate)} a second; all positions would be ${number(raw)}`
    }
  }

  Object.assign(V, { Story })
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
