// look.js URL SECONDS [PICTURE] - looks at a live page in a headless Chromium for so long, and says what came.
'use strict'
const { open } = require('../../spec/viewer/browser.js')

async function main() {
  const [, , url, seconds, picture] = process.argv
  const browser = await open()
  try {
    const page = await browser.page({ width: 1280, height: 800, scheme: 'dark' })
    for (let tries = 0; ; tries++) {
      await page.go(url)
      const there = await page.until('window.aoiViewer && aoiViewer.ready', 3000).then(() => true, () => false)
      if (there) break
      if (tries === 20) throw new Error('there is no page at ' + url)
    }
    await page.eval('setInterval(() => { aoiViewer.app.socket.delay = 200 }, 100)') // comes back at once
    for (const end = Date.now() + 1000 * seconds; Date.now() < end;) await new Promise(done => setTimeout(done, 500))
    const told = await page.eval(`(() => { const a = aoiViewer.app, sorted = l => l.slice().sort((a, b) => a - b), at = (l, q) => l[Math.floor(l.length * q)]
      const work = sorted(a.timing.work), intervals = sorted(a.timing.intervals)
      return { entities: a.rec.world.count, ticks: a.rec.frames.length, events: a.rec.events.count, megabytes: a.socket.received / 2 ** 20,
        work: at(work, 0.5), work95: at(work, 0.95), interval: at(intervals, 0.5), interval95: at(intervals, 0.95) } })()`)
    console.log(JSON.stringify(told, (_, v) => (typeof v === 'number' ? Math.round(v * 100) / 100 : v)))
    if (page.errors.length) console.log(page.errors.slice(0, 5))
    if (picture) await page.shot(picture)
  } finally {
    await browser.close()
  }
}

main().then(() => process.exit(0), error => { console.log(error.stack); process.exit(1) })
