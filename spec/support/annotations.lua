-- The LuaCATS annotations of a Lua file, parsed: its functions, its classes and the types that it names.
local luacats = require "scripts.luacats"

local annotations = {}

local KINDS = { param = true, ["return"] = true, field = true, class = true, alias = true, overload = true }
KINDS.operator, KINDS.meta, KINDS.type = true, true, true

local function read_tag(block, kind, rest)
  if kind == "param" or kind == "field" then
    table.insert(block[kind], (assert(luacats.named(rest), "cannot read @" .. kind .. " " .. rest)))
  elseif kind == "return" then
    table.insert(block["return"], luacats.typed(rest))
  elseif kind == "class" then
    block.class = rest:gsub("^%(exact%)%s*", ""):match "^[%w_%.]+"
    block.parent = rest:match ":%s*([%w_%.]+)"
  elseif kind == "alias" then
    block.alias = rest:match "^[%w_%.]+"
  end
end

-- `functions` by "owner.name" or "Owner:name", `classes` by name, `names` of types: true for those defined here, and
-- `undocumented` functions.
function annotations.read(path)
  local found = { functions = {}, classes = {}, names = {}, undocumented = {} }
  local block
  for line in io.lines(path) do
    local doc = line:match "^%-%-%-(.*)$"
    if doc then
      block = block or { param = {}, ["return"] = {}, field = {}, text = "" }
      local kind, rest = doc:match "^@([%w_]+)%s*(.*)$"
      if kind then
        assert(KINDS[kind], path .. ": unknown annotation @" .. kind)
        read_tag(block, kind, rest)
        if block.class then found.classes[block.class] = block end
        if block.alias then found.names[block.alias] = true end
        for name in rest:gmatch "aoi%.%u%w*" do found.names[name] = found.names[name] or false end
      else
        block.text = block.text .. doc
      end
    else
      local owner, separator, name, params = line:match "^function ([%w_]+)([%.:])([%w_]+)%((.-)%)"
      if owner then
        local f = block or {}
        f.owner, f.name, f.method, f.params = owner, name, separator == ":", {}
        for param in params:gmatch "[%w_%.]+" do table.insert(f.params, param) end
        if block then found.functions[owner .. separator .. name] = f else table.insert(found.undocumented, line) end
      end
      local constant = line:match "^aoi%.([%w_]+) = nil"
      if constant and block then found.functions["aoi." .. constant] = { constant = true } end
      block = nil
    end
  end
  for class in pairs(found.classes) do found.names[class] = true end
  return found
end

function annotations.keys(t, prefix)
  local list = {}
  for key, value in pairs(t) do
    if type(key) == "string" and not key:match "^_" and (type(value) == "function" or prefix == nil) then
      list[#list + 1] = (prefix or "") .. key
    end
  end
  table.sort(list)
  return list
end

-- "trigger.new", "Triggers:add" ... of one owner.
function annotations.owned(found, owner)
  local list = {}
  for key, f in pairs(found.functions) do
    if f.owner == owner then list[#list + 1] = key end
  end
  table.sort(list)
  return list
end

return annotations
