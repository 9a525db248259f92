// pictures.js PAGE DEMO FOLDER [.png] - the pictures of the documents, taken in a headless Chromium: of the page of the recorded crowd
// viewer.webp, the whole page, and index-ENGINE.webp, what the index of each engine is made of; of the demo demo.webp,
// and walls.webp: a line of sight that a wall ends.
'use strict'
const path = require('path')
const { open } = require('../spec/viewer/browser.js')

const [, , file, demo, folder] = process.argv
const APP = 'aoiViewer.app', FRAME = 430, SEEN = 9, FLEES = 11.2, TYPE = process.argv[5] || '.webp'

const settle = page => page.eval('new Promise(done => setTimeout(done, 600))')

async function shot(page, name, clip) {
  const format = path.extname(name).slice(1), options = format === 'webp' ? { format, quality: 82 } : { format }
  const { data } = await page.send('Page.captureScreenshot', { ...options, clip: { ...clip, scale: 1 } })
  require('fs').writeFileSync(path.join(folder, name), Buffer.from(data, 'base64'))
}

async function main() {
  const browser = await open()
  if (!browser) throw new Error('there is no chromium')
  try {
    const page = await browser.page({ width: 1120, height: 640, scheme: 'light' })
    await page.go('file://' + path.resolve(file))
    await page.until(`window.aoiViewer && aoiViewer.ready && ${APP}.fitted`, 60000)
    await page.eval(`${APP}.seek_frame(${FRAME})`)
    await page.until(`${APP}.rec.at === ${FRAME}`)
    await page.eval(`${APP}.map.fit(${APP}.rec.world.bounds())`)
    // One in the thick of it, and one that it sees.
    const watcher = await page.eval(`(() => { const { rec } = ${APP}; return [...rec.world.slots.keys()].sort((a, b) =>
      rec.events.view(b, 2, ${FRAME}).length - rec.events.view(a, 2, ${FRAME}).length || a - b)[3] })()`)
    const target = await page.eval(`${APP}.rec.events.view(${watcher}, 2, ${FRAME}).sort((a, b) => a - b)[0]`)
    await page.eval(`${APP}.select(${watcher}, ${target})`)
    await settle(page)
    await shot(page, 'viewer' + TYPE, { x: 0, y: 0, width: 1120, height: 640 })
    await page.eval(`${APP}.select(${watcher})`)
    await page.eval(`(a => { const w = a.rec.world, s = w.slots.get(${watcher}); a.map.cx = w.x[s]; a.map.cy = w.y[s] + 1; a.map.zoom(1.7) })(${APP})`)
    for (const engine of ['list', 'grid', 'tower', 'quadtree']) {
      await page.eval(`(e => { e.selectedIndex = [...e.options].findIndex(o => o.text === '${engine}'); e.onchange() })(document.getElementById('engine'))`)
      await settle(page)
      await shot(page, `index-${engine}${TYPE}`, { x: 0, y: 43, width: 1120, height: 545 })
    }
    await page.go('file://' + path.resolve(demo))
    await page.until(`window.aoiViewer && aoiViewer.ready && ${APP}.fitted`, 60000)
    await page.eval(`(a => { a.playing = false; a.seek_time(${SEEN}) })(${APP})`)
    await settle(page)
    await shot(page, 'demo' + TYPE, { x: 0, y: 0, width: 1120, height: 640 })
    await page.eval(`(a => { a.story.guided = false; a.seek_time(${FLEES}); a.select(1, 3) })(${APP})`)
    await settle(page)
    await shot(page, 'walls' + TYPE, { x: 0, y: 0, width: 1120, height: 640 })
    if (page.errors.length) throw new Error(page.errors.join('\n'))
  } finally {
    await browser.close()
  }
}

main().then(() => process.exit(0), error => {
  console.error(error.message)
  process.exit(1)
})
