-- Plain values as bytes: booleans, numbers, strings, and acyclic tables of them. For rare parts of messages without a
-- layout of their own, such as options of a client view. Reading takes any bytes, and returns errors, never raises.

local spack, sunpack = string.pack, string.unpack

local plain = {}

local MOST_DEPTH = 8

local function write(parts, value, depth)
  local kind = math.type(value) or type(value)
  if kind == "integer" then
    parts[#parts + 1] = "i" .. spack("<i8", value)
  elseif kind == "float" then
    parts[#parts + 1] = "d" .. spack("<d", value)
  elseif kind == "string" then
    parts[#parts + 1] = "s" .. spack("<s4", value)
  elseif kind == "boolean" then
    parts[#parts + 1] = value and "t" or "f"
  elseif kind == "table" and depth < MOST_DEPTH then
    parts[#parts + 1] = "{"
    for key, one in pairs(value) do
      write(parts, key, depth + 1)
      write(parts, one, depth + 1)
    end
    parts[#parts + 1] = "}"
  else
    error(("a %s has no bytes"):format(kind), 0)
  end
end

--- Raises where the value contains anything else, or tables nested deeper than 8 levels.
function plain.write(value)
  local parts = {}
  write(parts, value, 0)
  return table.concat(parts)
end

local read

local FORMATS = { i = "<i8", d = "<d", s = "<s4" }

local function read_table(bytes, at, depth)
  local t = {}
  if depth == MOST_DEPTH then error("tables too deep", 0) end
  while bytes:sub(at, at) ~= "}" do
    local key
    key, at = read(bytes, at, depth + 1)
    if key ~= key or type(key) == "table" then error("an impossible key", 0) end
    t[key], at = read(bytes, at, depth + 1)
  end
  return t, at + 1
end

function read(bytes, at, depth)
  local tag = bytes:sub(at, at)
  if FORMATS[tag] then return sunpack(FORMATS[tag], bytes, at + 1) end
  if tag == "{" then return read_table(bytes, at + 1, depth) end
  if tag ~= "t" and tag ~= "f" then error("no plain value", 0) end
  return tag == "t", at + 1
end

--- Returns the value, or nil and what is wrong.
function plain.read(bytes)
  local ok, value, at = pcall(read, bytes, 1, 0)
  if not ok then return nil, tostring(value) end
  if at ~= #bytes + 1 then return nil, "something behind a plain value" end
  return value
end

return plain
