// docs_check.js FOLDER - the site of `make docs` in a real browser: width of a phone, search, links, nothing from elsewhere.
'use strict'
const assert = require('assert')
const fs = require('fs')
const path = require('path')
const { open } = require('../viewer/browser.js')

const folder = path.resolve(process.argv[2])
const names = fs.readdirSync(folder).filter(name => name.endsWith('.html'))

async function fits(page, name) {
  await page.go('file://' + path.join(folder, name))
  await page.until('document.readyState === "complete"')
  assert.deepStrictEqual(page.errors, [], name)
  const [wide, width] = await page.eval('[document.documentElement.scrollWidth, innerWidth]')
  assert.ok(wide <= width, `${name} is ${wide} wide in a window of ${width}`)
  assert.strictEqual(await page.eval('document.getElementById("menu").open'), false)
  const links = await page.eval('[...document.querySelectorAll("a[href]")].map(a => a.href)')
  for (const link of links.filter(link => link.startsWith('file:'))) {
    const url = new URL(link), file = decodeURIComponent(url.pathname)
    assert.ok(fs.existsSync(file), `${name}: ${link}`)
    if (url.hash && file.endsWith('.html')) {
      const id = decodeURIComponent(url.hash.slice(1))
      assert.ok(fs.readFileSync(file, 'utf8').includes(`id="${id}"`), `${name}: ${link}`)
    }
  }
}

async function finds(page, words, expected) {
  await page.go('file://' + path.join(folder, 'index.html'))
  await page.until('document.readyState === "complete"')
  const first = await page.eval(`(() => { const box = document.getElementById("search"); box.value = ${JSON.stringify(words)}
    box.dispatchEvent(new Event("input")); return [...document.querySelectorAll("#found a")].map(a => a.getAttribute("href")) })()`)
  assert.ok(first.slice(0, 5).includes(expected), `${words}: ${first.slice(0, 5)}`)
}

async function main() {
  const browser = await open()
  const phone = await browser.page({ width: 390, height: 844 })
  for (const name of names) await fits(phone, name)
  assert.ok(phone.requests.every(url => url.startsWith('file://' + folder)), 'something is loaded from elsewhere')
  const desk = await browser.page({ width: 1280, height: 900 })
  await finds(desk, 'teams', 'scripting.html#teams')
  await finds(desk, 'when not to use', 'index.html#when-not-to-use-it')
  await finds(desk, '十字链表', 'zh.html#选哪个引擎')
  assert.deepStrictEqual(desk.errors, [])
  await browser.close()
}

main().catch(error => { console.error(error); process.exit(1) })
