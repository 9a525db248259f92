-- Pages of recordings: read in node, and looked at in a real browser where there is one.
local aoi = require "aoi"
local blocks = require "aoi.viewer.blocks"
local journal = require "aoi.journal"
local page = require "aoi.viewer.page"
local sync = require "aoi.sync"
local process = require "spec.support.process"
local random_run = require "spec.support.random_run"
local recording = require "aoi.tools.recording"
local sights = require "aoi.sight"
local rng = require "spec.support.rng"
local tools = require "spec.support.tools"

local SEED = random_run.seed("page")

local AREAS = {
  { shape = "circle", radius = 8, margin = 4 }, { shape = "box", extents = { 12, 3 }, margin = 1 },
  { shape = "sector", radius = 20, facing = 0.7, angle = 1.1 }, { radius = 5 },
  { shape = "polygon", points = { -9, -9, 9, -9, 0, 14 } },
  { shape = "polygon", rings = { { -15, -9, 15, -9, 0, 14 }, { -3, -4, 3, -4, 0, 5 } } },
  { shape = "circle", radius = 9, margin = 3, offset = { 11, -4 } },
  { shape = "sector", radius = 20, facing = 0.7, angle = 1.1, offset = { -7, 2.5 } },
}

-- A walk of some who come and go, on a lattice now and then, so that there are ties.
local function walk(random, path, ticks, most)
  local rows, at = { "t,id,x,y" }, {}
  for tick = 0, ticks - 1 do
    for id = 1, most do
      local p = at[id]
      if not p and random(4) == 1 then
        at[id] = { random(81) - 41, random(61) - 31 }
      elseif p and random(60) == 1 then
        at[id] = nil
      elseif p then
        for axis = 1, 2 do p[axis] = p[axis] + (random(3) == 1 and random(3) - 2 or (random() - 0.5) * 3) end
      end
      if at[id] then
        rows[#rows + 1] = ("%.4f,%d,%.17g,%.4f"):format(tick / 8, id, at[id][1], at[id][2])
      end
    end
  end
  process.write(path, table.concat(rows, "\n") .. "\n")
end

describe("a page", function()
  local folder, remove, csv, html

  setup(function()
    folder, remove = process.folder()
    csv, html = folder .. "/walk.csv", folder .. "/walk.html"
    walk(rng.new(SEED), csv, 60, 30)
    assert(page.write(csv, html, { areas = AREAS, cell = 16, title = "<a> & \"b\"" }))
  end)

  teardown(function() remove() end)

  -- The same recording on another engine, its answers in some ticks as lines.
  local function expectations(random)
    local rec, lines, before = assert(recording.read(csv)), {}, {}
    local space = aoi.new { engine = "brute", delivery = "deferred" }
    for tick, step in ipairs(rec) do
      local now = {}
      for i = 1, step.n * 3, 3 do now[step[i]] = { step[i + 1], step[i + 2] } end
      for id in pairs(before) do
        if not now[id] then space:leave(id) end
      end
      for id, p in pairs(now) do
        if before[id] then space:move(id, p[1], p[2]) end
      end
      for id, p in pairs(now) do
        if not before[id] then
          space:enter(id, p[1], p[2])
          for node, area in ipairs(AREAS) do space:add_node(id, node, area) end
        end
      end
      space:drain()
      before = now
      for _ = 1, 12 do
        local ids = { random(30), random(5), random(31) }
        lines[#lines + 1] = ("%d %d %d %d %s"):format(tick - 1, ids[1], ids[2], ids[3],
          tostring(space:explain(ids[1], ids[2], ids[3])))
        if now[ids[1]] then
          local view = space:view(ids[1], ids[2])
          table.sort(view)
          lines[#lines + 1] = ("view %d %d %d %s"):format(tick - 1, ids[1], ids[2], table.concat(view, ","))
        end
      end
    end
    return lines
  end

  it("names the measure that decides, in plain words", function()
    tools.need("node", "string.pack")
    assert.equal("ok\n", (process.run "node spec/viewer/reason_check.js 2>&1"))
  end)

  it("says what the library says: of every shape, in every tick", function()
    tools.need("node", "string.pack")
    local lines = expectations(rng.new(SEED + 1))
    process.write(folder .. "/expected", table.concat(lines, "\n"))
    local output, code = process.run(("node spec/viewer/explain_check.js %s %s/expected"):format(html, folder))
    assert.equal(0, code, output)
    assert.equal(("%d answers, 0 otherwise; 60 ticks\n"):format(#lines), output)
  end)

  it("says what the library says: of a journal of every sort of call", function()
    tools.need("node", "string.pack")
    local random, lines = rng.new(SEED + 2), {}
    local space = aoi.new { dimensions = 2 }
    local sight = sights.new(space)
    local function place() return random(61) - 31 + random(2) / 4, random(61) - 31 end
    local function enter(id)
      local x, y = place()
      space:enter(id, x, y, random { 1, 2, 3 })
      for node = 1, random(3) do
        -- What a node without handlers holds on to is not recorded.
        local silent = node == 3
        local copy = { mask = random { 1, 3 }, layers = random { 1, 3, false } or nil }
        copy.label = node < 3 and "node " .. node .. " <&>" or nil
        for name, value in pairs(silent and AREAS[3 + random(2)] or random(AREAS)) do copy[name] = value end
        space:add_node(id, node, copy, not silent and { enter = function() end } or nil)
      end
      -- Not one with a margin: what an area has held behind a wall is not recorded.
      sight:add(id, 9, AREAS[2 + random(3)], { enter = function() end }, { linger = random(3) - 1 })
    end
    -- Removed, or a door, or a new one.
    local function change_wall()
      local ids, n = sight:walls()
      local door = n > 0 and ids[random(n)]
      if n < 20 then sight:wall(random(41) - 21, random(41) - 21, random(41) - 21, random(41) - 21)
      elseif random(4) == 1 then sight:remove_wall(door)
      else sight[random { "open_wall", "shut_wall" }](sight, door)
      end
    end
    for _ = 1, 20 do change_wall() end
    for id = 1, 12 do enter(id) end
    local state = sync.new(space, { fields = { { "hp", "u16" }, { "name", "string" }, { "bag", "bytes" } } })
    for _ = 1, 3 do sight:tick() end -- what lingers when it begins is not recorded
    local recorder = journal.record(space, folder .. "/walk.journal")
    for tick = 1, 40 do
      for _ = 1, tick == 1 and 0 or 12 do
        local id, what = random(20), random(10)
        if not space:has(id) then enter(id)
        elseif random(3) == 1 then
          state:put(id, "hp", random(3) - 1)
          state:put(id, "name", ("<%d>"):format(random(9)))
          if id == 7 then state:put(id, "bag", "\0\255") end
        elseif what == 1 then space:leave(id)
        elseif what == 5 and random(3) == 1 then space:set_layers(id, random { 1, 2, 3 })
        elseif what == 6 and random(3) == 1 then space:set_extent(id, random { 0, 1.5, 7, -2 })
        elseif what == 7 and random(3) == 1 then
          local carrier = random(20)
          if space:has(carrier) then pcall(space.attach, space, id, carrier, 1, -0.5) end -- not in a circle
        elseif space:carrier(id) then space:attach(id, nil)
        elseif what == 2 then space:set_kind(id, random { 1, 2, 4 })
        elseif what == 3 and #space:nodes(id) > 0 then space:set_area(id, 1, random(AREAS))
        elseif what == 4 and #space:nodes(id) > 0 then
          local other = random(20)
          if other ~= id and space:has(other) then
            space:override(id, space:nodes(id)[1], other, random { "hide", "show", "match" })
          end
        else
          space:move(id, place())
        end
      end
      for _ = 1, tick == 1 and 0 or random(3) do change_wall() end
      sight:tick()
      recorder:mark(tick / 4)
      for _ = 1, 30 do
        local id, other = random(20), random(20)
        lines[#lines + 1] = ("%d %d 9 %d %s"):format(tick - 1, id, other, tostring(sight:explain(id, 9, other)))
        if space:has(id) then
          local view = sight:view(id, 9)
          table.sort(view)
          lines[#lines + 1] = ("view %d %d 9 %s"):format(tick - 1, id, table.concat(view, ","))
        end
      end
      for id = 1, 20 do
        local told = sync.state(space, id)
        lines[#lines + 1] = ("fields %d %d %d %s"):format(tick - 1, id, told and told.hp or 0, told and told.name or "")
        if space:has(id) then
          lines[#lines + 1] = ("looks %d %d %d %.14g %d"):format(tick - 1, id, space:layers(id), space:extent(id),
            space:carrier(id) or 0)
        end
      end
      for _ = 1, 15 do
        local ids = { random(20), random(3), random(21) }
        lines[#lines + 1] = ("%d %d %d %d %s"):format(tick - 1, ids[1], ids[2], ids[3],
          tostring(space:explain(ids[1], ids[2], ids[3])))
        local area = space:area(ids[1], ids[2])
        if area then
          local view = space:view(ids[1], ids[2])
          table.sort(view)
          lines[#lines + 1] = ("view %d %d %d %s"):format(tick - 1, ids[1], ids[2], table.concat(view, ","))
        end
      end
    end
    recorder:stop()
    local told = assert(page.write(folder .. "/walk.journal", folder .. "/journal.html", { engine = "grid" }))
    assert.equal(40, told.ticks)
    process.write(folder .. "/expected", table.concat(lines, "\n"))
    local command = "node spec/viewer/explain_check.js %s/journal.html %s/expected"
    local output, code = process.run(command:format(folder, folder))
    assert.equal(0, code, output)
    assert.equal(("%d answers, 0 otherwise; 40 ticks\n"):format(#lines), output)
    tools.need("chromium", "timeout")
    output, code = process.run(("timeout 120 node spec/viewer/panel_check.js %s/journal.html"):format(folder))
    assert.equal(0, code, output)
  end)

  it("is good in a browser", function()
    tools.need("node", "chromium", "string.pack", "timeout")
    local output, code = process.run(("timeout 120 node spec/viewer/page_check.js %s %s %s"):format(html,
      table.concat(aoi.engines(), ","), os.getenv("AOI_PICTURES") or ""))
    assert.equal(0, code, output)
  end)

  it("loads nothing and is one text", function()
    local text = process.read(html)
    assert.is_nil(text:find("src=", 1, true))
    assert.is_nil(text:find("AOI%-%u"))
    for address in text:gmatch "https?://[^%s\"'`]+" do error("an address in the page: " .. address) end
    assert.is_nil(text:find("<a>", 1, true))
  end)

  it("may be part of a recording", function()
    local options = { from = 2, to = 4, every = 0.5, engines = {}, areas = { 5 } }
    local told = assert(page.write(csv, html .. "2", options))
    assert.equal(5, told.ticks)
    assert.is_true(told.complete)
    told = assert(page.write(csv, html .. "2", { limit = 1000, engines = {} }))
    assert.is_false(told.complete)
  end)

  it("returns the reason where the disk is full, at any write", function()
    local real_open, budget = io.open, nil
    finally(function() io.open = real_open end) -- luacheck: ignore 122
    io.open = function(path, mode) -- luacheck: ignore 122
      if mode ~= "wb" then return real_open(path, mode) end
      local function use()
        budget = budget - 1
        if budget < 0 then return nil, "no space" end
        return true
      end
      return { write = use, close = use }
    end
    local writes = 0
    repeat
      budget = writes
      local done, why = page.write(csv, "full.html", { engines = {} })
      assert.equal(not done and "full.html: no space" or nil, why)
      writes = writes + 1
    until done
    assert.is_true(writes > 4) -- head, blocks, tail, close
  end)

  it("says what is wrong", function()
    assert.same({ nil, "no/such.csv: No such file or directory" }, { page.write("no/such.csv", html .. "2") })
    process.write(folder .. "/bad.csv", "t,id,x,y\n1,2\n")
    local _, why = page.write(folder .. "/bad.csv", html .. "2")
    assert.equal(folder .. "/bad.csv:2: a row of 4 fields expected, found '1,2'", why)
    _, why = page.write(csv, "no/such/page.html")
    assert.matches("^no/such/page.html: ", why)
    assert.error_matches(function() page.write(csv, html, { engin = "list" }) end, "unknown option 'engin'")
    assert.error_matches(function() page.write(csv, html, { engine = "lists" }) end, "'brute' expected, got 'lists'")
    assert.error_matches(function() page.write(csv, html, { engines = { 5 } }) end, "'brute' expected, got '5'")
    local ok, err = pcall(function() page.write(csv, html, 5) end)
    assert.is_false(ok)
    assert.matches("page_spec.lua:%d+: bad argument #3 to 'write' %(table expected, got number%)", err)
    assert.error_matches(function() page.write(csv, html, { every = "1" }) end, "'every': number expected, got string")
    assert.error_matches(function() page.write() end, "bad argument #1 to 'write' %(a path, .+ expected, got nil%)")
  end)
end)

describe("blocks", function()
  it("have doubles in eight bytes, whatever this Lua has", function()
    local known = {
      [0] = "0000000000000000", [1] = "000000000000f03f", [-2.5] = "00000000000004c0", [0.1] = "9a9999999999b93f",
      [2 ^ -1074] = "0100000000000000", [-2 ^ -1022] = "0000000000001080", [123456.789] = "c976be9f0c24fe40",
      [1.7976931348623157e308] = "ffffffffffffef7f",
    }
    for v, hex in pairs(known) do
      assert.equal(hex, (blocks.double(v):gsub(".", function(c) return ("%02x"):format(c:byte()) end)))
    end
  end)
end)
