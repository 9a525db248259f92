-- compare.lua FOLDER EPOCHS SHARDS: makes the commands of all journals again in one space, epoch by epoch, and compares
-- count and checksum of its events with what the watchers have heard.
package.path = "./bench/skynet/world/?.lua;./?.lua;" .. package.path
local checksum = require "checksum"
local replay = require "spec.world.replay"
local tiles = require "aoi.skynet.world.tiles"

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

local run = replay.new(tiles.plan { size = 1000, reach = 55 }, 2)
local epoch, events, sum = 0, 0, 0
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
  if not more then break end
end

local heard, heard_sum = 0, 0
for i = 3, #arg do
  for line in io.lines(("%s/%s.result"):format(folder, arg[i])) do
    print(line)
    heard = heard + (tonumber(line:match "^events (%-?%d+)") or 0)
    heard_sum = heard_sum + (math.tointeger(tonumber(line:match "^sum (%-?%d+)")) or 0)
  end
end
print(("%d epochs; one space: %d events, checksum %d; the world: %d events, checksum %d"):format(epoch, events, sum,
  heard, heard_sum))
print(heard == events and heard_sum == sum and "EQUAL" or "DIFFERENT")
os.exit(heard == events and heard_sum == sum)
