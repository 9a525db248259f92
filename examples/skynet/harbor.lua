-- Two skynet processes in harbor mode. The first has the AOI service and an entity that watches; the second enters
-- entities, and is killed from outside. Nothing is set: an address of another harbor counts as gone after three
-- heartbeats of silence, because what is sent there vanishes without an error.
local skynet = require "skynet"
require "skynet.manager"
local harbor = require "skynet.harbor"
local aoi = require "aoi.skynet"

local FAR, HEARTBEAT = 20, 5 -- entities of the other process; seconds, as they are by default

local function near()
  local service = aoi.start {}
  local map = aoi.open(service, "map")
  local seen = 0
  map:enter(1, 0, 0)
  map:add_node(1, 1, 100, function() seen = seen + 1 end, function() seen = seen - 1 end)
  harbor.globalname("AOI_NEAR", service)

  -- The seconds until the watcher sees n others; false if it does not in that time.
  local function wait_for(n, seconds)
    local start = skynet.now()
    repeat
      if seen == n and map:count() == n + 1 then return (skynet.now() - start) / 100 end
      skynet.sleep(10)
    until skynet.now() - start > 100 * seconds
    skynet.error(("harbor: %d entities are seen, %d are there, %d expected"):format(seen, map:count() - 1, n))
    return false
  end

  if wait_for(FAR, 30) then
    skynet.sleep(100 * 4 * HEARTBEAT) -- they are quiet, and are still there
    if wait_for(FAR, 1) then
      skynet.error "harbor: all are there"
      local after = wait_for(0, 60)
      if after then skynet.error(("harbor: all have gone, %.1f s later"):format(after)) end
    end
  end
  skynet.sleep(20) -- the log is written
  skynet.abort()
end

local function far()
  local map = aoi.open(harbor.queryname "AOI_NEAR", "map")
  for id = 2, FAR + 1 do
    map:enter(id, id, 0)
    map:add_node(id, 1, 5, {})
  end
end

skynet.start(skynet.getenv "harbor" == "1" and near or far)
