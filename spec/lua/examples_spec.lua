-- The examples run from the shell and print what they should.
local process = require "spec.support.process"

local _, lua = process.lua()

local function run(name)
  local output, code = process.run(lua .. " examples/" .. name .. ".lua")
  assert.equal(0, code, output)
  return output, process.lines(output)
end

local function numbers(line)
  local list = {}
  for n in line:gmatch "%d+%.?%d*" do list[#list + 1] = tonumber(n) end
  return list
end

describe("examples:", function()
  for _, name in ipairs { "guard", "sleepers", "safezone", "sync" } do
    it(name .. " is under 80 lines and says the same each time", function()
      local n = 0
      for _ in io.lines("examples/" .. name .. ".lua") do n = n + 1 end
      assert.is_true(n < 80)
      assert.equal(run(name), run(name))
    end)
  end

  it("they also run from their own folder", function()
    local output, code = process.run("cd examples && " .. lua .. " guard.lua")
    assert.equal(0, code)
    assert.equal(run "guard", output)
  end)

  it("guard: alert, attack, give up", function()
    local _, said = run "guard"
    assert.same({
      "  0.7 s  the guard turns to Ann",
      "  0.8 s  the bell rings for Bob",
      "  2.5 s  the guard gives Ann up",
      "  2.5 s  the guard goes back to his post",
      "  3.5 s  the guard turns to Bob",
      "  5.5 s  the guard attacks Bob",
      "  7.9 s  the guard gives Bob up",
      "  7.9 s  the guard goes back to his post",
      " 10.8 s  the bell rings for Bob",
      " 13.0 s  the guard turns to Ann",
      " 15.0 s  the guard attacks Ann",
      " 15.5 s  Ann is disconnected",
      " 15.5 s  the guard gives Ann up",
      " 15.5 s  the guard goes back to his post",
    }, said)
  end)

  it("sleepers: few are awake, and little is compared", function()
    local _, said = run "sleepers"
    assert.equal("1000 wolves, 20 players, 600 ticks", said[1])
    local awake, thought, compared = numbers(said[2]), numbers(said[3]), numbers(said[4])
    assert.is_true(awake[1] > 0 and awake[1] <= awake[2] and awake[2] < 100)
    assert.is_true(awake[3] > 20)
    assert.equal(600000, thought[2])
    assert.is_true(math.abs(thought[1] - awake[1] * 600) < 600)
    assert.equal(12000000, compared[2])
    assert.is_true(compared[1] > 0 and compared[1] < compared[2] / 5)
  end)

  it("safezone: regions with a limit, a filter, once", function()
    local _, said = run "safezone"
    local text = table.concat(said, "\n")
    for _, name in ipairs { "Ann", "Bob", "Cid" } do
      local at = 0
      for _, what in ipairs {
        name .. " is safe", name .. " is on his own", "the wolf bites " .. name .. "\n", name .. " drinks",
        name .. " is healed and makes room",
      } do
        local found = text:find(what, at + 1, true)
        assert.is_truthy(found, name .. ": " .. what)
        assert.is_nil(text:find(what, found + 1, true))
        at = found
      end
    end
    assert.is_truthy(text:find("the wolf bites Ann, in vain", 1, true))
    -- Two at a time: the third drinks when the first is healed.
    assert.is_true(text:find("Cid drinks", 1, true) > text:find("Ann is healed", 1, true))
    local _, voices = text:gsub("a voice from the cave", "")
    assert.equal(1, voices)
    assert.equal("Ann 100, Bob 100, Cid 100", said[#said])
  end)

  it("sync: the clients' pictures are the truth, for few bytes", function()
    local _, said = run "sync"
    assert.equal("the clients' pictures: 0 differences", said[#said])
    local all, view, limit = numbers(said[2]), numbers(said[3]), numbers(said[4])
    assert.is_true(view[1] < all[1] / 10)
    assert.is_true(limit[#limit] < view[1] / 2)
  end)
end)
