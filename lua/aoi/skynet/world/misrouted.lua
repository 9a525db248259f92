-- Misrouted moves: rows that the router does not accept, from Shard:moves or from ROWS of another shard, since this
-- shard does not own the entity, or not yet. They wait here, are forwarded with the coming epoch, to the owner or to
-- the home of the id, or are refused with a note to the client, as are moves of clients that have lost the entity.
--
--   shard.early        rows that came between close and apply, or before this instance takes part: retried after apply
--   shard.forward      { shard, ROWS row } for the coming epoch; forwarding[id]: that shard

local directory = require "aoi.skynet.world.directory"
local followers = require "aoi.skynet.world.followers"
local outlet = require "aoi.skynet.world.outlet"
local windows = require "aoi.skynet.world.windows"

local misrouted = {}

--- The shard to which this one has handed the entity over lately, or nil. `moved` may be of an earlier life: the home
-- of the id uses the directory instead, unless the hand-over is of this epoch, so that the HOME row is not applied yet.
function misrouted.handed_to(self, id)
  local moved = self.moved[id]
  local since = directory.home(self, id) == self.number and self.applied or self.applied - windows.HANDED
  return moved and moved.epoch > since and moved.shard or nil
end

-- The next shard for a misrouted move, from a retired instance the other one of the same number; whether it is the last
-- known owner; and whether this shard has handed the entity over to it. Requests go the same way, so that they arrive
-- after earlier moves (coming.lua).
local function way_to(self, id)
  local to, home = self.retired and self.number or misrouted.handed_to(self, id), directory.home(self, id)
  if to then return to, true, true end
  if home == self.number then return self.holder[id], true, false end
  return home, false, false
end

-- Whether the move has passed too many shards. An entity that is handed over as fast as the move follows it has been
-- moved by later moves: the move is overtaken, not refused. The home of the id forwards what others would refuse.
local function has_expired(self, id, hops, handed)
  if hops < windows.HOPS then return false end
  if handed then
    self.counters.overtaken = self.counters.overtaken + 1
    return true
  end
  return directory.home(self, id) ~= self.number or hops > 2 * windows.HOPS
end

local MOST = 2 ^ 50

local function is_place(x, y, z)
  return math.abs(x) <= MOST and math.abs(y) <= MOST and math.abs(z or 0) <= MOST -- nan is not
end

local function refuse(self, client, id)
  self.counters.refused = self.counters.refused + 1
  outlet.note(self, client, id, 0)
end

-- A move that the router has not accepted.
local function on_misrouted(self, client, batch, hops, id, x, y, z)
  local ent, is_good = self.ents[id], is_place(x, y, z)
  self.counters.misrouted = self.counters.misrouted + 1
  if is_good and ent and ent.entry then
    local at = ent.entry
    if client ~= at.client or followers.is_later(batch, at.batch) then
      at.x, at.y, at.z = x, y, z
      if client == at.client then at.batch = batch else at.mover = client end
    end
    return
  elseif is_good and (self.closed > self.applied or self.applied < self.ready) then -- it may enter or arrive in apply
    self.early[#self.early + 1] = { client, batch, hops, id, x, y, z }
    return
  end
  local to, is_owner, handed = way_to(self, id)
  if directory.may_return(self, id) then return end -- its client restores it with the last move
  local expired = to and has_expired(self, id, hops, handed)
  if is_good and expired and handed then return end
  if not is_good or not to or to == self.number and not self.retired or expired then
    return refuse(self, client, id)
  end
  if is_owner then outlet.note(self, client, id, to) end
  local row = { id = id, client = client, batch = batch, hops = hops + 1, x = x, y = y, z = z }
  self.forward[#self.forward + 1] = { to, row }
  self.forwarding[id] = to
  followers.note(self, client, batch, id, to)
end

--- A move that the router has left to the caller, that `hops` shards have forwarded, or that has waited in `early`.
function misrouted.move(self, client, batch, hops, id, x, y, z)
  local barred = self.ents[id] and self.ents[id].barred
  if barred and barred[client] then return refuse(self, client, id) end -- another client has taken the entity over
  followers.forget(self, client, batch, id)
  local since = hops > 0 and self.applied + 1 - hops or 0 -- the epoch in which the first shard had it
  local moved = is_place(x, y, z) and self.router:move(id, client, batch, since, x, y, z)
  if not moved then on_misrouted(self, client, batch, hops, id, x, y, z) end
end

--- A client's last move, sent again under its number as it may have been lost: no move where it is known here, or two
-- other clients have moved the entity since.
function misrouted.again(self, client, batch, id, ...)
  local barred = self.ents[id] and self.ents[id].barred
  local is_done = not (barred and barred[client]) and self.router:move(id, client, batch, 1, ...)
  if not is_done then misrouted.move(self, client, batch, 0, id, ...) end
end

--- Forgets what has been handed over some epochs ago.
function misrouted.forget_old(self)
  local old = self.applied - windows.HANDED
  for id, moved in pairs(self.moved) do
    if moved.epoch < old then self.moved[id] = nil end
  end
  followers.forget_old(self, old)
end

function misrouted.retry(self)
  local early = self.early
  self.early = {}
  for _, row in ipairs(early) do misrouted.move(self, table.unpack(row, 1, 7)) end
end

return misrouted
