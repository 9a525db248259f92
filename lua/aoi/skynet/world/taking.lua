-- Entities of a world that clients take over from each other, as one of the clients has it. A message TAKEN comes with
-- the epoch, and may be older than an answer: take-overs of a life have numbers, which ascend.
--
--   ent.barred[client], member.barred[id][client]   the number of the take-over by which that former owner has lost it;
--                                                   the highest one is that of the present owner

local sorted_keys = require "aoi.skynet.sorted_keys"
local wire = require "aoi.skynet.wire"

local taking = {}

--- The number of the last one: 0 where there has been none.
function taking.last(barred)
  local last = 0
  for _, number in pairs(barred or {}) do last = math.max(last, number) end
  return last
end

--- Another client has taken that life over by the take-over of that number. Returns whether this client had it until
-- then; and whether nodes of it, which end, are still here. Those that it has added since are as any on others'
-- entities.
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

--- The entity has left.
function taking.forget(self, id)
  self.outbox:forget(id)
  self.traits[id], self.barred[id] = nil, nil
end

--- As those of aoi.skynet.world.watching. The former owner restores it no more, this one does.
function taking.take_over(self, id)
  local done, life, kind, all, barred, x, y, z = self:ask_owner("take_over", id)
  if not done then return false, life end
  taking.taken(self, id, life, taking.last(barred)) -- where it has taken back what it does not know to be lost
  self.traits[id], self.barred[id] = all, barred
  self.outbox:keep(id, self.outbox:where(id), life, kind, x, y, z)
  return true, x, y, z
end

--- Its last move may have been lost on the way.
function taking.move_again(self, id)
  if self.outbox:has_moved(id) then self.outbox:move(id, select(3, self.outbox:owns(id))) end
end

--- After the death of a shard: what this client has taken over is its own though a former owner, which has not heard of
-- that, has brought it back; and that hears of it.
function taking.keep_all(self)
  for _, id in ipairs((sorted_keys(self.barred))) do
    local life, barred = self.outbox:owns(id), self.barred[id]
    if barred then
      local ok, lost, by_now = self:ask_owner("keep", id, life, barred)
      if ok and lost then
        self.client:receive(wire.taken(self.number, id, life, lost))
      elseif ok and self.barred[id] == barred then
        self.barred[id] = by_now
        taking.move_again(self, id)
      end
    end
  end
  self:push()
end

return taking
