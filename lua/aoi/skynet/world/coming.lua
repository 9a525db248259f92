-- The methods of a shard that make it a place (aoi.skynet.commands). They collect what commands change in tables of the
-- shard; close and apply carry it out with the coming epoch, then Shard:begin clears them. No command runs in between.
--
--   enters, leaves, releases   ids that enter; { id, life } of entities that leave, and that leave before they enter
--   added, removed, changed    records of nodes: lists of new and of removed ones, the set of those with another area
--   kinds[id]                  new kinds of entities that have entered
--   viewing                    ids of entities with client views that begin, or that come from another shard
--   rebuilt[id]                walls that change (wall_list.lua)
--   taken_over[id]             the life of an entity that another client has taken over
--   entries                    rows for the directory of the exchanges (directory.lua)
--   ending[number]             records of nodes that are removed: they still see until the epoch is applied

local directory = require "aoi.skynet.world.directory"
local epoch = require "aoi.skynet.world.epoch"
local followers = require "aoi.skynet.world.followers"
local methods = require "aoi.skynet.methods"
local outlet = require "aoi.skynet.world.outlet"
local misrouted = require "aoi.skynet.world.misrouted"
local taking = require "aoi.skynet.world.taking"
local targets = require "aoi.skynet.world.targets"
local traits = require "aoi.skynet.world.traits"
local views = require "aoi.skynet.views"
local wire = require "aoi.skynet.wire"

return function(Shard)
  function Shard:begin()
    self.enters, self.leaves, self.added, self.removed, self.changed, self.kinds = {}, {}, {}, {}, {}, {}
    self.releases, self.viewing, self.ending, self.rebuilt, self.taken_over, self.entries = {}, {}, {}, {}, {}, {}
  end

  --- one: id, x, y, z, kind.
  function Shard:enter_core(one)
    if self.dimensions == 3 then return self.core:enter(one.id, one.x, one.y, one.z, one.kind) end
    self.core:enter(one.id, one.x, one.y, one.kind)
  end

  function Shard:entity(client, id) -- raises one of the tables that owner.lua describes
    if followers.awaits(self, client, id) then error({ id = id, moved = self.number, later = true }, 0) end
    local ent = self.ents[id]
    if ent then return ent end
    error({ id = id, moved = self.forwarding[id] or misrouted.handed_to(self, id) }, 0)
  end

  Shard.find = Shard.entity

  function Shard:record(number) return self.recs[number] or self.ending[number] end

  function Shard.is_same(_, a, b) return a == b end

  function Shard.probe() end

  function Shard:is_barred(client, id)
    local ent = self.ents[id]
    return ent and ent.barred and ent.barred[client]
  end

  function Shard.client_name(_, client)
    return ("client %d of process %d"):format(client & 0xffffff, (client >> 24) + 1)
  end

  --- The client has lost the entity by the take-over of that number (taking.lua).
  function Shard:bar(id, ent, client, number)
    ent.barred = ent.barred or {}
    ent.barred[client] = number
    if not ent.entry then self.router:mark(id, "barred", true) end
  end

  --- `client` takes the entity over from `former`. Returns the life, and the number of the take-over.
  function Shard:transfer(id, ent, client, former)
    local number = math.max(taking.last(ent.barred), self.applied) + 1 -- ascends though a dead shard lost earlier ones
    self:bar(id, ent, former, number)
    ent.barred[client] = nil
    self.taken_over[id] = ent.life
    return ent.life, number
  end

  --- Returns the life that ends.
  function Shard:remove_entity(id, ent, client)
    if ent.client ~= client then outlet.note(self, ent.client, id, outlet.LEFT, ent.life) end
    if ent.restored then self.lost[#self.lost + 1] = { id = id, life = ent.life, what = epoch.ENDED } end
    if ent.entry then
      self.releases[#self.releases + 1] = { id = id, life = ent.life }
    else
      self.router:leave(id)
      self.leaves[#self.leaves + 1] = { id = id, life = ent.life }
    end
    self.kinds[id] = nil
    traits.forget(self, id)
    return ent.life
  end

  function Shard:rekind(id, ent, kind)
    if ent.entry then ent.kind = kind else self.kinds[id] = kind end
  end

  --- Returns the area as bytes.
  function Shard:put_node(rec, ent, area)
    rec.area, rec.added = self:pack("add_node", area), true
    outlet.open_node(self, rec)
    if not ent.restored then self.added[#self.added + 1] = rec end
    return rec.area
  end

  --- A restored node that has not been in a core yet ends with a message for its client, the others with an event.
  function Shard:end_node(rec, with_entity)
    rec.dead = true
    targets.forget(self, rec)
    if rec.seen then
      outlet.end_node(self, rec.client, rec.handle, rec.seen, rec.width)
    else
      self.recs[rec.number] = nil
      self.post:remove(rec.number)
    end
    if rec.added then return end
    self.ending[rec.number] = rec
    if not with_entity then self.removed[#self.removed + 1] = rec end
  end

  --- An area as bytes. Raises an error of the method of that name, with the argument's number there: behind the entity
  -- for add_client, behind entity and node for the others.
  function Shard:pack(name, area)
    local less = name == "add_client" and 0 or -1
    local ok, result = wire.call_as(self.router.pack, name, less, self.router, area, self.plan.reach)
    if ok then return result end
    error(result, 0)
  end

  --- The area of a node as bytes, after that method has changed it: it is tried in the scratch space.
  function Shard:repack(name, rec, ...)
    local space = views.scratch(self)
    space:set_area(1, 1, self.router:unpack(rec.area))
    methods.answered(methods.invoke(space, name, 1, 1, ...))
    return self:pack(name, space:area(1, 1))
  end

  --- area: one area of a client view. Raises where it exceeds the world's reach. The synchroniser reports a nil.
  function Shard:check_area(name, area)
    if area ~= nil then self:pack(name, area) end
  end

  --- The view has one area, or a list of them. Its entity may not be in the core yet.
  function Shard:try_view(view)
    local area = view.area
    for _, one in ipairs(type(area) == "table" and area[1] and area or { area }) do
      self:check_area("add_client", one)
    end
    views.try(self, view)
  end

  function Shard:begin_view(view)
    self:try_view(view)
    if not self.ents[view.id].restored then self.viewing[#self.viewing + 1] = view.id end
  end

  Shard.end_view, Shard.begin_directory = targets.forget, directory.begin

  --- Notifies another client that has added the node or view, and would bring it back after a death: it may be behind
  -- with events, or get none.
  function Shard:note_end(one, client)
    if one.by == client then return end
    outlet.put(self, one.by, wire.say(wire.LOST_VIEWS, one.by, { one.id, one.handle, quiet = true }))
  end

  Shard.send = outlet.put

  --- The message is sent behind the events of the coming epoch.
  function Shard:send_broadcast(client, _, message)
    outlet.put(self, client, message)
    return true
  end
end
