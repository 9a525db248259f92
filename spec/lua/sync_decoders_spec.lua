-- All decoders read what aoi.sync.read reads, and refuse what it refuses: js/aoi-sync.js, csharp/AoiSync.cs, and one
-- that is written from docs/sync-wire.md alone. aoi.sync.read is that of C.
if not string.pack then return end -- Lua 5.3 and later

local aoi = require "aoi"
local make = require "spec.messages.make"
local message_text = require "spec.support.message_text"
local process = require "spec.support.process"
local random_run = require "spec.support.random_run"
local sync = require "aoi.sync"
local tools = require "spec.support.tools"
local wire_page = require "spec.support.wire_page"

local SEED = random_run.seed("decoders")

local function read(message, parts)
  parts.into = parts.into or {}
  local news = sync.read(message, parts.into)
  return news, news and 2 + message:byte(2) % 2
end

-- Of each decoder a function: paths of files -> what is read otherwise, as text; or nil and what is missing.
local function in_lua(decode)
  return function(paths)
    for _, path in ipairs(paths) do
      local count, wrong = message_text.check(io.lines(path), decode)
      if wrong[1] then return ("%s: %d of %d lines\n%s"):format(path, #wrong, count, wrong[1]) end
    end
    return ""
  end
end

local function by_program(command, prepare, ...)
  local missing = tools.lacks(...)
  if missing then return function() return nil, missing end end
  prepare()
  return function(paths)
    local output, code = process.run(command .. " " .. table.concat(paths, " ") .. " 2>&1")
    return code == 0 and output:find " 0 read differently\n$" and "" or output
  end
end

-- Built once.
local function csharp()
  os.execute "mkdir -p build/csharp"
  local output, code = process.run("mcs -warnaserror+ -warn:4 -langversion:7.2 -out:build/csharp/check.exe "
    .. "csharp/AoiSync.cs csharp/Check.cs 2>&1")
  if code ~= 0 then error(output, 0) end
end

local decoders = {
  { "aoi.sync.read", in_lua(read) },
  { "docs/sync-wire.md", in_lua(wire_page.read) },
  { "js/aoi-sync.js", by_program("node js/check.js", function() end, "node") },
  { "csharp/AoiSync.cs", by_program("mono build/csharp/check.exe", csharp, "mono", "mcs") },
}

local function list(pattern)
  local paths, pipe = {}, assert(io.popen("ls " .. pattern))
  for path in pipe:lines() do paths[#paths + 1] = path end
  pipe:close()
  return paths
end

describe("recorded messages", function()
  it("are what the encoder writes", function()
    local files = make.files(make.SEED, make.TICKS, make.EVERY)
    for _, path in ipairs(list "spec/messages/*.txt") do
      local name = path:match "[^/]*$"
      assert.is_true(process.read(path) == files[name], name .. ": spec/messages/make.lua writes another one")
      files[name] = nil
    end
    assert.is_nil(next(files))
  end)

  it("have every sort of record and value", function()
    local all = {}
    for _, path in ipairs(list "spec/messages/*.txt") do all[#all + 1] = process.read(path) end
    local text = table.concat(all)
    for _, word in ipairs { " -\n", "anew;", ";g,", ";a,", ";m,", ";t,", ";r,", ";f,", "=true", '="', "nothing" } do
      assert.truthy(text:find(word, 1, true), word)
    end
  end)
end)

for _, decoder in ipairs(decoders) do
  local name, check = decoder[1], decoder[2]
  describe(name, function()
    local function good(paths)
      local wrong, missing = check(paths)
      if not wrong then return pending(missing) end
      assert.equal("", wrong)
    end

    it("reads the recorded messages", function() return good(list "spec/messages/*.txt") end)

    it("reads and refuses others alike", function()
      local folder, paths = os.tmpname(), {}
      os.remove(folder)
      os.execute("mkdir -p " .. folder)
      for file, text in pairs(make.files(SEED, random_run.steps(200), 1)) do
        paths[#paths + 1] = folder .. "/" .. file
        process.write(paths[#paths], text)
      end
      local ok, err = pcall(good, paths)
      os.execute("rm -r " .. folder)
      if not ok then error(err, 0) end
    end)
  end)
end

describe("js/aoi-sync.js", function()
  it("keeps a picture", function()
    tools.need "node"
    local space = aoi.new()
    local s = sync.new(space, { quantum = 0.5, fields = {
      { "__proto__", "u8" }, { "__defineGetter__", "u8" }, { "hp", "string" }, { "\239\187\191hp", "string" },
    } })
    for id = 1, 3 do space:enter(id, id, 0, id) end
    s:put(2, "__proto__", 7)
    s:put(2, "\239\187\191hp", "\239\187\191x")
    s:add(1, 50)
    local said = {}
    local function tick() s:tick(function(_, message) said[#said + 1] = "'" .. message_text.hex(message) .. "'" end) end
    tick()
    space:move(2, 7, 1)
    space:set_kind(2, 9)
    space:leave(3)
    tick()
    local script = ([[
      const { Picture } = require("./js/aoi-sync.js"), p = new Picture();
      for (const m of [%s]) p.apply(Uint8Array.from(Buffer.from(m, "hex")));
      const known = [...p.known.values()];
      console.log(JSON.stringify(known) + known[0].fields.constructor)]]):format(table.concat(said, ","))
    local output = process.run("node -e '" .. script:gsub("'", '"'):gsub("\n%s*", " ") .. "'")
    assert.equal('[{"id":2,"kind":9,"x":7,"y":1,"fields":'
      .. '{"__proto__":7,"\239\187\191hp":"\239\187\191x"}}]undefined\n', output)
  end)

  it("is a package for import and require, takes an ArrayBuffer, and has defaults", function()
    tools.need "node"
    local space = aoi.new()
    local s = sync.new(space, { fields = { { "hp", "u16" }, { "name", "string" } } })
    space:enter(1, 0, 0)
    space:enter(2, 1, 0)
    s:put(2, "name", "ann")
    s:add(1, 5)
    local said
    s:tick(function(_, message) said = message_text.hex(message) end)
    local folder = process.must "mktemp -d":gsub("%s+$", "")
    process.must(("mkdir -p %s/node_modules && cp -R js %s/node_modules/aoi-sync"):format(folder, folder))
    local body = ([[
      const bytes = Uint8Array.from(Buffer.from("%s", "hex"));
      const p = new Picture({ hp: 100, name: "" });
      p.apply(bytes.buffer);
      console.log(JSON.stringify([...p.known.values()]) + (read(bytes).appeared.length === 1))]]):format(said)
    for name, head in pairs {
      ["a.mjs"] = 'import all, { Picture, read } from "aoi-sync"; if (all.read !== read) throw 1\n',
      ["b.cjs"] = 'const { Picture, read } = require("aoi-sync")\n',
    } do
      local file = assert(io.open(folder .. "/" .. name, "w"))
      file:write(head, body)
      file:close()
      assert.equal('[{"id":2,"kind":1,"x":1,"y":0,"fields":{"hp":100,"name":"ann"}}]true\n',
        process.must(("node %s/%s"):format(folder, name)))
    end
    process.must("rm -r " .. folder)
  end)
end)
