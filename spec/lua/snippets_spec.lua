-- Every snippet of the README, in both languages, and of docs/ runs and prints what it says.
local process = require "spec.support.process"
local snippets = require "spec.support.snippets"
local tools = require "spec.support.tools"

describe("the Lua snippets of", function()
  for _, path in ipairs(process.lines(process.must "ls README*.md docs/*.md")) do
    if not snippets.ELSEWHERE[path] then
      for i, chunk in ipairs(snippets.read(path)) do
        it(path .. (i > 1 and ", part " .. i or ""), function()
          local printed, expected = snippets.run(chunk, path)
          if #expected > 0 then assert.same(expected, printed) end -- a page without `-->` only has to run
        end)
      end
    end
  end
end)

describe("the C snippets of", function()
  for _, path in ipairs(process.lines(process.must "ls README*.md docs/*.md")) do
    local file = assert(io.open(path))
    local text = file:read "*a"
    file:close()
    local n = 0
    for code in text:gmatch "\n```c\n(.-)\n```" do
      n = n + 1
      it(("%s, number %d"):format(path, n), function()
        tools.need "cc"
        local core = "build/core/libaoi-checked.a"
        local archive = io.open(core)
        if not archive then pending("needs the core that `make spec` builds") end
        archive:close()
        local folder, remove = process.folder()
        process.write(folder .. "/snippet.c", code)
        process.must(("cc -std=c11 -Wall -Wextra -Werror -Iinclude %s/snippet.c %s -lm -o %s/snippet")
          :format(folder, core, folder))
        local expected = {}
        for line in code:gmatch "/%* %-%-> (.-) %*/" do expected[#expected + 1] = line end
        assert.same(expected, process.lines(process.must(folder .. "/snippet")))
        remove()
      end)
    end
  end
end)
