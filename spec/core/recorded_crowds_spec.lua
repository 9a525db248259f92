-- Recorded movement, replayed on every engine, against the published number and checksum of its events.
-- The numbers of round and keeping nodes are those of brute force. The recordings lie beside the project
-- (../shared/data); where they are absent the spec says so and passes over.
--
--   a step of the recording -> entities leave, move, or enter with a node per radius -> drain
--
-- The checksum is the sum of FNV-1a 64 over "step:kind:watcher:target" for every event (e for enter, l for leave); the
-- live one leaves out the leaves whose watcher has disappeared. It needs integers: elsewhere the numbers must do.
local aoi = require "aoi"
local bits = require "spec.support.bits"
local tree = require "spec.support.tree"

local compile = loadstring or load -- luacheck: ignore

local recordings = {
  {
    name = "hermes_ao300", steps = 959, rows = 128783,
    { radius = 1.00005, enter = 20592, leave = 20592, all = "90e56800f6ce321c", live = "77712ed0687d0026" },
    { radius = 2.00005, enter = 45320, leave = 45320, all = "132071a5a556de94", live = "293c5f0e3b90b5ec" },
    {
      area = { shape = "circle", radius = 2 },
      enter = 35770, leave = 35770, all = "4dcf48b3547debfc", live = "26ff562bc4e391ce",
    },
    {
      area = { radius = 1.5, keep = 2 },
      enter = 23246, leave = 23246, all = "b516952d60702752", live = "dde42a65ff4a09a9",
    },
    {
      area = { shape = "circle", radius = 1.5, margin = 0.25 },
      enter = 17618, leave = 17618, all = "bfe7d4ffbfdd00d6", live = "0941bc8f164bec18",
    },
  },
  {
    name = "bf2_kashan", steps = 2682, rows = 287907,
    { radius = 100, enter = 35638, leave = 34786, all = "31caee9f6cf57b34", live = "710564e02489acdb" },
    { radius = 300, enter = 65088, leave = 62760, all = "5c4e7fe5b5b8e96c", live = "7035d5fb18a6a0b5" },
    {
      area = { shape = "circle", radius = 200 },
      enter = 45414, leave = 44198, all = "68dbcbb6ff5eabbc", live = "b15e9150088f2b46",
    },
    {
      area = { radius = 200, keep = 250 },
      enter = 48724, leave = 47118, all = "f2f1c24ef1606aa8", live = "92427b256684b2fa",
    },
    {
      area = { shape = "circle", radius = 200, margin = 30 },
      enter = 43858, leave = 42588, all = "1c759f450f494416", live = "299247e6054b0d4a",
    },
  },
}

-- FNV-1a 64 of a text, going on from `h`.
local fnv = bits.integers and compile [[
  local byte = string.byte
  return function(text, h)
    for i = 1, #text do h = (h ~ byte(text, i)) * 0x100000001b3 end
    return h
  end
]]()
local FNV_START = fnv and compile "return 0xcbf29ce484222325" ()

-- { { id, x, y, id, x, y, ... }, ... }: one flat array a step. The height of 3D recordings is left out.
local function read(path)
  local file = assert(io.popen("gzip -dc " .. path))
  assert(file:read "*l":match "^t,id,x,y")
  local steps, rows, last, step = {}, 0, nil, nil
  for line in file:lines() do
    local t, id, x, y = line:match "^([^,]+),(%d+),([^,]+),([^,]+)"
    if t ~= last then
      step = {}
      steps[#steps + 1] = step
      last = t
    end
    local n = #step
    step[n + 1], step[n + 2], step[n + 3] = tonumber(id), tonumber(x), tonumber(y)
    rows = rows + 1
  end
  file:close()
  return steps, rows
end

-- Events of a replay, for each of the radii: { enter, leave, all, live }.
local function replay(engine, steps, radii)
  local space = aoi.new { engine = engine, delivery = "deferred" }
  local result, here, buffer = {}, {}, {}
  for i = 1, #radii do result[i] = { enter = 0, leave = 0, all = 0, live = 0 } end
  for k, step in ipairs(steps) do
    local now, moving, entering = {}, {}, {}
    for i = 1, #step, 3 do
      now[step[i]] = true
      local list = here[step[i]] and moving or entering
      local n = #list
      list[n + 1], list[n + 2], list[n + 3] = step[i], step[i + 1], step[i + 2]
    end
    for id in pairs(here) do
      if not now[id] then space:leave(id) end
    end
    space:move_many(moving)
    space:enter_many(entering)
    for i = 1, #entering, 3 do
      for node_id, wanted in ipairs(radii) do space:add_node(entering[i], node_id, wanted.area or wanted.radius) end
    end
    here = now
    local _, n = space:drain(buffer)
    local prefix = { [aoi.ENTER] = ("%d:e:"):format(k - 1), [aoi.LEAVE] = ("%d:l:"):format(k - 1) }
    local start = {}
    for kind, text in pairs(prefix) do start[kind] = fnv and fnv(text, FNV_START) end
    for i = 1, 4 * n, 4 do
      local kind, watcher, target, r = buffer[i], buffer[i + 1], buffer[i + 2], result[buffer[i + 3]]
      local name = kind == aoi.ENTER and "enter" or "leave"
      r[name] = r[name] + 1
      if fnv then
        local h = fnv(watcher .. ":" .. target, start[kind])
        r.all = r.all + h
        if kind == aoi.ENTER or now[watcher] then r.live = r.live + h end
      end
    end
  end
  assert.is_true(space:check())
  space:close()
  return result
end

for _, recording in ipairs(recordings) do
  describe("the recording " .. recording.name, function()
    local path = "../shared/data/" .. recording.name .. ".csv.gz"
    local file = io.open(path, "rb")
    if not file then
      pending(path .. " is not present")
      return
    end
    file:close()

    local steps
    setup(function()
      local rows
      steps, rows = read(path)
      assert.equal(recording.steps, #steps)
      assert.equal(recording.rows, rows)
    end)
    teardown(function() steps = nil end)

    for _, engine in ipairs(tree.engines) do
      it("has the published events on " .. engine, function()
        local result = replay(engine, steps, recording)
        for i, wanted in ipairs(recording) do
          local where = "node " .. i
          assert.equal(wanted.enter, result[i].enter, where)
          assert.equal(wanted.leave, result[i].leave, where)
          if fnv then
            assert.equal(wanted.all, ("%016x"):format(result[i].all), where)
            assert.equal(wanted.live, ("%016x"):format(result[i].live), where)
          end
        end
      end)
    end
  end)
end
