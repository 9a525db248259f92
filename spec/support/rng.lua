-- rng.lua: random numbers that are the same on every Lua version: Lehmer's generator, exact in doubles.
local rng = {}

local M, A = 2147483647, 16807

-- random() is in [0, 1), random(n) a whole number in 1..n, random(list) one of its items.
function rng.new(seed)
  local state = seed % (M - 1) + 1
  local function random(what)
    state = state * A % M
    local u = (state - 1) / (M - 1)
    if what == nil then return u end
    if type(what) == "table" then return what[math.floor(u * #what) + 1] end
    return math.floor(u * what) + 1
  end
  for _ = 1, 10 do random() end
  return random
end

-- A whole number from a text: one seed gives independent streams for different purposes.
function rng.hash(text)
  local h = 17
  for i = 1, #text do h = (h * 31 + text:byte(i)) % M end
  return h
end

return rng
