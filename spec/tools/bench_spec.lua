-- The benchmark: every scene on every engine with few entities, the movement, the CSV and the plots. No test looks at a
-- time.
package.path = package.path .. ";./?.lua"

local aoi = require "aoi"
local scenes = require "bench.scenes"
local subjects = require "bench.subjects"
local measure = require "bench.measure"
local report = require "bench.report"
local plot = require "bench.plot"
local csv = require "bench.csv"
local process = require "spec.support.process"
local tools = require "spec.support.tools"

local FEW = { seconds = 0, min_rounds = 2, max_rounds = 2, most = 60, seed = 1 }
local LAYERS = subjects.native and { "c", "lua" } or { "lua" }

describe("a benchmark scene", function()
  it("moves the same way on every machine and every Lua", function()
    -- The published check of this generator: from 1, the 10000th number is 1043618065.
    local random = scenes.generator(0)
    for _ = 1, 10000 - 10 - 1 do random() end
    assert.are.equal(1043618065 - 1, math.floor(random() * 2147483646 + 0.5))
  end)

  it("is the same for the same seed, and another for another", function()
    for _, scene in ipairs(scenes.list) do
      local point = { n = 50, neighbours = 20 }
      local a, b, c = scenes.world(scene, point, 3), scenes.world(scene, point, 3), scenes.world(scene, point, 4)
      for _ = 1, 3 do
        a:step()
        b:step()
        c:step()
      end
      assert.are.same({ a.x, a.y }, { b.x, b.y })
      assert.are_not.same({ a.x, a.y }, { c.x, c.y })
    end
  end)

  it("keeps everybody on the map and the crowd in its corner", function()
    local world = scenes.world(scenes.named.crowd, { n = 500, neighbours = 20 })
    for _ = 1, 200 do world:step() end
    local crowded = 0
    for i = 1, world.n do
      local far = math.max(math.abs(world.x[i]), math.abs(world.y[i]))
      assert.is_true(far <= world.half)
      if far <= world.half / 10 then crowded = crowded + 1 end
    end
    assert.is_true(crowded >= 400 and crowded < 450)
  end)

  it("has about as many neighbours as it says", function()
    local point = { n = 2000, neighbours = 20 }
    local world = scenes.world(scenes.named.walk, point)
    local subject = subjects.lua(aoi.engines()[1], scenes.named.ask.variants[2], world)
    subject:fill()
    local _, seen = subject:play(world.n)
    subject:close()
    assert.is_true(math.abs(seen / world.n - 20) < 3)
  end)

  it("shrinks to a given population, and counts once what is then the same", function()
    local points = measure.points(scenes.named.walk, 3000)
    assert.are.same({ { n = 1000, neighbours = 20 }, { n = 3000, neighbours = 20 } }, points)
    assert.are.equal(#scenes.named.dense.points, #measure.points(scenes.named.dense, 100))
  end)
end)

describe("the benchmark", function()
  local all = {}

  for _, scene in ipairs(scenes.list) do
    it("plays " .. scene.name .. " on every engine with the same events", function()
      local moved = 0
      for _, point in ipairs(measure.points(scene, FEW.most)) do
        local rows, wrong = measure.point(scene, point, aoi.engines(), LAYERS, FEW)
        assert.is_nil(wrong)
        local played = {}
        for _, row in ipairs(rows) do
          played[row.layer .. row.engine .. row.variant] = true
          moved = moved + row.events + row.fill_events
          all[#all + 1] = row
        end
        for _, layer in ipairs(LAYERS) do
          for _, engine in ipairs(aoi.engines()) do
            for _, variant in ipairs(scene.variants) do
              local expected = engine ~= "brute" or point.n <= scene.brute_up_to
              assert.are.equal(expected, played[layer .. engine .. variant.name] or false)
            end
          end
        end
        assert.are.equal(point.n <= scene.byhand_up_to, played.luabyhand or false)
      end
      if scene.name ~= "sparse" then assert.is_true(moved > 0) end
    end)
  end

  it("plays in C as well as through Lua", function()
    if not subjects.native then return pending("bench.native is built by `make spec` only") end
    local per_layer = { c = 0, lua = 0 }
    for _, row in ipairs(all) do
      if row.engine ~= "textbook" and row.engine ~= "byhand" then
        per_layer[row.layer] = per_layer[row.layer] + row.events
      end
    end
    assert.is_true(per_layer.c > 0)
    assert.are.equal(per_layer.c, per_layer.lua)
  end)

  it("notices when the events of two subjects differ", function()
    local honest = subjects.lua
    finally(function() subjects.lua = honest end)
    local number = 0
    subjects.lua = function(...)
      local subject = honest(...)
      number = number + 1
      if number ~= 2 then return subject end
      local rounds = 0
      return setmetatable({
        play = function(_, m)
          rounds = rounds + 1
          local time, events = subject:play(m)
          return time, events + (rounds == 2 and 1 or 0)
        end,
      }, { __index = function(_, name) return function(_, ...) return subject[name](subject, ...) end end })
    end
    local twice = { "brute", "brute" }
    local limits = { seconds = 0, min_rounds = 2, max_rounds = 2, most = 20, seed = 1 }
    local point = { n = 20, neighbours = 5 }
    local _, wrong = measure.point(scenes.named.walk, point, twice, { "lua" }, limits)
    assert.are.equal("brute lua and brute lua have different events in round 2", wrong)
    number = 2
    assert.is_nil((select(2, measure.point(scenes.named.walk, point, twice, { "lua" }, limits))))
  end)

  it("writes CSV that reads back as it was", function()
    local machine = require "bench.machine"()
    machine.cpu, machine.commit = 'a "fast", hot\nprocessor', "4326e75917" -- no number
    for _, row in ipairs(all) do
      for field, value in pairs(machine) do row[field] = value end
    end
    local text = csv.write(report.COLUMNS, all)
    local rows, columns = csv.read(text)
    assert.are.same(report.COLUMNS, columns)
    assert.are.equal(#all, #rows)
    for i, row in ipairs(rows) do
      for _, column in ipairs(columns) do
        local written, read = all[i][column], row[column]
        assert.is_not_nil(written)
        if type(written) == "number" then
          assert.are.equal("number", type(read), column)
          assert.is_true(math.abs(written - read) <= math.abs(written) * 1e-9)
        else
          assert.are.equal(written, tostring(read))
        end
      end
    end
  end)

  it("refuses CSV that is not well-formed", function()
    assert.are.same({ nil, "line 2: 1 fields, not 2" }, { csv.read("a,b\n1\n") })
    assert.are.same({ nil, "a quote is not closed" }, { csv.read('a,b\n"1,2\n') })
    assert.are.same({ nil, "line 2: text behind a quote" }, { csv.read('a,b\n"1"2,3\n') })
    assert.are.same({ { a = 1, b = 'x "y"' } }, (csv.read('a,b\n1,"x ""y"""')))
  end)

  it("prints a line for each engine", function()
    local rows = {}
    for _, row in ipairs(all) do
      if row.scene == "walk" then rows[#rows + 1] = row end
    end
    local text = report.point(scenes.named.walk, rows)
    for _, engine in ipairs(aoi.engines()) do assert.is_truthy(text:find("\n" .. engine .. " ", 1, true)) end
  end)

  it("draws curves of cost against population and density", function()
    local rows = {}
    for _, engine in ipairs{ "list", "new & <better>" } do
      for _, layer in ipairs{ "c", "lua" } do
        for i = 1, 3 do
          local common = {
            layer = layer, engine = engine, variant = "", ns_min = 90 * i,
            lua = "Lua", date = "2020-02-02", cpu = "a cpu", compiler = "cc", commit = "abc",
          }
          rows[#rows + 1] = setmetatable({ scene = "walk", entities = 10 ^ i, neighbours = 20 }, { __index = common })
          rows[#rows + 1] = setmetatable({ scene = "dense", entities = 10, neighbours = 5 * i }, { __index = common })
          rows[#rows + 1] = setmetatable({ scene = "few", entities = 10, neighbours = 20 }, { __index = common })
        end
      end
    end
    local charts = plot.all(scenes.list, rows)
    assert.are.equal(2, #charts)
    for _, chart in ipairs(charts) do
      local svg = chart.svg
      assert.is_truthy(svg:find("new &amp; &lt;better&gt;", 1, true))
      assert.is_truthy(svg:find("2020-02-02, a cpu, cc, commit abc", 1, true))
      assert.is_nil(svg:find("nan") or svg:find("inf"))
      local width, height = svg:match('viewBox="0 0 (%d+) (%d+)"')
      local circles = 0
      for x, y in svg:gmatch('<circle cx="([^"]+)" cy="([^"]+)"') do
        circles = circles + 1
        assert.is_true(tonumber(x) > 0 and tonumber(x) < tonumber(width))
        assert.is_true(tonumber(y) > 0 and tonumber(y) < tonumber(height))
      end
      assert.are.equal(2 * 2 * 3, circles)
      local open = {}
      for slash, name, closed in svg:gmatch("<(/?)(%a+)[^>]-(/?)>") do
        if slash == "/" then assert.are.equal(name, table.remove(open))
        elseif closed == "" then open[#open + 1] = name end
      end
      assert.are.equal(0, #open)
    end
    assert.is_truthy(charts[1].svg:find("entities on the map, 20 neighbours each", 1, true))
    assert.is_truthy(charts[2].svg:find("neighbours of each of 10 entities", 1, true))
  end)
end)

describe("bench/run.lua", function()
  local _, lua = process.lua()

  it("writes table, CSV and plots into a folder, and draws plots of CSV again", function()
    tools.need "argparse"
    local folder, remove = process.folder()
    finally(remove)
    local out = process.must(lua .. " bench/run.lua --quick --max 40 --seconds 0 walk dense --out " .. folder)
    assert.is_truthy(out:find("\nwalk: .*\ndense: "))
    assert.are.equal(out, process.read(folder .. "/table.txt"))
    local rows = csv.read(process.read(folder .. "/results.csv"))
    for _, row in ipairs(rows) do assert.is_true(row.entities == 40 and row.rounds == 3) end
    -- CSV has ten digits of each number, so what is drawn from it may be off by a last digit.
    local function drawn() return (process.read(folder .. "/dense.svg"):gsub("%d+%.%d", "#")) end
    local first = drawn()
    process.must(lua .. " bench/run.lua --from " .. folder .. "/results.csv --out " .. folder .. "/")
    assert.are.equal(first, drawn())
  end)

  it("gives CSV alone on request", function()
    tools.need "argparse"
    local out = process.must(lua .. " bench/run.lua --quick --max 40 --seconds 0 few --layer lua --engine brute --csv")
    local rows, columns = csv.read(out)
    assert.are.same(report.COLUMNS, columns)
    assert.are.equal(1, #rows)
  end)

  it("refuses what it does not know", function()
    tools.need "argparse"
    for _, words in ipairs{ "nowhere", "--engine fast", "--max 1", "--layer both" } do
      local _, code = process.run(lua .. " bench/run.lua " .. words)
      assert.are_not.equal(0, code)
    end
  end)
end)

describe("examples/explain.lua", function()
  local _, lua = process.lua()

  it("shows the same events for every engine and the work behind them", function()
    local out = process.must(lua .. " examples/explain.lua crowd 100")
    local events
    for _, engine in ipairs(aoi.engines()) do
      local found, candidates = out:match("\n" .. engine .. " +([%d.]+) +([%d.]+)")
      assert.is_true(tonumber(found) > 0)
      assert.is_true(tonumber(candidates) >= tonumber(found))
      events = events or found
      assert.are.equal(events, found)
    end
  end)

  it("plays every scene, and says which there are", function()
    for _, scene in ipairs(scenes.list) do process.must(lua .. " examples/explain.lua " .. scene.name .. " 30") end
    local out, code = process.run(lua .. " examples/explain.lua nowhere")
    assert.are.equal(2, code)
    assert.is_truthy(out:find("walk|dense|crowd", 1, true))
  end)
end)
