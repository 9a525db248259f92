-- Entities of a world that clients take over from each other, in one of these clients (`self`, member.lua). The former
-- owner gets a message TAKEN with the events of the epoch, which may be older than an answer: the take-overs of a life
-- have ascending numbers.
--
--   ent.barred[client], member.barred[id][client]   the number of the take-over by which that client, a former owner,
--                                                   has lost the entity; the highest is the present owner's take-over

local sorted_keys = require "aoi.sorted_keys"
local wire = require "aoi.skynet.wire"

local taking = {}

--- The highest number of a take-over: 0 where there has been none.
function taking.last(barred)
  local last = 0
  for _, number in pairs(barred or {}) do last = math.max(last, number) end
  return last
end

--- Another client has taken that life over, by the take-over of that number. Returns whether this client had it, and
-- whether nodes of it, which end, are still here: nodes that this client has added since stay.
function taking.taken(self, id, life, number)
  if self.outbox:owns(id) ~= life or taking.last(self.barred[id]) >= number then return false end
  self.outbox:disown(id)
  self.views[id], self.traits[id], self.barred[id] = nil, nil, nil
  self:forget_lent(id)
  local nodes_end = false
  for _, record in pairs(self.mine[id] or {}) do
    if (record.since or 0) < number then record.ends, nodes_end = number, true end
  end
  return true, nodes_end
end

--- The entity has left, or another life of its id has come.
function taking.forget(self, id)
  self.outbox:forget(id)
  self.traits[id], self.barred[id] = nil, nil
end

--- From now on this client restores the entity, and the former owner does not. more: nodes and a view that are added
-- with it, as of the owner's `take_over`. Returns true, the nodes' areas, and the entity's position; or false and why.
function taking.take(self, id, more)
  local done, life, kind, all, barred, areas, x, y, z = self:ask_owner("take_over", id, more)
  if not done then return false, life end
  taking.taken(self, id, life, taking.last(barred)) -- this client may have yet to be notified that it had lost it
  if more then -- it may have been this client's
    self:end_life(id, self.answered_at + 1)
    self.views[id] = nil
  end
  self.traits[id], self.barred[id] = all, barred
  self.outbox:keep(id, self.outbox:where(id), life, kind, x, y, z)
  return true, areas, table.unpack({ x, y, z }, 1, self.dimensions)
end

local function without_areas(ok, first, ...)
  if ok then return true, ... end
  return false, first
end

--- A method of watching.lua.
function taking.take_over(self, id) return without_areas(taking.take(self, id)) end

--- After the death of a shard: a former owner that has yet to be notified of a take-over may have restored the entity.
-- It is taken over again, and the former owner is notified. move_again: of restore.lua.
function taking.keep_all(self, move_again)
  for _, id in ipairs((sorted_keys(self.barred))) do
    local life, barred = self.outbox:owns(id), self.barred[id]
    if barred then
      local ok, lost, by_now = self:ask_owner("keep", id, life, barred)
      if ok and lost then
        self.client:receive(wire.say(wire.TAKEN, self.number, { id, life, lost }))
      elseif ok and self.barred[id] == barred then
        self.barred[id] = by_now
        move_again(self, self.outbox:where(id), { id })
      end
    end
  end
end

return taking
