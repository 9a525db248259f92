-- Calls in coroutines with hardly any room on their stack, in a process of their own.
local process = require "spec.support.process"

local _, lua = process.lua()

describe("the sentence of explain", function()
  it("is made in a coroutine whose stack is full to any height", function()
    local limit = process.has "timeout" and "timeout 60 " or "" -- what is overwritten may as well never end
    local output, code = process.run(limit .. "env " .. lua .. " spec/support/child/full_stack.lua")
    assert.equal("good\n", output)
    assert.equal(0, code)
  end)
end)
