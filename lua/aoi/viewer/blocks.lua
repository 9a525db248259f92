-- Blocks of the viewer (docs/viewer-wire.md) that pages and servers add to those of an observer.

local blocks = {}

local char, floor = string.char, math.floor
local frexp, pack = math.frexp, string.pack -- luacheck: ignore 143 (each Lua has one of them)

--- Makes a block; `type` is a letter.
function blocks.block(type, content)
  local n = #content
  return type .. char(n % 256, floor(n / 256) % 256, floor(n / 65536) % 256, floor(n / 16777216) % 256) .. content
end

-- An IEEE double, little-endian, for a Lua without string.pack.
local function pack_double(v)
  if v == 0 then return (1 / v < 0 and "\0\0\0\0\0\0\0\128" or "\0\0\0\0\0\0\0\0") end
  local sign = v < 0 and 128 or 0
  local m, e = frexp(v < 0 and -v or v)
  e = e + 1022
  if e < 1 then -- subnormal
    m, e = m * 2 ^ e, 0
  else
    m = m * 2 - 1
  end
  local n = m * 4503599627370496 -- 2^52
  local bytes = {}
  for i = 1, 6 do
    bytes[i] = char(n % 256)
    n = floor(n / 256)
  end
  bytes[7] = char(n % 16 + e % 16 * 16)
  bytes[8] = char(floor(e / 16) + sign)
  return table.concat(bytes)
end

--- The eight bytes of a finite double.
function blocks.double(v)
  if pack then return pack("<d", v) end
  return pack_double(v)
end

--- The block that ends a tick.
function blocks.tick(time) return blocks.block("T", blocks.double(time)) end

--- Converts a block of structure that an observer wrote to one that names the engine.
function blocks.of_engine(name, structure)
  return blocks.block("P", char(#name) .. name .. structure:sub(6))
end

return blocks
