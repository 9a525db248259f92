// playground.js - a space to drag things in. The space is in Lua; this draws what Lua says and passes on what the hand does.
//
//   pointer, buttons --> call(code) --> Lua: space, sight, things, walls --> one line of JSON: all that is drawn, events --> canvas
'use strict'
const WORDS = document.documentElement.lang.startsWith('zh')
  ? '{ guard = "守卫", thief = "小偷", enter = "%s 进入 %s 的区域", leave = "%s 离开 %s 的区域" }'
  : '{ guard = "guard", thief = "thief", enter = "%s enters the area of %s", leave = "%s leaves the area of %s" }'
const PROGRAM = `
local aoi = require "aoi"
local WORDS = ${WORDS}
things, walls, log, last = {}, {}, {}, 0
local AREAS = {
  guard = function(shape)
    if shape == "sector" then return { shape = "sector", radius = 90, facing = 0, angle = 1.6 } end
    if shape == "circle" then return { shape = "circle", radius = 70, margin = 10 } end
    if shape == "box" then return { shape = "box", extents = { 90, 40 } } end
    return 60
  end,
}
local function say(sentence) return function(w, t) log[#log + 1] = sentence:format(things[t].name, things[w].name) end end
local handlers = { enter = say(WORDS.enter), leave = say(WORDS.leave) }
shape = "square"

local function place(id)
  local thing = things[id]
  space:enter(id, thing.x, thing.y)
  if thing.kind == "guard" then sight:add(id, 1, AREAS.guard(shape), handlers) end
end

function build(engine)
  if space then space:close() end
  space = aoi.new { engine = engine }
  sight = require("aoi.sight").new(space)
  for _, wall in ipairs(walls) do
    wall.id = sight:wall(wall[1], wall[2], wall[3], wall[4])
    if wall.open then sight:open_wall(wall.id) end
  end
  for id in pairs(things) do place(id) end
end

function wall(x1, y1, x2, y2)
  walls[#walls + 1] = { x1, y1, x2, y2, id = sight:wall(x1, y1, x2, y2), open = false }
end

function door(i)
  walls[i].open = not walls[i].open
  sight[walls[i].open and "open_wall" or "shut_wall"](sight, walls[i].id)
end

function clear()
  for _, wall in ipairs(walls) do sight:remove_wall(wall.id) end
  walls = {}
end

function add(kind, x, y)
  last = last + 1
  local n = 0
  for _, thing in pairs(things) do if thing.kind == kind then n = n + 1 end end
  things[last] = { kind = kind, name = WORDS[kind] .. " " .. n + 1, x = x, y = y, dx = (last * 7 % 5 - 2) * 0.6, dy = (last * 3 % 5 - 2) * 0.6 }
  place(last)
end

function move(id, x, y)
  things[id].x, things[id].y = x, y
  space:move(id, x, y)
end

function remove(id)
  space:leave(id)
  things[id] = nil
end

function walk(width, height)
  for id, thing in pairs(things) do
    if thing.x < 10 or thing.x > width - 10 then thing.dx = -thing.dx end
    if thing.y < 10 or thing.y > height - 10 then thing.dy = -thing.dy end
    local x, y = math.max(9, math.min(width - 9, thing.x + thing.dx)), math.max(9, math.min(height - 9, thing.y + thing.dy))
    move(id, x, y)
    if shape == "sector" and thing.kind == "guard" then space:set_facing(id, 1, math.atan(thing.dy, thing.dx)) end
  end
end

function reshape(name)
  shape = name
  for id, thing in pairs(things) do
    if thing.kind == "guard" then space:set_area(id, 1, AREAS.guard(shape)) end
  end
end

local function quoted(text) return '"' .. text:gsub('[%c"\\\\]', " ") .. '"' end

function state()
  sight:tick()
  local list, shut = {}, {}
  for i, w in ipairs(walls) do
    shut[i] = ('{"line":[%.3f,%.3f,%.3f,%.3f],"open":%s}'):format(w[1], w[2], w[3], w[4], tostring(w.open))
  end
  for id, t in pairs(things) do
    local sees, a = {}, t.kind == "guard" and space:area(id, 1) or nil
    for i, target in ipairs(a and sight:view(id, 1) or {}) do sees[i] = target end
    list[#list + 1] = ('{"id":%d,"kind":%s,"name":%s,"x":%.3f,"y":%.3f,"sees":[%s],"facing":%.4f}'):format(
      id, quoted(t.kind), quoted(t.name), t.x, t.y, table.concat(sees, ","), a and type(a) == "table" and a.facing or 0)
  end
  local events = {}
  for i, line in ipairs(log) do events[i] = quoted(line) end
  log = {}
  return ('{"shape":%s,"walls":[%s],"list":[%s],"events":[%s]}'):format(
    quoted(shape), table.concat(shut, ","), table.concat(list, ","), table.concat(events, ","))
end

function why(w, t) return quoted(tostring(sight:explain(w, 1, t))) end
`
const ENGINES = ['list', 'grid', 'tower', 'quadtree', 'brute'], SHAPES = ['square', 'circle', 'box', 'sector']
const stage = document.getElementById('stage'), context = stage.getContext('2d')
let world = { list: [], walls: [], shape: 'square' }, chosen = null, dragged = null, drawn = null, walking = null, count = 0

async function call(code) {
  const { ok, value } = await lua.run(code)
  if (!ok) throw new Error(value)
  return value
}

async function update(code = '') {
  world = JSON.parse(await call(code + ' return state()'))
  const box = document.getElementById('events')
  for (const line of world.events) box.append(`${++count}  ${line}\n`)
  if (world.events.length) box.scrollTop = box.scrollHeight
  draw()
}

const find = id => world.list.find(thing => thing.id === id)
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name)

function area(guard) {
  context.beginPath()
  if (world.shape === 'circle') context.arc(guard.x, guard.y, 70, 0, 7)
  else if (world.shape === 'box') context.rect(guard.x - 90, guard.y - 40, 180, 80)
  else if (world.shape === 'sector') {
    context.moveTo(guard.x, guard.y)
    context.arc(guard.x, guard.y, 90, guard.facing - 0.8, guard.facing + 0.8)
    context.closePath()
  } else context.rect(guard.x - 60, guard.y - 60, 120, 120)
}

function draw() {
  const ratio = devicePixelRatio || 1, { clientWidth: width, clientHeight: height } = stage
  stage.width = width * ratio
  stage.height = height * ratio
  context.scale(ratio, ratio)
  for (const guard of world.list.filter(thing => thing.kind === 'guard')) {
    const seen = guard.sees.length > 0
    area(guard)
    context.globalAlpha = guard.id === chosen ? 0.25 : 0.1
    context.fillStyle = colour(seen ? '--bad' : '--link')
    context.fill()
    context.globalAlpha = guard.id === chosen ? 1 : 0.4
    context.strokeStyle = context.fillStyle
    context.stroke()
    for (const target of guard.id === chosen ? guard.sees.map(find) : []) {
      context.beginPath()
      context.moveTo(guard.x, guard.y)
      context.lineTo(target.x, target.y)
      context.stroke()
    }
  }
  for (const { line: [x1, y1, x2, y2], open } of drawn ? [...world.walls, { line: drawn }] : world.walls) {
    context.globalAlpha = open ? 0.3 : 1
    context.setLineDash(open ? [4, 4] : [])
    context.lineWidth = 3
    context.strokeStyle = colour('--ink')
    context.beginPath()
    context.moveTo(x1, y1)
    context.lineTo(x2, y2)
    context.stroke()
  }
  context.setLineDash([])
  context.lineWidth = 1
  context.globalAlpha = 1
  context.font = '12px system-ui, sans-serif'
  for (const thing of world.list) {
    context.beginPath()
    context.arc(thing.x, thing.y, 6, 0, 7)
    context.fillStyle = colour(thing.kind === 'guard' ? '--link' : '--number')
    context.fill()
    context.fillStyle = colour('--ink')
    context.fillText(thing.name, thing.x + 9, thing.y + 4)
  }
}

const place = event => { const r = stage.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top] }
const under = ([x, y]) => world.list.find(thing => Math.hypot(thing.x - x, thing.y - y) < 14)

// The wall within a finger's width of a place, from 1 on as in Lua, or 0.
const wall_at = (x, y) => 1 + world.walls.findIndex(({ line: [x1, y1, x2, y2] }) => {
  const dx = x2 - x1, dy = y2 - y1, t = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy)))
  return Math.hypot(x1 + t * dx - x, y1 + t * dy - y) < 8
})

// Why the chosen guard sees a thing, or does not. A mouse points at it, a finger taps it.
async function tell(thing) {
  if (!thing || thing.id === chosen || !find(chosen)) return
  document.getElementById('why').textContent = JSON.parse(await call(`return why(${chosen}, ${thing.id})`))
}

stage.style.touchAction = 'none'
stage.addEventListener('pointerdown', event => {
  const at = place(event), thing = under(at)
  if (!thing) {
    drawn = [...at, ...at]
    stage.setPointerCapture(event.pointerId)
    return
  }
  if (thing.kind === 'guard') chosen = thing.id
  dragged = thing.id
  stage.setPointerCapture(event.pointerId)
  draw()
  tell(thing)
})
stage.addEventListener('pointermove', event => {
  const [x, y] = place(event)
  if (drawn) {
    drawn.splice(2, 2, x, y)
    return draw()
  }
  if (dragged) return update(`move(${dragged}, ${x}, ${y})`)
  tell(under([x, y]))
})
stage.addEventListener('pointerup', () => {
  const line = drawn
  dragged = drawn = null
  if (!line) return
  const [x1, y1, x2, y2] = line, hit = wall_at(x1, y1)
  if (Math.hypot(x2 - x1, y2 - y1) > 12) return update(`wall(${line})`)
  if (hit) return update(`door(${hit})`)
})
stage.addEventListener('pointercancel', () => { dragged = drawn = null })

function choices(id, names, current, act) {
  const box = document.getElementById(id)
  for (const name of names) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = name
    button.className = name === current ? 'chosen' : ''
    button.addEventListener('click', () => {
      for (const other of box.children) other.className = other === button ? 'chosen' : ''
      act(name)
    })
    box.append(button, ' ')
  }
}

const anywhere = () => [stage.clientWidth * (0.1 + 0.8 * Math.random()), stage.clientHeight * (0.1 + 0.8 * Math.random())]
const actions = {
  guard: () => update(`add("guard", ${anywhere()})`),
  thief: () => update(`add("thief", ${anywhere()})`),
  remove: () => { const id = chosen; chosen = null; return id && find(id) ? update(`remove(${id})`) : null },
  clear: () => update('clear()'),
  walk: () => {
    if (walking) { clearInterval(walking); walking = null } else {
      walking = setInterval(() => update(`walk(${stage.clientWidth}, ${stage.clientHeight})`), 40)
    }
  },
  code: async () => {
    const { ok, value, printed } = await lua.run(document.getElementById('code').value)
    const box = document.getElementById('printed')
    box.classList.toggle('bad', !ok)
    box.textContent = (ok ? printed : [...printed, value]).join('\n')
    await update()
  },
}
for (const button of document.querySelectorAll('button[data-do]')) button.addEventListener('click', () => actions[button.dataset.do]())

async function begin() {
  await lua.run(PROGRAM, true)
  await call('build("list")')
  const w = stage.clientWidth, h = stage.clientHeight
  await update(`add("guard", ${w * 0.3}, ${h * 0.5}) add("guard", ${w * 0.7}, ${h * 0.35}) add("thief", ${w * 0.5}, ${h * 0.75})`)
  chosen = world.list.find(thing => thing.kind === 'guard').id
  choices('engines', ENGINES, 'list', name => update(`build("${name}")`))
  choices('shapes', SHAPES, 'square', name => update(`reshape("${name}")`))
  draw()
  document.body.dataset.ready = 'yes'
}
addEventListener('resize', draw)
begin()
