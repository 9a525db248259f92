-- The clients of this process that may send moves and requests to a shard themselves, each its own. Their exchange
-- tells the shard which address has which number; what it passes on from other processes it has checked itself.
--
--   shard.number_of[address], shard.address_of[number]   until the client ends

local senders = {}

--- numbers: by address.
function senders.admit(shard, numbers)
  for address, number in pairs(numbers) do shard.number_of[address], shard.address_of[number] = number, address end
end

--- The service at its address may have opened the world again, as another number, before the shard hears of this end.
function senders.forget(shard, number)
  local address = shard.address_of[number]
  shard.address_of[number] = nil
  if address and shard.number_of[address] == number then shard.number_of[address] = nil end
end

--- The number of the client at that address, 0 if there is none: no client has that one.
function senders.number(shard, address) return shard.number_of[address] or 0 end

return senders
