-- Client views under comparison: what they have in all processes alike.
local viewed = {
  quantum = 1 / 64,
  fields = { { "hp", "u16" }, { "dir", "angle8" }, { "name", "string" }, { "bag", "u8", to = "own" } },
}

--- Any options: of `random` views each has some of a limit, tiers, a budget, its own entity.
function viewed.options(random)
  local o = {}
  if random(2) == 1 then o.limit = random(4, 20) end
  if random(2) == 1 then o.tiers = { { random(10, 20), random(2) }, { random(25, 40), random(3, 6) }, { 50, 9 } } end
  if random(2) == 1 then o.bytes = random(100, 300) end
  o.self = random(2) == 1
  return o
end

--- An area, or two.
function viewed.area(random, radius, margin)
  local area = { radius = random(radius // 2, radius), margin = margin, shape = random(2) == 1 and "circle" or nil }
  if random(4) > 1 then return area end
  return { area, { radius = radius // 3 } }
end

return viewed
