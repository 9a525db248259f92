-- bits.lua: 64-bit masks and ids for the specs, on Lua versions with and without integers.
local bits = {}

-- Lua 5.3 and later: integers of 64 bits and their operators (hidden from older parsers in a string).
bits.integers = math.type ~= nil and math.type(1) == "integer"
local compile = loadstring or load -- luacheck: ignore

if bits.integers then
  bits.meet = compile("return function(a, b) return a & b ~= 0 end")()
  bits.all = -1
else
  -- Without integers masks are whole numbers from 0 to 2^53; -1 stands for all bits.
  bits.all = -1
  function bits.meet(a, b)
    if a == bits.all then return b ~= 0 end
    if b == bits.all then return a ~= 0 end
    while a > 0 and b > 0 do
      if a % 2 == 1 and b % 2 == 1 then return true end
      a, b = math.floor(a / 2), math.floor(b / 2)
    end
    return false
  end
end

-- An id in words, the same on every Lua version.
function bits.id(id)
  if bits.integers then return tostring(id) end
  return ("%.0f"):format(id)
end

return bits
