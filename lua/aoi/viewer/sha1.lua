-- SHA-1, for the handshake of WebSocket: on any Lua, without bit operators. For short texts.
--
-- Words are doubles or integers below 2^32; rotations are products, and/or/xor go by halves of bytes through tables.

local WORD = 4294967296
local floor = math.floor

local function nibble_table(f)
  local t = {}
  for a = 0, 15 do
    for b = 0, 15 do
      local sum, bit = 0, 1
      for _ = 1, 4 do
        local x, y = floor(a / bit) % 2, floor(b / bit) % 2
        sum, bit = sum + bit * f(x, y), bit * 2
      end
      t[a * 16 + b] = sum
    end
  end
  return t
end

local XOR = nibble_table(function(x, y) return x == y and 0 or 1 end)
local AND = nibble_table(function(x, y) return x * y end)

local function by(t, a, b)
  local sum, unit = 0, 1
  for _ = 1, 8 do
    local x, y = a % 16, b % 16
    sum, unit = sum + t[x * 16 + y] * unit, unit * 16
    a, b = (a - x) / 16, (b - y) / 16
  end
  return sum
end

local function xor(a, b) return by(XOR, a, b) end

local function rotate(a, n)
  local high = floor(a / 2 ^ (32 - n))
  return a * 2 ^ n % WORD + high
end

-- f of each of the four phases, and its constant.
local PHASES = {
  { function(b, c, d) return by(AND, b, c) + by(AND, WORD - 1 - b, d) end, 0x5A827999 },
  { function(b, c, d) return xor(xor(b, c), d) end, 0x6ED9EBA1 },
  { function(b, c, d) return xor(by(AND, b, xor(c, d)), by(AND, c, d)) end, 0x8F1BBCDC },
  { function(b, c, d) return xor(xor(b, c), d) end, 0xCA62C1D6 },
}

local function add_block(h, text, at)
  local w = {}
  for i = 1, 16 do
    local p, q, r, s = text:byte(at + 4 * i - 4, at + 4 * i - 1)
    w[i] = ((p * 256 + q) * 256 + r) * 256 + s
  end
  for i = 17, 80 do w[i] = rotate(xor(xor(w[i - 3], w[i - 8]), xor(w[i - 14], w[i - 16])), 1) end
  local a, b, c, d, e = h[1], h[2], h[3], h[4], h[5]
  for i = 1, 80 do
    local phase = PHASES[floor((i - 1) / 20) + 1]
    a, b, c, d, e = (rotate(a, 5) + phase[1](b, c, d) + e + phase[2] + w[i]) % WORD, a, rotate(b, 30), c, d
  end
  for i, v in ipairs { a, b, c, d, e } do h[i] = (h[i] + v) % WORD end
end

--- The 20 bytes of the hash.
return function(text)
  local length = #text * 8
  local tail = {}
  for i = 8, 1, -1 do tail[#tail + 1] = string.char(floor(length / 256 ^ (i - 1)) % 256) end
  text = text .. "\128" .. ("\0"):rep((55 - #text) % 64) .. table.concat(tail)
  local h = { 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0 }
  for at = 1, #text, 64 do add_block(h, text, at) end
  local bytes = {}
  for _, v in ipairs(h) do
    for i = 3, 0, -1 do bytes[#bytes + 1] = string.char(floor(v / 256 ^ i) % 256) end
  end
  return table.concat(bytes)
end
