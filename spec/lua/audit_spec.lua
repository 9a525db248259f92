-- `aoi audit`: what clients were sent is what their views saw, past walls; a planted leak is found.
local aoi = require "aoi"
local journal = require "aoi.journal"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local run = require "spec.support.command"
local sights = require "aoi.sight"
local syncs = require "aoi.sync"
local tools = require "spec.support.tools"

local seed = random_run.seed("audit")
local IDS, SIDE = 20, 30

-- A town that is recorded, and the lines of what its clients were sent.
local function town(path)
  local random = rng.new(seed)
  local space = aoi.new()
  local sight = sights.new(space)
  for _ = 1, 15 do sight:wall(random(SIDE), random(SIDE), random(SIDE), random(SIDE)) end
  local j = journal.record(space, path)
  local sync = syncs.new(space, { quantum = 0.5, sight = sight, limit = 6 })
  local lines, walls = {}, sight:walls()
  for id = 1, IDS do
    space:enter(id, random(SIDE), random(SIDE))
    local options = { self = id == 2, bytes = id == 3 and 60 or nil }
    if id <= 6 then sync:add(id, { shape = "circle", radius = 12 }, options) end
  end
  sync:pin(1, 19)
  for time = 1, random_run.steps(60) do
    for _ = 1, 8 do
      local id = random(IDS)
      if not space:has(id) then space:enter(id, random(SIDE), random(SIDE))
      elseif id > 6 and random(12) == 1 then space:leave(id)
      else space:move(id, random(SIDE), random(SIDE)) end
    end
    if random(3) == 1 then sight[random(2) == 1 and "open_wall" or "shut_wall"](sight, walls[random(#walls)]) end
    sync:tick(function(id, message)
      lines[#lines + 1] = { j:bytes(), id, message }
      if random(10) == 1 then space:move(random(6), random(SIDE), random(SIDE)) end
    end)
    j:mark(time)
  end
  j:stop()
  return lines
end

local function write(path, lines)
  local file = assert(io.open(path, "wb"))
  for _, line in ipairs(lines) do
    file:write(("%d %d %d\n"):format(line[1], line[2], #line[3]), line[3], "\n")
  end
  file:close()
end

describe("aoi audit", function()
  if tools.lacks "argparse" then return pending(tools.lacks "argparse") end
  local recorded, other, sent, lines
  setup(function()
    recorded, other, sent = os.tmpname(), os.tmpname(), os.tmpname()
    lines = town(recorded)
  end)
  teardown(function()
    os.remove(recorded)
    os.remove(other)
    os.remove(sent)
  end)

  local function audit(path)
    return run("audit", path or recorded, sent)
  end

  it("finds nothing where nothing is wrong", function()
    write(sent, lines)
    local status, out = audit()
    assert.equal(0, status, random_run.again(seed) .. "\n" .. out)
    assert.is_truthy(out:find(("%d messages"):format(#lines), 1, true))
  end)

  it("finds what another client should have got", function()
    local planted = {}
    for i, line in ipairs(lines) do planted[i] = line end
    local at = #lines - #lines % 2 -- of a picture that is known by then
    planted[at] = { lines[at][1], lines[at][2] % 6 + 1, lines[at][3] }
    for i = 1, 12 do planted[i] = { lines[i][1], 7 - lines[i][2], lines[i][3] } end
    write(sent, planted)
    local status, out = audit()
    assert.equal(1, status, random_run.again(seed))
    assert.is_truthy(out:find("leak: ", 1, true))
    assert.is_truthy(out:find("%d+ leaks"))
  end)

  it("knows pins of the callback of a tick, and when they end", function()
    local space = aoi.new()
    local sight, j = sights.new(space), journal.record(space, other)
    local sync = syncs.new(space, { sight = sight })
    local triggers = require("aoi.trigger").new(space, { alert = { radius = 1 } })
    local far, log, pins = 9, {}, {}
    space:enter(far, 500, 0)
    for id = 1, 2 do
      space:enter(id, id, 0)
      sync:add(id, { 5, 6 })
    end
    local function tick()
      sync:tick(function(id, message)
        log[#log + 1] = { j:bytes(), id, message }
        if pins[id] then sync:pin(pins[id], far) end
      end)
      write(sent, log)
    end
    sync:pin(1, far)
    pins[1] = 2
    tick()
    assert.is_true(sync:knows(2, far)) -- pinned while the first message was sent
    triggers:add(1, "alert"):remove() -- a node of another layer
    space:remove_node(2, sync:node(2, 2))
    space:move(far, 600, 0)
    tick()
    sync:remove(1)
    sync:add(1, 5)
    tick()
    log[#log + 1] = { j:bytes(), 1, log[1][3] } -- of the client's former life
    write(sent, log)
    j:stop()
    local status, out = audit(other)
    assert.equal(1, status)
    assert.matches("^leak: behind tick %- client 1 was sent 9 %(appeared%).*\n3 ticks, .*: 1 leaks$", out)
  end)

  it("takes the end of a pin that was there before the recording", function()
    local space = aoi.new()
    local sync = syncs.new(space, { sight = sights.new(space) })
    for id = 1, 2 do space:enter(id, id, 0) end
    sync:add(1, 5)
    sync:pin(1, 2)
    local j = journal.record(space, other)
    sync:unpin(1, 2)
    sync:tick(function(id, message) write(sent, { { j:bytes(), id, message } }) end)
    j:stop()
    assert.equal(0, (audit(other)))
  end)

  it("refuses what is no log of messages, and a journal without clients", function()
    write(sent, lines)
    local file = assert(io.open(sent, "ab"))
    file:write "12 1 99\nab"
    file:close()
    assert.equal(1, (audit()))
    write(sent, { { 0, 1, lines[1][3] } })
    assert.equal(1, (audit()))
    write(sent, { { lines[1][1], 1, "none" } })
    assert.equal(1, (audit()))
    journal.record(aoi.new(), other):stop()
    assert.equal(1, (audit(other)))
    os.remove(sent)
    assert.equal(1, (audit()))
    assert.equal(2, (run("audit", recorded)))
  end)
end)
