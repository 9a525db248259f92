// input.js - mouse, keyboard and buttons of the page.
(function (V) {
  'use strict'

  const $ = id => document.getElementById(id)

  function bindMap(app) {
    const canvas = $('above'), { map } = app
    const place = e => {
      const box = canvas.getBoundingClientRect()
      return [(e.clientX - box.left) * map.ratio, (e.clientY - box.top) * map.ratio]
    }
    let drag = null
    canvas.addEventListener('pointerdown', e => {
      drag = { at: place(e), cx: map.cx, cy: map.cy, moved: false }
      canvas.setPointerCapture(e.pointerId)
    })
    canvas.addEventListener('pointermove', e => {
      const [px, py] = place(e)
      if (drag) {
        const dx = px - drag.at[0], dy = py - drag.at[1]
        drag.moved = drag.moved || Math.hypot(dx, dy) > 4 * map.ratio
        if (drag.moved) {
          map.cx = drag.cx - dx / map.scale
          map.cy = drag.cy + dy / map.scale
          app.follows = app.framed = false
        }
      }
      app.pointer = [map.world_x(px), map.world_y(py)]
      tip(app, e, px, py)
    })
    canvas.addEventListener('pointerup', e => {
      if (drag && !drag.moved) {
        const [px, py] = place(e), s = map.pick(app.rec.world, px, py)
        app.choose(s < 0 ? undefined : app.rec.world.ids[s])
      }
      drag = null
    })
    canvas.addEventListener('pointerleave', () => {
      $('tip').hidden = true
      app.pointer = undefined
    })
    canvas.addEventListener('wheel', e => {
      e.preventDefault()
      app.framed = false
      map.zoom(Math.exp(-e.deltaY / 400), ...place(e))
    }, { passive: false })
    new ResizeObserver(() => {
      map.resize()
      if (app.framed) app.fitted = false
    }).observe($('map'))
  }

  // What is under the pointer.
  function tip(app, e, px, py) {
    const { world } = app.rec, s = app.map.pick(world, px, py), box = $('map').getBoundingClientRect()
    $('tip').hidden = s < 0
    if (s < 0) return
    $('tip').textContent = `${app.story.name(world.ids[s]) || world.ids[s]} · kind ${V.kindText(world.kinds[s])} · ${V.short(world.x[s])}, ${V.short(world.y[s])}` +
      (world.dimensions === 3 ? `, ${V.short(world.z[s])}` : '')
    $('tip').style.left = Math.min(e.clientX - box.left + 14, box.width - 190) + 'px'
    $('tip').style.top = e.clientY - box.top + 14 + 'px'
  }

  function zoom(app, factor) {
    app.framed = false
    app.map.zoom(factor)
  }

  function find(app) {
    const text = $('find').value.trim(), names = Object.entries(app.rec.story && app.rec.story.names || {})
    const [named] = names.find(([, name]) => name.toLowerCase() === text.toLowerCase()) || [text]
    const id = V.idOf(named), { world } = app.rec, s = world.slots.get(id)
    app.story.guided = false
    $('find').setCustomValidity(s === undefined ? 'no such entity at this time' : '')
    $('find').reportValidity()
    if (s === undefined) return
    app.select(id)
    app.map.cx = world.x[s]
    app.map.cy = world.y[s]
  }

  const check = id => {
    $(id).checked = !$(id).checked
  }

  function change_speed(app, by) {
    const i = V.SPEEDS.indexOf(app.speed) + by
    if (V.SPEEDS[i]) $('speed').value = V.SPEEDS[i]
  }

  function toggle_theme(app) {
    app.set_theme(app.theme === 'dark' ? 'light' : 'dark')
    try { localStorage.setItem('aoi-theme', app.theme) } catch { } // a page from a file may have none
  }

  // The next of the engines whose index the page knows.
  function next_engine(app) {
    const select = $('engine')
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length
    select.onchange()
  }

  function pan(app, dx, dy) {
    app.map.cx += dx * app.map.width / 8 / app.map.scale
    app.map.cy += dy * app.map.height / 8 / app.map.scale
    app.follows = app.framed = false
  }

  function exchange(app) {
    const { watcher, target } = app.chosen
    if (target !== undefined) app.select(target, watcher)
  }

  function bindKeys(app) {
    const keys = {
      ' ': () => app.toggle_play(),
      ArrowLeft: e => app.step(e.shiftKey ? -10 : -1),
      ArrowRight: e => app.step(e.shiftKey ? 10 : 1),
      Home: () => app.seek_frame(0),
      End: () => to_end(app),
      '[': () => change_speed(app, -1),
      ']': () => change_speed(app, 1),
      '+': () => zoom(app, 1.25),
      '=': () => zoom(app, 1.25),
      '-': () => zoom(app, 0.8),
      W: () => pan(app, 0, 1),
      A: () => pan(app, -1, 0),
      S: () => pan(app, 0, -1),
      D: () => pan(app, 1, 0),
      f: () => app.fit(),
      c: () => (app.follows = !app.follows && app.chosen.watcher !== undefined),
      s: () => next_engine(app),
      a: () => check('areas'),
      e: () => check('flashes'),
      t: () => toggle_theme(app),
      x: () => exchange(app),
      '/': () => $('find').focus(),
      '?': () => $('keys').showModal(),
      Escape: () => app.select()
    }
    document.addEventListener('keydown', e => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== 'checkbox'
      if (typing || e.ctrlKey || e.metaKey || e.altKey || $('keys').open) {
        if (e.key === 'Escape' && typing) e.target.blur()
        return
      }
      const key = keys[e.key]
      if (!key || (e.key === ' ' && e.target.tagName === 'BUTTON')) return
      e.preventDefault()
      key(e)
    })
  }

  function to_end(app) {
    app.seek_frame(app.rec.last)
    app.now = app.live
    if (app.live) app.playing = true
  }

  function bindButtons(app) {
    const on = (id, f) => ($(id).onclick = f)
    on('first', () => app.seek_frame(0))
    on('back', () => app.step(-1))
    on('play', () => app.toggle_play())
    on('next', () => app.step(1))
    on('now', () => to_end(app))
    on('fit', () => app.fit())
    on('theme', () => toggle_theme(app))
    on('help', () => $('keys').showModal())
    on('more', () => $('more').setAttribute('aria-expanded', String(document.body.classList.toggle('more'))))
    $('engine').onchange = () => {
      app.engine = $('engine').value
      app.shown = -1
      app.tell()
    }
    $('find').onchange = () => find(app)
    $('chosen').onclick = e => {
      const id = e.target.dataset && e.target.dataset.id
      if (id === undefined) return
      app.story.guided = false
      app.select(app.chosen.watcher, V.idOf(id))
    }
    $('list').onclick = e => {
      const row = e.target.closest('li')
      if (!row) return
      const it = app.rec.events.at(Number(row.dataset.i))
      app.playing = false
      app.seek_frame(it.frame)
      app.select(it.watcher, it.target)
    }
  }

  V.bind = app => {
    bindMap(app)
    bindKeys(app)
    bindButtons(app)
  }

  if (typeof document !== 'undefined')
    addEventListener('DOMContentLoaded', async () => {
      const app = (V.app = new V.App())
      for (const piece of document.querySelectorAll('script[type="aoi-blocks"]')) {
        app.append(V.fromBase64(piece.textContent))
        piece.remove()
        await new Promise(done => setTimeout(done)) // the page stays awake
      }
      if (app.rec.last < 0 && location.protocol.startsWith('http')) app.connect(location.search)
      V.ready = performance.now() // since the page was asked for; all that is in it has been read
    })
})(globalThis.aoiViewer = globalThis.aoiViewer || {})
