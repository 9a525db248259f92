-- A gate: what a client hears of all spaces of its AOI service that name it with `to`, without having opened one. The
-- service makes a link for it in each such space, which ends with the space.

local Map = require "aoi.skynet.map"
local handlers_of = require "aoi.skynet.handlers"

local Gate = {}
Gate.__index = Gate

function Gate.new(client)
  return setmetatable({
    client = client, name = "gate", closed = false, records = {}, mine = {}, busy = {}, in_order = true,
  }, Gate)
end

Gate.listen, Gate.handlers_wait = Map.listen, Map.handlers_wait

-- The nodes that the link has brought, nil: all.
function Gate:forget(link)
  for _, record in pairs(self.records) do
    if not link or record.link == link then
      self.records[record.handle] = nil
      self.client:forget_record(record)
    end
  end
end

--- Ends it; those that have named it hear on_view_lost.
function Gate:close()
  if self.closed then return end
  self.closed, self.client.gate = true, nil
  self:forget()
  pcall(self.client.request, self.client, "gate", false)
end

-- As those of a map.
handlers_of.setters(Gate, function(gate, name, f) gate[name .. "_handler"] = f end,
  { "error", "resync", "close", "client", "broadcast" })

return Gate
