-- A line between two processes delivers each item once and in order, whatever calls fail: before they have been served,
-- or after it, when the batch comes a second time.
if not string.pack then return pending "a line: needs string.pack of Lua 5.3" end

local Line = require "aoi.skynet.world.line"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"

local SEED = random_run.seed "world line"

describe("a line between two processes", function()
  it("delivers each item once and in order, though calls fail before and after they have been served", function()
    local random, time, got, under_way, again = rng.new(SEED), 0, {}, {}, 0
    local function line(boot, peer, more)
      local options = { boot = boot, peer = peer, now = function() return time end, patience = 1000, silence = 0 }
      for name, value in pairs(more) do options[name] = value end
      return Line.new(options)
    end
    local receiver = line("b", "a", { take = function(item) got[#got + 1] = item[1] end })
    local sender = line("a", "b", {
      call = function(batch, done) table.insert(under_way, { batch, done }) end,
      fail = function(reason) error(reason) end,
    })
    local sent, steps = 0, random_run.steps(2000)
    local function step()
      time = time + 0.1
      sender:poll()
      local one = table.remove(under_way, 1)
      if not one then return end
      local what = random(4)
      local answer = what > 1 and receiver:receive(one[1])
      again = again + (what == 2 and 1 or 0)
      if what > 2 then one[2](true, answer) else one[2](false, "connection reset") end
    end
    for _ = 1, steps do
      for _ = 1, random(3) - 1 do
        sent = sent + 1
        sender[random { "put", "send" }](sender, { sent })
      end
      step()
    end
    while not sender:is_empty() do step() end
    local items = {}
    for _, item in ipairs(got) do
      if item ~= "alive" then items[#items + 1] = item end
    end
    assert(again > 0 or steps < 50, "no batch came twice")
    assert.equal(sent, #items)
    for i, item in ipairs(items) do assert.equal(i, item) end
  end)

  it("does not take a batch that comes late, and not that of another life", function()
    local got = {}
    local receiver = Line.new { boot = "b", peer = "a", take = function(item) got[#got + 1] = item end }
    local function batch(number, boot) return { boot = boot or "a", to = "b", number = number, items = { number } } end
    assert.same({ boot = "b" }, receiver:receive(batch(1)))
    assert.same({ boot = "b" }, receiver:receive(batch(2)))
    assert.same({ boot = "b" }, receiver:receive(batch(1)))
    assert.is_false(receiver:receive(batch(3, "c")).boot)
    assert.same({ 1, 2 }, got)
  end)
end)
