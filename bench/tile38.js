// tile38.js SERVER [REGIONS WALKERS TICKS] - the walk of bench/fences.lua through a tile38-server (the path of its program): its own
// processor time a move, and the events that a subscriber of all fences gets.
'use strict'
const { execFileSync, spawn } = require('child_process')
const fs = require('fs')
const net = require('net')
const os = require('os')
const path = require('path')

const [program, regions = 1000, walkers = 1000, ticks = 20] = process.argv.slice(2)
const PORT = Number(process.env.PORT || 9851)

const resp = line => {
  const words = line.split(' ')
  return `*${words.length}\r\n` + words.map(word => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')
}

async function connect() {
  for (let i = 0; ; i++) {
    const socket = net.connect(PORT, '127.0.0.1')
    const failed = await new Promise(done => socket.once('connect', () => done()).once('error', done))
    if (!failed) return socket
    if (i === 100) throw failed
    await new Promise(done => setTimeout(done, 50))
  }
}

// Sends the lines at once and waits for an answer to each, one line of text: +OK or :1.
function ask(socket, lines) {
  return new Promise((done, fail) => {
    let left = lines.length
    socket.removeAllListeners('data')
    socket.on('data', bytes => {
      for (const byte of bytes) left -= byte === 10
      if (bytes[0] === 45) fail(new Error(String(bytes)))
      if (left <= 0) done()
    })
    socket.write(lines.map(resp).join(''))
  })
}

async function main() {
  const lines = execFileSync(process.env.LUA || 'lua5.4', ['bench/fences.lua', regions, walkers, ticks, 'resp'],
    { encoding: 'utf8', maxBuffer: 1 << 30 }).trim().split('\n')
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tile38-'))
  const server = spawn(program, ['-h', '127.0.0.1', '-p', String(PORT), '-d', folder, '--appendonly', 'no', '-q'])
  const cpu = () => { // seconds
    const fields = fs.readFileSync(`/proc/${server.pid}/stat`, 'utf8').replace(/^.*\)/, '').split(' ')
    return (Number(fields[12]) + Number(fields[13])) / 100
  }
  try {
    const socket = await connect(), listener = await connect()
    await ask(socket, lines.filter(line => line.startsWith('SETCHAN')))
    const count = { enter: 0, exit: 0 }
    let rest = ''
    listener.on('data', bytes => {
      const text = rest + bytes, event = /"detect":"(enter|exit)"/g
      let last = 0
      for (let found; (found = event.exec(text)); last = event.lastIndex) count[found[1]]++
      rest = text.slice(Math.max(last, text.length - 20))
    })
    listener.write(resp('PSUBSCRIBE r*'))
    const quiet = async () => {
      for (let before = -1; before !== count.enter + count.exit;) {
        before = count.enter + count.exit
        await new Promise(done => setTimeout(done, 1500))
      }
      return { ...count }
    }
    let batch = [], wall = 0
    const sets = lines.filter(line => !line.startsWith('SETCHAN'))
    await ask(socket, sets.slice(0, walkers))
    const came = await quiet(), started = cpu()
    for (const line of sets.slice(walkers)) {
      if (line !== 'TICK') { batch.push(line); continue }
      const start = process.hrtime.bigint()
      await ask(socket, batch)
      wall += Number(process.hrtime.bigint() - start)
      batch = []
    }
    const all = await quiet(), moves = walkers * ticks
    console.log(`tile38   ${regions} regions, ${walkers} walkers: ${Math.round((cpu() - started) * 1e9 / moves)} ns of processor time a move, ` +
      `${Math.round(wall / moves)} ns on the clock, events ${came.enter + came.exit} when they came and ` +
      `${all.enter + all.exit - came.enter - came.exit} on the way`)
    socket.destroy()
    listener.destroy()
  } finally {
    server.kill()
    fs.rmSync(folder, { recursive: true })
  }
}

main().catch(error => { console.error(error); process.exit(1) })
