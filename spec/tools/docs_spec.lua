-- The site of `make docs`: every page there, no raw markup, no dead link, every function on the page of the API; and,
-- where there is a browser, a search that finds and a width that fits a phone.
local annotations = require "spec.support.annotations"
local process = require "spec.support.process"
local tools = require "spec.support.tools"
local tree = require "spec.support.tree"

local _, lua = process.lua()

describe("the site", function()
  if not tree.usual or tree.short then return end -- no other Lua, and no sanitizer, makes another one
  local folder, remove
  setup(function()
    folder, remove = process.folder()
    if tools.has "cmark-gfm" then process.must(lua .. " scripts/docs.lua " .. folder) end
  end)
  teardown(function() remove() end)

  local function pages()
    tools.need "cmark-gfm"
    return process.lines(process.must("cd " .. folder .. " && ls *.html"))
  end

  it("has a page for the README and for every file of docs", function()
    local there = {}
    for _, name in ipairs(pages()) do there[name] = true end
    assert.is_true(there["index.html"] and there["zh.html"] and there["api.html"])
    for _, path in ipairs(process.lines(process.must "ls docs/*.md")) do
      assert.is_true(there[path:match "([^/]+)%.md$" .. ".html"], path)
    end
  end)

  it("has no raw markup, and nothing that is run and not shown", function()
    for _, name in ipairs(pages()) do
      local html = process.read(folder .. "/" .. name)
      local text = html
      for _, element in ipairs { "script", "textarea", "code" } do
        text = text:gsub(("<%s[ >].-</%s>"):format(element, element), "")
      end
      text = text:gsub("<[^>]*>", "")
      for _, raw in ipairs { "%*%*", "`", "\n#+ ", "%]%(", "\n| ", "<!%-%-" } do
        assert.is_nil(text:find(raw), name .. ": " .. tostring(text:match("[^\n]*" .. raw .. "[^\n]*")))
      end
      assert.is_nil(html:find("<!-- lua", 1, true), name)
    end
  end)

  it("names every function on the page of the API", function()
    pages()
    local html = process.read(folder .. "/api.html"):gsub("<[^>]*>", "")
    for _, path in ipairs(process.lines(process.must "grep -rlE '^---@(class|param|alias)' lua")) do
      for key, f in pairs(annotations.read(path).functions) do
        if not f.constant then assert.is_truthy(html:find(f.name .. "(", 1, true), path .. ": " .. key) end
      end
    end
    assert.is_truthy(html:find("space:enter(id, x, y [, kind])", 1, true)) -- the other dimensions, too
    assert.is_truthy(html:find("space:near(x, y, area [, mask] [, buf])", 1, true))
  end)

  it("links to headings as GitHub does, hyphens kept", function()
    pages()
    assert.is_truthy(process.read(folder .. "/engines.html"):find('id="how-the-nine-grid-works"', 1, true))
  end)

  it("styles no heading by its id: the reference has Events, and the playground an element of that name", function()
    local style, seen = " " .. process.read "scripts/site/style.css", 0
    for _, name in ipairs(pages()) do
      for id in process.read(folder .. "/" .. name):gmatch '<h%d id="([^"]+)"' do
        seen = seen + 1
        assert.is_nil(style:find("[%s,]#" .. id:gsub("%p", "%%%0") .. "[%s,{.:]"), name .. ": " .. id)
      end
    end
    assert.is_true(seen > 100)
  end)

  it("refuses a dead link and a heading that is not there", function()
    pages()
    local copy, remove_copy = process.folder()
    process.must("cp -R README*.md docs scripts lua spec examples js include bench src " .. copy)
    for link, says in pairs {
      ["[x](nowhere.md)"] = "a link to nowhere.md, which is not there",
      ["[x](guide.md#nothing)"] = "a link to #nothing of docs/guide.md, which has no such heading",
    } do
      process.write(copy .. "/docs/extra.md", "# Extra\n\n" .. link .. "\n")
      local output, code = process.run(("cd %s && %s scripts/docs.lua out"):format(copy, lua))
      assert.equal(1, code)
      assert.is_truthy(output:find("docs/extra.md: " .. says, 1, true), output)
    end
    remove_copy()
  end)

  it("leads from each page to the same page in the other language", function()
    pages()
    for _, path in ipairs(process.lines(process.must "ls docs/*.zh-CN.md")) do
      local name = path:match "([%w-]+)%.zh"
      for from, to in pairs { [name] = name .. ".zh-CN", [name .. ".zh-CN"] = name } do
        local html = process.read(folder .. "/" .. from .. ".html")
        assert.is_truthy(html:find(('<p class="language"><a href="%s.html">'):format(to), 1, true), from)
        assert.equal(from:find "zh" and "开始" or "Begin", html:match '<li class="group">([^<]*)', from)
      end
    end
  end)

  it("names every page in Chinese to a reader of Chinese, and says which are in English", function()
    local there, n = {}, 0
    for _, name in ipairs(pages()) do there[name] = true end
    local menu = process.read(folder .. "/zh.html"):match '<ul id="pages">(.-)</ul>'
    for html, title in menu:gmatch '<li><a href="([^"]*)"[^>]*>([^<]*)</a></li>' do
      n = n + 1
      assert.equal(not html:find "zh", title:find("（英文）", 1, true) ~= nil, html .. ": " .. title)
      assert.is_nil(there[html:gsub("%.html$", ".zh-CN.html")], html .. " is there in Chinese")
    end
    assert.is_true(n > 20)
  end)

  it("says what is missing on a machine without cmark-gfm", function()
    local output, code = process.run("PATH=/nowhere " .. lua:gsub("^'([^/].*)'$", function(name)
      return process.must("command -v " .. name):match "[^\n]+"
    end) .. " scripts/docs.lua " .. folder .. "/without")
    assert.equal(1, code, output)
  end)

  it("in a browser: every page fits a phone, the search finds, no link is dead", function()
    pages()
    tools.need("node", "chromium", "timeout")
    local output, code = process.run("timeout 900 node spec/tools/docs_check.js " .. folder)
    assert.equal(0, code, output)
  end)
end)
