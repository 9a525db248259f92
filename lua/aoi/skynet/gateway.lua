-- A gate: receives events and messages that clients of any space of an AOI service send to this client with `to`. The
-- service makes a link to the gate in each such space, which ends with the space.

local Map = require "aoi.skynet.map"
local argument = require "aoi.skynet.argument"
local handlers_of = require "aoi.skynet.handlers"

local Gate = {}
Gate.__index = Gate

function Gate.new(client)
  return setmetatable({
    client = client, name = "gate", closed = false, records = {}, mine = {}, busy = {}, in_order = true,
  }, Gate)
end

Gate.listen, Gate.handlers_wait, Gate.disown_record = Map.listen, Map.handlers_wait, Map.disown_record

-- Removes the nodes of a link; nil: all nodes.
function Gate:forget(link)
  for _, record in pairs(self.records) do
    if not link or record.link == link then
      self.records[record.handle] = nil
      self.client:forget_record(record)
    end
  end
end

--- Ends the gate; on_view_lost is called in the clients that have named it.
function Gate:close()
  if self.closed then return end
  self.closed, self.client.gate = true, nil
  self:forget()
  pcall(self.client.request, self.client, "gate", false)
end

argument.limit(Gate, { close = 0 })
handlers_of.setters(Gate, { "error", "resync", "close", "client", "broadcast" })

return Gate
