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

// Every snippet runs and says what the page says; in the playground an entity that is dragged makes events.
async function plays(page, name) {
  await page.go('file://' + path.join(folder, name))
  await page.until('document.readyState === "complete"')
  const outputs = await page.eval(`(async () => {
    const found = []
    for (const button of document.querySelectorAll('button[data-run]')) {
      const box = button.parentElement
      button.click()
      for (const end = Date.now() + 20000; Date.now() < end; await new Promise(done => setTimeout(done, 20))) {
        const output = box.nextElementSibling
        if (output && output.classList.contains('output') && output.textContent !== '...' && output.textContent !== '…') break
      }
      found.push([box.querySelector('pre').textContent, box.nextElementSibling.className, box.nextElementSibling.textContent])
    }
    return found
  })()`)
  for (const [code, kind, text] of outputs) {
    assert.strictEqual(kind, 'output', `${name}: ${text}\n${code}`)
    for (const [, line] of code.matchAll(/--> (.*)$/gm)) assert.ok(text.split('\n').includes(line), `${name}: ${line}\n${text}`)
  }
  return outputs.length
}

async function drags(page, name, says) {
  await page.go('file://' + path.join(folder, name))
  await page.until('document.body && document.body.dataset.ready === "yes"')
  const state = await page.eval(`(async () => {
    const box = stage.getBoundingClientRect()
    const [guard, thief] = [world.list.find(t => t.kind === 'guard'), world.list.find(t => t.kind === 'thief')]
    const send = (type, x, y) => stage.dispatchEvent(new PointerEvent(type, { clientX: box.left + x, clientY: box.top + y, pointerId: 1 }))
    stage.setPointerCapture = () => {}
    send('pointerdown', thief.x, thief.y)
    send('pointermove', guard.x + 20, guard.y + 20)
    send('pointerup', guard.x + 20, guard.y + 20)
    for (const end = Date.now() + 5000; Date.now() < end && !document.getElementById('events').textContent;) {
      await new Promise(done => setTimeout(done, 20))
    }
    const sees = () => find(guard.id).sees.length, wait = () => new Promise(done => setTimeout(done, 200)), seen = []
    const line = (...at) => {
      send('pointerdown', at[0], at[1])
      send('pointermove', at[2], at[3])
      send('pointerup', at[2], at[3])
      return wait()
    }
    await wait()
    seen.push(sees())
    await line(guard.x + 25, guard.y - 8, guard.x - 5, guard.y + 30) // a wall between the two, then a click on it
    seen.push(sees(), JSON.parse(await call('return why(' + guard.id + ',' + thief.id + ')')))
    await line(guard.x + 22, guard.y - 4, guard.x + 22, guard.y - 4)
    seen.push(sees())
    send('pointerdown', guard.x, guard.y) // two taps: no pointer hovers over the second
    send('pointerup', guard.x, guard.y)
    send('pointerdown', guard.x + 20, guard.y + 20)
    send('pointerup', guard.x + 20, guard.y + 20)
    await wait()
    seen.push(document.getElementById('why').textContent)
    for (const button of document.querySelectorAll('#engines button, #shapes button')) button.click()
    await new Promise(done => setTimeout(done, 300))
    await actions.code()
    return [document.getElementById('events').textContent, document.getElementById('printed').textContent, seen]
  })()`)
  assert.deepStrictEqual(state[2].filter(it => typeof it === 'number'), [1, 0, 1], 'a wall hides, and an open one does not')
  assert.ok(state[2][2].includes('wall'), state[2][2])
  assert.ok(state[2][4].includes('sees'), state[2][4])
  assert.ok(state[0].includes(says), state[0])
  assert.ok(state[1].endsWith('true'), state[1])
}

async function finds(page, words, expected, from = 'index.html') {
  await page.go('file://' + path.join(folder, from))
  await page.until('document.readyState === "complete"')
  const first = await page.eval(`(() => { const box = document.getElementById("search"); box.value = ${JSON.stringify(words)}
    box.dispatchEvent(new Event("input")); return [...document.querySelectorAll("#found a")].map(a => a.getAttribute("href")) })()`)
  assert.ok(first.slice(0, 5).includes(expected), `${words}: ${first.slice(0, 5)}`)
  return first
}

async function main() {
  const browser = await open()
  const phone = await browser.page({ width: 390, height: 844 })
  for (const name of names) await fits(phone, name)
  assert.ok(phone.requests.every(url => url.startsWith('data:') || url.startsWith('file://' + folder)), 'something is loaded from elsewhere')
  const desk = await browser.page({ width: 1280, height: 900 })
  await finds(desk, 'teams', 'scripting.html#teams')
  await finds(desk, 'when not to use', 'index.html#when-not-to-use-it')
  await finds(desk, '十字链表', 'zh.html#选哪个引擎')
  for (const words of ['vision', 'degrees']) await finds(desk, words, 'reference.html#the-rule')
  await finds(desk, 'wall', 'sight.html#walls-and-line-of-sight')
  await finds(desk, 'fog', 'recipes.html#recipes')
  await finds(desk, 'lag compensation', 'api.html#aoihistory-1')
  await finds(desk, 'hysteresis', 'reference.html#the-rule')
  await finds(desk, 'typescript', 'sync.html#client-synchronisation')
  await finds(desk, 'geofence', 'recipes.html#recipes')
  assert.ok((await finds(desk, 'margin', 'index.html#five-words')).every(url => !/zh/.test(url)), 'a page in Chinese')
  const chinese = await finds(desk, 'margin', 'zh.html#五个词', 'zh.html')
  assert.ok(chinese.every(url => /zh/.test(url) || !fs.existsSync(path.join(folder, url.replace(/\.html.*/, '.zh-CN.html')))), chinese.join())
  if (fs.existsSync(path.join(folder, 'aoi.js'))) {
    let snippets = 0
    for (const name of names) snippets += await plays(desk, name)
    assert.ok(snippets > 20, `${snippets} snippets have a button`)
    await drags(desk, 'playground.html', 'thief 1 enters the area of guard 1')
    await drags(desk, 'playground.zh-CN.html', '小偷 1 进入 守卫 1 的区域')
  }
  assert.deepStrictEqual(desk.errors, [])
  await browser.close()
}

main().catch(error => { console.error(error); process.exit(1) })
