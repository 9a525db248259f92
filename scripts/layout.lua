-- layout.lua: the frame around each page of the documentation. Used by docs.lua. Nothing is loaded from elsewhere.
local layout = {}

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

layout.style, layout.search = read "scripts/site/style.css", read "scripts/site/search.js"

local function head(title, language, up)
  return ('<!DOCTYPE html>\n<html lang="%s">\n<head>\n<meta charset="utf-8">\n'
    .. '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>%s</title>\n'
    .. '<link rel="stylesheet" href="%sstyle.css">\n</head>\n<body>\n'):format(language, title, up)
end

local function text_of(title) return (title:gsub("`", ""):gsub("&", "&amp;"):gsub("<", "&lt;")) end

-- The index: groups of pages by the names of their files; a page in Chinese that no group names is in the second, any
-- other in the last but one.
local GROUPS = {
  { "Begin", "index", "guide", "playground", "recipes", "why" },
  { "中文", "zh", "guide.zh-CN", "recipes.zh-CN", "why.zh-CN", "reference.zh-CN", "engines.zh-CN", "scripting.zh-CN",
    "sight.zh-CN", "sync.zh-CN", "client.zh-CN", "tick.zh-CN", "skynet.zh-CN", "world.zh-CN", "trust.zh-CN",
    "snapshot.zh-CN", "journal.zh-CN", "command.zh-CN", "comparison.zh-CN" },
  { "The library", "reference", "api", "engines", "scripting", "sight", "history", "sync", "client", "tick" },
  { "Servers", "skynet", "world", "operators", "trust", "snapshot", "journal", "command", "viewer" },
  { "More", "sync-wire", "viewer-wire", "c" },
  { "The project", "comparison", "stability", "testing", "contributing", "house" },
}

local TITLES = { ["index.html"] = "Overview", ["zh.html"] = "概览", ["playground.html"] = "Playground" }

-- A title as the index has it: without what follows a colon.
local function short(page)
  return TITLES[page.html] or text_of((page.title:gsub(":.*", ""):gsub("\239\188\154.*", "")))
end

local function is_chinese(html) return html:find "^zh%." or html:find("zh-CN", 1, true) end

local function grouped(pages)
  local by_name, groups = {}, {}
  for _, page in ipairs(pages) do by_name[page.html:match "^(.*)%.html$"] = page end
  for i, names in ipairs(GROUPS) do
    groups[i] = { title = names[1] }
    for k = 2, #names do
      table.insert(groups[i], by_name[names[k]])
      by_name[names[k]] = nil
    end
  end
  for _, page in ipairs(pages) do
    if by_name[page.html:match "^(.*)%.html$"] then
      table.insert(groups[is_chinese(page.html) and 2 or #groups - 1], page)
    end
  end
  return groups
end

local function menu(now, pages)
  local items, groups = {}, grouped(pages)
  if is_chinese(now) then table.insert(groups, 1, table.remove(groups, 2)) end -- beside a page in Chinese, those first
  for _, group in ipairs(groups) do
    if group[1] then items[#items + 1] = '<li class="group">' .. group.title .. "</li>" end
    for _, page in ipairs(group) do
      items[#items + 1] = ('<li><a href="%s"%s>%s</a></li>'):format(
        page.html, page.html == now and ' class="now"' or "", short(page))
    end
  end
  return table.concat(items, "\n")
end

-- `scripts`: their files, before the search.
local function frame(html, title, language, pages, body, scripts)
  local search = is_chinese(html) and "搜索" or "Search"
  return head(title, language, "") .. [[
<div class="frame">
<nav>
<details id="menu" open>
<summary>aoi</summary>
]] .. ('<input type="search" id="search" placeholder="%s" aria-label="%s">\n'):format(search, search) .. [[
<ul id="found"></ul>
<ul id="pages">
]] .. menu(html, pages) .. [[

</ul>
</details>
</nav>
<main>
]] .. body .. [[
</main>
</div>
]] .. scripts .. [[
<script src="search.js"></script>
</body>
</html>
]]
end

--- A page with the index of all beside it. `programs`: what the buttons of its snippets run, as text in JSON;
--- page.other: the same page in the other language.
function layout.page(page, pages, playground, programs)
  local title = page.html == "index.html" and "aoi" or text_of(page.title) .. " - aoi"
  local language = page.other and ('<p class="language"><a href="%s">%s</a></p>\n')
    :format(page.other, is_chinese(page.html) and "English" or "中文") or ""
  local scripts = programs[1] and "<script>const programs = [\n" .. table.concat(programs, ",\n")
    .. '\n];</script>\n<script src="run.js"></script>\n' or ""
  return frame(page.html, title, is_chinese(page.html) and "zh-CN" or "en",
    playground and layout.with_playground(pages) or pages, language .. page.body, scripts)
end

--- The list of pages with the playground, which is made of no Markdown.
function layout.with_playground(pages)
  local all = { { html = "playground.html", title = "Playground" } }
  for _, page in ipairs(pages) do all[#all + 1] = page end
  return all
end

function layout.playground(pages)
  return frame("playground.html", "Playground - aoi", "en", layout.with_playground(pages),
    read "js/playground/page.html", '<script src="run.js"></script>\n<script src="playground.js"></script>\n')
end

--- A page without an index, in a folder of files.
function layout.bare(path, body)
  local up = ("../"):rep(select(2, path:gsub("/", "")) + 2)
  local title = text_of(path)
  return head(title, "en", up) .. "<main><h1>" .. title .. "</h1>\n" .. body .. "</main></body></html>\n"
end

return layout
