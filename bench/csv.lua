-- csv.lua: writes and reads tables of comma-separated values (RFC 4180) with a line of names on top. Text in quotes is
-- never a number: a commit may be 4326e75917.
local csv = {}

local function quoted(value)
  if type(value) == "number" then return ("%.10g"):format(value) end
  local text = tostring(value == nil and "" or value)
  if tonumber(text) or text:find('[,"\r\n]') then return '"' .. text:gsub('"', '""') .. '"' end
  return text
end

function csv.line(values, count)
  local out = {}
  for i = 1, count or #values do out[i] = quoted(values[i]) end
  return table.concat(out, ",") .. "\n"
end

--- One line of text for each row, which is a table by the names of columns.
function csv.write(columns, rows)
  local out = { csv.line(columns) }
  for _, row in ipairs(rows) do
    local values = {}
    for i, name in ipairs(columns) do values[i] = row[name] end
    out[#out + 1] = csv.line(values, #columns)
  end
  return table.concat(out)
end

-- The fields of all lines, below the first one numbers as numbers; nil and a reason if the text is not well-formed.
local function fields(text)
  local lines, line, at = {}, {}, 1
  while at <= #text do
    local field, stop
    if text:sub(at, at) == '"' then
      local from = at + 1
      repeat
        stop = text:find('"', from, true)
        if not stop then return nil, "a quote is not closed" end
        from = stop + 2
      until text:sub(stop + 1, stop + 1) ~= '"'
      field, at = text:sub(at + 1, stop - 1):gsub('""', '"'), stop + 1
    else
      stop = text:find("[,\n]", at) or #text + 1
      field, at = text:sub(at, stop - 1), stop
      field = lines[1] and tonumber(field) or field
    end
    line[#line + 1] = field
    local separator = text:sub(at, at)
    if separator == "\n" or separator == "" then
      lines[#lines + 1] = line
      line = {}
    elseif separator ~= "," then
      return nil, ("line %d: text behind a quote"):format(#lines + 1)
    end
    at = at + 1
  end
  return lines
end

--- Rows by the names of columns, numbers as numbers, and the list of names.
function csv.read(text)
  local lines, why = fields(text)
  if not lines then return nil, why end
  local columns, rows = lines[1] or {}, {}
  for i = 2, #lines do
    if #lines[i] ~= #columns then return nil, ("line %d: %d fields, not %d"):format(i, #lines[i], #columns) end
    local row = {}
    for k, name in ipairs(columns) do row[name] = lines[i][k] end
    rows[#rows + 1] = row
  end
  return rows, columns
end

return csv
