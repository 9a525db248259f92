// demo_check.js PAGE [PICTURE] - the page of `make demo` in a real browser: what a visitor meets who touches nothing, then a click, on a
// wide screen and on a telephone.
'use strict'
const assert = require('assert')
const { open } = require('./browser.js')

const [, , file, picture] = process.argv
const APP = 'aoiViewer.app'
const TEXT = id => `document.getElementById('${id}').textContent`

// The first picture does not wait for the long recording that follows. How long it takes is printed, not judged.
async function comes_soon(page) {
  await page.go('file://' + file)
  await page.until('window.aoiViewer && aoiViewer.ready')
  const [picture, ready] = await page.eval(`[${APP}.first_picture, aoiViewer.ready]`)
  console.log(`the first picture after ${picture} ms, everything after ${ready}`)
  assert.ok(picture > 0 && picture < ready, `the first picture after ${picture} ms, everything after ${ready}`)
}

async function plays_by_itself(page) {
  assert.strictEqual(await page.eval(`${APP}.playing`), true)
  const time = await page.eval(`${APP}.time`)
  await page.until(`${APP}.time > ${time} + 0.3`)
  await page.until(`${TEXT('caption')}.length > 20`)
  await page.until(`${TEXT('chosen')}.includes('Anna')`) // a name, and a watcher that is chosen
  assert.strictEqual(await page.eval(`${APP}.label(2)`), '')
}

const shown = page => page.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)

async function stand_at(page, time) {
  await page.eval(`(a => { a.playing = false; a.seek_time(${time}) })(${APP})`)
  await page.until(`${APP}.rec.at >= 0 && Math.abs(${APP}.rec.frames[${APP}.rec.at].time - ${time}) < 0.2`)
  await shown(page)
}

// What one client knows stands beside what is there: nothing behind a wall.
async function shows_a_client(page) {
  await stand_at(page, 3)
  const knows = id => page.eval(`${APP}.rec.world.client.slots.has(${id})`)
  assert.ok(await page.eval(`[2, 3, 4].every(id => ${APP}.rec.world.slots.has(id))`))
  assert.strictEqual(await knows(2), false, 'a guard in another room')
  await stand_at(page, 17)
  assert.strictEqual(await knows(2), true, 'a guard who comes')
  await page.until(`/knows:\\s*\\d+ of 5 · [\\d,]+ bytes so far, [\\d,]+ a second/.test(${TEXT('client-text')})`)
  const [sent, later] = await page.eval(`(s => [s[20], s[170]])(${APP}.rec.sent)`)
  assert.ok(0 < sent && sent < later)
  await page.until(`document.querySelectorAll('#legend li').length >= 6`)
  await stand_at(page, 23)
  assert.match(await page.eval(TEXT('caption')), /^[1-9]\d* events for the guards, [\d,]+ bytes for the thief; all positions would be [\d,]+$/)
}

// Walls and the door are those of the space; a line of sight ends at the first wall.
async function shows_walls(page) {
  const doors = () => page.eval(`[...${APP}.rec.world.walls.values()].map(it => it.open)`)
  await stand_at(page, 3)
  assert.deepStrictEqual(await doors(), Array(15).fill(false))
  await page.eval(`${APP}.select(1)`) // the thief's client sees past walls
  await shown(page)
  const cuts = await page.eval(`${APP}.cuts.map(it => [it.id, it.x, it.y])`)
  assert.ok(cuts.length > 0, 'something is hidden from the thief')
  const far = await page.eval(`${APP}.cuts.map(cut => {
    const [ax, ay, bx, by] = ${APP}.rec.world.walls.get('0:' + cut.id).line
    return Math.abs((bx - ax) * (cut.y - ay) - (by - ay) * (cut.x - ax))
  })`)
  assert.ok(far.every(d => d < 1e-9), `a line ends beside its wall: ${far}`)
  assert.ok(await page.eval(`${APP}.cuts.length + ${APP}.view(${APP}.rec.world.nodes_of(1)[0]).length`) <= 5)
  await stand_at(page, 17)
  assert.deepStrictEqual(await doors(), Array(14).fill(false).concat(true))
  await stand_at(page, 3)
  assert.deepStrictEqual(await doors(), Array(15).fill(false), 'backwards')
}

// The cone of a guard ends at walls: its path of sight has a corner on each that it meets, and none behind.
async function cuts_cones_off(page) {
  await stand_at(page, 3)
  const beyond = await page.eval(`(({ map, rec }) => {
    const it = rec.world.nodes_of(4)[0], s = rec.world.slots.get(4), corners = []
    const draw = map.a.lineTo
    map.a.lineTo = (x, y) => corners.push([map.world_x(x), map.world_y(y)])
    map.path_of_sight(map.lines_of(rec.world, it.walls), map.sx[s], map.sy[s])
    map.a.lineTo = draw
    return [corners.length, corners.filter(([x, y]) => x < 23.9 || x > 60.1 || y > 20.1 || y < -0.1).length]
  })(${APP})`)
  assert.ok(beyond[0] > 40, `${beyond[0]} corners`)
  assert.strictEqual(beyond[1], 0, 'corners outside of the two rooms that Carl can see')
}

// Whoever stands on one spot can be read: no name and no word covers another, in either half.
async function keeps_texts_apart(page) {
  for (const time of [9, 16.6, 17.6, 18.8]) {
    await page.eval(`${APP}.open_chapter(0)`)
    await stand_at(page, time)
    for (const texts of await page.eval(`[${APP}.map, ${APP}.story.map].map(m => m.texts)`)) {
      assert.ok(texts.length >= 3, `${texts.length} texts at ${time}`)
      const covered = texts.filter((a, i) => texts.some((b, k) => k < i &&
        a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h))
      assert.deepStrictEqual(covered, [], `at ${time}`)
    }
  }
}

// Lines are the chosen one's alone, and fade with their number.
async function is_no_hairball(page) {
  const [lines, sees, others] = await page.eval(`(async a => {
    const draw = a.map.draw_lines, from = a.rec.world.slots.get(a.chosen.watcher)
    let lines = 0, others = 0
    a.map.draw_lines = function (world, slot, ids, ...rest) {
      lines += ids.length
      others += slot !== from
      draw.call(a.map, world, slot, ids, ...rest)
    }
    await new Promise(done => requestAnimationFrame(done))
    lines = 0
    await new Promise(done => requestAnimationFrame(done))
    delete a.map.draw_lines
    return [lines, [...a.sees.values()].reduce((sum, ids) => sum + ids.length, 0) + a.seen_by.length, others]
  })(${APP})`)
  assert.ok(lines <= sees + 1, `${lines} lines, ${sees} pairs of the chosen one`)
  assert.strictEqual(others, 0)
  const faint = await page.eval(`[1, 12, 100, 10000].map(n => aoiViewer.fade(0.8, n))`)
  assert.deepStrictEqual(faint.slice(0, 2), [0.8, 0.8])
  assert.ok(faint[2] < 0.3 && faint[3] < 0.1 && faint[3] > 0)
}

async function goes_on_to_the_crowd(page) {
  await page.eval(`(a => { a.seek_frame(a.rec.last - 2); a.playing = true })(${APP})`)
  await page.until(`${APP}.rec === ${APP}.chapters[1] && ${APP}.playing`)
  await page.until(`${TEXT('caption')}.includes('348')`)
  await stand_at(page, 8)
  await page.until(`${APP}.rec.world.count > 100 && ${APP}.chosen.watcher === 130`)
  await is_no_hairball(page)
}

// A click takes over: captions go on and choose no more. The buttons of the chapters begin the tale again.
async function takes_over(page) {
  await page.eval(`${APP}.choose()`)
  await stand_at(page, 20)
  assert.strictEqual(await page.eval(`${APP}.chosen.watcher`), undefined)
  await page.eval(`document.querySelector('#chapters button').click()`)
  await page.until(`${APP}.rec === ${APP}.chapters[0] && ${APP}.playing`)
  await page.eval(`(f => { f.value = 'carl'; f.onchange() })(document.getElementById('find'))`)
  await page.until(`${APP}.chosen.watcher === 4`)
}

async function fits(page, width) {
  for (const [chapter, time] of [[0, 17], [1, 8]]) {
    await page.eval(`${APP}.open_chapter(${chapter})`)
    await stand_at(page, time)
    assert.ok(await page.eval(`document.documentElement.scrollWidth`) <= width)
    const boxes = await page.eval(`['map', 'client', 'caption', 'play', 'line'].map(id => {
      const r = document.getElementById(id).getBoundingClientRect()
      return [id, r.width, r.height, r.left >= 0 && r.right <= innerWidth + 1 && r.bottom <= innerHeight + 1]
    })`)
    for (const [id, w, h, inside] of boxes) {
      assert.ok(inside && w >= (width > 700 ? 24 : 36) && h >= (width > 700 ? 24 : 36), `${id}: ${w} x ${h}, ${inside ? 'in' : 'out of'} the window`)
      if (id === 'map' || id === 'client') assert.ok(w >= 180 && h >= 180, `${id}: ${w} x ${h}`)
    }
    const out = await page.eval(`(m => [...${APP}.rec.world.slots.values()].filter(s => !m.on_canvas(m.sx[s], m.sy[s], 0)).length)(${APP}.map)`)
    assert.strictEqual(out, 0, 'all entities are in the picture')
    if (picture) await page.shot(`${picture}-${width}-${chapter}.png`)
  }
}

async function has_a_panel(page) {
  const hidden = `getComputedStyle(document.querySelector('aside')).display === 'none'`
  assert.ok(await page.eval(hidden))
  await page.eval(`document.getElementById('more').click()`)
  assert.ok(!await page.eval(hidden))
  assert.ok(await page.eval(`document.querySelector('aside').getBoundingClientRect().width`) <= 390)
}

async function main() {
  const browser = await open()
  try {
    for (const [width, height, scheme] of [[1280, 800, 'dark'], [390, 844, 'light']]) {
      const page = await browser.page({ width, height, scheme })
      await comes_soon(page)
      await plays_by_itself(page)
      if (width > 700) for (const check of [shows_a_client, shows_walls, cuts_cones_off, is_no_hairball, goes_on_to_the_crowd, takes_over]) await check(page)
      await keeps_texts_apart(page)
      await fits(page, width)
      if (width < 700) await has_a_panel(page)
      assert.deepStrictEqual(page.errors, [])
      assert.deepStrictEqual(page.requests.filter(u => !/^(data:|about:)/.test(u) && u !== 'file://' + file), [])
    }
    const page = await browser.page({ width: 800, height: 600 })
    await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-reduced-motion', value: 'reduce' }] })
    await page.go('file://' + file)
    await page.until(`window.aoiViewer && aoiViewer.ready`)
    assert.strictEqual(await page.eval(`${APP}.playing`), false, 'who wants no motion gets none')
    console.log('the demo is good')
  } finally {
    await browser.close()
  }
}

main().catch(error => {
  console.log(error.stack)
  process.exitCode = 1
})
