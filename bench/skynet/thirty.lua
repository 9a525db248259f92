-- What the AOI service is measured against: what an experienced skynet programmer writes by hand around the same
-- core. A deferred space, one table of moves for each tick, one message for each subscriber with all its events.
local skynet = require "skynet"

local space = require("aoi").new { engine = "grid", delivery = "deferred" }
local subscriber, lists, events = {}, {}, {} -- watcher -> service; service -> its events of this tick
local CMD = {}

function CMD.enter_many(_, rows) space:enter_many(rows) end

function CMD.watch(source, id, radius)
  space:add_node(id, 1, radius)
  subscriber[id] = source
end

function CMD.moves(_, rows)
  space:move_many(rows)
  local _, n = space:drain(events)
  for i = 1, 4 * n, 4 do
    local to = subscriber[events[i + 1]]
    local list = lists[to]
    if not list then
      list = {}
      lists[to] = list
    end
    local k = #list
    list[k + 1], list[k + 2], list[k + 3] = events[i], events[i + 1], events[i + 2]
  end
  for to, list in pairs(lists) do
    skynet.send(to, "lua", "events", list)
    lists[to] = nil
  end
end

skynet.start(function()
  skynet.dispatch("lua", function(session, source, name, ...)
    CMD[name](source, ...)
    if session ~= 0 then skynet.ret(skynet.pack(true)) end
  end)
end)
