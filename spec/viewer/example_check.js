// example_check.js LUA - examples/browser in a real browser: what the client knows is what the server says, tick by tick; names
// and health come; a click walks.
'use strict'
const assert = require('assert')
const { open, serve } = require('./browser.js')

async function main() {
  const { stop, url } = await serve(process.argv[2] + ' examples/browser/server.lua 0 900')
  const browser = await open()
  try {
    const page = await browser.page({ width: 1280, height: 768, scheme: 'dark' })
    await page.go(url)
    await page.until(`window.demo && demo.compared > 20 && demo.messages > 20 && demo.drawn > 1`)
    assert.ok(await page.eval(`[...picture.known.values()].every(it => it.fields.name)`))
    assert.strictEqual(await page.eval(`picture.known.get(demo.truth.me).fields.name`), 'you')
    const [x, y] = await page.eval(`(r => [r.left + 280, r.top + 280])(document.getElementById('known').getBoundingClientRect())`)
    await page.click(x, y)
    await page.until(`Math.hypot(picture.known.get(demo.truth.me).x - 200, picture.known.get(demo.truth.me).y - 200) < 1`)
    assert.ok(await page.eval(`picture.known.size`) > 3)
    assert.strictEqual(await page.eval(`demo.differences`), 0)
    assert.ok(/ 0 differences in \d+ ticks/.test(await page.eval(`document.getElementById('state').textContent`)))
    assert.deepStrictEqual(page.errors, [])
    console.log('the example is good')
  } finally {
    await browser.close()
    stop()
  }
}

main().catch(error => {
  console.log(error.stack)
  process.exitCode = 1
})
