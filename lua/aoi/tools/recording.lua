-- Reads recorded movement and checks the whole recording before it is used.
--
-- A recording is CSV text, plain or gzipped:
--
--   t,id,x,y        header; `t,id,x,y,z` in three dimensions
--   0.0000,1,-1.88,-3.79
--   0.0000,2,-1.86,-4.26     all rows of one time step together, ids ascending
--   0.0625,1,-1.87,-3.75     t never goes back
--
-- An entity is present at a step if it has a row there. The result is an array of steps, each a flat array
-- `id, x, y[, z], id, x, y[, z], ...`, as `space:enter_many` and `space:move_many` take it:
--
--   { name = "crowd.csv", dimensions = 2, rows = 3, most = 2, { t = 0, n = 2, 1, -1.88, ... }, { t = 0.0625, ... } }
--
-- The first error is returned as `nil, "FILE:LINE: reason"`.

local read_file = require "aoi.read_file"

local recording = {}

local find, match, sub = string.find, string.match, string.sub
local EXACT = 9007199254740992 -- 2^53: beyond it doubles do not hold every integer

-- Input for an error message: at most 40 bytes, without control characters.
local function shown(text)
  if #text > 40 then text = sub(text, 1, 40) .. "..." end
  return "'" .. text:gsub("[^\32-\126]", "?") .. "'"
end

-- Decimal notation only: `tonumber` alone accepts hexadecimal numbers, and "nan" and "inf" on LuaJIT.
local function number(text)
  local value = find(text, "^[+-]?%d*%.?%d*[eE]?[+-]?%d*$") and tonumber(text)
  if not value then return nil, "is not a number" end
  value = value + 0.0
  if value - value ~= 0 then return nil, "is too large" end
  return value
end

local function coordinate(text)
  local value, fault = number(text)
  if value and math.abs(value) > 2 ^ 50 then return nil, "is too large" end
  return value, fault
end

local function integer(text)
  local value = find(text, "^-?%d+$") and tonumber(text)
  if not value then return nil, "is not an integer" end
  if math.type then
    if math.type(value) ~= "integer" then return nil, "is too large" end
  elseif value > EXACT or value < -EXACT then
    return nil, "is too large"
  end
  return value + 0 -- -0 is 0
end

local FIELDS = {
  { "t", number },
  { "id", integer },
  { "x", coordinate },
  { "y", coordinate },
  { "z", coordinate },
}
local ROW = {
  [2] = "^([^,]*),([^,]*),([^,]*),([^,]*)$",
  [3] = "^([^,]*),([^,]*),([^,]*),([^,]*),([^,]*)$",
}

-- Reads one row as numbers into `into`; returns the error, or nil.
local function row(line, columns, into)
  local texts = into.texts
  texts[1], texts[2], texts[3], texts[4], texts[5] = match(line, ROW[columns])
  if not texts[1] then return "a row of " .. columns + 2 .. " fields expected, found " .. shown(line) end
  for i = 1, columns + 2 do
    local value, why = FIELDS[i][2](texts[i])
    if not value then return FIELDS[i][1] .. " " .. why .. ": " .. shown(texts[i]) end
    into[i] = value
  end
end

--- Reads a recording from text.
-- @param text the whole CSV, not compressed
-- @param name the name for error messages
-- @param dimensions 2 ignores a z column, 3 requires it; without it the header decides
-- @return the recording, or nil and "NAME:LINE: reason"
function recording.parse(text, name, dimensions)
  local columns
  local rec = { name = name, rows = 0, most = 0 }
  local step, stride
  local values, last_t, last_id = { texts = {} }, nil, nil
  local at, size, count = 1, #text, 0

  local function wrong(why) return nil, name .. ":" .. count .. ": " .. why end

  while at <= size do
    local stop = find(text, "\n", at, true) or size + 1
    local line = sub(text, at, stop - 1)
    if sub(line, -1) == "\r" then line = sub(line, 1, -2) end
    at, count = stop + 1, count + 1

    if count == 1 then
      columns = line == "t,id,x,y" and 2 or line == "t,id,x,y,z" and 3
      if not columns then return wrong("header 't,id,x,y' or 't,id,x,y,z' expected, found " .. shown(line)) end
      if dimensions and dimensions > columns then return wrong("there is no z in it") end
      rec.dimensions = dimensions or columns
      stride = rec.dimensions + 1
    else
      local why = row(line, columns, values)
      if why then return wrong(why) end
      local t, id = values[1], values[2]
      if t ~= last_t then
        if last_t and t < last_t then return wrong("t goes back: " .. shown(values.texts[1])) end
        step = { t = t, n = 0 }
        rec[#rec + 1] = step
      elseif id <= last_id then
        return wrong((id == last_id and "this id stands twice in its step: " or "ids do not ascend: ")
          .. shown(values.texts[2]))
      end
      last_t, last_id = t, id
      local base = step.n * stride
      for i = 1, stride do step[base + i] = values[i + 1] end
      step.n = step.n + 1
      rec.rows = rec.rows + 1
      if step.n > rec.most then rec.most = step.n end
    end
  end
  if count == 0 then
    count = 1
    return wrong("the file is empty, a header 't,id,x,y' or 't,id,x,y,z' expected")
  end
  return rec
end

-- The text of a gzip file. The whole file is tested first, so that a damaged file is an error, not a shorter text.
local function gunzip(path)
  local quoted = "'" .. path:gsub("'", "'\\''") .. "'"
  local ok = os.execute("gzip -t <" .. quoted .. " 2>/dev/null")
  if ok ~= true and ok ~= 0 then return nil, "gzip cannot read it: damaged, or there is no gzip" end
  local pipe, why = io.popen("gzip -dc <" .. quoted, "r")
  if not pipe then return nil, why end
  local text = pipe:read("*a")
  pipe:close()
  return text
end

--- Reads a recording from a file, gzipped or not.
-- @param path the file's name
-- @param dimensions as for @{parse}
-- @return the recording, or nil and "FILE:LINE: reason", or "FILE: reason" if the error is in no single line
function recording.read(path, dimensions)
  if find(path, "\0", 1, true) then return nil, shown(path) .. ": not a file name" end
  local text, why = read_file(path)
  if not text then return nil, why end
  if sub(text, 1, 2) == "\31\139" then
    text, why = gunzip(path)
    if not text then return nil, path .. ": " .. why end
  elseif find(path, "%.gz$") and text ~= "" then
    return nil, path .. ": not a gzip file"
  end
  return recording.parse(text, path, dimensions)
end

return recording
