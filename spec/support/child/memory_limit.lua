-- memory_limit.lua: runs in a Lua state with a memory limit (faulty.c), as skynet limits a service. A crowd grows until
-- calls run into the limit, again and again. A refused call must have done nothing: a second space without a limit
-- gets the calls that succeeded, and must stay equal.
--
-- Arguments: engine, delivery, seed.
local engine, delivery, seed = ...

local aoi = require "aoi"
local dump = require "spec.support.dump"
local rng = require "spec.support.rng"

local limit = limit -- luacheck: ignore
local random = rng.new(tonumber(seed))

local function nothing() end

local poor = aoi.new { engine = engine, delivery = delivery }
local rich = aoi.new { engine = engine, delivery = delivery }
local present, refused, done = {}, 0, 0

local function rows()
  local t = {}
  for id in pairs(present) do
    if random(3) == 1 then
      local n = #t
      t[n + 1], t[n + 2], t[n + 3] = id, random(100), random(100)
    end
  end
  return t
end

-- Calls as data, so that both spaces get the same.
local function call()
  local id, verb = random(80), random(12)
  if verb == 1 and present[id] then return "leave", id end
  if verb <= 5 or not present[id] then
    return present[id] and "move" or "enter", id, random(100), random(100)
  end
  if verb == 6 then return "move_many", rows() end
  if verb == 7 then return "set_kind", id, random(4) - 1 end
  local node_id = random(3)
  if verb == 8 then return "remove_node", id, node_id end
  if verb == 9 then return "set_radius", id, node_id, random(40) end
  if verb == 10 then return "view", id, node_id end
  return "add_node", id, node_id, { radius = random(30), keep = random(2) == 1 and 40 or nil }, nothing, nothing
end

local function look(space)
  return (dump(space):gsub("^[^\n]*\n", ""))
end

-- After a refusal: has it happened all the same? Where handlers run at once, memory may have run out on the way to one.
local function happened()
  return delivery == "immediate" and look(poor) ~= look(rich)
end

local function step()
  local method, a, b, c, d, e = call()
  collectgarbage() -- now the limit is near what is really in use
  limit(limit() + 2 ^ random(17))
  local ok, err = pcall(poor[method], poor, a, b, c, d, e)
  limit(0)
  if not ok and err == "not enough memory" then
    refused = refused + 1
    if not happened() then return end
    rich[method](rich, a, b, c, d, e)
    poor:flush()
  else
    done = done + 1
    local again, other = pcall(rich[method], rich, a, b, c, d, e)
    if ok ~= again or not ok and err ~= other then error(("%s: %s, without limit %s"):format(method, err, other), 0) end
    if not ok then return end
  end
  if method == "enter" then present[a] = true elseif method == "leave" then present[a] = nil end
end

-- where handlers run at once a refusal is looked into, which takes time
local steps = delivery == "immediate" and 400 or 1000
for i = 1, steps do
  step()
  if i % 100 == 0 then
    poor:flush()
    rich:flush()
    if look(poor) ~= look(rich) then error("the spaces differ after " .. i .. " calls, seed " .. seed, 0) end
  end
end
if refused < steps / 40 or done < steps / 3 then
  error(("%d refused, %d done: this tests little"):format(refused, done), 0)
end
return ("%d refused, %d done"):format(refused, done)
