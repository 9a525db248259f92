-- compare.lua FOLDER SHARDS NODE...: makes the commands of all journals again in one space, epoch by epoch, and
-- compares count and checksum of its events with what the watchers have heard; and the journals with what the walkers
-- have sent: each walker stands at each place that it was sent to, in that order, and at the last one in the end. Only
-- where it changes hands may a place be left out, as a newer one has come before it. With client views all requests
-- that were made about an entity are those that were accepted, in that order, and each message of each player has made
-- the picture that the same message of a synchroniser of the one space makes.
package.path = "./bench/skynet/world/?.lua;./?.lua;" .. package.path
local Client = require "spec.support.client_model"
local checksum = require "checksum"
local picture_sum = require "picture_sum"
local plain = require "aoi.skynet.world.plain"
local replay = require "spec.world.replay"
local tiles = require "aoi.skynet.world.tiles"
local viewed = require "viewed"

local folder, shards = arg[1], tonumber(arg[2])

local files, pending = {}, {}
for i = 1, shards do files[i] = assert(io.open(("%s/journal.%d"):format(folder, i), "rb")) end

local function next_record(i)
  if pending[i] then return pending[i] end
  local head = files[i]:read(8)
  if not head or #head < 8 then return nil end
  local epoch, size = string.unpack("<I4I4", head)
  local line = files[i]:read(size)
  pending[i] = { epoch, line }
  return pending[i]
end

-- Client views -----------------------------------------------------------------------------------------------------

local requests, unlike = {}, 0 -- by entity and node: those made, and which of them is next; accepted ones that differ
local pictures, players = {}, {} -- by entity: checksums after each message, and which is next; of the one space
local messages, wrong = 0, 0

local function each_line(pattern, f)
  local pipe = assert(io.popen(("cat '%s'/%s 2>/dev/null"):format(folder, pattern)))
  for line in pipe:lines() do f(line) end
  pipe:close()
end

local function bytes_of(word)
  return (word:gsub("%x%x", function(c) return string.char(tonumber(c, 16)) end))
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

-- An entity's requests are those of one service, a node's overrides, too.
local function subject(id, name, arguments) return name == "override" and ("%d/%d"):format(id, arguments[1]) or id end

each_line("asked.*", function(line)
  local name, id, bytes = line:match "^(%S+) (%S+) (%x*)$"
  local arguments = assert(plain.read(bytes_of(bytes)))
  local key = subject(math.tointeger(tonumber(id)), name, arguments)
  requests[key] = requests[key] or { next = 1 }
  table.insert(requests[key], { name, arguments })
end)

local function on_request(id, name, arguments)
  local key = subject(id, name, arguments)
  local list = requests[key] or { next = 1 }
  local request = list[list.next]
  if not request or request[1] ~= name or not same(request[2], arguments) then unlike = unlike + 1 end
  requests[key], list.next = list, list.next + 1
end

local seen = io.open(folder .. "/pictures", "rb")
local rows = seen and seen:read "a" or ""
for at = 1, #rows - 15, 16 do
  local id, sum = string.unpack("<i8i8", rows, at)
  pictures[id] = pictures[id] or { next = 1 }
  table.insert(pictures[id], sum)
end

local function on_message(id, bytes)
  players[id] = players[id] or Client.new(2)
  players[id]:apply(bytes)
  local list = pictures[id] or { next = 1 }
  messages, pictures[id] = messages + 1, list
  if list[list.next] ~= picture_sum(players[id].known) then wrong = wrong + 1 end
  list.next = list.next + 1
end

local run = replay.new(tiles.plan { size = 1000, reach = 55 }, 2, {
  quantum = viewed.quantum, fields = viewed.fields, sight = tonumber(os.getenv "WALLS" or 0) > 0,
  asked = on_request, hear = on_message,
})
local epoch, events, sum = 0, 0, 0

local walkers = {} -- each: id, the bytes of its file, where the place in it is that it stands at, bytes of a step
local function read_sent()
  local pipe = assert(io.popen(("ls '%s'/sent.*"):format(folder)))
  local firsts = {}
  for path in pipe:lines() do firsts[#firsts + 1] = math.tointeger(tonumber(path:match "%.(%d+)$")) end
  pipe:close()
  table.sort(firsts)
  for i, first in ipairs(firsts) do
    local file = assert(io.open(("%s/sent.%d"):format(folder, first), "rb"))
    local bytes, count = file:read "a", firsts[2] and firsts[2] - firsts[1] or nil
    file:close()
    count = count or tonumber(os.getenv "WALKERS") // 4
    for k = 0, count - 1 do
      walkers[#walkers + 1] = { id = first + k, bytes = bytes, at = 16 * k + 1, step = 16 * count, file = i }
    end
  end
end

-- Of the walker: how many places it has left out since the last time, nil where it stands at none that it was sent to.
local function follow(space, w)
  local x, y = space:position(w.id)
  if not x then return 0 end
  local left_out = -1 -- it stands there already, or enters: a move in the same epoch comes before that
  for at = w.at, #w.bytes, w.step do
    local sent_x, sent_y = string.unpack("<dd", w.bytes, at)
    if sent_x == x and sent_y == y then
      w.at = at
      return math.max(0, left_out)
    end
    left_out = left_out + 1
  end
end

read_sent()
local left_out, astray = 0, 0
while true do
  epoch = epoch + 1
  local more = false
  for i = 1, shards do
    local record = next_record(i)
    while record and record[1] == epoch do
      run:take(epoch, record[2])
      pending[i] = nil
      record = next_record(i)
    end
    more = more or record ~= nil
  end
  local drained, n = run:epoch(epoch)
  for k = 1, 4 * n, 4 do sum = sum + checksum(drained[k], drained[k + 1], drained[k + 2], drained[k + 3]) end
  events = events + n
  for _, w in ipairs(walkers) do
    local more_left_out = follow(run.space, w)
    if not more_left_out then astray = astray + 1 end
    left_out = left_out + (more_left_out or 0)
  end
  if not more then break end
end

local unfinished, steps = 0, 0
for _, w in ipairs(walkers) do
  if w.at + w.step <= #w.bytes then unfinished = unfinished + 1 end
  steps = steps + #w.bytes // w.step
end

local heard, heard_sum, handed = 0, 0, 0
for i = 3, #arg do
  for line in io.lines(("%s/%s.result"):format(folder, arg[i])) do
    print(line)
    heard = heard + (tonumber(line:match "^events (%-?%d+)") or 0)
    handed = handed + (tonumber(line:match "(%d+) handed over") or 0)
    heard_sum = heard_sum + (math.tointeger(tonumber(line:match "^sum (%-?%d+)")) or 0)
  end
end
print(("%d epochs; one space: %d events, checksum %d; the world: %d events, checksum %d"):format(epoch, events, sum,
  heard, heard_sum))
print(("%d moves sent; %d left out in %d hand-overs, %d places that were not sent, %d walkers not at their last place")
  :format(steps, left_out, handed, astray, unfinished))
local made, missing, more = 0, 0, 0 -- requests that were made, and not accepted; messages beyond those of one space
for _, list in pairs(requests) do made, missing = made + #list, missing + math.abs(#list + 1 - list.next) end
for _, list in pairs(pictures) do more = more + math.abs(#list + 1 - list.next) end
if #rows > 0 then
  local views = 0
  for _ in pairs(pictures) do views = views + 1 end
  print(("%d requests made, %d accepted that were not, %d not accepted"):format(made, unlike, missing))
  print(("%d players, %d messages: %d pictures of one space DIFFERENT, %d messages too many or too few"):format(views,
    messages, wrong, more))
end
local equal = heard == events and heard_sum == sum and left_out <= handed and astray == 0 and unfinished == 0
  and unlike + missing + wrong + more == 0
print(equal and "EQUAL" or "DIFFERENT")
os.exit(equal)
