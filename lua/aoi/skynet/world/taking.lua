-- Entities of a world that clients take over from each other, as one of the clients has it. A message TAKEN comes with
-- the epoch, and may be older than an answer: take-overs of a life have numbers, which ascend.
--
--   ent.barred[client], member.barred[id][client]   the number of the take-over by which that former owner has lost it;
--                                                   the highest one is that of the present owner

local taking = {}

--- The number of the last one: 0 of an entity that nobody has taken over.
function taking.last(barred)
  local last = 0
  for _, number in pairs(barred or {}) do last = math.max(last, number) end
  return last
end

--- Another client has taken that life over by the take-over of that number. Returns whether this client had it until
-- then. What it had there ends; nodes that it has added since are as those on anybody's entity.
function taking.taken(self, id, life, number)
  if self.outbox:owns(id) ~= life or taking.last(self.barred[id]) >= number then return false end
  self.outbox:disown(id)
  self.views[id], self.traits[id], self.barred[id] = nil, nil, nil
  self:forget_lent(id)
  return true
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

return taking
