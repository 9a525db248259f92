-- journal_memory.lua: runs in a small Lua state whose allocations can be refused (faulty.c): what a sink has been given
-- is a journal up to some call, whichever allocation is refused while it is recorded, and whatever a finalizer does to
-- it while a piece is handed on.
local aoi = require "aoi"
local journal = require "aoi.journal"
local mortal = require "spec.support.mortal"

local refuse, relent = refuse, relent -- luacheck: ignore
local NO_MEMORY = "not enough memory"

-- A sink that needs no memory, and what it has been given.
local function new_sink()
  local pieces, n = {}, 0
  for i = 1, 50 do pieces[i] = "" end
  return function(bytes)
    n = n + 1
    pieces[n] = bytes
  end, function() return table.concat(pieces), n end
end

local function played(bytes)
  local player = journal.open(bytes)
  while player:step() do end -- luacheck: ignore
  local count, whole = player.space:count(), player.info.whole
  player.space:close()
  return count, whole
end

-- Each step in turn with its nth request refused, until one needs no more; returns how many failed.
local function refused(at)
  local failed = 0
  for n = 1, 200 do
    local sink, given = new_sink()
    local space = aoi.new()
    for id = 1, 300 do space:enter(id, id, id) end
    local record
    local steps = {
      function() record = journal.record(space, sink) end,
      function() space:enter(301, 1, 1) end,
      function() record:mark(1) end,
      function() space:enter(302, 1, 1) end,
      function() record:mark(2) end,
      function() record:stop() end,
    }
    local struck
    for k, step in ipairs(steps) do
      if k == at then refuse(n, 2) end -- Lua asks twice
      local ok, err = pcall(step)
      if k == at then struck = relent() > 0 end
      if not ok then
        if tostring(err):sub(-#NO_MEMORY) ~= NO_MEMORY then error(err, 0) end
        failed = failed + 1
        if k == 1 then break end
        if k == #steps then record:stop() end
      end
    end
    if not record then -- it may have begun, where the first piece could not be handed on
      for id = 400, 12000 do space:enter(id, id, id) end
    end
    local bytes = given()
    if record or bytes ~= "" then
      local count, whole = played(bytes)
      if count < 300 or (whole and count ~= space:count()) then error(("step %d: %d entities"):format(at, count), 0) end
    end
    space:close()
    if not struck then return failed end
  end
  error("it needs more and more", 0)
end

for at = 1, 6 do
  local failed = refused(at)
  if at ~= 2 and at ~= 4 and failed == 0 then error(("step %d never failed"):format(at), 0) end
end

-- A finalizer in the middle of handing on.
pcall(collectgarbage, "incremental")
collectgarbage("setpause", 0)
collectgarbage("setstepmul", 1000000)

local deeds = {
  function(space) space:enter(500, 1, 1) end,
  function(space, record)
    space:enter(500, 1, 1)
    record:mark(1)
  end,
  function(_, record) record:stop() end,
  function(space) space:close() end,
}
local struck = 0
for _, deed in ipairs(deeds) do
  for _, stops in ipairs { false, true } do
    local sink, given = new_sink()
    local space = aoi.new()
    local record = journal.record(space, sink)
    for id = 1, 300 do space:enter(id, id, id) end
    collectgarbage()
    collectgarbage("stop")
    local armed, count = false, 300
    mortal(function()
      if not armed then return end
      armed = false
      struck = struck + 1
      pcall(deed, space, record)
    end)
    local grown = {} -- memory for the collector to look at, without a look at it
    armed = true
    collectgarbage("restart")
    for k = 1, 4 do grown[k] = k end
    assert(#grown == 4)
    if stops then record:stop() else record:mark(1) end
    if pcall(space.count, space) then count = space:count() end
    if not stops then record:stop() end
    local got, whole = played((given()))
    if not whole then error("cut off", 0) end
    if not stops and got ~= count then error(("%d entities, not %d"):format(got, count), 0) end
    space:close()
  end
end
if struck < 6 then error(("%d finalizers"):format(struck), 0) end
return "done"
