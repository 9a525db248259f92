-- A space of the AOI service: a place (commands.lua) whose commands take effect at once.
--
--   core           an aoi space with deferred delivery; its ids of nodes are the numbers of their records
--   clients        number -> link (aoi.skynet.server); links: subscriber -> its links, by number
--   drivers        the number of links whose flush is the tick; users: that of links except for gates

local argument = require "aoi.skynet.argument"
local commands = require "aoi.skynet.commands"
local methods = require "aoi.skynet.methods"
local views = require "aoi.skynet.views"
local walls = require "aoi.skynet.walls"

local Space = {}
Space.__index = Space

--- options: number, name, core, engine, dimensions, cell, quantum, fields, riders, sync, sight.
function Space.new(server, options)
  local self = setmetatable({
    server = server, post = server.post, recs = server.records, new_sync = server.new_sync,
    clients = {}, links = {}, ents = {}, views = {}, drivers = 0, users = 0,
  }, Space)
  for name, value in pairs(options) do self[name] = value end
  return self
end

local function subscriber_of(self, client) return self.clients[client].subscriber end

function Space:find(_, id) return self.ents[id] end

function Space:entity(_, id, name)
  return self.ents[id] or argument.fail(1, name, 0, "no entity %d", id)
end

function Space:record(number) return self.recs[number] end

function Space:is_same(a, b) return subscriber_of(self, a) == subscriber_of(self, b) end

--- Called before an error about a conflict with another client, which may have ended without notice: a PING detects
-- this, and removes its entities, nodes and views.
function Space:probe(client, asker)
  local link = self.clients[client] -- nil: an earlier probe has removed it
  if link and not self:is_same(client, asker) then self.server:probe(link.subscriber.address) end
end

function Space:send(client, message)
  local link = self.clients[client]
  return link and self.server:post_message(link.subscriber.address, message)
end

function Space:send_broadcast(client, id, message)
  local link = self.clients[client] -- nil: an earlier message to the same service has found it dead
  return link and self.server:broadcast(link.subscriber, id, message)
end

-- Former owners of an entity that was taken over: none of their maps may change it in this life of the entity, unless
-- they take it over again.
--
--   ent.barred                  set of subscribers
--   subscriber.barred[space]    set of ids
local function set_barred(self, ent, subscriber, id, value)
  local ids = subscriber.barred[self] or {}
  ids[id] = value
  subscriber.barred[self] = next(ids) ~= nil and ids or nil
  ent.barred = ent.barred or {}
  ent.barred[subscriber] = value
  if self.server.subscribers[subscriber.address] == subscriber then
    self.post:bar(subscriber.slot, next(subscriber.barred) ~= nil)
  end
end

function Space:is_barred(client, id)
  local ids = subscriber_of(self, client).barred[self]
  return ids and ids[id]
end

function Space:client_name(client) return ("service :%08x"):format(subscriber_of(self, client).address) end

local function unbar_all(self, id, ent)
  for subscriber in pairs(ent.barred or {}) do set_barred(self, ent, subscriber, id, nil) end
end

function Space:transfer(id, ent, client, former)
  local new, old = subscriber_of(self, client), subscriber_of(self, former)
  if ent.barred then set_barred(self, ent, new, id, nil) end
  if old ~= new then set_barred(self, ent, old, id, true) end
end

function Space:remove_entity(id, ent, _, reason)
  unbar_all(self, id, ent)
  self.core:leave(id, reason)
end

function Space:rekind(id, _, kind) methods.answered(methods.invoke(self.core, "set_kind", id, kind)) end

-- The receiver of a new node or view; the service that `to` names may have been found dead since.
local function receiver_of(self, one, n, name)
  return self.clients[one.client] or argument.fail(n, name, 0, "the service that 'to' names has ended")
end

--- Returns the handle of the node for the client that has added it; false if another service receives the events.
function Space:put_node(rec, _, area)
  rec.number = self.post:add(receiver_of(self, rec, 5, "add_node").slot, rec.id, rec.node, rec.positions)
  rec.handle = rec.number
  local ok, err = walls.add_node(self, rec, area)
  if not ok then
    self.post:drop(rec.number)
    error(err, 0)
  end
  self.recs[rec.number] = rec
  return self:is_same(rec.client, rec.by) and rec.handle
end

--- Ends a node; its last events are sent with the next tick.
function Space:end_node(rec, with_entity)
  if not with_entity then self.core:remove_node(rec.id, rec.number) end
  self.recs[rec.number] = nil
  self.post:remove(rec.number)
end

function Space.check_area() end

function Space:try_view(view)
  receiver_of(self, view, 3, "add_client")
  views.try(self, view)
end

function Space:begin_view(view)
  receiver_of(self, view, 3, "add_client")
  views.make(self, view)
end

function Space:end_view(view) subscriber_of(self, view.client).suspended[view] = nil end

function Space.note_end() end

--- Removes a client from the space, with its nodes and entities.
function Space:remove(link)
  commands.helpers.end_client(self, link.number)
  self.clients[link.number] = nil
  if link.drives then self.drivers = self.drivers - 1 end
end

--- Called when no client has the space open any more.
function Space:close()
  for id, ent in pairs(self.ents) do unbar_all(self, id, ent) end
  self.core:close()
end

return Space
