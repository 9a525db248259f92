// run.js - the buttons of snippets, and a Lua with aoi in it for a page: `lua.run(code)`. aoi.js, made by
// scripts/playground.sh, is loaded when it is first needed.
'use strict'
const lua = (() => {
  const MARK = '-- the snippets above'
  let loading, lines = []
  function load() {
    loading = loading || new Promise((resolve, reject) => {
      const script = document.createElement('script')
      script.src = 'aoi.js'
      script.onerror = () => reject(new Error('aoi.js could not be loaded'))
      script.onload = () => aoiModule({ print: line => lines.push(line), printErr: line => lines.push(line) }).then(resolve, reject)
      document.head.append(script)
    })
    return loading
  }

  // Runs a program, in the state of the one before it unless `fresh`: { ok, value, printed }, what it returns and prints as text.
  async function run(code, fresh = false) {
    const module = await load()
    lines = []
    if (fresh) module.ccall('aoi_reset')
    const text = module.ccall('aoi_run', 'string', ['string', 'string'], [code, '=snippet'])
    return { ok: text[0] === '+', value: text.slice(1), printed: lines }
  }
  return { run, MARK }
})()

if (typeof programs !== 'undefined') {
  const words = document.documentElement.lang.startsWith('zh')
    ? { run: '运行', nothing: '（没有输出）', wait: '…' } : { run: 'Run', nothing: '(nothing is printed)', wait: '...' }
  for (const button of document.querySelectorAll('button[data-run]')) {
    button.textContent = words.run
    button.addEventListener('click', async () => {
      const box = button.parentElement
      let output = box.nextElementSibling
      if (!output || !output.classList.contains('output')) {
        output = document.createElement('pre')
        output.className = 'output'
        box.after(output)
      }
      output.textContent = words.wait
      const mark = `local function mark() print ${"'" + lua.MARK + "'"} end `
      const { ok, value, printed } = await lua.run(mark + programs[button.dataset.run - 1], true)
      const own = printed.slice(printed.lastIndexOf(lua.MARK) + 1)
      output.classList.toggle('bad', !ok)
      output.textContent = (ok ? own : [...own, value]).join('\n') || words.nothing
    })
  }
}
