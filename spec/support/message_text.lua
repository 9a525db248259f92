-- message_text.lua: what a message of aoi.sync says, and a picture, as spec/messages/README.md spells them.
local message_text = {}

local function bits(v) return (string.pack(">d", v):gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

function message_text.hex(bytes) return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

function message_text.bytes(hex) return (hex:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end)) end

local function values_text(values)
  local list = {}
  for name, v in pairs(values) do
    local value = type(v) == "number" and bits(v) or type(v) == "string" and '"' .. message_text.hex(v) or tostring(v)
    list[#list + 1] = message_text.hex(name) .. "=" .. value
  end
  table.sort(list)
  return list
end

-- Row i of a flat list: its first `whole` numbers are integers.
local function row_text(list, i, width, whole, words)
  for k = 0, width - 1 do words[#words + 1] = k < whole and ("%d"):format(list[i + k]) or bits(list[i + k]) end
  return words
end

local function joined(parts) return #parts > 0 and table.concat(parts, ";") or "nothing" end

-- Of a message with so many dimensions.
function message_text.news(news, dims)
  local parts = { news.anew and "anew" or nil }
  local function rows(list, mark, width, whole)
    for i = 1, list.n * width, width do
      parts[#parts + 1] = table.concat(row_text(list, i, width, whole, { mark }), ",")
    end
  end
  for i = 1, news.gone.n do
    local reason = news.gone.reasons[i]
    parts[#parts + 1] = ("g,%d"):format(news.gone[i]) .. (reason > 0 and ("," .. reason) or "")
  end
  rows(news.appeared, "a", 2 + dims, 2)
  rows(news.moved, "m", 1 + dims, 1)
  rows(news.touched, "t", 2, 2)
  rows(news.riding, "r", 2 + dims, 2)
  for i = 1, 2 * news.fields.n, 2 do
    local list = values_text(news.fields[i + 1])
    if #list > 0 then parts[#parts + 1] = ("f,%d,%s"):format(news.fields[i], table.concat(list, ",")) end
  end
  return joined(parts)
end

-- Applies news, as docs/sync-wire.md says.
function message_text.apply(picture, news, dims)
  if news.anew then
    for id in pairs(picture) do picture[id] = nil end
  end
  for i = 1, news.gone.n do picture[news.gone[i]] = nil end
  for i = 1, news.appeared.n * (2 + dims), 2 + dims do
    local it = { news.appeared[i + 1], values = {} }
    for a = 1, dims do it[1 + a] = news.appeared[i + 1 + a] end
    picture[news.appeared[i]] = it
  end
  for i = 1, news.moved.n * (1 + dims), 1 + dims do
    for a = 1, picture[news.moved[i]] and dims or 0 do picture[news.moved[i]][1 + a] = news.moved[i + a] end
  end
  for i = 1, 2 * news.touched.n, 2 do
    if picture[news.touched[i]] then picture[news.touched[i]][1] = news.touched[i + 1] end
  end
  for i = 1, news.riding.n * (2 + dims), 2 + dims do
    local it, carrier = picture[news.riding[i]], news.riding[i + 1]
    if it then it.carrier = carrier ~= 0 and carrier or nil end
    for a = 1, it and carrier ~= 0 and dims or 0 do it[1 + a] = news.riding[i + 1 + a] end
  end
  for i = 1, 2 * news.fields.n, 2 do
    for name, v in pairs(picture[news.fields[i]] and news.fields[i + 1] or {}) do
      picture[news.fields[i]].values[name] = v
    end
  end
end

function message_text.picture(picture, dims)
  local ids, parts = {}, {}
  for id in pairs(picture) do ids[#ids + 1] = id end
  table.sort(ids)
  for i, id in ipairs(ids) do
    local words = row_text(picture[id], 1, 1 + dims, 1, { ("%d"):format(id) })
    if picture[id].carrier then words[#words + 1] = ("on%d"):format(picture[id].carrier) end
    for _, text in ipairs(values_text(picture[id].values)) do words[#words + 1] = text end
    parts[i] = table.concat(words, ",")
  end
  return joined(parts)
end

-- Reads a file of spec/messages with a decoder, `decode(message, parts) -> news or nil, dims`; returns how many lines
-- it has, and a list of "what: expected, got" for those it reads otherwise.
function message_text.check(lines, decode)
  local picture, parts, dims, each, count, wrong = {}, {}, 2, false, 0, {}
  for line in lines do
    local first, expected = line:match "^(%S+) ?(%S*)"
    if first == "each" then each = true
    elseif first and first ~= "#" then
      if each then picture, parts = {}, {} end
      local got = "-"
      if first == "=" then got = message_text.picture(picture, dims)
      else
        local news, axes = decode(message_text.bytes(first), parts)
        if news then
          dims = axes
          got = message_text.news(news, dims)
          message_text.apply(picture, news, dims)
        end
      end
      count = count + 1
      if got ~= expected then wrong[#wrong + 1] = ("%s\n  expected %s\n  got      %s"):format(first, expected, got) end
    end
  end
  return count, wrong
end

return message_text
