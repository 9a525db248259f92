-- A subscriber of the crowd: counts what it hears. By hand it does not load the library.
local skynet = require "skynet"

local kind = ...
local aoi = kind ~= "thirty" and kind ~= "single" and require "aoi.skynet"
local events = 0
local CMD = {}

local function enter() events = events + 1 end
local function leave() events = events + 1 end
local handlers = { enter = enter, leave = leave }

-- ids: the entities that this service watches with.
function CMD.watch(service, ids, radius)
  if aoi then
    local map = aoi.open(service, "map")
    for _, id in ipairs(ids) do
      if kind == "pair" then
        map:add_node(id, 1, radius, enter, leave)
      else
        map:add_node(id, 1, radius, kind == "literal" and { enter = enter, leave = leave } or handlers)
      end
    end
  else
    for _, id in ipairs(ids) do skynet.call(service, "lua", "watch", id, radius) end
  end
  return true
end

function CMD.take()
  local n = events
  events = 0
  return n
end

function CMD.events(list)
  for i = 1, #list, 3 do
    if list[i] == 1 then
      enter(list[i + 1], list[i + 2])
    else
      leave(list[i + 1], list[i + 2])
    end
  end
end

CMD.enter, CMD.leave = enter, leave

skynet.start(function()
  skynet.dispatch("lua", function(session, _, name, ...)
    local result = CMD[name](...)
    if session ~= 0 then skynet.ret(skynet.pack(result)) end
  end)
end)
