-- What a line between two processes does not take. That it delivers each item once and in order, whatever calls fail:
-- clients_spec.lua.
if not string.pack then return pending "a line: needs string.pack of Lua 5.3" end

local Line = require "aoi.skynet.world.line"

describe("a line between two processes", function()
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
