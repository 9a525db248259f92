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
      local name, figure = line:match "^| ([^|]+) | ([%d,]+) | \226"
      local ns = figure and tonumber((figure:gsub(",", "")))
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
end)
