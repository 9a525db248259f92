-- Base64.

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local byte, floor = string.byte, math.floor
local pairs_of = {} -- two characters for each twelve bits

for i = 0, 4095 do
  local high = floor(i / 64)
  pairs_of[i] = ALPHABET:sub(high + 1, high + 1) .. ALPHABET:sub(i % 64 + 1, i % 64 + 1)
end

local CHUNK = 3000 -- a multiple of three

local function encode_chunk(bytes, from, to, parts)
  local n = #parts
  for i = from, to - 2, 3 do
    local a, b, c = byte(bytes, i, i + 2)
    local low = b % 16
    parts[n + 1] = pairs_of[a * 16 + (b - low) / 16]
    parts[n + 2] = pairs_of[low * 256 + c]
    n = n + 2
  end
end

--- The text of the bytes.
return function(bytes)
  local texts = {}
  local whole = #bytes - #bytes % 3
  for from = 1, whole, CHUNK do
    local parts = {}
    encode_chunk(bytes, from, math.min(whole, from + CHUNK - 1), parts)
    texts[#texts + 1] = table.concat(parts)
  end
  local a, b = byte(bytes, whole + 1, whole + 2)
  if a then
    local text = pairs_of[a * 16 + floor((b or 0) / 16)] .. pairs_of[(b or 0) % 16 * 256]
    texts[#texts + 1] = b and text:sub(1, 3) .. "=" or text:sub(1, 2) .. "=="
  end
  return table.concat(texts)
end
