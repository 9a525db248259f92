-- The page without data: HTML, style and scripts of js/viewer and the decoder js/aoi-sync.js, joined to one text.
--
--   installed   beside this file, in assets/       in a checkout   in js/ at its root

local read_file = require "aoi.read_file"

local assets = {}

local SCRIPTS = {
  "aoi-sync.js", "blocks.js", "world.js", "rule.js", "recording.js", "draw.js", "timeline.js", "live.js", "story.js",
  "app.js", "input.js",
}

local function asset(name)
  local here = debug.getinfo(1, "S").source:match("^@(.*)assets%.lua$")
  local root = here and here .. "../../../js/"
  for _, folder in ipairs { here and here .. "assets/", root and root .. "viewer/", root } do
    local text = read_file(folder .. name)
    if text then return text end
  end
  error(("aoi.viewer: the file '%s' of the page is not installed"):format(name), 0)
end

local head, tail

local function make()
  local scripts = {}
  for i, name in ipairs(SCRIPTS) do scripts[i] = asset(name) end
  local html = asset("page.html")
  -- Not gsub, since the text may contain "%".
  local function put(mark, text)
    local from, to = html:find(mark, 1, true)
    html = html:sub(1, from - 1) .. text .. html:sub(to + 1)
  end
  put("/*AOI-STYLE*/", asset("page.css"))
  put("/*AOI-SCRIPT*/", table.concat(scripts, ";\n"))
  local from, to = html:find("<!--AOI-DATA-->", 1, true)
  head, tail = html:sub(1, from - 1), html:sub(to + 1)
end

--- The parts of the page before and after its data.
function assets.page()
  if not head then make() end
  return head, tail
end

return assets
