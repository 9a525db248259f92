-- A player of chaos.lua: walks, watches, and knows from its handlers alone who is in view. What it is told is
-- checked: an enter of what is in view, or a leave of what is not, is a difference.
local skynet = require "skynet"
local aoi = require "aoi.skynet"

local service, id, side, radius = ...
service, id, side, radius = tonumber(service) or service, tonumber(id), tonumber(side), tonumber(radius)
math.randomseed(id) -- services that start together may have one seed

local map, seen, wrong, resting, waiting
local x, y = math.random() * side, math.random() * side
local handlers = {}

local function install(version)
  local function hold()
    if waiting and math.random(20) == 1 then skynet.sleep(math.random(30)) end
  end
  -- New code for each version: replaced while nodes are there.
  handlers.enter = function(_, target)
    if seen[target] then wrong = wrong + 1 end
    seen[target] = version
    hold()
  end
  handlers.leave = function(_, target)
    if not seen[target] then wrong = wrong + 1 end
    seen[target] = nil
    hold()
  end
end

local function live()
  seen, wrong = {}, wrong or 0
  map = aoi.open(service, "world")
  map:on_close(function()
    seen = {}
    skynet.fork(function()
      repeat skynet.sleep(50) until pcall(live)
    end)
  end)
  map:on_refused(function() end)
  map:enter(id, x, y)
  map:add_node(id, 1, { radius = radius, margin = 5 }, handlers)
end

local CMD = {}

function CMD.rest(how) resting = how end

function CMD.reload() install(math.random(1000)) end

function CMD.wait(how) waiting = how end

function CMD.busy()
  local stop = skynet.hpc() + 300000000
  while skynet.hpc() < stop do end -- luacheck: ignore
end

function CMD.reopen()
  map:close()
  live()
end

function CMD.exit() skynet.timeout(1, skynet.exit) end

-- Differences between what the handlers have told, what the client library knows, and what the service says.
function CMD.compare()
  if map.closed then return -1 end
  local view, n = map:view(id, 1)
  local known, m = map:seen(id, 1)
  local bad, count = wrong, 0
  for i = 1, n do if not seen[view[i]] then bad = bad + 1 end end
  for i = 1, m do if not seen[known[i]] then bad = bad + 1 end end
  for _ in pairs(seen) do count = count + 1 end
  if count ~= n or m ~= n then bad = bad + 1 end
  return bad, n
end

skynet.start(function()
  install(1)
  live()
  skynet.dispatch("lua", function(session, _, name, ...)
    local result = table.pack(CMD[name](...))
    if session ~= 0 then skynet.ret(skynet.pack(table.unpack(result, 1, result.n))) end
  end)
  skynet.fork(function()
    while true do
      skynet.sleep(10)
      if not resting and not map.closed then
        x = math.min(side, math.max(0, x + math.random(-8, 8)))
        y = math.min(side, math.max(0, y + math.random(-8, 8)))
        pcall(function()
          map:move(id, x, y)
          map:flush()
        end)
      end
    end
  end)
end)
