-- The JavaScript decoder reads what aoi.sync.read reads, and refuses what it refuses. Needs node.
local aoi = require "aoi"
local Sync = require "aoi.sync"
local process = require "spec.support.process"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED = random_run.seed("JavaScript decoder")
local MESSAGES = random_run.steps(300)
local NODE = process.run "node --version 2>&1":find "^v%d" ~= nil and string.pack ~= nil

local function bits(v) return (string.pack(">d", v):gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

local function hex(bytes) return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

-- What a message says, as text; "-" if it is refused.
local function text(message, dims)
  local news = Sync.read(message)
  if not news then return "-" end
  local parts = { news.anew and "anew" or nil }
  local function rows(list, mark, width, whole)
    for i = 1, list.n * width, width do
      local row = { mark }
      for k = 0, width - 1 do
        local v = list[i + k]
        row[#row + 1] = k < whole and ("%d"):format(v) or bits(v)
      end
      parts[#parts + 1] = table.concat(row, ",")
    end
  end
  -- The number of axes is not in what was read: it is in the second byte.
  dims = dims or 2 + message:byte(2) % 2
  rows(news.gone, "g", 1, 1)
  rows(news.appeared, "a", 2 + dims, 2)
  rows(news.moved, "m", 1 + dims, 1)
  rows(news.touched, "t", 2, 2)
  for i = 1, 2 * news.fields.n, 2 do
    local row = {}
    for name, v in pairs(news.fields[i + 1]) do
      local value = type(v) == "number" and bits(v) or type(v) == "string" and '"' .. hex(v) or tostring(v)
      row[#row + 1] = hex(name) .. "=" .. value
    end
    table.sort(row)
    parts[#parts + 1] = ("f,%d,%s"):format(news.fields[i], table.concat(row, ","))
  end
  return #parts > 0 and table.concat(parts, ";") or "nothing"
end

local FIELDS = {
  { "b", "bool" }, { "u8", "u8" }, { "u16", "u16" }, { "u32", "u32" }, { "i8", "i8" }, { "i16", "i16" },
  { "i32", "i32" },
  { "f32", "f32" }, { "f64", "f64" }, { "a8", "angle8" }, { "a16", "angle16" }, { "name", "string" },
  { "bag", "bytes", own = true },
}

-- Any value of any field.
local function put(sync, random, id)
  local field = random(FIELDS)
  local name, type = field[1], field[2]
  local bits_of = tonumber(type:match "^[ui](%d+)$")
  local value = (random() * 2 - 1) * random { 1, 100, 1e6 }
  if type == "bool" then value = random(2) == 1
  elseif type == "string" or type == "bytes" then
    local bytes = {}
    for i = 1, random { 0, 3, 20, 400 } do bytes[i] = string.char(random(256) - 1) end
    value = table.concat(bytes)
  elseif bits_of then value = random { 0, 1, math.floor(random() * 2 ^ bits_of), 2 ^ bits_of - 1 } end
  if bits_of and type:sub(1, 1) == "i" then value = value - 2 ^ (bits_of - 1) end
  sync:put(id, name, value)
end

describe("js/aoi-sync.js", function()
  local IDS = { 1, 2, 3, 40, 500, 123456, 2147483648, 2 ^ 53 - 1, -7, math.maxinteger, math.mininteger }
  local function random_id(random)
    local id = random(IDS)
    return math.tointeger and math.tointeger(id) or id
  end

  -- node reads the same.
  local function check(lines)
    local path = os.tmpname()
    process.write(path, table.concat(lines, "\n") .. "\n")
    local output, code = process.run("node js/check.js <" .. path)
    os.remove(path)
    assert.equal(0, code, output)
    assert.equal(#lines .. " messages, 0 read differently\n", output)
  end

  local function messages(random, add)
    for _, quantum in ipairs { 0.01, 0.25, 0.3, 1, 1e-7, 0 } do
      for dims = 2, 3 do
        local space = aoi.new { dimensions = dims }
        local sync = Sync.new(space, { quantum = quantum > 0 and quantum or nil, fields = FIELDS })
        local budget = random(2) == 1 and 150 or nil
        local function place()
          local scale = random { 1, 10, 1000, 1e9, 1e17, 1e300 }
          local function coordinate() return (random() * 2 - 1) * scale end
          local z
          if dims == 3 then z = coordinate() end
          return coordinate(), coordinate(), z
        end
        local function call(f, id, kind)
          local x, y, z = place()
          if z then f(space, id, x, y, z, kind) else f(space, id, x, y, kind) end
        end
        call(space.enter, 0)
        sync:add(0, math.huge, { bytes = budget, self = true })
        for _ = 1, MESSAGES / 12 do
          for _ = 1, random(6) do
            local id = random_id(random)
            if not space:has(id) then call(space.enter, id, random { 1, 77, 1099511627776, -1, math.mininteger })
            elseif random(5) == 1 then space:leave(id)
            elseif random(3) == 1 then space:set_kind(id, random(300))
            elseif random(2) == 1 then put(sync, random, id)
            else call(space.move, id) end
          end
          if random(4) == 1 then call(space.move, 0) end
          sync:tick(function(_, message) add(message) end)
        end
        space:close()
      end
    end
  end

  -- Anything, mostly behind a head that could be one, so that records are reached.
  local function random_bytes(random)
    local bytes = {}
    if random(4) > 1 then
      bytes = { 2, random(8) - 1, random { 0, 0, 1, 3, 17, 20, 48, 49, random(256) - 1 }, random(12) - 1 }
    end
    for _ = 1, random(40) - 1 do bytes[#bytes + 1] = random(3) == 1 and random(256) - 1 or random(128) - 1 end
    for i, byte in ipairs(bytes) do bytes[i] = string.char(byte) end
    return table.concat(bytes)
  end

  it("reads or refuses any bytes, as the C reader does", function()
    if not NODE then return pending "node is not installed, or this Lua has no string.pack" end
    local random, lines, sound = rng.new(SEED + 1), {}, 0
    for i = 1, MESSAGES * 20 do
      local message = random_bytes(random)
      local said = text(message)
      if said ~= "-" then sound = sound + 1 end
      lines[i] = hex(message) .. " " .. said
    end
    assert.is_true(MESSAGES < 100 or sound > 0)
    check(lines)
  end)

  it("reads what the C encoder writes, and refuses what the C reader refuses", function()
    if not NODE then return pending "node is not installed, or this Lua has no string.pack" end
    local random, lines = rng.new(SEED), {}
    local function line(message) lines[#lines + 1] = hex(message) .. " " .. text(message) end
    messages(random, function(message)
      line(message)
      for _ = 1, 3 do
        local at = random(#message)
        line(message:sub(1, at - 1) .. string.char(random(256) - 1) .. message:sub(at + random(2) - 1))
      end
      line(message:sub(1, random(#message)))
    end)
    check(lines)
  end)

  it("keeps a picture", function()
    if not NODE then return pending "node is not installed, or this Lua has no string.pack" end
    local space = aoi.new()
    local sync = Sync.new(space, { quantum = 0.5 })
    for id = 1, 3 do space:enter(id, id, 0, id) end
    sync:add(1, 50)
    local said = {}
    local function tick() sync:tick(function(_, message) said[#said + 1] = "'" .. hex(message) .. "'" end) end
    tick()
    space:move(2, 7, 1)
    space:set_kind(2, 9)
    space:leave(3)
    tick()
    local script = ([[
      const { Picture } = require("./js/aoi-sync.js"), p = new Picture();
      for (const m of [%s]) p.apply(Uint8Array.from(Buffer.from(m, "hex")));
      console.log(JSON.stringify([...p.known.values()]))]]):format(table.concat(said, ","))
    local output = process.run("node -e '" .. script:gsub("'", '"'):gsub("\n%s*", " ") .. "'")
    assert.equal('[{"fields":{},"id":2,"kind":9,"x":7,"y":1}]\n', output)
  end)
end)
