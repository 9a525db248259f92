-- Reads a map in JSON by lua-cjson or dkjson, whichever is installed, and words the errors about it.
local checks = require "aoi.checks"

local function json_library()
  for _, name in ipairs { "cjson", "dkjson" } do
    local ok, library = pcall(require, name)
    if ok then return library end
  end
  error("aoi.maps needs a JSON library: install lua-cjson or dkjson", 4)
end

local Reader = {}
Reader.__index = Reader

--- A reader of the function `name`. Errors say where in the map they are: features[2].geometry.
-- @return the reader, and what the text says as Lua values
function Reader.new(name, text)
  checks.type(text, "string", 1, name, 3)
  local ok, value, _, why = pcall(json_library().decode, text)
  if not ok or why then checks.fail(1, name, ("no JSON: %s"):format(tostring(why or value)), 3) end
  return setmetatable({ name = name }, Reader), value
end

function Reader:fail(place, words, ...)
  checks.fail(1, self.name, (place == "" and "the map" or place) .. ": " .. words:format(...), -1)
end

function Reader:expect(value, expected, place)
  if type(value) == expected then return value end
  self:fail(place, "%s expected, got %s", expected, value == nil and "nothing" or type(value))
end

-- An array. An empty one may be an object without fields: JSON libraries do not tell.
function Reader:array(value, place)
  if next(self:expect(value, "table", place)) ~= nil and value[1] == nil then
    self:fail(place, "array expected, got an object")
  end
  return value
end

-- A number of at most 2^50 either way, as places and radii of a space are.
function Reader:number(value, place)
  self:expect(value, "number", place)
  if not (value >= -checks.FARTHEST and value <= checks.FARTHEST) then
    self:fail(place, "a number of at most 2^50 expected")
  end
  return value
end

--- Calls f(reader, ...). An error gets the position of the caller of the function that calls this.
function Reader:run(f, ...)
  local ok, first, second = pcall(f, self, ...)
  if not ok then error(first, 3) end
  return first, second
end

return Reader

