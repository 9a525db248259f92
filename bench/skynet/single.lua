-- What the AOI service is measured against: a message for every move, and one for every event.
local skynet = require "skynet"
local space = require("aoi").new()

local CMD = {}

function CMD.enter(_, ...) space:enter(...) end

function CMD.move(_, ...) space:move(...) end

function CMD.add_node(source, id, node, area)
  space:add_node(id, node, area, function(...) skynet.send(source, "lua", "enter", ...) end,
    function(...) skynet.send(source, "lua", "leave", ...) end)
end

skynet.start(function()
  skynet.dispatch("lua", function(session, source, name, ...)
    CMD[name](source, ...)
    if session ~= 0 then skynet.ret(skynet.pack(true)) end
  end)
end)
