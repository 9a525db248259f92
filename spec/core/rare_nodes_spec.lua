-- Two or three of hundreds carry an area of a size of its own, which engines may keep apart: it must be found wherever
-- its owner walks, jumps, or comes from.
local aoi = require "aoi"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED, STEPS = random_run.seed("rare nodes"), random_run.steps(1500)
local N, RARE = 400, 3

-- All events of one history, which is the same on every engine.
local function play(engine)
  local random, space, events = rng.new(SEED), aoi.new { engine = engine }, {}
  local function hear(kind)
    return function(watcher, target) events[#events + 1] = kind .. watcher .. ">" .. target end
  end
  local enter, leave = hear "+", hear "-"
  local x, y = {}, {}
  for id = 1, N do
    x[id], y[id] = random() * 1000, random() * 1000
    space:enter(id, x[id], y[id])
    space:add_node(id, 1, 20, enter, leave)
  end
  local function rare(id) space:add_node(id, 2, { radius = 90, keep = 100, shape = "circle" }, enter, leave) end
  local marks = {}
  for step = 1, STEPS do
    local id = random(3) == 1 and random(RARE) or random(N)
    local jump = random(40)
    if step == 20 then rare(1) rare(2) end
    if step % 300 == 0 then rare(3) elseif step % 300 == 150 and step > 300 then space:remove_node(3, 2) end
    if jump == 1 then x[id], y[id] = random() * 1000, random() * 1000
    elseif jump == 2 then x[id] = x[id] + 1e5
    else x[id], y[id] = x[id] % 1000 + random() * 40 - 20, y[id] + random() * 40 - 20 end
    space:move(id, x[id], y[id])
    if step % 100 == 0 then
      assert.is_true(space:check())
      table.sort(events)
      marks[#marks + 1] = table.concat(events, " ")
      events = {}
    end
  end
  space:close()
  return table.concat(marks, "\n")
end

local expected
for _, engine in ipairs(aoi.engines()) do
  it("nodes that few carry are found on " .. engine, function()
    expected = expected or play("brute")
    assert.equal(expected, play(engine))
  end)
end
