-- luacats.lua: what stands behind a tag of a LuaCATS annotation. For the pages of the manual (api.lua), and for the
-- spec that compares annotations with the code.
local luacats = {}

-- "fun(a: b, c): d rest" -> the type, the rest.
local function split_type(text)
  local depth = 0
  for i = 1, #text do
    local c = text:sub(i, i)
    if c:match "[%(<{]" then depth = depth + 1 end
    if c:match "[%)>}]" then depth = depth - 1 end
    local inside = depth > 0 or text:sub(1, i - 1):match "[:,]$"
    if c == " " and not inside then return text:sub(1, i - 1), text:sub(i + 1) end
  end
  return text, ""
end

--- What stands behind @return: { type, text }.
function luacats.typed(rest)
  local kind, text = split_type(rest)
  return { type = kind, text = text }
end

--- What stands behind @param and @field: { name, optional, type, text }; nil if it cannot be read.
function luacats.named(rest)
  local name, optional, tail = rest:match "^([%w_]+)(%??)%s+(.+)$"
  if not name then return nil end
  local row = luacats.typed(tail)
  row.name, row.optional = name, optional == "?"
  return row
end

return luacats
