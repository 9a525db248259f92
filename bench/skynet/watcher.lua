-- One subscriber of the crowd: counts what it hears.
local skynet = require "skynet"
local aoi = require "aoi.skynet"

local mode, service, id, radius = ...
service, id, radius = tonumber(service), tonumber(id), tonumber(radius)
local events, messages = 0, 0
local CMD = {}

local function count() events = events + 1 end

function CMD.take()
  local n, m = events, mode == "packed" and aoi.info(service).messages - messages or events
  events, messages = 0, mode == "packed" and aoi.info(service).messages or 0
  return n, m
end

CMD.enter, CMD.leave = count, count

skynet.start(function()
  skynet.dispatch("lua", function(_, _, name, ...)
    local n, m = CMD[name](...)
    if n then skynet.ret(skynet.pack(n, m)) end
  end)
  if mode == "packed" then
    aoi.open(service, "map"):add_node(id, 1, radius, { enter = count, leave = count })
  else
    skynet.call(service, "lua", "add_node", id, 1, radius)
  end
end)
