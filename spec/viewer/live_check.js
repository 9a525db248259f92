// live_check.js LUA [PICTURE] - a live page in a real browser: it follows a running space, chooses, explains, stops and goes
// back.  What it shows must be what the space says.
'use strict'
const assert = require('assert')
const { open, serve } = require('./browser.js')

const APP = 'aoiViewer.app'
const TEXT = id => `document.getElementById('${id}').textContent`

async function main() {
  const { stop, url } = await serve(process.argv[2] + ' spec/viewer/live_server.lua 200 50')
  const browser = await open()
  try {
    const page = await browser.page({ width: 1280, height: 768, scheme: 'dark' })
    await page.go(url)
    await page.until(`window.aoiViewer && aoiViewer.ready && ${APP}.rec.world.count === 200`)
    await page.until(`${APP}.rec.last > 10 && ${APP}.rec.at >= ${APP}.rec.last - 1`)
    assert.strictEqual(await page.eval(TEXT('state')), 'live')
    assert.strictEqual(await page.eval(`${APP}.rec.world.nodes.size`), 201)
    assert.ok(await page.eval(`${APP}.rec.events.count`) > 0)

    await page.eval(`${APP}.select(7, 8)`)
    await page.until(`${APP}.answer && ${APP}.answer.nodes.length === 1`)
    await page.until(`/Node 1 of entity 7 (sees|does not see) entity 8: /.test(${TEXT('chosen')})`)
    // By the rule in the page, but for those whose rounded position is next to the border.
    const differ = await page.eval(`new Promise(done => { const a = ${APP}; a.take_answer = it => { delete a.take_answer; a.take_answer(it)
      const f = a.rec.last; a.rec.seek(f); const w = a.rec.world, s = w.slots.get(7), n = w.nodes_of(7)[0], seen = new Set(it.nodes[0].view)
      done([...w.slots.keys()].filter(id => id !== 7).filter(id => { const t = w.slots.get(id), e = aoiViewer.explain(w, 7, 1, id, () => seen.has(String(id)))
        return e.sees !== seen.has(String(id)) && Math.abs(Math.max(Math.abs(e.dx), Math.abs(e.dy)) - 25) > 0.001 })) } })`)
    assert.deepStrictEqual(differ, [])

    // What a wall hides is left out of what the server says of areas: half of them.
    await page.eval(`${APP}.select(9)`)
    await page.until(`${APP}.answer && ${APP}.answer.nodes.length === 2 && (${APP}.cuts || []).length > 20`)
    assert.deepStrictEqual(await page.eval(`[...${APP}.rec.world.walls.values()].map(it => it.open)`), [false, true])
    const across = await page.eval(`(a => { const w = a.rec.world, it = w.nodes_of(9)[1], y = id => w.y[w.slots.get(id)], wall = w.walls.get('0:1').line[1]
      return a.view(it).filter(id => (y(id) > wall) !== (y(9) > wall)) })(${APP})`)
    assert.deepStrictEqual(across, [])

    await page.eval(`${APP}.select(7, 8)`)
    await page.key('s')
    await page.until(`${APP}.structure && ${APP}.structure.parts.length > 3 && ${APP}.hot.some(p => p.lists)`)
    if (process.argv[3]) await page.shot(process.argv[3] + '-live.png')

    await page.key('ArrowLeft')
    await page.until(`!${APP}.playing && ${APP}.rec.at < ${APP}.rec.last - 2 && ${APP}.rec.at === ${APP}.rec.frame_at(${APP}.time)`)
    const at = await page.eval(`${APP}.rec.at`)
    await page.until(`${APP}.rec.last > ${at} + 5`)
    assert.strictEqual(await page.eval(`${APP}.rec.at`), at, 'it stands still while more comes')
    await page.key('Home')
    await page.until(`${APP}.rec.at === 0`)
    await page.key('End')
    await page.until(`${APP}.now && ${APP}.rec.at >= ${APP}.rec.last - 1`)

    assert.deepStrictEqual(page.errors, [])
    const origin = url.replace(/\/$/, ''), elsewhere = page.requests.filter(u => !u.startsWith('data:') && !u.startsWith(origin))
    assert.deepStrictEqual(elsewhere, [])
    console.log('the live page is good')
  } finally {
    await browser.close()
    stop()
  }
}

main().then(() => process.exit(0), error => {
  console.log(error.stack)
  process.exit(1)
})
