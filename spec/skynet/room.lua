-- room.lua: the AOI service with two clients. Ann has the entities 1, at 0, and 3, at 50; Bob has 2, at 1. With a node
-- 1 of radius 10 the entities 1 and 2 watch, and have heard of each other.
--
--   local room = room.new { window = 8, ... }      options of the service
--   room.net, .server, .ann, .bob, .map, .same_map      the latter is Bob's
--   room:handlers(name)                handlers that note what they hear
--   room:take(name)                    that, since the last time: "+2 -3"
--   room:move(map, id, x)              room:step(...): the same, and what it causes is told
--   room:state()                       of Ann: number of the last message, unacknowledged ones, whether it is behind
--   room:run_over(ticks)               Ann takes no message, while entity 2 comes and goes
local transport = require "spec.support.transport"

local room = { SERVICE = 1, ANN = 2, BOB = 3 }
local Room = {}
Room.__index = Room

function room.new(options)
  local net = transport.new(7)
  local self = setmetatable({ net = net, heard = {}, server = net:serve(room.SERVICE, options) }, Room)
  self.ann, self.bob = net:client(room.ANN, room.SERVICE), net:client(room.BOB, room.SERVICE)
  net:run(function()
    self.map, self.same_map = self.ann:open "map", self.bob:open "map"
    self.map:enter_many { 1, 0, 0, 3, 50, 0 }
    self.same_map:enter(2, 1, 0)
    self.map:add_node(1, 1, 10, self:handlers "ann")
    self.same_map:add_node(2, 1, 10, self:handlers "bob")
  end)
  net:tick(self.server)
  assert(self:take "ann" == "+2" and self:take "bob" == "+1")
  return self
end

function Room:handlers(name)
  self.heard[name] = {}
  local function write(sign)
    return function(_, target) table.insert(self.heard[name], sign .. target) end
  end
  return { enter = write "+", leave = write "-" }
end

function Room:take(name)
  local list = self.heard[name]
  self.heard[name] = {}
  return table.concat(list, " ")
end

function Room:core() return self.server.names.map.core end

function Room:state() return self.server.post:state(self.server.subscribers[room.ANN].slot) end

function Room:is_behind() return (select(3, self:state())) end

function Room:move(space, id, x) self.net:flush(space, { id, x, 0 }) end

function Room:step(...)
  self:move(...)
  self.net:tick(self.server)
end

function Room:run_over(ticks)
  self.net:stall(room.ANN)
  for i = 1, ticks do
    self:move(self.same_map, 2, i % 2 == 0 and 1 or 100)
    self.server:tick()
  end
end

return room
