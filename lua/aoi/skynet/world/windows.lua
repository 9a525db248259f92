-- For how many epochs the parts of a world wait for something, or keep it, in one place, since some follow from others.

local AHEAD = 3  -- every process obeys an order, given now, so many epochs later
local HOPS = 8   -- shards that a misrouted move passes, one an epoch; at the home of the id it may pass twice as many
local FORMER = 8 -- the former instance of a shard goes on

return {
  AHEAD = AHEAD, HOPS = HOPS, FORMER = FORMER,
  APART = FORMER + AHEAD + 2, -- between two moves of shards
  FORWARDS = 2,               -- a former instance forwards moves that clients have sent to it
  HANDED = 8,                 -- a shard answers with the new owner of an entity; later the home of the id is asked
  AWAITED = HOPS,             -- a forwarded move is awaited where its entity has come back before it
  ON_ITS_WAY = HOPS // 2,     -- the shard that has received a forwarded move still has the new owner of its entity
  LATE_MOVE = 2 * HOPS + 4,   -- then no move arrives that was sent before its entity left
  END_ROW = 3,                -- the HOME row of a life that leaves arrives
  MISSES = 25,                -- in a row, the home has no owner of what a client has entered: it is gone
  LEFT = 100,                 -- a client keeps a life that it has ended
  ORDERS = 30,                -- an exchange keeps an order that has been obeyed
}
