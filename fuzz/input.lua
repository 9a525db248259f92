-- input.lua: what the scripts of fuzzers make of the bytes of an input.
local next_byte = byte -- luacheck: ignore

local input = { over = false } -- over: no bytes are left; a script that is kept for the next input sets it back

--- One of 0 .. n - 1; 0 when no bytes are left.
function input.choose(n)
  local b = next_byte()
  if not b then
    input.over = true
    return 0
  end
  return b % n
end

local choose = input.choose

--- The message, as often as not with bytes cut off, put in, repeated or changed.
function input.damage(message)
  local b = choose(8)
  if b < 4 then return message end
  local at = choose(256) % (#message + 1) + 1
  if b == 4 then return message:sub(1, at - 1) end
  if b == 5 then return message:sub(1, at - 1) .. string.char(choose(256)) .. message:sub(at) end
  if b == 6 then return message .. message:sub(at) end
  return message:sub(1, at - 1) .. string.char(choose(256)) .. message:sub(at + 1)
end

return input
