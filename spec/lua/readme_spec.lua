-- README.md is short; each page in Chinese, NAME.zh-CN.md, says the same as NAME.md: sections, snippets, figures,
-- links, rows of tables.
local process = require "spec.support.process"

local function lines(path) return process.lines((process.read(path):gsub("\n\n", "\n \n"))) end

-- What does not depend on the language: by kind, in order. Numbers section by section: sentences are turned around.
local function essence(path)
  local found = { headings = {}, code = {}, rows = {}, links = {}, numbers = {} }
  local mode, section, numbers
  local function close()
    if not numbers then return end
    table.sort(numbers)
    table.insert(found.numbers, section .. ": " .. table.concat(numbers, " "))
  end
  for _, line in ipairs(lines(path)) do
    local fence = line:match "^```(%w*)"
    if fence then
      mode = not mode and (fence == "" and "drawing" or fence) or nil
      if mode then table.insert(found.code, "```" .. fence) end
    elseif mode == "lua" then
      table.insert(found.code, (line:gsub("%s*%-%- .*$", "")))
    elseif mode == "sh" then
      table.insert(found.code, (line:gsub("%s*#.*$", "")))
    elseif line:find "^#" then
      close()
      section, numbers = #found.headings + 1, {}
      table.insert(found.headings, (line:match "^#+"))
    elseif mode ~= "drawing" then
      if line:find "^|" then table.insert(found.rows, select(2, line:gsub("|", ""))) end
      for target in line:gmatch "%]%(([^)]+)%)" do
        local page = target:gsub("#.*", "") -- headings have other names; spec/tools/docs looks whether they are there
        if not target:find "^README" then table.insert(found.links, (page:gsub("%.zh%-CN%.md", ".md"))) end
      end
      local text = line:gsub("%(.-%)", ""):gsub("\239\188\136.-\239\188\137", "") -- nor what stands in full-width ones
      for number in text:gmatch "%d[%d.,^-]*" do
        table.insert(numbers, (number:gsub("[.,-]+$", "")))
      end
    end
  end
  close()
  return found
end

describe("the README", function()
  it("has at most 170 lines", function()
    for _, path in ipairs { "README.md", "README.zh-CN.md" } do assert.is_true(#lines(path) <= 170, path) end
  end)

  for _, path in ipairs(process.lines(process.must "ls *.zh-CN.md docs/*.zh-CN.md")) do
    it("says the same in Chinese: " .. path, function()
      local english, chinese = essence((path:gsub("%.zh%-CN", ""))), essence(path)
      for _, what in ipairs { "headings", "code", "rows", "links", "numbers" } do
        assert.same(english[what], chinese[what], what)
      end
      assert.is_true(#english.headings > 1 and #english.code + #english.rows > 2) -- the reference is tables alone
    end)
  end

  it("links from Chinese pages to Chinese ones, where there are", function()
    local there = {}
    for _, path in ipairs(process.lines(process.must "ls docs/*.zh-CN.md")) do
      there[path:match "([%w-]+)%.zh"] = true
    end
    for _, path in ipairs(process.lines(process.must "ls *.zh-CN.md docs/*.zh-CN.md")) do
      for name in process.read(path):gmatch "%]%(([^)#]+)%.md" do
        assert.is_nil(there[name:gsub("^docs/", "")], path .. ": a link to the English page of " .. name)
      end
    end
  end)

  -- A row of the README has nanoseconds for 2,000 walkers; the comparison has how many times what `grid` takes.
  it("has the figures of the comparison", function()
    local comparison, seen, grid = process.lines(process.read "docs/comparison.md"), 0, nil
    for _, line in ipairs(lines "README.md") do
      local name, figure, bar = line:match "^| ([^|]+) | ([%d,]+) | (\226[^ ]*)"
      local ns = figure and tonumber((figure:gsub(",", "")))
      if ns then assert.is_true(math.abs(#bar / 3 - ns / 200) < 0.65, line) end -- a sign of three bytes for 200
      if name == "`grid`" then grid = ns end
      local found = name == "`grid`" or name == "`list`"
      for _, row in ipairs(ns and comparison or {}) do
        local times = row:gsub("%*", ""):match "^| [^|]+ | [%d.]+ / [%d.]+ | ([%d.]+) /"
        found = found or tonumber(times) and math.abs(ns / grid / times - 1) < 0.03
      end
      assert.is_truthy(not ns or found, line)
      seen = seen + (ns and 1 or 0)
    end
    assert.equal(10, seen)
  end)

  it("has in its first lines what the tables have", function()
    local text, times = process.read "README.md", {}
    local list, grid = text:match "| `list` | ([%d.]+) |", text:match "| `grid` | ([%d.]+) |"
    for _, name in ipairs { "moon, tiles of 50", "MServer, lists", "KBEngine, triggers", "go-aoi, XZ list" } do
      local row = process.read("docs/comparison.md"):match("\n| " .. name:gsub("%p", "%%%0") .. " (|[^\n]*)")
      times[#times + 1] = tonumber(row:match "^| [%d.]+ / [%d.]+ | [%d.]+ / ([%d.]+)")
    end
    table.sort(times)
    local says = ("%g to %g times as fast"):format(times[1], times[4])
    assert.is_truthy(text:gsub("\n", " "):find(says, 1, true), says)
    assert.is_truthy(text:find(("**%.1f µs per move** on `list`"):format(list / 1000), 1, true))
    assert.is_truthy(text:find(("; %.1f on `grid`"):format(grid / 1000), 1, true))
    local most = 0
    for a, b in process.read("docs/engines.md"):gmatch "\n| `[^|]+| (%d+) | %**(%d+)%** |" do
      most = math.max(most, a / b)
    end
    assert.is_truthy(text:find(("up to %.0f times as fast as `list`"):format(most), 1, true), most)
    local bytes = { process.read("docs/engines.md"):match "| bytes per entity[^|]+| (%d+) | %**(%d+)%** |" }
    assert.is_true(text:find("half the memory", 1, true) and math.abs(bytes[2] / bytes[1] - 0.5) < 0.05)
  end)

  it("says up to where a loop by hand is faster, as the comparison does", function()
    local function plain(path) return (process.read(path):gsub("%s+", " "):gsub("[*`]", "")) end
    local text, comparison = plain "README.md", plain "docs/comparison.md"
    local bits = { text:match "bits in C is faster up to (%d+) entities against grid, up to ([%d,]+) against list" }
    local ffi = { text:match "a loop over FFI arrays up to (%d+) and (%d+)" }
    assert.same(bits, { comparison:match "%f[%w]grid up to (%d+)", comparison:match "beats list up to about ([%d,]+)" })
    local list, grid = comparison:match "FFI arrays beats list up to about (%d+) and grid up to (%d+)"
    assert.same(ffi, { grid, list })
  end)
end)
