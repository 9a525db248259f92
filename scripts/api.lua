-- api.lua: the annotations of the Lua files as one page of Markdown. Used by docs.lua.
--
-- A block of `---` lines is text, then tags: @param, @return, @overload of functions; @class with @field; @alias. What
-- they say is checked against the code by spec/lua/annotations_spec.lua.
local luacats = require "scripts.luacats"

local api = {}

-- Modules in the order in which a reader meets them; others come behind, by name.
local ORDER = {
  "lua/aoi/meta/aoi.lua", "lua/aoi/meta/area.lua", "lua/aoi/meta/space.lua", "lua/aoi/trigger.lua",
  "lua/aoi/zones.lua", "lua/aoi/neighbors.lua", "lua/aoi/team.lua", "lua/aoi/meta/sync.lua", "lua/aoi/meta/sight.lua",
}

-- How a reader's program calls an instance; others are the name of the class in small letters.
local INSTANCE = { Neighbors = "near" }

local function new_block() return { text = {}, param = {}, ["return"] = {}, field = {}, overload = {} } end

local function read_tag(block, tag, rest)
  if tag == "param" or tag == "field" then
    table.insert(block[tag], (assert(luacats.named(rest), rest)))
  elseif tag == "return" then
    table.insert(block["return"], luacats.typed(rest))
  elseif tag == "overload" then
    table.insert(block.overload, rest)
  elseif tag == "class" then
    block.class, block.parent = rest:gsub("^%(exact%)%s*", ""):match "^([%w_%.]+):?%s*(.*)$"
  elseif tag == "alias" then
    block.alias, block.means = rest:match "^([%w_%.]+)%s+(.*)$"
  elseif tag == "module" then
    block.module = rest
  end
end

-- The blocks of a file, in order.
local function read(path)
  local blocks, block = {}, nil
  for line in io.lines(path) do
    local doc = line:match "^%-%-%-(.*)$"
    local tag, rest
    if doc then
      tag, rest = doc:match "^%s*@([%w_]+)%s*(.*)$"
      block = block or new_block()
      if tag then
        block.tagged = block.tagged or tag ~= "module"
        read_tag(block, tag, rest)
      elseif block.field[1] and block.tagged and doc:find "%S" then -- the text of a field goes on
        local field = block.field[#block.field]
        field.text = field.text .. doc
      else
        table.insert(block.text, (doc:gsub("^ ", "")))
      end
    elseif block then
      block.owner, block.separator, block.name, block.params = line:match "^function ([%w_]+)([%.:])([%w_]+)%((.-)%)"
      if line:find "^return function%(" then -- a file that is one function of its folder's module
        block.owner, block.separator, block.name = path:match "([%w_]+)(/)([%w_]+)%.lua$"
        block.separator = "."
      end
      local constant = line:match "^(aoi%.[%w_]+) = nil"
      block.constant = constant
      blocks[#blocks + 1] = block
      block = nil
    end
  end
  return blocks
end

local function cell(text) return (text:gsub("|", "\\|"):gsub("^%s*$", " ")) end

local function signature(block)
  local prefix = block.owner
  if block.separator == ":" then prefix = INSTANCE[prefix] or prefix:lower() end
  local list = {}
  for i, param in ipairs(block.param) do
    local text = (i > 1 and ", " or "") .. param.name
    list[i] = param.optional and (i > 1 and " [" or "[") .. text .. "]" or text
  end
  return prefix .. block.separator .. block.name .. "(" .. table.concat(list) .. ")"
end

-- The signature of an overload, `fun(self: aoi.Space, id: integer, kind?: integer): ...`.
local function overload_signature(block, text)
  local list, n = {}, 0
  for name, optional in (text:match "^fun(%b())" or "()"):sub(2, -2):gmatch "([%w_]+)(%??):" do
    if name ~= "self" then
      n = n + 1
      local item = (n > 1 and ", " or "") .. name
      list[n] = optional == "?" and " [" .. item .. "]" or item
    end
  end
  local prefix = block.separator == ":" and (INSTANCE[block.owner] or block.owner:lower()) or block.owner
  return prefix .. block.separator .. block.name .. "(" .. table.concat(list) .. ")"
end

local function write_rows(out, head, rows)
  out[#out + 1] = "\n| " .. head .. " | type | |\n|---|---|---|"
  for _, row in ipairs(rows) do
    local name = row.name and "`" .. row.name .. "`" .. (row.optional and " (optional)" or "") or ""
    out[#out + 1] = ("| %s | `%s` | %s |"):format(name, cell(row.type), cell(row.text))
  end
end

local function write_block(out, block)
  local text = table.concat(block.text, "\n")
  if block.module then
    out[#out + 1] = "\n## " .. block.module .. "\n\n" .. text
  elseif block.name then
    out[#out + 1] = "\n### `" .. signature(block) .. "`\n"
    for _, other in ipairs(block.overload) do
      out[#out + 1] = "In two dimensions `" .. overload_signature(block, other) .. "`.\n"
    end
    out[#out + 1] = text
    if block.param[1] then write_rows(out, "argument", block.param) end
    local results = block["return"]
    if #results == 1 and not results[1].text:find "%S" then
      out[#out + 1] = "\nReturns `" .. results[1].type .. "`."
    elseif results[1] then
      for i, row in ipairs(results) do
        row.name = row.text:match "^([%w_]+)" or "result " .. i
        row.text = row.text:gsub("^[%w_]+%s*", "")
      end
      write_rows(out, "result", results)
    end
  elseif block.class then
    out[#out + 1] = "\n### " .. block.class .. "\n\n" .. text
    local parent = block.parent and block.parent:match "[%w_%.]+"
    if parent then out[#out + 1] = "\nIts fields, and those of `" .. parent .. "`." end
    if block.field[1] then write_rows(out, "field", block.field) end
  elseif block.alias then
    out[#out + 1] = "\n### " .. block.alias .. "\n\n" .. text .. "\n\n`" .. block.means .. "`"
  elseif block.constant then
    out[#out + 1] = "\n### `" .. block.constant .. "`\n\n" .. text
  end
end

--- The page.
-- @param paths all Lua files that carry annotations
function api.markdown(paths)
  local out, place = {}, {}
  for i, path in ipairs(ORDER) do place[path] = i end
  table.sort(paths, function(a, b)
    local i, j = place[a] or math.huge, place[b] or math.huge
    if i ~= j then return i < j end
    return a < b
  end)
  out[1] = "# API\n\nMade from the annotations in `lua/`, which editors read, too. "
    .. "[Reference](reference.md) has the same calls in tables."
  for _, path in ipairs(paths) do
    local blocks = read(path)
    for _, block in ipairs(blocks) do write_block(out, block) end
  end
  return table.concat(out, "\n") .. "\n"
end

return api
