-- WebSocket (RFC 6455) as bytes, without sockets: the key of the handshake, frames in and out.

local base64 = require "aoi.viewer.base64"
local sha1 = require "aoi.viewer.sha1"

local websocket = {}

local char, floor = string.char, math.floor
local BINARY, CLOSE, PONG = 130, 136, 138 -- with the bit of the last fragment
local MOST = 4096                         -- bytes of a message from a page

--- What the server answers to Sec-WebSocket-Key.
function websocket.accept(key) return base64(sha1(key .. "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) end

local function head(first, n)
  if n < 126 then return char(first, n) end
  if n < 65536 then return char(first, 126, floor(n / 256), n % 256) end
  local bytes = {}
  for i = 7, 0, -1 do bytes[#bytes + 1] = char(i > 3 and 0 or floor(n / 256 ^ i) % 256) end
  return char(first, 127) .. table.concat(bytes)
end

--- A message, as a server sends it: one frame, not masked.
function websocket.message(bytes) return head(BINARY, #bytes) .. bytes end
function websocket.close(code) return head(CLOSE, 2) .. char(floor(code / 256), code % 256) end
function websocket.pong(bytes) return head(PONG, #bytes) .. bytes end

local function xor_byte(a, b)
  local sum, bit = 0, 1
  for _ = 1, 8 do
    local x, y = a % 2, b % 2
    if x ~= y then sum = sum + bit end
    a, b, bit = (a - x) / 2, (b - y) / 2, bit * 2
  end
  return sum
end

local function unmask(text, mask)
  local bytes = {}
  for i = 1, #text do bytes[i] = char(xor_byte(text:byte(i), mask:byte((i - 1) % 4 + 1))) end
  return table.concat(bytes)
end

local KINDS = { [1] = "text", [2] = "binary", [8] = "close", [9] = "ping", [10] = "pong" }

--- The first frame of what a client has sent: its kind, its content and the position behind it. Nothing while it is not
-- complete; nil and a reason if it is none that a page sends: not masked, in fragments, or too long.
function websocket.read(text)
  if #text < 2 then return end
  local first, second = text:byte(1, 2)
  local kind = first >= 128 and KINDS[first - 128]
  if not kind then return nil, "a frame in fragments, or of an unknown kind" end
  if second < 128 then return nil, "a frame that is not masked" end
  local n, at = second - 128, 3
  if n == 126 then
    if #text < 4 then return end
    n, at = text:byte(3) * 256 + text:byte(4), 5
  end
  if n > MOST or (n == 127 and at == 3) then return nil, "a message that is too long" end
  if #text < at + 3 + n then return end
  return kind, unmask(text:sub(at + 4, at + 3 + n), text:sub(at, at + 3)), at + 4 + n
end

return websocket
