-- What a service asks for while the world runs: other options and areas of views, kinds, priorities, state, overrides.
--
--   asking.random(ask, world, views, nodes, radius)    one of them, by ask(world, name, id, ...), which calls
--                                                      world[name](world, id, ...); views[k]: an entity with a client
--                                                      view; nodes[k]: entity, node
local viewed = require "viewed"

local asking = {}

local DO = {}

function DO.put(ask, world, id, random) ask(world, "put", id, "hp", random(0, 999)) end

function DO.name(ask, world, id, random) ask(world, "put", id, "name", ("n"):rep(random(0, 60))) end

function DO.bag(ask, world, id, random) ask(world, "put", id, "bag", random(0, 255)) end

function DO.touch(ask, world, id) ask(world, "touch", id) end

function DO.priority(ask, world, id, random) ask(world, "set_priority", id, ({ 1, 2, 4 })[random(3)]) end

function DO.kind(ask, world, id, random) ask(world, "set_kind", id, random(7)) end

function DO.options(ask, world, id, random)
  local o = viewed.options(random)
  for _, name in ipairs { "limit", "tiers", "bytes" } do o[name] = o[name] or false end
  ask(world, "set_client", id, o)
end

function DO.area(ask, world, id, random, radius)
  ask(world, "set_view", id, 1, { radius = random(radius // 2, radius), margin = random(0, 5) })
end

function DO.resend(ask, world, id) ask(world, "resend", id) end

local NAMES = { "put", "put", "name", "bag", "touch", "priority", "kind", "options", "area", "resend" }
local HOWS = { "hide", "show", "match" }

function asking.random(ask, world, views, nodes, radius)
  local random = math.random
  local node = nodes[random(math.max(1, #nodes))]
  if node and random(3) == 1 then
    local x, y = world:position(node[1])
    local list, n = world:near(x, y, 1.5 * radius)
    local target = list[random(math.max(1, n))]
    if target and target ~= node[1] then ask(world, "override", node[1], node[2], target, HOWS[random(4)]) end
  elseif views[1] then
    DO[NAMES[random(#NAMES)]](ask, world, views[random(#views)], random, radius)
  end
end

return asking
