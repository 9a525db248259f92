-- Every Lua reads every spec, if only to leave it out: operators of 5.3 are errors of syntax in 5.1, 5.2 and LuaJIT.
local process = require "spec.support.process"
local tree = require "spec.support.tree"

local OPERATORS = { "//", "<<", ">>", "&", "|" }

-- The code alone: without strings and comments.
local function code_of(text)
  return (text:gsub("%-%-%[(=*)%[.-%]%1%]", ""):gsub("%[(=*)%[.-%]%1%]", '""'):gsub("\\.", "")
    :gsub('"[^"\n]*"', '""'):gsub("'[^'\n]*'", "''"):gsub("%-%-[^\n]*", ""))
end

describe("the grammar of specs", function()
  if not tree.usual then return end

  it("is that of Lua 5.1", function()
    local paths = process.lines(process.must "ls spec/*/*_spec.lua")
    assert(#paths > 50)
    for _, path in ipairs(paths) do
      local number = 0
      for line in (code_of(process.read(path)) .. "\n"):gmatch "(.-)\n" do
        number = number + 1
        for _, operator in ipairs(OPERATORS) do
          assert(not line:find(operator, 1, true), ("%s: %s in '%s'"):format(path, operator, line))
        end
      end
    end
  end)

  it("is looked for in code alone", function()
    assert.equal('local url, n = "", 7 ', (code_of 'local url, n = "http://x", 7 -- a // b'))
    assert.is_truthy(code_of("local half = n // 2"):find("//", 1, true))
  end)
end)
