-- The program `aoi`, and the pages that show it.
local aoi = require "aoi"
local journal = require "aoi.journal"
local run = require "spec.support.command"
local tools = require "spec.support.tools"

local compile = loadstring or load

describe("docs/why.md", function()
  it("answers its questions", function()
    local file = assert(io.open "docs/why.md")
    local text, snippets = file:read "*a", { "local print = function() end" }
    file:close()
    for snippet in text:gmatch "```lua\n(.-)```" do snippets[#snippets + 1] = snippet end
    assert.equal(12, #snippets)
    assert(compile(table.concat(snippets, "\n"), "why.md"))()
    for i = 1, 10 do assert.truthy(text:find("\n## " .. i .. ". ", 1, true)) end
  end)
end)

describe("the program aoi", function()
  if tools.lacks "argparse" then return pending(tools.lacks "argparse") end
  local path

  setup(function()
    path = os.tmpname()
    local space = aoi.new { engine = "tower" }
    local j = journal.record(space, path)
    space:enter(7, 0, 0)
    space:add_node(7, 1, 5, function() end)
    space:enter(12, 20, 0)
    for tick = 1, 300 do
      space:move(12, 20 - tick / 10, 0)
      j:mark(tick)
    end
    j:stop()
  end)
  teardown(function() os.remove(path) end)

  it("sums up a journal and a recording", function()
    local status, out = run("stat", path)
    assert.equal(0, status)
    assert.matches("journal, %d+%.%d KB\nbegins with 0 entities and 0 nodes\n300 marks from 1", out)
    assert.matches("303 calls, 0 refused; 2 events delivered\n  add_node       1\n  enter          2\n", out)
    status, out = run("stat", "examples/data/hermes_ao300.csv.gz")
    assert.equal(0, status)
    assert.matches("recording, 2 dimensions\n128783 rows in 959 steps", out)
  end)

  it("explains what was", function()
    local _, out = run("explain", path, "--at", "100", "7", "1", "12")
    assert.matches("^at 100%D.*does not see entity 12: outside", out)
    _, out = run("explain", path, "--at", "160.5", "7", "1", "12", "--engine", "brute")
    assert.matches("^at 160%D.*sees entity 12: inside", out)
    local _, same = run("explain", path, "--at", "-3", "7", "1", "12")
    _, out = run("explain", path, "--at=-3", "7", "1", "12")
    assert.equal(out, same)
    assert.matches("^at the beginning: .*no watcher", out)
    _, out = run("explain", "examples/data/hermes_ao300.csv.gz", "--at", "10", "5", "1", "7", "--radius", "2")
    assert.matches("^at 10%D.*entity 7: inside %(square", out)
  end)

  it("lists nodes and what they see, and takes negative ids", function()
    local space, other = aoi.new(), os.tmpname()
    local recorded = journal.record(space, other)
    local triggers = require("aoi.trigger").new(space, { alert = { radius = 4, mask = 1 } })
    space:enter(-2, 0, 0)
    space:enter(-4503599627370597, 1, 0)
    space:add_node(-2, 3, { shape = "circle", radius = 9, keep = 10 })
    local t = triggers:add(-2, "alert")
    recorded:mark(15)
    recorded:stop()
    local node = ("%d"):format(t.node)
    local status, out = run("explain", other, "--at", "15", "-2")
    assert.equal(0, status)
    assert.matches("^at 15[.0]*:\nentity %-2 has 2 nodes\n  node " .. node:gsub("%-", "%%-")
      .. " 'alert' of a layer %(trigger, team, neighbours, client%): square, radius 4, mask 1, sees 1\n"
      .. "  node 3: circle, radius 9, keep 10, sees 1$", out)
    out = select(2, run("explain", other, "--at", "15", "-2", "3"))
    assert.matches("\nnode 3 of entity %-2 %(circle, radius 9, keep 10%) sees 1: %-4503599627370597$", out)
    out = select(2, run("explain", other, "--at", "15", "-2", node, "-4503599627370597"))
    assert.matches("of entity %-2 sees entity %-4503599627370597: inside", out)
    local _, _, err = run("explain", other, "--at", "15", "-3")
    assert.matches("there is no entity %-3 then", err)
    _, _, err = run("explain", other, "--at", "15", "-2", "-8")
    assert.matches("entity %-2 has no node %-8 then", err)
    out = tostring(t:explain(-4503599627370597))
    assert.matches("^Trigger 'alert' of entity %-2 sees entity %-4503599627370597: inside %(.*; state inside%.$", out)
    os.remove(other)
  end)

  it("explains nodes of sights past their walls, those of clients too", function()
    local space, other = aoi.new(), os.tmpname()
    local recorded = journal.record(space, other)
    local sight = require("aoi.sight").new(space)
    local sync = require("aoi.sync").new(space, { sight = sight })
    sight:wall(5, -2, 5, 2)
    for id = 1, 3 do space:enter(id, 10 * id - 10, id == 3 and 9 or 0) end
    sight:add(1, 1, { radius = 30, layers = 1 })
    sync:add(1, 30)
    sync:tick(function() end)
    recorded:mark(1)
    recorded:stop()
    for _, node in ipairs { "1", ("%d"):format(sync:node(1)) } do
      local _, out = run("explain", other, "--at", "1", "1", node, "2")
      assert.matches("does not see entity 2: wall %(.*, by wall 1 at 5%D", out)
      out = select(2, run("explain", other, "--at", "1", "1", node))
      assert.matches("sees 1: 3$", out)
    end
    local _, out = run("explain", other, "--at", "1", "1")
    assert.matches("\n  node 1: square, radius 30, layers 1, sees 1$", out)
    os.remove(other)
  end)

  it("lists events with the time of their own tick, also where ticks without calls follow", function()
    local space, other = aoi.new { delivery = "deferred" }, os.tmpname()
    local recorded = journal.record(space, other)
    recorded:mark(1)
    space:enter(7, 0, 0)
    space:add_node(7, 1, 5, function() end)
    space:enter(12, 2, 0)
    space:flush()
    for time = 2, 4 do recorded:mark(time) end
    space:move(12, 20, 0)
    recorded:mark(5)
    space:drain {}
    for time = 6, 7 do recorded:mark(time) end
    space:leave(7)
    space:enter(7, 20, 0)
    space:add_node(7, 1, 5)
    space:flush()
    recorded:stop()
    local all = { "2[.0]* enter 7 12 node 1", "6[.0]* leave 7 12 node 1", "7[.0]*%+ enter 7 12 node 1" }
    assert.matches("^" .. table.concat(all, "\n") .. "$", (select(2, run("events", other))))
    assert.matches("^" .. all[2] .. "$", (select(2, run("events", other, "--from", "5.5", "--to", "6"))))
    local page = assert(require("aoi.viewer.sources").open(other, {})):open "list"
    for _, time in ipairs { 2, 5, 6, 7.001 } do assert.equal(time, page:step()) end
    assert.is_nil(page:step())
    os.remove(other)
  end)

  it("replays on any engine, and checks", function()
    for _, engine in ipairs(aoi.engines()) do
      local status, out = run("replay", path, "--engine", engine, "--check")
      assert.equal(0, status)
      assert.matches("^300 ticks, up to 300.*: 2 entities, 1 nodes, 1 enter, 1 leave, .*brute force$", out)
    end
    local csv = os.tmpname()
    local file = assert(io.open(csv .. ".csv", "w"))
    file:write "t,id,x,y\n0,1,0,0\n0,2,5,0\n1,1,0,0\n1,2,1,0\n2,1,0,0\n"
    file:close()
    local status, out = run("replay", csv .. ".csv", "--radius", "2", "--check")
    assert.equal(0, status)
    assert.matches("^3 ticks, up to 2.*: 1 entities, 1 nodes, 2 enter, 2 leave", out)
    os.remove(csv)
    os.remove(csv .. ".csv")
  end)

  it("writes a page", function()
    local page = os.tmpname()
    local status, out = run("view", path, "-o", page, "-q")
    assert.equal(0, status)
    assert.matches("300 ticks", out)
    local file = assert(io.open(page))
    assert.truthy(file:read("*a"):find "</html>")
    file:close()
    os.remove(page)
  end)

  it("says 2 for misuse and 1 for files that it cannot read", function()
    local function misused(...)
      local status, _, err = run(...)
      assert.equal(2, status)
      assert.matches("Usage: aoi", err)
    end
    misused()
    misused("stat")
    misused("dance", path)
    misused("replay", path, "--engine", "crystal ball")
    misused("explain", path, "7", "1", "12")
    misused("explain", path, "--at", "soon", "7", "1", "12")
    misused("explain", path, "--at", "1", "7", "1", "x")
    misused("explain", path, "--at", "1", "7", "1", "99999999999999999999")
    local function unread(...)
      local status, _, err = run(...)
      assert.equal(1, status)
      assert.matches("^aoi: ", err)
    end
    for _, name in ipairs { "stat", "replay", "view" } do
      unread(name, "/no/such/file")
      unread(name, "/no/such/file.csv")
      unread(name, "README.md")
    end
    unread("replay", path, "--radius", "5")
  end)

  local function with_file(text, f)
    local name = os.tmpname()
    local file = assert(io.open(name, "wb"))
    file:write(text)
    file:close()
    f(name)
    os.remove(name)
  end

  it("says where a journal that is damaged behind its last checksum does not fit", function()
    local pieces, space = {}, aoi.new()
    local j = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
    space:enter(1, 0, 0)
    space:move(1, 1, 1)
    j:stop()
    local whole, found = table.concat(pieces), nil
    for at = #whole, 1, -1 do -- a piece whose length is wrong is cut off: its checksum is missing
      for byte = 0, 255 do
        local text = whole:sub(1, at - 1) .. string.char(byte) .. whole:sub(at + 1)
        local ok, player = pcall(journal.open, text)
        if ok and not pcall(function() repeat until not player:step() end) then found = text end
      end
    end
    with_file(assert(found), function(name)
      for _, line in ipairs { { "replay" }, { "events" }, { "view", "-q", "-o", name .. ".html" } } do
        table.insert(line, 2, name)
        local status, _, err = run((table.unpack or unpack)(line)) -- luacheck: ignore 143
        assert.equal(1, status)
        assert.equal("aoi: " .. name .. ": the journal does not fit the space: it is damaged, or the space has been "
          .. "changed\n", err)
      end
      os.remove(name .. ".html")
    end)
  end)

  it("refuses damaged messages", function()
    for _, text in ipairs {
      "5 1 99999999999999999999\nabc\n", "5 1 9000000000000000000\nabc\n", "5 99999999999999999999 3\nabc\n",
      "5 1 4\nabc\n", "5 1 2\nabc\n", "5 1 3\nabc", "5 1\n",
    } do
      with_file(text, function(name)
        local status, _, err = run("audit", path, name)
        assert.equal(1, status)
        assert.equal(("aoi: %s: message 1 is damaged, or cut off\n"):format(name), err)
      end)
    end
    local status, _, err = run("audit", path, "spec")
    assert.equal(1, status)
    assert.matches("^aoi: cannot read the messages: spec: ", err)
  end)

  it("replays a recording that is as wide as may be", function()
    with_file("t,id,x,y\n0,1,-1125899906842624,0\n0,2,1125899906842624,0\n", function(name)
      os.rename(name, name .. ".csv")
      local status, out, err = run("replay", name .. ".csv", "--check")
      os.rename(name .. ".csv", name)
      assert.equal("", err)
      assert.equal(0, status)
      assert.matches("2 entities, 2 nodes", out)
    end)
  end)

  it("names what is wrong in a command line", function()
    local csv = "examples/data/hermes_ao300.csv.gz"
    for says, line in pairs {
      ["--radius: number >= 0 expected, got '-5'"] = { "replay", csv, "--radius", "-5" },
      ["--radius: number >= 0 expected, got 'big'"] = { "replay", csv, "--radius", "big" },
      ["--radius: number >= 0 expected, got 'nan'"] = { "replay", csv, "--radius", "nan" },
      ["--at: number expected, got 'soon'"] = { "explain", path, "--at", "soon", "7" },
      ["watcher: integer expected, got 'ann'"] = { "explain", path, "--at", "1", "ann" },
      ["--from 200.0 is later than --to 100.0"] = { "events", path, "--from", "200.0", "--to", "100.0" },
    } do
      local status, _, err = run((table.unpack or unpack)(line)) -- luacheck: ignore 143
      assert.equal(2, status)
      assert.truthy(err:gsub("(%d)%.0", "%1"):find(says:gsub("(%d)%.0", "%1"), 1, true), err)
    end
  end)
end)
