-- A number for a picture as of spec/support/client_model.lua: entities with their kinds, places and fields. A field
-- that is false, 0 or "" counts as one that has not been put: a client may be sent either.
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
    for name, value in pairs(it.fields) do
      local is_blank = not value or value == 0 or value == ""
      if not is_blank then sum = sum + checksum(bits(name), id, bits(value), 1) end
    end
  end
  return sum
end
