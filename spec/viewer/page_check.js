// page_check.js PAGE ENGINES PICTURE - a page in a real browser: loads, plays, chooses, explains, shows each engine.
'use strict'
const assert = require('assert')
const { open } = require('./browser.js')

const [, , file, engines, picture] = process.argv
const APP = 'aoiViewer.app'
const TEXT = id => `document.getElementById('${id}').textContent`

async function load(page) {
  await page.go('file://' + file)
  await page.until(`window.aoiViewer && aoiViewer.ready && ${APP}.rec.at >= 0 && ${APP}.fitted`)
  assert.deepStrictEqual(page.errors, [])
  assert.deepStrictEqual(page.requests.filter(u => !u.startsWith('data:')), ['file://' + file])
}

async function plays(page) {
  await page.eval(`${APP}.seek_frame(0)`)
  await page.key(' ')
  await page.until(`${APP}.rec.at > 3`)
  await page.key(' ')
  assert.strictEqual(await page.eval(`${APP}.playing`), false)
  await page.eval(`${APP}.seek_frame(10)`)
  await page.until(`${APP}.rec.at === 10`)
  await page.key('ArrowRight')
  await page.until(`${APP}.rec.at === 11`)
  await page.key('ArrowLeft')
  await page.until(`${APP}.rec.at === 10`)
  await page.key('End')
  await page.until(`${APP}.rec.at === ${APP}.rec.last`)
  await page.key('Home')
  await page.until(`${APP}.rec.at === 0`)
  const [x, y, w] = await page.eval(`(r => [r.left, r.top, r.width])(document.getElementById('line').getBoundingClientRect())`)
  await page.click(x + w / 2, y + 20)
  await page.until(`Math.abs(${APP}.rec.at - ${APP}.rec.last / 2) <= 2`)
  assert.ok(await page.eval(`${APP}.rec.world.count`) > 0)
}

const place = (page, id) => page.eval(`(() => { const m = ${APP}.map, s = ${APP}.rec.world.slots.get(${id}), r =
  document.getElementById('above').getBoundingClientRect(); return [r.left + m.sx[s] / m.ratio, r.top + m.sy[s] / m.ratio] })()`)

// A click on one entity and then on another: the sentence of the library stands in the panel.
async function explains(page) {
  await page.eval(`${APP}.seek_frame(20)`)
  await page.until(`${APP}.rec.at === 20`)
  await page.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
  const pairs = await page.eval(`(() => { const w = ${APP}.rec.world, m = ${APP}.map, lone = [...w.slots.keys()].filter(a => {
    const s = w.slots.get(a)
    return [...w.slots.values()].every(t => t === s || Math.hypot(m.sx[s] - m.sx[t], m.sy[s] - m.sy[t]) > 20) &&
      m.sx[s] > 20 && m.sy[s] > 20 && m.sx[s] < m.width - 20 && m.sy[s] < m.height - 20 })
    return lone.slice(0, 4) })()`)
  assert.ok(pairs.length >= 2, 'entities that stand alone')
  const [a, b] = pairs
  await page.click(...await place(page, a))
  await page.until(`${APP}.chosen.watcher === ${a}`)
  await page.click(...await place(page, b))
  await page.until(`${APP}.chosen.target === ${b}`)
  const expected = await page.eval(`${APP}.rec.world.nodes_of(${a}).map(it => ${APP}.explain(it, ${b}).text)`)
  assert.ok(expected.length > 0)
  for (const text of expected) await page.until(`${TEXT('chosen')}.includes(${JSON.stringify(text)})`)
  await page.until(`/sees \\d+/.test(${TEXT('chosen')}) && /seen by \\d+/.test(${TEXT('chosen')})`)
  await page.key('Escape')
  await page.until(`${APP}.chosen.watcher === undefined`)
}

async function shows_engines(page) {
  const options = await page.eval(`[...document.getElementById('engine').options].map(o => o.text)`)
  assert.deepStrictEqual(options.slice(1).sort(), engines.split(',').sort())
  const watcher = await page.eval(`[...${APP}.rec.world.slots.keys()][0]`)
  await page.eval(`${APP}.select(${watcher})`)
  for (let i = 1; i < options.length; i++) {
    await page.key('s')
    await page.until(`document.getElementById('engine').selectedIndex === ${i}`)
    await page.until(`${TEXT('part')}.includes(${JSON.stringify('Index: ' + options[i])})`)
    const kinds = await page.eval(`[...new Set(${APP}.structure.parts.map(p => p.kind))]`)
    const expected = { list: 'tile', grid: 'cell', tower: 'tower', quadtree: 'leaf', brute: 'all' }[options[i]]
    assert.ok(kinds.includes(expected), options[i] + ': ' + kinds)
    const filed = await page.eval(`${APP}.hot.some(p => p.lists && p.lists.some(l => l.some(e => e[1] === ${watcher})))`)
    assert.ok(filed, options[i] + ' has the entity in a part around it')
    if (picture) await page.shot(`${picture}-${options[i]}.png`)
  }
  await page.key('s')
  await page.key('Escape')
}

async function filters(page) {
  await page.eval(`${APP}.seek_frame(${APP}.rec.last)`)
  await page.until(`document.querySelectorAll('#list li').length > 5`)
  const id = await page.eval(`String(${APP}.rec.events.at(${APP}.rec.events.count - 1).target)`)
  await page.eval(`(f => { f.value = '>${id}' })(document.getElementById('filter'))`)
  await page.until(`document.querySelectorAll('#list li').length > 0 && [...document.querySelectorAll('#list li span:nth-child(2)')].every(e => e.textContent.endsWith(' ${id}'))`)
  await page.eval(`(f => { f.value = 'no id' })(document.getElementById('filter'))`)
  await page.until(`document.querySelectorAll('#list li').length === 0`)
  await page.eval(`(f => { f.value = '' })(document.getElementById('filter'))`)
  await page.until(`document.querySelectorAll('#list li').length > 5`)
  await page.eval(`document.querySelector('#list li').click()`)
  await page.until(`${APP}.chosen.target !== undefined`)
  await page.key('Escape')
}

// Pixels of the map that are not its ground.
const PAINTED = `(() => { const c = document.getElementById('below'), d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)
  let n = 0
  for (const p of d) n += p !== d[0]
  return n })()`

async function looks(page) {
  assert.ok(await page.eval(PAINTED) > 50, 'entities are drawn')
  const theme = await page.eval(`document.documentElement.dataset.theme`)
  await page.key('t')
  await page.until(`document.documentElement.dataset.theme !== '${theme}'`)
  await page.key('t')
  await page.eval(`localStorage.removeItem('aoi-theme')`) // which beats what the system prefers
  const scale = await page.eval(`${APP}.map.scale`)
  await page.key('+')
  await page.until(`${APP}.map.scale > ${scale}`)
  await page.key('f')
  await page.until(`Math.abs(${APP}.map.scale - ${scale}) < 1e-9 * ${scale}`)
  await page.key('?')
  await page.until(`document.getElementById('keys').open`)
  await page.eval(`document.getElementById('keys').close()`)
  if (picture) await page.shot(`${picture}-${theme}.png`)
}

async function main() {
  const browser = await open()
  try {
    for (const scheme of ['dark', 'light']) {
      const page = await browser.page({ width: scheme === 'dark' ? 1280 : 1366, height: 768, scheme })
      await load(page)
      assert.strictEqual(await page.eval(`document.documentElement.dataset.theme`), scheme)
      for (const check of scheme === 'dark' ? [plays, explains, shows_engines, filters, looks] : [looks]) await check(page)
      assert.deepStrictEqual(page.errors, [])
      assert.deepStrictEqual(page.requests.filter(u => !u.startsWith('data:')), ['file://' + file])
    }
    console.log('the page is good')
  } finally {
    await browser.close()
  }
}

main().catch(error => {
  console.log(error.stack)
  process.exitCode = 1
})
