// browser.js - a headless Chromium, driven over its DevTools protocol through a pipe: no library, no port.
//
//   const browser = await open()                       null if there is no chromium
//   const page = await browser.page({ width: 1280, height: 800, scheme: 'dark' })
//   await page.go('file:///...'); await page.eval('1 + 1'); await page.shot('x.png')
//   page.errors: exceptions and error messages; page.requests: addresses that were asked for
//   await browser.close()
'use strict'
const { spawn, spawnSync } = require('child_process')
const fs = require('fs')
const os = require('os')
const path = require('path')

function command() {
  for (const name of [process.env.CHROMIUM, 'chromium', 'chromium-browser', 'google-chrome'])
    if (name && spawnSync('sh', ['-c', 'command -v "$0"', name]).status === 0) return name
  return null
}

class Browser {
  constructor(name) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'aoi-browser-'))
    this.process = spawn(name, ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--hide-scrollbars', '--mute-audio',
      '--disable-dev-shm-usage', `--user-data-dir=${this.folder}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: this.folder } })
    this.waiting = new Map()
    this.pages = new Map()
    this.number = 0
    let text = ''
    this.process.stdio[4].setEncoding('utf8').on('data', piece => {
      text += piece
      for (let end; (end = text.indexOf('\0')) >= 0; text = text.slice(end + 1)) this.take(JSON.parse(text.slice(0, end)))
    })
    this.process.on('exit', () => { for (const w of this.waiting.values()) w.reject(new Error('the browser has ended')) })
  }

  take(message) {
    const w = this.waiting.get(message.id)
    if (w) {
      this.waiting.delete(message.id)
      if (message.error) w.reject(new Error(`${w.method}: ${message.error.message}`))
      else w.resolve(message.result)
    } else if (this.pages.has(message.sessionId)) this.pages.get(message.sessionId).take(message)
  }

  send(method, params = {}, sessionId) {
    const id = ++this.number
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0')
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }))
  }

  async page(options = {}) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true })
    const page = new Page(this, sessionId)
    this.pages.set(sessionId, page)
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await page.send(domain + '.enable')
    await page.send('Emulation.setDeviceMetricsOverride',
      { width: options.width || 1280, height: options.height || 800, deviceScaleFactor: options.ratio || 1, mobile: false })
    if (options.scheme) {
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: options.scheme }] })
    }
    return page
  }

  async close() {
    const ended = new Promise(resolve => this.process.on('exit', resolve))
    this.send('Browser.close').catch(() => {})
    const timer = setTimeout(() => this.process.kill('SIGKILL'), 5000)
    await ended
    clearTimeout(timer)
    fs.rmSync(this.folder, { recursive: true, force: true })
  }
}

class Page {
  constructor(browser, session) {
    Object.assign(this, { browser, session, errors: [], requests: [] })
  }

  send(method, params) { return this.browser.send(method, params, this.session) }

  take({ method, params }) {
    if (method === 'Runtime.exceptionThrown') {
      const d = params.exceptionDetails
      this.errors.push((d.exception && d.exception.description) || d.text)
    } else if (method === 'Runtime.consoleAPICalled' && params.type === 'error') {
      this.errors.push(params.args.map(a => a.value || a.description).join(' '))
    } else if (method === 'Log.entryAdded' && params.entry.level === 'error') this.errors.push(params.entry.text)
    else if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url)
    else if (method === 'Network.webSocketCreated') this.requests.push(params.url)
  }

  async go(url) { await this.send('Page.navigate', { url }) }

  async eval(expression) {
    const r = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
    if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception ? r.exceptionDetails.exception.description : r.exceptionDetails.text)
    return r.result.value
  }

  // Until the expression holds; an error that says what did not.
  async until(expression, ms = 120000) {
    for (const end = Date.now() + ms; Date.now() < end;) {
      if (await this.eval(`Boolean(${expression})`)) return
      await new Promise(done => setTimeout(done, 30))
    }
    throw new Error('not within the time: ' + expression + '\n' + this.errors.join('\n'))
  }

  async shot(file) {
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' })
    fs.writeFileSync(file, Buffer.from(data, 'base64'))
  }

  async click(x, y) {
    for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased'])
      await this.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1, buttons: type === 'mousePressed' ? 1 : 0 })
  }

  async key(key, modifiers = 0) {
    const text = key.length === 1 ? key : undefined
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, text, modifiers })
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, modifiers })
  }
}

async function open() {
  const name = command()
  if (!name) return null
  const browser = new Browser(name)
  await browser.send('Browser.getVersion')
  return browser
}

// A server of pages in a process group of its own, whose first line is its address; `stop` ends the group.
function serve(program) {
  const server = spawn('sh', ['-c', program], { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  const stop = () => {
    server.removeAllListeners('exit')
    process.kill(-server.pid)
  }
  return new Promise((resolve, reject) => {
    server.on('exit', () => reject(new Error('the server has ended')))
    server.stdout.on('data', text => resolve({ stop, url: String(text).split('\n')[0] }))
  })
}

module.exports = { open, command, serve }
