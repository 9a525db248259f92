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

--- A page with the index of all beside it.
function layout.page(page, pages)
  local items = {}
  for i, other in ipairs(pages) do
    items[i] = ('<li><a href="%s"%s>%s</a></li>'):format(other.html, other == page and ' class="now"' or "",
      other.html == "index.html" and "Overview" or other.html == "zh.html" and "中文" or text_of(other.title))
  end
  local title = page.html == "index.html" and "aoi" or text_of(page.title) .. " - aoi"
  return head(title, page.html == "zh.html" and "zh-CN" or "en", "") .. [[
<div class="frame">
<nav>
<details id="menu" open>
<summary>aoi</summary>
<input type="search" id="search" placeholder="Search" aria-label="Search">
<ul id="found"></ul>
<ul id="pages">
]] .. table.concat(items, "\n") .. [[

</ul>
</details>
</nav>
<main>
]] .. page.body .. [[
</main>
</div>
<script src="search.js"></script>
</body>
</html>
]]
end

--- A page without an index, in a folder of files.
function layout.bare(path, body)
  local up = ("../"):rep(select(2, path:gsub("/", "")) + 2)
  local title = text_of(path)
  return head(title, "en", up) .. "<main><h1>" .. title .. "</h1>\n" .. body .. "</main></body></html>\n"
end

return layout
