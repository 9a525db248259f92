-- wire_page.lua: a decoder of messages written from docs/sync-wire.md alone, sentence by sentence. It exists so that
-- the page stays true: what it needs beyond the page is a fault of the page. With string.unpack: Lua 5.3 and later.
local wire_page = {}

local TYPES = {
  [0] = "bool", "u8", "u16", "u32", "i8", "i16", "i32", "f32", "f64", "angle8", "angle16", "string", "bytes",
}

local function fail(why) error({ why = why }, 0) end

local Reader = {}
Reader.__index = Reader

-- "All bytes are little-endian."
function Reader:unpack(format, size)
  if self.at + size - 1 > #self.bytes then fail "it is cut off" end
  local v = string.unpack("<" .. format, self.bytes, self.at)
  self.at = self.at + size
  return v
end

function Reader:u8() return self:unpack("I1", 1) end

-- "always finite"
function Reader:real(format, size)
  local v = self:unpack(format, size)
  if v ~= v or v == math.huge or v == -math.huge then fail "not finite" end
  return v
end

function Reader:f32() return self:real("f", 4) end

function Reader:f64() return self:real("d", 8) end

-- "seven bits a byte, the lowest first; the high bit of a byte says that another follows. The shortest form is the only
-- one: the last byte of several is not 0. Each has a width, below: a reader refuses one with bits beyond it"
-- A record's first varint has 67 bits: those from the 64th on are returned apart.
function Reader:varint(width)
  local value, high, shift = 0, 0, 0
  while true do
    local byte = self:u8()
    for k = 0, 6 do
      local bit = byte >> k & 1
      if bit == 1 then
        if shift + k >= width then fail "beyond its width" end
        if shift + k < 64 then value = value | 1 << (shift + k) else high = high | 1 << (shift + k - 64) end
      end
    end
    if byte < 128 then
      if byte == 0 and shift > 0 then fail "not the shortest form" end
      return value, high
    end
    shift = shift + 7
    if shift >= width then fail "beyond its width" end
  end
end

-- "So z is z / 2 if it is even, else -(z + 1) / 2"
local function zigzag(z)
  local half = z >> 1
  return z & 1 == 0 and half or ~half
end

-- "the number within -2^53 and 2^53"
local function within(n)
  if n < -2 ^ 53 or n > 2 ^ 53 then fail "out of range" end
  return n
end

function Reader:quantum()
  local scale = self:u8()
  if scale == 0 then return nil end
  if scale <= 16 then return 1 / 10.0 ^ (scale - 1) end
  if scale <= 48 then return 1 / 2.0 ^ (scale - 17) end
  if scale ~= 255 then fail "not used" end
  local quantum = self:f64()
  if quantum <= 0 then fail "not positive" end
  return quantum
end

function Reader:head()
  if self:u8() ~= 2 then fail "another version" end
  local flags = self:u8()
  if flags & ~31 ~= 0 then fail "the others are 0" end
  self.dims, self.anew = flags & 1 == 1 and 3 or 2, flags & 2 == 2
  self.reasons, self.riders = flags & 8 == 8, flags & 16 == 16
  self.scale = self:quantum()
  self.records = self:varint(32)
  self.origin, self.fields, self.mask = {}, {}, 0
  for a = 1, self.scale and self.dims or 0 do self.origin[a] = within(zigzag((self:varint(56)))) end
  if flags & 4 == 0 then return end
  self.mask = self:varint(64)
  if self.mask == 0 then fail "not 0" end
  for k = 0, 63 do
    if self.mask >> k & 1 == 1 then
      local type, length = self:u8(), self:u8()
      if not TYPES[type] or length < 1 or length > 64 then fail "a field" end
      self.fields[k] = { type = TYPES[type], name = self:take(length) }
    end
  end
end

function Reader:take(length)
  if self.at + length - 1 > #self.bytes then fail "it is cut off" end
  self.at = self.at + length
  return self.bytes:sub(self.at - length, self.at - 1)
end

-- "Its lowest three bits are the tag; the rest is a zigzag, the difference of the id from that of the record before (of
-- the first: from 0), modulo 2^64."
function Reader:record()
  local low, high = self:varint(67)
  self.id = (self.id or 0) + zigzag(low >> 3 | high << 61)
  return low & 7
end

-- Returns the place; its carrier if the record names one, 0 for none.
function Reader:place(wide)
  local form, carrier = wide and 1 or 0, nil
  if wide and self.riders then
    form = self:u8()
    if form < 1 or form > 3 then fail "a form" end
  end
  if form & 2 == 2 then carrier = self.id + zigzag((self:varint(64))) end
  return self:position(form & 1 == 1, (carrier or 0) ~= 0), carrier
end

function Reader:position(wide, offset)
  local list = {}
  for a = 1, self.dims do
    local v
    if wide then v = self:f64()
    elseif self.scale then v = self.scale * (within((offset and 0 or self.origin[a]) + zigzag((self:varint(56)))) + 0.0)
    else v = self:f32() end
    if v == math.huge or v == -math.huge then fail "the product finite" end
    list[#list + 1] = v
  end
  return list
end

-- Strings and bytes: the value if it is whole, else the part's offset, total and bytes.
function Reader:text()
  local head = self:varint(17)
  local length = head >> 1
  if head & 1 == 0 then
    if length > 65535 then fail "at most 65,535" end
    return self:take(length)
  end
  local offset, total = self:varint(16), (self:varint(16))
  if length == 0 or length >= total or offset + length > total then fail "a part" end
  return nil, offset, total, self:take(length)
end

local READ = {
  bool = function(r)
    local v = r:u8()
    if v > 1 then fail "0 or 1" end
    return v == 1
  end,
  u8 = Reader.u8,
  i8 = function(r) return r:unpack("i1", 1) end,
  u16 = function(r) return (r:varint(16)) end,
  u32 = function(r) return (r:varint(32)) end,
  i16 = function(r) return zigzag((r:varint(16))) end,
  i32 = function(r) return zigzag((r:varint(32))) end,
  f32 = Reader.f32, f64 = Reader.f64,
  angle8 = function(r) return r:u8() * math.pi / 128 end,
  angle16 = function(r) return r:unpack("I2", 2) * math.pi / 32768 end,
}

-- "Parts of a text come in order, one text at a time: a part with offset 0 begins it, another goes on where the last
-- one ended, or belongs to a text whose beginning was not read."
local function join(held, name, offset, total, bytes)
  local before = offset == 0 and "" or held[name]
  held[name] = nil
  if not before or #before ~= offset then return nil end
  if offset + #bytes == total then return before .. bytes end
  held[name] = before .. bytes
end

function Reader:values(parts)
  local mask, values = self:varint(64), {}
  if mask == 0 or mask & ~self.mask ~= 0 then fail "none that the head does not name" end
  parts[self.id] = parts[self.id] or {}
  for k = 0, 63 do
    local field = mask >> k & 1 == 1 and self.fields[k]
    if field and READ[field.type] then values[field.name] = READ[field.type](self)
    elseif field then
      local whole, offset, total, bytes = self:text()
      if not whole then whole = join(parts[self.id], field.name, offset, total, bytes) end
      values[field.name] = whole
    end
  end
  return values
end

local function read(self, news, parts)
  self:head()
  news.anew = self.anew
  if self.anew then
    for id in pairs(parts) do parts[id] = nil end
  end
  local function row(name, ...)
    local list = news[name]
    list.n = list.n + 1
    for _, v in ipairs { ... } do list[#list + 1] = v end
    return list
  end
  for _ = 1, self.records do
    local tag = self:record()
    local kind = (tag == 1 or tag == 2 or tag == 3 or tag == 6) and self:varint(64) or nil
    if tag == 3 or tag == 4 or tag == 6 then parts[self.id] = nil end
    local place, carrier
    if tag ~= 2 and tag ~= 4 and tag ~= 7 then place, carrier = self:place(tag > 4) end
    if tag == 3 or tag == 6 then row("appeared", self.id, kind, table.unpack(place)) end
    if place and not kind and (carrier or 0) == 0 then row("moved", self.id, table.unpack(place)) end
    if tag == 1 then row("moved", self.id, table.unpack(place)) end
    if carrier == 0 then row("riding", self.id, 0, table.unpack({ 0.0, 0.0, 0.0 }, 1, self.dims))
    elseif carrier then row("riding", self.id, carrier, table.unpack(place)) end
    if tag == 1 or tag == 2 then row("touched", self.id, kind) end
    if tag == 4 then table.insert(row("gone", self.id).reasons, self.reasons and self:u8() or 0) end
    if tag == 7 then row("fields", self.id, self:values(parts)) end
  end
  if self.at ~= #self.bytes + 1 then fail "goes on behind its last record" end
end

-- News as of aoi.sync.read, and the dimensions; nil if it is refused, then `parts`, by id and name, is as it was.
function wire_page.read(message, parts)
  local copy, news = {}, {}
  for id, held in pairs(parts) do
    copy[id] = {}
    for name, bytes in pairs(held) do copy[id][name] = bytes end
  end
  for _, name in ipairs { "gone", "appeared", "moved", "touched", "riding", "fields" } do news[name] = { n = 0 } end
  news.gone.reasons = {}
  local self = setmetatable({ bytes = message, at = 1 }, Reader)
  local ok, why = pcall(read, self, news, copy)
  if not ok and type(why) ~= "table" then error(why, 0) end
  if not ok then return nil end
  for id in pairs(parts) do parts[id] = nil end
  for id, held in pairs(copy) do parts[id] = held end
  return news, self.dims
end

return wire_page
