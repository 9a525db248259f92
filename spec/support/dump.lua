-- dump.lua: the whole observable state of a space as text: two dumps are equal exactly when the spaces are.
local bits = require "spec.support.bits"
local shapes = require "spec.support.shapes"

local function numbers(list, n)
  local t = {}
  for i = 1, n or #list do t[i] = ("%.17g"):format(list[i]) end
  return table.concat(t, " ")
end

local function sorted(list, n)
  local t = {}
  for i = 1, n do t[i] = list[i] end
  table.sort(t)
  return t
end

local function viewers(space, id)
  local pairs_of, n = space:viewers(id)
  local t = {}
  for i = 1, n do t[i] = bits.id(pairs_of[2 * i - 1]) .. "/" .. bits.id(pairs_of[2 * i]) end
  table.sort(t)
  return table.concat(t, " ")
end

local function overrides(space, id, node_id)
  local list, n = space:overrides(id, node_id)
  local t = {}
  for i = 1, n do t[i] = bits.id(list[2 * i - 1]) .. " " .. list[2 * i] end
  table.sort(t)
  return table.concat(t, " ")
end

local function dump(space)
  local lines = {}
  local function say(...) lines[#lines + 1] = table.concat({ ... }, " ") end
  local stats = space:stats()
  say("count", space:count(), "entities", stats.entities, "nodes", stats.nodes,
    "events", stats.events, "pending", stats.pending, "check", tostring(space:check()))
  local ids = sorted(space:ids())
  for _, id in ipairs(ids) do
    local position = { space:position(id) }
    local on, layers = space:carrier(id), bits.id(space:layers(id))
    say("entity", bits.id(id), "at", numbers(position), "kind", bits.id(space:kind(id)), "layers", layers, "extent",
      numbers { space:extent(id) }, "on",
      on and bits.id(on) or "-", "seen by", viewers(space, id))
    for _, node_id in ipairs(sorted(space:nodes(id))) do
      say("  node", bits.id(node_id), "radius", numbers { space:radius(id, node_id) },
        "sees", numbers(sorted(space:view(id, node_id))))
      say("    is", shapes.text(space:area(id, node_id)), "overrides", overrides(space, id, node_id))
    end
  end
  return table.concat(lines, "\n")
end

return dump
