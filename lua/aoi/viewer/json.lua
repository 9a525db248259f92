-- JSON, as much as the viewer speaks: strings, finite numbers, booleans, arrays, objects. Written for small texts.

local json = {}

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }
local MOST_DEPTH = 8

-- "<" too: a page holds such texts between tags.
local function text_of(s)
  return '"' .. s:gsub('[%c"\\<]', function(c) return ESCAPES[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
end

--- The text of a value; a table with [1], or an empty one, is an array. Fields of objects come in the order of names.
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
  local names = {}
  for name in pairs(value) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do parts[i] = text_of(name) .. ":" .. json.encode(value[name]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

local decode_value

local function list_of(text, at, depth, close, item)
  local list = {}
  at = text:match("^%s*()", at)
  if text:sub(at, at) == close then return list, at + 1 end
  while true do
    at = item(list, at, depth + 1)
    if not at then return nil end
    local mark
    mark, at = text:match("^%s*(.)()", at)
    if mark == close then return list, at end
    if mark ~= "," then return nil end
  end
end

-- Strings of the viewer have no escapes.
local function decode_string(text, at)
  local s, after = text:match('^%s*"([^"\\%c]*)"()', at)
  return s, after
end

function decode_value(text, at, depth)
  if depth > MOST_DEPTH then return nil end
  at = text:match("^%s*()", at)
  local c = text:sub(at, at)
  if c == '"' then return decode_string(text, at) end
  if c == "{" then
    return list_of(text, at + 1, depth, "}", function(object, from, deeper)
      local name, after = decode_string(text, from)
      after = name and text:match("^%s*:()", after)
      if not after then return nil end
      object[name], after = decode_value(text, after, deeper)
      return after
    end)
  elseif c == "[" then
    return list_of(text, at + 1, depth, "]", function(array, from, deeper)
      local value, after = decode_value(text, from, deeper)
      array[#array + 1] = value
      return after
    end)
  end
  local word, after = text:match("^([%a]+)()", at)
  if word == "true" or word == "false" then return word == "true", after end
  local digits
  digits, after = text:match("^(%-?%d+%.?%d*[eE]?[+-]?%d*)()", at)
  if digits and tonumber(digits) then return tonumber(digits), after end
  return nil
end

--- The value of a text, or nil if it is no JSON, or has escapes or null in it.
function json.decode(text)
  local value, after = decode_value(text, 1, 1)
  if after and text:find("^%s*$", after) then return value end
  return nil
end

return json
