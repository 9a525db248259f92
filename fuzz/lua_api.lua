-- lua_api.lua: a random program of calls of the Lua API, chosen by the fuzzer's bytes.
--
--   byte -> action -> a call with plausible arguments, one of them now and then hostile
--                     in the main program, in a coroutine, in a handler, in a finalizer; memory refused at times
--
-- Errors are fine, as long as they are Lua errors. After each action every open space must be sound, each node must
-- have heard enter and leave in turn, and (host, afterwards) all memory must be given back.
local aoi = require "aoi.core"
local input = require "input"

local hit, fail, refuse, relent = hit, fail, refuse, relent -- luacheck: ignore
local choose = input.choose

local engines = aoi.engines()
local FUEL = 400          -- actions that handlers, finalizers and coroutines may take in all
local fuel = FUEL
local TICKS = 4           -- of a history
-- laws[i].broken: an event may have gone unheard, because of what was done to the space
local spaces, pasts, laws = {}, {}, {}
local asleep, trash = {}, {}

-- ---- values -----------------------------------------------------------------------------------------------

local closed = aoi.new()
local closed_past = aoi.history.new(closed, 1)
closed:close()
local imposter = setmetatable({}, getmetatable(closed))

local hostile = {
  0 / 0, math.huge, -math.huge, math.maxinteger, math.mininteger, 2 ^ 53, -2 ^ 63, 2 ^ 63, 1.5, -0.0, 1e308, 5e-324, -1,
  "1", "nan", "", "x", true, false, {}, { 1, 2, 3 }, print, closed, closed_past, imposter, io.stdout,
  coroutine.create(print),
  { radius = 1, keep = 0 }, { radius = 0 / 0 }, { radius = 1, mask = 1.5 }, { radius = 1, shape = {} }, { [1] = 2 },
  setmetatable({}, { __index = function() error "index" end, __newindex = function() error "newindex" end,
    __len = function() return 1e9 end }),
}

local function any()
  local n = choose(#hostile + 4)
  if n < #hostile then return hostile[n + 1] end
  return spaces[n - #hostile] -- or nil
end

local function id() return choose(14) end
local function node_id() return choose(3) - 1 end

local function number()
  local b = choose(256)
  if b < 160 then return b % 17 - 8 end
  if b < 220 then return (b % 21 - 10) * 0.1 end
  return hostile[b % 13 + 1]
end

local function radius()
  local b = choose(32)
  if b < 24 then return b / 2 end
  return b == 24 and math.huge or 10 ^ (b - 20)
end

local function bits() return ({ 1, 1, 1, -1, 0, 2, 3, math.mininteger })[choose(8) + 1] end

local function numbers(n)
  local t = {}
  for i = 1, n do t[i] = number() end
  if choose(24) == 0 then t[choose(n + 2) + 1] = any() end
  return t
end

local function distances(n)
  local t = {}
  for i = 1, n do t[i] = radius() end
  return t
end

local function facing() return (choose(17) - 8) * math.pi / 4 end

local shapes = {
  function(r) return { radius = r, keep = choose(2) == 0 and r + radius() or nil } end,
  function(r) return { shape = "circle", radius = r, keep = choose(2) == 0 and r + radius() or nil } end,
  function(r) return { shape = "circle", radius = r, margin = radius() } end,
  function(r, d) return { shape = "box", extents = distances(d), margin = choose(2) == 0 and r or nil } end,
  function(r, d)
    if d == 2 then return { shape = "circle", radius = r } end
    return { shape = "cylinder", radius = r, half_height = r }
  end,
  function(r)
    local angle = (choose(8) + 1) * math.pi / 4
    return { shape = "sector", radius = r, facing = facing(), angle = angle, margin = choose(2) }
  end,
  function() return { shape = "polygon", points = numbers(2 * (choose(6) + 3)) } end,
  function()
    local rings = { numbers(2 * (choose(6) + 3)), numbers(choose(2) * 90 + 6) }
    if choose(24) == 0 then rings[choose(3) + 1] = any() end
    return { shape = "polygon", rings = rings }
  end,
}

local function area(d)
  if choose(16) < 5 then return radius() end
  local a = shapes[choose(#shapes) + 1](radius(), d)
  if choose(3) == 0 then a.mask = bits() end
  if choose(8) == 0 then a.offset = numbers(d) end
  if choose(8) == 0 then a.extents_apply = choose(2) == 0 end
  if choose(8) == 0 then a.outside = true end
  if choose(32) == 0 then
    local names = { "radius", "keep", "margin", "extents", "half_height", "facing", "angle", "points", "rings", "mask",
      "shape", "label", "offset", "outside", "extents_apply" }
    a[names[choose(#names) + 1]] = any()
  end
  return a
end

local function rows(dimensions)
  local t, n = {}, choose(10)
  for i = 0, n - 1 do
    t[#t + 1] = id() + (choose(2) == 0 and 0 or i)
    for _ = 1, dimensions do t[#t + 1] = number() end
  end
  if choose(16) == 0 then t[choose(#t + 1) + 1] = any() end
  return t
end

-- ---- handlers ---------------------------------------------------------------------------------------------

local act
local function break_laws()
  for _, law in pairs(laws) do law.broken = true end -- the first may be missing
end

local outside = { [debug.getinfo(1, "f").func] = true } -- functions that no hook may interrupt

-- What is done inside a handler or a finalizer: little, and only while there is fuel.
local function misbehave()
  if fuel <= 0 or input.over then return end
  fuel = fuel - 1
  local b = choose(16)
  if b < 7 then return end
  if b == 7 then error(({ "raised", { 1 }, nil, 42, print })[choose(5) + 1]) end
  if b == 8 then return coroutine.isyieldable() and coroutine.yield(choose(4)) end
  if b == 9 then return collectgarbage(choose(2) == 0 and "collect" or "step") end
  if b == 10 then
    -- an event inside an event inside an event
    local co = coroutine.create(act)
    asleep[#asleep + 1] = co
    coroutine.resume(co)
    return
  end
  if b == 11 then -- it may strike before a handler has taken note
    break_laws()
    debug.sethook(function()
      debug.sethook()
      if not outside[debug.getinfo(2, "f").func] then error("time is up") end
    end, "", choose(50) + 1)
    return
  end
  return act()
end

-- Handlers of one node keep its own account of who was seen.
local function handlers(i)
  local seen, law = {}, laws[i]
  local function check(target, wanted, what)
    if not law.broken and (seen[target] or false) ~= wanted then fail(what .. " out of turn") end
    seen[target] = not wanted
  end
  local function on_enter(_, target)
    check(target, false, "enter")
    misbehave()
  end
  local function on_leave(_, target)
    check(target, true, "leave")
    misbehave()
  end
  local b = choose(12)
  if b < 6 then return on_enter, on_leave end
  local function quiet() misbehave() end
  if b < 8 then return { enter = on_enter, leave = on_leave, cross = b == 7 and quiet or nil } end
  if b == 8 then return quiet end
  if b == 9 then return nil, quiet end
  if b == 10 then return setmetatable({}, { __index = function() return misbehave() or quiet end }) end
  return nil, nil
end

-- ---- calls ------------------------------------------------------------------------------------------------

local function position(dimensions)
  if dimensions == 2 then return number(), number() end
  return number(), number(), number()
end

local function xyz(dimensions, ...)
  if dimensions == 2 then
    local x, y = position(2)
    return x, y, ...
  end
  local x, y, z = position(3)
  return x, y, z, ...
end

local function maybe(f) return choose(2) == 1 and f() or nil end
local function buffer() return {} end
local function ago() return choose(TICKS + 2) end
local function area_handlers(d, i)
  return area(d), handlers(i)
end

-- method -> its arguments, and what it is a method of, if that is not a space
local methods = {
  { "enter", function(d) return id(), xyz(d, maybe(bits)) end },
  { "enter", function(d) return id(), xyz(d, { kind = bits(), layers = maybe(bits), extent = maybe(radius) }) end },
  { "jump", function(d) return id(), xyz(d) end },
  { "leave", function() return id(), choose(260) end },
  { "set_layers", function() return id(), bits(), true end },
  { "move_many", function(d) return rows(d), misbehave end },
  { "nearest", function(d)
    return xyz(d, choose(6), maybe(radius), maybe(bits), { least = maybe(radius), except = id() })
  end },
  { "move", function(d) return id(), xyz(d) end },
  { "move", function(d) return id(), xyz(d) end },
  { "move", function(d) return id(), xyz(d) end },
  { "leave", function() return id() end },
  { "set_kind", function() return id(), bits() end },
  { "set_layers", function() return id(), bits() end }, { "set_extent", function() return id(), radius() end },
  { "layers", id }, { "extent", id },
  { "attach", function(d) return id(), maybe(id), xyz(d) end },
  { "carrier", id }, { "passengers", function() return id(), maybe(buffer) end },
  { "move_many", function(d) return rows(d) end },
  { "move_many", function(d) return rows(d), choose(5) end },
  { "enter_many", function(d) return rows(d), nil, maybe(bits) end },
  { "add_node", function(d, i) return id(), node_id(), area_handlers(d, i) end },
  { "add_node", function(d, i) return id(), node_id(), area_handlers(d, i) end },
  { "remove_node", function() return id(), node_id() end },
  { "set_radius", function() return id(), node_id(), radius(), maybe(radius) end },
  { "set_mask", function() return id(), node_id(), bits() end },
  { "set_area", function(d) return id(), node_id(), area(d) end },
  { "set_area", function(d) return id(), node_id(), area(d) end },
  { "set_facing", function() return id(), node_id(), facing() end },
  { "override", function() return id(), node_id(), id(), ({ "hide", "show", "match", nil })[choose(4) + 1] end },
  { "override", function() return id(), node_id(), id(), ({ "hide", "show", "match", nil })[choose(4) + 1] end },
  { "flush", function() end },
  { "drain", function() return maybe(buffer) end },
  { "on_error", function() return maybe(function() return misbehave end) end },
  { "view", function() return id(), node_id(), maybe(buffer) end },
  { "viewers", function() return id(), maybe(buffer) end },
  { "near", function(d) return xyz(d, area(d), maybe(bits), maybe(buffer)) end },
  { "near_many", function(d) return rows(d), area(d), maybe(bits), maybe(buffer), maybe(buffer) end },
  { "nearest", function(d) return xyz(d, choose(6), maybe(radius), maybe(bits), maybe(buffer)) end },
  { "sweep", function(d) return xyz(d, xyz(d, radius(), maybe(bits), maybe(buffer))) end },
  { "overrides", function() return id(), node_id(), maybe(buffer) end },
  { "area", function() return id(), node_id() end },
  { "explain", function() return id(), node_id(), id() end },
  { "ids", function() return maybe(buffer) end },
  { "nodes", function() return id(), maybe(buffer) end },
  { "sees", function() return id(), node_id(), id() end },
  { "position", id }, { "kind", id }, { "radius", function() return id(), node_id() end },
  { "has", id }, { "count", function() end }, { "stats", function() end }, { "check", function() end },
  { "tick", function() end, pasts }, { "tick", function() end, pasts },
  { "position", function() return ago(), id() end, pasts },
  { "near", function(d) return ago(), xyz(d, area(d), maybe(bits), maybe(buffer)) end, pasts },
  { "close", function() end, pasts },
}

local meta = getmetatable(closed)
local metamethods = { "__gc", "__close", "__len", "__tostring" }

local function hash(text)
  local h = 7
  for i = 1, math.min(#text, 60) do
    local c = text:byte(i)
    if c < 48 or c > 57 then h = h * 31 + c end
  end
  return h
end

-- The call itself, protected; tells the fuzzer how it went.
local function call(name, f, ...)
  local ok, err = pcall(f, ...)
  hit(hash(name .. (ok and "+" or "-" .. tostring(err))))
  if not ok and err == "not enough memory" then break_laws() end
  return ok
end

-- One of the arguments is now and then something else.
local function spoil(...)
  if choose(8) ~= 0 then return ... end
  local args = { n = select("#", ...), ... }
  args[choose(math.max(args.n, 1)) + 1] = any()
  return table.unpack(args, 1, args.n)
end

-- Somebody to begin with, so that short inputs already matter.
local function populate(i)
  local space = spaces[i]
  for k = 0, 9 do pcall(space.enter, space, k, k % 5, k % 3, k % 3 == 0 and 1 or 0, k % 4) end
  for k = 0, 5 do pcall(space.add_node, space, k, 0, k, handlers(i)) end
  if choose(2) == 0 then pcall(space.flush, space) end
end

local function open_space(i)
  local options = { engine = engines[choose(#engines) + 1], dimensions = choose(2) + 2,
    delivery = choose(2) == 0 and "immediate" or "deferred", cell = ({ nil, nil, 1, 0.1, math.huge })[choose(5) + 1] }
  if choose(16) == 0 then options[({ "engine", "dimensions", "delivery", "cell", "x" })[choose(5) + 1]] = any() end
  local ok, space = pcall(aoi.new, options)
  if not ok then return end
  spaces[i], laws[i] = space, { broken = false }
  ok, pasts[i] = pcall(aoi.history.new, space, choose(TICKS + 1))
  if not ok then pasts[i] = nil end
  if choose(4) > 0 then populate(i) end
end

local dimensions_of = setmetatable({}, { __mode = "k" })

local function dims(space)
  local d = dimensions_of[space]
  if not d then
    -- a space says how many it has only in its positions
    d = 2
    pcall(function()
      local ids, n = space:ids()
      if n > 0 then d = select("#", space:position(ids[1])) end
    end)
  end
  return d
end

local function api_call()
  local i = choose(2) + 1
  local space = spaces[i]
  local method = methods[choose(#methods) + 1]
  local objects = method[3] or spaces
  local f = (objects == pasts and closed_past or closed)[method[1]]
  if method[1] == "drain" then laws[i].broken = true end -- drained events are not heard by handlers
  local self = choose(40) == 39 and any() or objects[i]
  return call(method[1], f, spoil(self, method[2](dims(space), i)))
end

-- One action of the program.
function act()
  local b = choose(64)
  if b < 50 then return api_call() end
  if b < 53 then
    local co = coroutine.create(function()
      api_call()
      api_call()
    end)
    asleep[#asleep + 1] = co
    coroutine.resume(co)
  elseif b < 55 then
    local co = asleep[choose(#asleep + 1) + 1]
    if co and coroutine.status(co) == "suspended" then coroutine.resume(co) end
  elseif b == 55 then
    local k = choose(#asleep + 1) + 1
    local co = table.remove(asleep, math.min(k, #asleep))
    if co and choose(2) == 1 and coroutine.status(co) ~= "running" and coroutine.status(co) ~= "normal" then
      coroutine.close(co)
    end
  elseif b == 56 then
    local i = choose(2) + 1
    if choose(3) > 0 then call("close", closed.close, spaces[i]) end
    open_space(i)
  elseif b == 57 then
    local name = metamethods[choose(4) + 1]
    call(name, meta[name], choose(2) == 0 and any() or spaces[choose(2) + 1])
  elseif b == 58 then
    setmetatable({}, { __gc = misbehave })
    if choose(2) == 0 then trash[#trash + 1] = setmetatable({}, { __gc = misbehave }) end
  elseif b == 59 then
    collectgarbage(({ "collect", "step", "generational", "incremental" })[choose(4) + 1])
  elseif b == 60 then
    collectgarbage("incremental", ({ 0, 100, 1000 })[choose(3) + 1], 400)
    trash = {}
  elseif b == 61 then
    local n, many = choose(12) + 1, choose(2)
    local function short()
      refuse(n, many)
      return api_call()
    end
    local ok, err = pcall(short)
    if relent() > 0 or not ok then
      hit(hash("refused" .. tostring(err)))
      break_laws()
    end
  elseif b == 62 then
    -- a finalizer that is due at the next chance: in the middle of the call
    collectgarbage("incremental", 0, 1000)
    collectgarbage("stop")
    local armed = true
    local function finalizer()
      if not armed then return end
      armed = false
      if choose(3) > 0 then return act() end
      for i = 1, 2 do call("close", closed.close, spaces[i]) end
    end
    for _ = 1, choose(4) + 1 do setmetatable({}, { __gc = finalizer }) end
    collectgarbage("restart")
    api_call()
    armed = false
    collectgarbage("incremental", 200, 100)
  else
    local i = choose(2) + 1
    call("aoi.new", aoi.new, any())
    call("#", function() return #spaces[i] end)
  end
end

local function sound()
  debug.sethook()
  for i = 1, 2 do
    local ok, err = pcall(spaces[i].check, spaces[i])
    if not ok and not tostring(err):find("closed space", 1, true) then fail("space " .. i .. ": " .. tostring(err)) end
  end
end

outside[sound] = true

pcall(open_space, 1)
pcall(open_space, 2)
debug.sethook()
for i = 1, 2 do
  if not spaces[i] then spaces[i], laws[i] = aoi.new(), { broken = false } end
end
while not input.over do
  pcall(act)
  sound()
end
-- Past the last byte nobody misbehaves: what waits is delivered, to those who sleep as well.
for _, space in ipairs(spaces) do pcall(space.flush, space) end
sound()
