-- Sentences for the tables that `explain` of a space, a sight, a trigger and a synchroniser returns: their __tostring.
local core = require "aoi.core.helpers"

local IDS = { node = true, watcher = true, target = true, client = true }

-- A field as text: an id in full, where tostring rounds large ones; "?" for what the host has taken out.
local function field(it, name)
  local value = it[name]
  if IDS[name] and type(value) == "number" and value % 1 == 0 then return core.spell(value) end
  return (type(value) == "number" or type(value) == "string") and tostring(value) or "?"
end

-- Replaces each $name by that field.
local function fill(it, text) return (text:gsub("%$([%a_]+)", function(name) return field(it, name) end)) end

local function offset_text(it)
  local words = {}
  for i, v in ipairs(type(it.offset) == "table" and it.offset or {}) do words[i] = tostring(v) end
  return words[1] and ", offset " .. table.concat(words, ", ") or ""
end

-- The figures that decide; the facing of sectors; extent, offset and layers only where they differ from the defaults.
local function figures(it)
  if it.distance == nil then return "" end
  return (it.outside and " (outside of a " or " (") .. fill(it, "$shape, dx $dx, dy $dy")
    .. (it.dz ~= nil and fill(it, ", dz $dz") or "") .. fill(it, ", distance $distance")
    .. (it.facing ~= nil and fill(it, ", facing $facing") or "") .. fill(it, ", kind $kind, mask $mask")
    .. (it.extent ~= 0 and it.extent ~= nil and fill(it, ", extent $extent") or "") .. offset_text(it)
    .. (it.why == "layers" and fill(it, ", layers $layers of it and $node_layers of the node)") or ")")
end

local function of_node(it)
  return (it.name ~= nil and ("Trigger '%s'"):format(field(it, "name")) or fill(it, "Node $node"))
    .. (it.name == nil and it.label ~= nil and fill(it, " '$label'") or "")
    .. (it.sees and fill(it, " of entity $watcher sees entity $target: $why")
      or fill(it, " of entity $watcher does not see entity $target: $why")) .. figures(it)
    .. (it.wall ~= nil and fill(it, ", by wall $wall at $x, $y") or "")
    .. (it.pending and "; an event about it waits" or "")
    .. (it.state ~= nil and fill(it, "; state $state") or "") .. "."
end

local function of_client(it)
  local lacks, views = it.lacks or {}, {}
  for i, view in ipairs(it.views or {}) do views[i] = " " .. tostring(view) end
  return fill(it, it.knows and "Client $client knows entity $target: $why"
      or "Client $client does not know entity $target: $why") .. (it.pinned and ", pinned" or "")
    .. (lacks[1] and "; it lacks " .. table.concat(lacks, ", ") or "") .. (it.moved and "; where it is waits" or "")
    .. "." .. table.concat(views)
end

function core.explained.__tostring(it) return (it.client ~= nil and of_client or of_node)(it) end
