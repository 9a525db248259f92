-- make.lua [FOLDER]: writes the recorded messages of this folder (README.md). The same each time: random numbers have a
-- fixed seed. Lua 5.3 or later, with the built tree.
local aoi = require "aoi"
local message_text = require "spec.support.message_text"
local rng = require "spec.support.rng"
local sync = require "aoi.sync"

local make = {}

local FIELDS = { -- some have names that mean something to a language
  { "constructor", "bool" }, { "n", "u8" }, { "__index", "u16" }, { "u32", "u32" }, { "i8", "i8" }, { "i16", "i16" },
  { "i32", "i32" }, { "f32", "f32" }, { "f64", "f64" }, { "a8", "angle8" }, { "a16", "angle16" },
  { "__proto__", "string" }, { "hasOwnProperty", "bytes", to = "own" },
}
local IDS = { 1, 2, 3, 40, 500, 123456, 2147483648, 2 ^ 53 - 1, -7, math.maxinteger, math.mininteger }
local KINDS = { 1, 2, 77, 1099511627776, -1, math.mininteger }

-- A connection each: where entities are, what the client is told.
local STREAMS = {
  { file = "plain", quantum = 0.01, dims = 2, scale = 30, view = 20 },
  { file = "floats", dims = 3, scale = 100, view = 60, fields = true, options = { self = true } },
  { file = "far", quantum = 1 / 64, dims = 3, scale = 1e15, view = math.huge },
  { file = "odd_quantum", quantum = 0.3, dims = 2, scale = 1e3, view = math.huge, fields = true },
  { file = "budget", quantum = 0.5, dims = 2, scale = 30, view = 25, fields = true, long = true,
    options = { bytes = 120, tiers = { { 10, 1 }, { 20, 3 } }, self = true } },
  { file = "limit", quantum = 1, dims = 2, scale = 40, view = { 10, { shape = "circle", radius = 30 } }, fields = true,
    options = { limit = 3 } },
  { file = "reasons", quantum = 1, dims = 2, scale = 30, view = 25, fields = true, reasons = true },
  { file = "riders", quantum = 0.25, dims = 2, scale = 30, view = 25, fields = true, riders = true,
    options = { bytes = 160, self = true } },
  { file = "riders_far", quantum = 1 / 16, dims = 3, scale = 1e3, view = math.huge, riders = true,
    options = { limit = 4 } },
}

-- Messages of a position at 2^53 quanta, then 1 farther, and with the origin there; a number in too many bytes, a
-- quantum of 0.
local FAR = "\128\128\128\128\128\128\128\32"
local BOUNDS = {
  "\2\0\1\1" .. FAR .. "\0\80\0\0", "\2\0\1\1" .. FAR .. "\0\80\2\0", "\2\0\1\1\130" .. FAR:sub(2) .. "\0\80\0\0",
  "\2\0\1\128\0", "\2\0\255" .. ("\0"):rep(9),
}

local function integer(v) return math.tointeger(v) or v end

local function value(random, type, long)
  if type == "bool" then return random(2) == 1 end
  if type == "string" or type == "bytes" then
    local bytes = {}
    for i = 1, random { 0, 3, 20, long and 400 or 40 } do bytes[i] = string.char(random(128) - 1) end
    return table.concat(bytes)
  end
  local bits = tonumber(type:match "^[ui](%d+)$")
  if not bits then return (random() * 2 - 1) * random { 1, 100, 1e6 } end
  local v = random { 0, 1, math.floor(random() * 2 ^ bits), 2 ^ bits - 1 }
  return type:sub(1, 1) == "i" and v - 2 ^ (bits - 1) or v
end

-- The messages of a stream, in order.
local function record(stream, ticks, random)
  local space, messages = aoi.new { dimensions = stream.dims }, {}
  local s = sync.new(space, { quantum = stream.quantum, fields = stream.fields and FIELDS or nil,
    riders = stream.riders })
  local function call(f, id, kind)
    if f == space.move and space:carrier(id) then return end
    local x, y, z = (random() * 2 - 1) * stream.scale, (random() * 2 - 1) * stream.scale
    if stream.dims == 3 then z = (random() * 2 - 1) * stream.scale end
    if z then f(space, id, x, y, z, kind) else f(space, id, x, y, kind) end
  end
  call(space.enter, 0)
  s:add(0, stream.view, stream.options)
  for tick = 1, ticks do
    for _ = 1, random(6) do
      local id, field = integer(random(IDS)), random(FIELDS)
      if not space:has(id) then call(space.enter, id, integer(random(KINDS)))
      elseif random(6) == 1 then
        if stream.reasons and random(2) == 1 then s:put(id, FIELDS[2][1], tick) end
        space:leave(id, stream.reasons and random(256) - 1 or 0)
      elseif stream.riders and random(3) == 1 then
        local carrier, far = integer(random(IDS)), random { 5, 5, 5, 1e15 }
        if random(3) == 1 then space:attach(id, nil)
        elseif stream.dims == 3 then pcall(space.attach, space, id, carrier, random(9) / 8, far, 1)
        else pcall(space.attach, space, id, carrier, random(9) / 8 - 1, far) end
      elseif random(4) == 1 then space:set_kind(id, random(300))
      elseif stream.fields and random(2) == 1 then s:put(id, field[1], value(random, field[2], stream.long))
      else call(space.move, id) end
    end
    if random(4) == 1 then call(space.move, 0) end
    if tick == math.floor(ticks / 2) then s:resend(0) end
    s:tick(function(_, message) messages[#messages + 1] = message end)
  end
  return messages
end

-- Bytes that are nearly those of a message.
local function mutate(random, message)
  local at, does = random(#message), random(4)
  if does == 1 then return message:sub(1, at) end
  if does == 2 then return message:sub(1, at) .. string.char(random(256) - 1) .. message:sub(at + 1) end
  return message:sub(1, at - 1) .. string.char(random(256) - 1) .. message:sub(at + (does == 3 and 1 or 2))
end

-- Anything, mostly behind a head that could be one, so that records are reached.
local function noise(random)
  local bytes = {}
  if random(4) > 1 then
    bytes = { 2, random { 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 19, 23 },
      random { 0, 0, 1, 3, 17, 20, 48, 49, random(256) - 1 }, random(12) - 1 }
  end
  for _ = 1, random(40) do bytes[#bytes + 1] = random(3) == 1 and random(256) - 1 or random(128) - 1 end
  for i, byte in ipairs(bytes) do bytes[i] = string.char(byte) end
  return table.concat(bytes)
end

local function news_line(message, into)
  local news = sync.read(message, into)
  return message_text.hex(message) .. " " .. (news and message_text.news(news, 2 + message:byte(2) % 2) or "-"), news
end

--- The files, by name: streams of so many ticks, and other bytes, for each message of every so many.
function make.files(seed, ticks, every)
  local random, files, other = rng.new(seed), {}, { "each" }
  for _, stream in ipairs(STREAMS) do
    local lines, picture, into = {}, {}, {}
    for i, message in ipairs(record(stream, ticks, random)) do
      local line, news = news_line(message, into)
      lines[#lines + 1] = line
      message_text.apply(picture, news, stream.dims)
      if i % 10 == 0 then lines[#lines + 1] = "= " .. message_text.picture(picture, stream.dims) end
      local more = i % every == 0
      if more and #message < 200 then other[#other + 1] = (news_line(mutate(random, message), {})) end
      if more then other[#other + 1] = (news_line(noise(random), {})) end
    end
    lines[#lines + 1] = "= " .. message_text.picture(picture, stream.dims)
    files[stream.file .. ".txt"] = table.concat(lines, "\n") .. "\n"
  end
  for _, message in ipairs(BOUNDS) do other[#other + 1] = (news_line(message, {})) end
  files["other_bytes.txt"] = table.concat(other, "\n") .. "\n"
  return files
end

make.SEED, make.TICKS, make.EVERY = 1, 60, 8

if arg and arg[0] and arg[0]:find "make%.lua$" then
  for name, text in pairs(make.files(make.SEED, make.TICKS, make.EVERY)) do
    local file = assert(io.open((arg[1] or "spec/messages") .. "/" .. name, "wb"))
    file:write(text)
    file:close()
  end
end

return make
