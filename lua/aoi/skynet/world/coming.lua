-- A shard as a place (aoi.skynet.commands): what commands do is noted here, for the coming epoch, until that has been
-- applied: no command runs between the two halves of an epoch.
--
--   births, leaves, releases   ids that enter; lives that leave; those that leave before they have entered
--   added, removed, changed    records of nodes: lists, and the set of those whose area is another
--   kinds[id]                  of entities that have entered
--   viewing                    ids of entities with views that begin
--   rebuilt[id]                walls that change (wall_list.lua)
--   ending[number]             records of nodes that see until then

local epoch = require "aoi.skynet.world.epoch"
local followers = require "aoi.skynet.world.followers"
local methods = require "aoi.skynet.methods"
local outlet = require "aoi.skynet.world.outlet"
local strays = require "aoi.skynet.world.strays"
local taking = require "aoi.skynet.world.taking"
local targets = require "aoi.skynet.world.targets"
local traits = require "aoi.skynet.world.traits"
local views = require "aoi.skynet.views"
local wire = require "aoi.skynet.wire"

return function(Shard)
  function Shard:begin()
    self.births, self.leaves, self.added, self.removed, self.changed, self.kinds = {}, {}, {}, {}, {}, {}
    self.releases, self.viewing, self.ending, self.rebuilt = {}, {}, {}, {}
  end

  --- Into the core: id, x, y, z, kind.
  function Shard:enter_core(one)
    if self.dimensions == 3 then return self.core:enter(one.id, one.x, one.y, one.z, one.kind) end
    self.core:enter(one.id, one.x, one.y, one.kind)
  end

  function Shard:entity(client, id)
    if followers.awaits(self, client, id) then error({ id = id, moved = self.number, later = true }, 0) end
    local ent = self.ents[id]
    if ent then return ent end
    error({ id = id, moved = self.forwarding[id] or strays.handed_to(self, id) }, 0)
  end

  Shard.find = Shard.entity

  function Shard:record(number) return self.recs[number] or self.ending[number] end

  function Shard.is_same(_, a, b) return a == b end

  function Shard.probe() end

  function Shard.is_barred(_, client, _, ent) return ent.barred and ent.barred[client] end

  --- The client has lost it, by the take-over of that number.
  function Shard:bar(id, ent, client, number)
    ent.barred = ent.barred or {}
    ent.barred[client] = number
    if not ent.birth then self.router:mark(id, "barred", true) end
  end

  --- Returns the life, and the number of the take-over.
  function Shard:pass(id, ent, client, former)
    local number = math.max(taking.last(ent.barred), self.applied) + 1 -- also where earlier ones are lost with a shard
    self:bar(id, ent, former, number)
    ent.barred[client] = nil
    return ent.life, number
  end

  --- Returns the life that ends.
  function Shard:take_out(id, ent, client)
    if ent.client ~= client then outlet.note(self, ent.client, id, outlet.LEFT, ent.life) end
    if ent.past then self.lost[#self.lost + 1] = { id = id, life = ent.life, what = epoch.ENDED } end
    if ent.birth then
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
    if ent.birth then ent.kind = kind else self.kinds[id] = kind end
  end

  --- Returns the area as bytes.
  function Shard:put_node(rec, ent, area)
    rec.area, rec.added = self:pack("add_node", area), true
    outlet.open_node(self, rec)
    if not ent.past then self.added[#self.added + 1] = rec end
    return rec.area
  end

  --- What has never been in the core ends with a message for its client.
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

  --- An area as bytes, for the method of that name. The router takes it behind itself, add_client behind the entity,
  -- the others behind that and the node.
  function Shard:pack(name, area)
    local less = name == "add_client" and 0 or -1
    local ok, result = wire.call_as(self.router.pack, name, less, self.router, area, self.plan.reach)
    if ok then return result end
    error(result, 0)
  end

  --- The area of a node as that method makes it, in a space of the shard's own.
  function Shard:repack(name, rec, ...)
    local space = views.scratch(self)
    space:add_node(1, 1, self.router:unpack(rec.area))
    local ok, err = methods.invoke(space, name, 1, 1, ...)
    local area = space:area(1, 1)
    space:remove_node(1, 1)
    methods.answered(ok, err)
    return self:pack(name, area)
  end

  --- Of a client view, or a list of them: no farther than the world's reach.
  function Shard:check_area(name, area)
    for _, one in ipairs(type(area) == "table" and area[1] and area or { area }) do self:pack(name, one) end
  end

  function Shard:begin_view(view)
    self:check_area("add_client", view.area)
    views.begin(self, view)
  end

  Shard.end_view = targets.forget

  Shard.tell = outlet.put

  --- Behind the events of the coming epoch.
  function Shard:tell_broadcast(client, _, message)
    outlet.put(self, client, message)
    return true
  end
end
