-- Writes JSON for the viewer: strings, finite numbers, booleans, arrays, objects.

local checks = require "aoi.checks"
local sorted_keys = require "aoi.sorted_keys"

local json = {}

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

-- Escapes "<", too, since pages contain JSON between tags.
local function text_of(s)
  return '"' .. s:gsub('[%c"\\<]', function(c) return ESCAPES[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

--- An id as text: numbers of JavaScript do not hold every 64-bit integer.
json.id = checks.spell

--- The text of a value; a table with [1], or an empty one, is an array. Fields of objects are sorted by name.
function json.encode(value)
  if type(value) == "string" then return text_of(value) end
  if type(value) == "number" then
    local whole = value % 1 == 0 and value > -1e15 and value < 1e15
    return (whole and "%d" or "%.17g"):format(value)
  end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  if value[1] ~= nil or next(value) == nil then
    for i, item in ipairs(value) do parts[i] = json.encode(item) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for i, name in ipairs((sorted_keys(value))) do parts[i] = text_of(name) .. ":" .. json.encode(value[name]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

return json
