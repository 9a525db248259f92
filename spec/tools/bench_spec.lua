-- The benchmark: every scene on every engine with few entities, the movement and the CSV. No test looks at a time.
package.path = package.path .. ";./?.lua"

local aoi = require "aoi"
local scenes = require "bench.scenes"
local subjects = require "bench.subjects"
local measure = require "bench.measure"
local report = require "bench.report"
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
              local expected = (engine ~= "brute" or point.n <= scene.brute_up_to) and (scene.only or layer) == layer
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
      if row.engine ~= "textbook" and row.engine ~= "byhand" and not scenes.named[row.scene].only then
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

  it("writes CSV: numbers bare, all other text that is none in quotes", function()
    local machine = require "bench.machine"()
    machine.cpu, machine.commit = 'a "fast", hot\nprocessor', "4326e75917" -- no number
    local row = setmetatable(machine, { __index = all[1] })
    local expected = ('%s\n%s,"4326e75917","a ""fast"", hot\nprocessor",%s,%s,walk,,%d,20,%s,%s,move,%.10g,'):format(
      table.concat(report.COLUMNS, ","), machine.date, machine.compiler, machine.lua, row.entities, row.layer,
      row.engine, row.ns_min)
    assert.are.equal(expected, report.csv({ row }):sub(1, #expected))
  end)

  it("prints a line for each engine", function()
    local rows = {}
    for _, row in ipairs(all) do
      if row.scene == "walk" then rows[#rows + 1] = row end
    end
    local text = report.point(scenes.named.walk, rows)
    for _, engine in ipairs(aoi.engines()) do assert.is_truthy(text:find("\n" .. engine .. " ", 1, true)) end
  end)
end)

describe("bench/run.lua", function()
  local _, lua = process.lua()

  it("writes a table, CSV into a folder, and plots of that", function()
    tools.need "argparse"
    local folder, remove = process.folder()
    finally(remove)
    local out = process.must(lua .. " bench/run.lua --quick --max 40 --seconds 0 walk dense --out " .. folder)
    assert.is_truthy(out:find("\nwalk: .*\ndense: "))
    local lines = select(2, process.read(folder .. "/results.csv"):gsub("\n", "\n"))
    assert.is_true(lines > 1 + 2 * #aoi.engines())
    if tools.has "gnuplot" then
      process.must(("gnuplot -c bench/plot.gp %s/results.csv %s"):format(folder, folder))
      for _, engine in ipairs(aoi.engines()) do
        assert.is_truthy(process.read(folder .. "/dense.svg"):find(engine, 1, true))
      end
    end
  end)

  it("gives CSV alone on request", function()
    tools.need "argparse"
    local out = process.must(lua .. " bench/run.lua --quick --max 40 --seconds 0 few --layer lua --engine brute --csv")
    assert.is_truthy(out:match("^" .. table.concat(report.COLUMNS, ",") .. "\n[^\n]+,few,,[^\n]+\n$"))
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
    for _, scene in ipairs(scenes.list) do
      local _, code = process.run(lua .. " examples/explain.lua " .. scene.name .. " 30")
      assert.are.equal(scene.only and 2 or 0, code)
    end
    local out, code = process.run(lua .. " examples/explain.lua nowhere")
    assert.are.equal(2, code)
    assert.is_truthy(out:find("walk|dense|crowd", 1, true))
  end)
end)
