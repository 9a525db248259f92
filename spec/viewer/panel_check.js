// panel_check.js PAGE - a page of a journal with fields and labels in a real browser: the panel shows them, as text.
'use strict'
const assert = require('assert')
const { open } = require('./browser.js')

const APP = 'aoiViewer.app'

async function main() {
  const browser = await open()
  try {
    const page = await browser.page({ width: 1280, height: 768, scheme: 'dark' })
    await page.go('file://' + process.argv[2])
    await page.until(`window.aoiViewer && aoiViewer.ready && ${APP}.rec.at >= 0 && ${APP}.fitted`)
    await page.key('End')
    await page.until(`${APP}.rec.at === ${APP}.rec.last`)
    const [id, fields, labels] = await page.eval(`(() => { const w = ${APP}.rec.world
      const id = [...w.fields.keys()].find(id => w.fields.get(id).name && w.fields.get(id).hp && w.nodes_of(id).some(it => it.label))
      return [id, w.fields.get(id), w.nodes_of(id).map(it => it.label).filter(l => l)] })()`)
    assert.ok(id !== undefined, 'an entity with fields and labels')
    await page.eval(`${APP}.select(${id})`)
    for (const text of [`hp ${fields.hp}`, `name ${fields.name}`].concat(labels))
      await page.until(`document.getElementById('chosen').textContent.includes(${JSON.stringify(text)})`)
    await page.until(`document.getElementById('list').textContent.includes('node 1 <&>')`)
    assert.deepStrictEqual(page.errors, [])
  } finally {
    await browser.close()
  }
}

main().catch(error => {
  console.log(error.stack)
  process.exitCode = 1
})
