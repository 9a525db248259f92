-- A number for a picture as of spec/support/client_model.lua: entities with their kinds, places and fields.
local checksum = require "checksum"

local function bits(v)
  if type(v) == "string" then
    local h = #v
    for i = 1, #v do h = h * 31 + v:byte(i) end
    return h
  end
  if type(v) == "boolean" then return v and 1 or 0 end
  return (string.unpack("<i8", string.pack("<d", v)))
end

return function(known)
  local sum = 0
  for id, it in pairs(known) do
    sum = sum + checksum(it.kind, id, bits(it[1]), bits(it[2]))
    for name, value in pairs(it.fields) do sum = sum + checksum(bits(name), id, bits(value), 1) end
  end
  return sum
end
