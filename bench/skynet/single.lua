-- The simplest service around the core: an immediate space, a message for every event. Moves come as one table, or
-- one by one from agents that move themselves.
local skynet = require "skynet"
local space = require("aoi").new { engine = "grid" }

local CMD = {}

function CMD.enter(_, ...) space:enter(...) end

function CMD.enter_many(_, rows) space:enter_many(rows) end

function CMD.move(_, ...) space:move(...) end

function CMD.moves(_, rows) space:move_many(rows) end

function CMD.position(_, id) return space:position(id) end

function CMD.watch(source, id, radius)
  space:add_node(id, 1, radius, function(...) skynet.send(source, "lua", "enter", ...) end,
    function(...) skynet.send(source, "lua", "leave", ...) end)
end

skynet.start(function()
  skynet.dispatch("lua", function(session, source, name, ...)
    if session ~= 0 then
      skynet.ret(skynet.pack(CMD[name](source, ...)))
    else
      CMD[name](source, ...)
    end
  end)
end)
