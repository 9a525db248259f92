-- docs.lua FOLDER: the README and docs/ as a static site in FOLDER, with a search, and the API from the annotations.
--
--   README.md -> index.html   README.zh-CN.md -> zh.html   docs/NAME.md -> NAME.html   annotations -> api.html
--
-- cmark-gfm turns Markdown into HTML. Links between pages become links between HTML files; files of the tree that pages
-- link to are copied to files/. A link that leads nowhere, and a heading that is not there, is an error.
--
-- With build/playground/aoi.js (scripts/playground.sh), the library for browsers, each snippet of Lua has a button that
-- runs it, after those above it on the page, and there is a playground; without it there is neither.
package.path = "./?.lua;" .. package.path
local api = require "scripts.api"
local colour = require "scripts.colour"
local layout = require "scripts.layout"
local snippets = require "spec.support.snippets"

local PLAYGROUND = "build/playground/aoi.js"

local folder = arg[1] or "build/docs"

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function run(command)
  local pipe = assert(io.popen(command .. "; echo $?"))
  local output, code = pipe:read("*a"):match "^(.*)(%d+)\n$"
  pipe:close()
  if code ~= "0" then error(command .. " failed", 0) end
  return output
end

local function list(command)
  local found = {}
  for line in run(command):gmatch "[^\n]+" do found[#found + 1] = line end
  return found
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local function exists(path) return os.rename(path, path) ~= nil end

-- Pages: { path, folder, html, title, markdown } --------------------------------------------------------------------

local pages, by_path = {}, {}

local function add(path, html, markdown)
  local page = { path = path, folder = path:match "^(.*/)" or "", html = html, markdown = markdown or read(path) }
  page.title = page.markdown:match "^#%s+([^\n]+)" or html
  pages[#pages + 1], by_path[path] = page, page
end

-- The first ones, as a reader goes through them; others follow by name.
local FIRST = {
  "guide", "reference", "scripting", "recipes", "engines", "sync", "client", "tick", "sync-wire", "sight", "skynet",
  "world", "operators", "trust", "snapshot", "journal", "why", "command", "viewer", "viewer-wire",
}
local LAST = { "c", "testing", "comparison", "contributing", "house" }

add("README.md", "index.html")
if exists "README.zh-CN.md" then add("README.zh-CN.md", "zh.html") end
local function add_named(names)
  for _, name in ipairs(names) do
    local path = "docs/" .. name .. ".md"
    if exists(path) and not by_path[path] then add(path, name .. ".html") end
  end
end
local others, is_last = {}, {}
for _, name in ipairs(LAST) do is_last[name] = true end
for _, path in ipairs(list "ls docs/*.md") do
  local name = path:match "([^/]+)%.md$"
  if not is_last[name] then others[#others + 1] = name end
end
add_named(FIRST)
add_named(others)
local ANNOTATED = "(grep -rlE '^---@(class|param|alias)' lua; echo lua/aoi/maps.lua) | LC_ALL=C sort"
add("docs/api.md", "api.html", api.markdown(list(ANNOTATED)))
add_named(LAST)

-- Markdown to HTML ----------------------------------------------------------------------------------------------------

local temporary = os.tmpname()

local function to_html(markdown)
  write(temporary, (("\n" .. markdown):gsub("\n<!%-%-.-%-%->", "\n")))
  return run("cmark-gfm --unsafe -e table -e autolink -e strikethrough " .. quote(temporary))
end

local function plain(html)
  return (html:gsub("<[^>]*>", ""):gsub("&lt;", "<"):gsub("&gt;", ">"):gsub("&quot;", '"'):gsub("&amp;", "&"))
end

-- As GitHub does it: small letters, no punctuation but - and _, blanks to hyphens.
local function slug(text)
  return (plain(text):lower():gsub("Ö", "ö"):gsub("[%z\1-\31!-,./:-@%[\\%]%^`{-~]", ""):gsub(" ", "-")
    :gsub("\239\188[\129-\191]", ""):gsub("\227\128[\128-\145]", "")) -- and of Chinese
end

local problems, copied = {}, {}
local function problem(page, format, ...) problems[#problems + 1] = page.path .. ": " .. format:format(...) end

-- "a/b/../c" -> "a/c"
local function normal(path)
  path = path:gsub("^%./", "")
  while path:find "[^/]+/%.%./" do path = path:gsub("[^/]+/%.%./", "", 1) end
  return path
end

local function copy(path)
  if copied[path] then return copied[path] end
  local target = "files/" .. path
  if run("test -d " .. quote(path) .. " && echo d || echo f"):find "d" then
    path, target = path:gsub("/$", ""), target:gsub("/$", "") .. "/index.html"
    local to = quote(folder .. "/files/" .. path)
    run(("mkdir -p %s && cp -R %s/. %s"):format(to, quote(path), to))
    local items = {}
    for _, name in ipairs(list("cd " .. quote(path) .. " && find . -type f ! -name index.html | LC_ALL=C sort")) do
      items[#items + 1] = ('<li><a href="%s">%s</a></li>'):format(name, name:sub(3))
    end
    write(folder .. "/" .. target, layout.bare(path, "<ul>" .. table.concat(items, "\n") .. "</ul>"))
  else
    local to = folder .. "/" .. target
    run(("mkdir -p %s && cp %s %s"):format(quote(to:match "^(.*)/"), quote(path), quote(to)))
  end
  copied[path] = target
  return target
end

local links = {} -- to be checked when all pages have their headings: { page, target page, anchor }

local function link(page, href)
  if href:find "^%a[%w+.-]*:" then return href end
  local decoded = href:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  local path, anchor = decoded:match "^([^#]*)#?(.*)$"
  local target = path == "" and page or by_path[normal(page.folder .. path)]
  if target then
    if anchor ~= "" then links[#links + 1] = { page, target, anchor } end
    return target.html .. (href:match "#.*$" or "")
  end
  local file = normal(page.folder .. path)
  if file == "lua/aoi/meta/" then return "api.html" end -- what is made of them
  if not exists(file) then
    problem(page, "a link to %s, which is not there", href)
    return href
  end
  return copy(file)
end

local function json(text)
  return '"' .. text:gsub('[%c"\\<]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

-- What the button of each snippet runs: the chunk of the page up to its end. What is printed before `mark()` is of the
-- snippets above.
local function programs_of(page)
  if not exists(PLAYGROUND) or snippets.ELSEWHERE[page.path] or page.path == "docs/api.md" then return {} end
  local programs = {}
  for _, chunk in ipairs(snippets.read(page.path)) do
    for _, shown in ipairs(chunk.shown) do
      local lines = { table.unpack(chunk.lines, 1, shown.last) }
      lines[shown.first] = "mark()"
      programs[#programs + 1] = table.concat(lines, "\n")
    end
  end
  return programs
end

-- Code blocks in colours, those of Lua with a button.
local function dress_code(html, programs)
  local n = 0
  return (html:gsub('<pre><code class="language%-(%w+)">(.-)</code></pre>', function(language, code)
    local block = ('<pre><code>%s</code></pre>'):format(colour.html(code, language))
    if language ~= "lua" then return block end
    n = n + 1
    if not programs[n] then return block end
    return ('<div class="snippet">%s<button type="button" data-run="%d">Run</button></div>'):format(block, n)
  end))
end

local function build(page)
  local html, ids = to_html(page.markdown), {}
  page.programs = programs_of(page)
  html = dress_code(html, page.programs)
  html = html:gsub("<h(%d)>(.-)</h%d>", function(level, text)
    local id = slug(text)
    local n = ids[id]
    ids[id] = (n or -1) + 1
    if n then id = id .. "-" .. ids[id] end
    ids[id] = ids[id] or 0
    return ('<h%s id="%s">%s <a class="here" href="#%s" aria-label="link to this section">#</a></h%s>')
      :format(level, id, text, id, level)
  end)
  html = html:gsub('href="([^"]*)"', function(href)
    if href:find "^#" and ids[href:sub(2)] then return end
    return 'href="' .. link(page, href) .. '"'
  end)
  html = html:gsub('src="([^"]*)"', function(src) return 'src="' .. link(page, src) .. '"' end)
  html = html:gsub("<td>(.-)</td>", function(cell) -- figures stay on one line, text has room
    local text = plain(cell)
    local class = text:find "^[%d.,:;/()* %%-]+$" and "figure" or text:find "^▇" and "plot" or #text > 24 and "text"
    cell = cell:gsub("<code>(.-)</code>", function(code) -- a phone breaks long names after these
      return "<code>" .. code:gsub("[/_(.]%f[%w]", "%0<wbr>"):gsub("|", "|<wbr>") .. "</code>"
    end)
    return class and ('<td class="%s">%s</td>'):format(class, cell) or "<td>" .. cell .. "</td>"
  end)
  html = html:gsub("<table>", '<div class="wide"><table>'):gsub("</table>", "</table></div>")
  page.ids, page.body = ids, html
end

-- What the search looks through: a section each.
local function sections_of(page)
  local found, at = {}, 1
  while true do
    local first, last, id, title = page.body:find('<h%d id="([^"]+)">(.-) <a class="here".-</h%d>', at)
    if not first then break end
    local following = page.body:find("<h%d id=", last) or #page.body + 1
    local text = plain(page.body:sub(last + 1, following - 1)):gsub("%s+", " ")
    found[#found + 1] = { url = page.html .. "#" .. id, title = plain(title), page = plain(page.title), text = text }
    at = last + 1
  end
  return found
end

-- The same page in Chinese, and back; the overviews name each other themselves.
for _, page in ipairs(pages) do
  local chinese = by_path[page.path:gsub("%.md$", ".zh-CN.md")]
  if chinese and page.folder == "docs/" then page.other, chinese.other = chinese.html, page.html end
end

run("rm -rf " .. quote(folder) .. " && mkdir -p " .. quote(folder))
local index = {}
for _, page in ipairs(pages) do
  build(page)
  for _, s in ipairs(sections_of(page)) do
    index[#index + 1] = ("[%s,%s,%s,%s]"):format(json(s.url), json(s.title), json(s.page), json(s.text))
  end
end
os.remove(temporary)
for _, l in ipairs(links) do
  if not l[2].ids[l[3]] then problem(l[1], "a link to #%s of %s, which has no such heading", l[3], l[2].path) end
end
local playground = exists(PLAYGROUND)
for _, page in ipairs(pages) do
  local programs = {}
  for i, program in ipairs(page.programs) do programs[i] = json(program) end
  write(folder .. "/" .. page.html, layout.page(page, pages, playground, programs))
end
write(folder .. "/style.css", layout.style)
if playground then
  for html, text in pairs(layout.playgrounds(pages)) do write(folder .. "/" .. html, text) end
  run(("cp %s js/playground/run.js js/playground/playground.js %s"):format(quote(PLAYGROUND), quote(folder)))
end
write(folder .. "/search.js", "const sections = [\n" .. table.concat(index, ",\n") .. "\n];\n" .. layout.search)
for _, text in ipairs(problems) do io.stderr:write(text, "\n") end
if problems[1] then os.exit(1) end
print(("%d pages: %s/index.html"):format(#pages, folder))
