-- layout.lua: the frame around each page of the documentation. Used by docs.lua. Nothing is loaded from elsewhere.
local layout = {}

local unpack = table.unpack or unpack -- luacheck: ignore

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

-- The index: groups of pages by the names of their files, which in Chinese end in .zh-CN; a page that no group names is
-- in the last but one.
local GROUPS = {
  { "Begin", "开始", "index", "guide", "playground", "recipes", "why" },
  { "The library", "库", "reference", "api", "engines", "scripting", "sight", "sync", "client", "tick" },
  { "Servers", "服务器", "skynet", "world", "operators", "trust", "snapshot", "journal", "command", "viewer" },
  { "More", "更多", "sync-wire", "viewer-wire", "c" },
  { "The project", "项目", "comparison", "stability", "testing", "contributing", "house" },
}

local TITLES = { ["index.html"] = "Overview", ["zh.html"] = "概览" }

-- What a reader of Chinese reads of the pages that there are in English alone.
local ENGLISH = {
  ["api.html"] = "API（英文）", ["viewer-wire.html"] = "查看器的块（英文）",
  ["testing.html"] = "保证（英文）",
  ["contributing.html"] = "参与开发（英文）",
  ["house.html"] = "架构（英文）",
}

-- A title as the index has it: without what follows a colon.
local function short(page, chinese)
  return TITLES[page.html] or chinese and ENGLISH[page.html]
    or text_of((page.title:gsub(":.*", ""):gsub("\239\188\154.*", "")))
end

local function is_chinese(html) return (html:find "^zh%." or html:find("zh-CN", 1, true)) ~= nil end

-- The name of a page without its language.
local function name_of(page) return page.html == "zh.html" and "index" or page.html:match "^(.-)%.[zh]" end

-- A reader of one language has its pages; of Chinese, also those that there are in English alone.
local function menu(now, pages)
  local items, chinese, by_name, named = {}, is_chinese(now), {}, {}
  for _, page in ipairs(pages) do
    local name = name_of(page)
    if is_chinese(page.html) == chinese or chinese and not by_name[name] then by_name[name] = page end
  end
  for _, group in ipairs(GROUPS) do
    for k = 3, #group do named[group[k]] = true end
  end
  for i, group in ipairs(GROUPS) do
    items[#items + 1] = '<li class="group">' .. group[chinese and 2 or 1] .. "</li>"
    local names = { unpack(group, 3) }
    for _, page in ipairs(i == #GROUPS - 1 and pages or {}) do
      local name = name_of(page)
      if by_name[name] == page and not named[name] then names[#names + 1] = name end
    end
    for _, name in ipairs(names) do
      local page = by_name[name]
      if page then
        items[#items + 1] = ('<li><a href="%s"%s>%s</a></li>'):format(
          page.html, page.html == now and ' class="now"' or "", short(page, chinese))
      end
    end
  end
  items[#items + 1] = chinese and '<li class="group"><a href="index.html">English</a></li>'
    or '<li class="group"><a href="zh.html">中文</a></li>'
  return table.concat(items, "\n")
end

-- The sections of a long page, below its title.
local LONG = 6
local function contents(page)
  local items = {}
  for id, title in page.body:gmatch '<h2 id="([^"]+)">(.-) <a class="here"' do
    items[#items + 1] = ('<li><a href="#%s">%s</a></li>'):format(id, title)
  end
  if #items < LONG or page.html == "index.html" or page.html == "zh.html" then return page.body end
  local list = '<ul class="contents">' .. table.concat(items, "\n") .. "</ul>\n"
  return (page.body:gsub("</h1>\n", function(heading) return heading .. list end, 1))
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

local function other_language(html)
  return ('<p class="language"><a href="%s">%s</a></p>\n'):format(html, is_chinese(html) and "中文" or "English")
end

--- A page with the index of all beside it. `programs`: what the buttons of its snippets run, as text in JSON;
--- page.other: the same page in the other language.
function layout.page(page, pages, playground, programs)
  local title = page.html == "index.html" and "aoi" or text_of(page.title) .. " - aoi"
  local language = page.other and other_language(page.other) or ""
  local scripts = programs[1] and "<script>const programs = [\n" .. table.concat(programs, ",\n")
    .. '\n];</script>\n<script src="run.js"></script>\n' or ""
  return frame(page.html, title, is_chinese(page.html) and "zh-CN" or "en",
    playground and layout.with_playground(pages) or pages, language .. contents(page), scripts)
end

-- The playground, which is made of no Markdown, and the same in Chinese.
local PLAYGROUNDS = {
  { html = "playground.html", other = "playground.zh-CN.html", title = "Playground", language = "en" },
  { html = "playground.zh-CN.html", other = "playground.html", title = "试验场", language = "zh-CN" },
}

--- The list of pages with the playgrounds.
function layout.with_playground(pages)
  local all = { unpack(PLAYGROUNDS) }
  for _, page in ipairs(pages) do all[#all + 1] = page end
  return all
end

--- The files of the playground: { html = text }.
function layout.playgrounds(pages)
  local files = {}
  for _, page in ipairs(PLAYGROUNDS) do
    files[page.html] = frame(page.html, page.title .. " - aoi", page.language, layout.with_playground(pages),
      other_language(page.other) .. read("js/playground/" .. page.html:gsub("^playground", "page")),
      '<script src="run.js"></script>\n<script src="playground.js"></script>\n')
  end
  return files
end

--- A page without an index, in a folder of files.
function layout.bare(path, body)
  local up = ("../"):rep(select(2, path:gsub("/", "")) + 2)
  local title = text_of(path)
  return head(title, "en", up) .. "<main><h1>" .. title .. "</h1>\n" .. body .. "</main></body></html>\n"
end

return layout
