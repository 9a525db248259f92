-- Moves that a shard cannot take as they are: of entities that are not, or not yet, its own, that other clients have
-- taken over, or that are no numbers. What is sent on goes to the owner with the coming epoch, or to who may know it.
--
--   shard.early        rows that came between the two halves of an epoch, or before this instance takes part
--   shard.forward      rows for other shards; forwarding[id]: the shard

local directory = require "aoi.skynet.world.directory"
local epoch = require "aoi.skynet.world.epoch"
local followers = require "aoi.skynet.world.followers"
local outlet = require "aoi.skynet.world.outlet"

-- REMEMBERS: epochs for which a shard says where an entity went: later the id's home does, without a chain
local strays = { REMEMBERS = 8 }

local MOST_HOPS = 8 -- of a move that goes astray

--- The shard to which this one has handed it over lately. The id's home trusts the directory instead, as `moved` may
-- tell of an earlier life, but for hand-overs of which it has not heard yet.
function strays.handed_to(self, id)
  local moved = self.moved[id]
  local since = directory.home(self, id) == self.number and self.applied or self.applied - strays.REMEMBERS
  return moved and moved.epoch > since and moved.shard or nil
end

-- The shard to which a move of another's entity goes, whether that is its owner, and whether this shard has handed it
-- over: it remembers that for a while, or the id's home knows. A request goes the same way (owner.lua), so that it
-- comes after the moves before it.
local function way_to(self, id)
  local to, home = self.retired and self.number or strays.handed_to(self, id), directory.home(self, id)
  if to then return to, true, true end
  if home == self.number then return self.holder[id], true, false end
  return home, false, false
end

-- An entity that is handed over as fast as a move follows it has been moved by others since, or by later ones of the
-- same client: the move is one of those that do not count. A home may pass on one that others would refuse.
local function is_tired(self, id, hops, handed)
  if hops < MOST_HOPS then return false end
  if handed then
    self.counters.overtaken = self.counters.overtaken + 1
    return true
  end
  return directory.home(self, id) ~= self.number or hops > 2 * MOST_HOPS
end

local function is_finite(x, y, z) return x - x == 0 and y - y == 0 and (not z or z - z == 0) end

local function refuse(self, client, id)
  self.counters.refused = self.counters.refused + 1
  outlet.note(self, client, id, 0)
end

-- A move of an entity that is not known here as its own.
local function on_stray(self, client, batch, hops, id, x, y, z)
  local ent, finite = self.ents[id], is_finite(x, y, z)
  self.counters.strays = self.counters.strays + 1
  if finite and ent and ent.birth then
    local birth = ent.birth
    if client ~= ent.client or followers.is_later(batch, birth.batch) then
      birth.x, birth.y, birth.z = x, y, z
      if client == ent.client then birth.batch = batch end
    end
    return
  elseif finite and (self.closed > self.applied or self.applied < self.ready) then -- it may be on its way, or be born
    self.early[#self.early + 1] = { client, batch, hops, id, x, y, z }
    return
  end
  local to, is_owner, handed = way_to(self, id)
  if directory.may_return(self, id) then return end -- who restores it knows its own last move
  local tired = to and is_tired(self, id, hops, handed)
  if finite and tired and handed then return end
  if not finite or not to or to == self.number and not self.retired or tired then
    return refuse(self, client, id)
  end
  if is_owner then outlet.note(self, client, id, to) end
  self.forward[#self.forward + 1] = { to, epoch.row(self.dimensions, id, client, batch, hops + 1, x, y, z) }
  self.forwarding[id] = to
  followers.note(self, client, batch, id, to)
end

--- A move that the router has left, or that has been sent on by so many shards, or has waited here.
function strays.move(self, client, batch, hops, id, x, y, z)
  local barred = self.ents[id] and self.ents[id].barred
  if barred and barred[client] then return refuse(self, client, id) end -- another one has taken it over
  followers.forget(self, client, batch, id)
  local since = hops > 0 and self.applied + 1 - hops or 0 -- the epoch in which the first shard had it
  local moved = is_finite(x, y, z) and self.router:move(id, client, batch, since, x, y, z)
  if not moved then on_stray(self, client, batch, hops, id, x, y, z) end
end

--- Those that came between the halves of an epoch.
function strays.retry(self)
  local early = self.early
  self.early = {}
  for _, row in ipairs(early) do strays.move(self, table.unpack(row, 1, 7)) end
end

return strays
