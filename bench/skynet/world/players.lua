-- The players of a world that goes on, in a process of their own that has no part in it: each has a connection to one
-- of the watchers, over which it gets its client view, and keeps the picture that its messages make. An empty message
-- asks for the picture: entities that it has, and for each its id and position.
--
--   players(nodes, services, views, port_of [, path, walkers]): the connections begin; a lost one is made again.
-- Returns losses, a set of counts by node that the caller may reset. For each message the entity and a checksum of the
-- picture that it has made go to that file.
local skynet = require "skynet"
local socket = require "skynet.socket"
local Client = require "spec.support.client_model"
local picture_sum = require "picture_sum"
local viewed = require "viewed"

local function tell(fd, picture)
  local rows = {}
  for id, it in pairs(picture) do rows[#rows + 1] = string.pack("<i8dd", id, it[1], it[2]) end
  socket.write(fd, string.pack("<I4", #rows) .. table.concat(rows))
end

-- Until the connection ends.
local function listen(fd, note)
  local player = Client.new(2)
  while true do
    local head = socket.read(fd, 4)
    local size = head and string.unpack(">I4", head)
    local message = size and size > 0 and socket.read(fd, size)
    if not size or not message and size > 0 then return end
    if message then player:apply(message) else tell(fd, player.known) end
    if message and note then note(picture_sum(player.known)) end
  end
end

return function(nodes, services, views, port_of, path, walkers)
  local losses, file = {}, path and assert(io.open(path, "wb"))
  local function play(i)
    local service = (i - 1) % services + 1
    local node = nodes[(service - 1) % #nodes + 1]
    local id = file and viewed.id(walkers, services, service, (i - 1) // services)
    local note = file and function(sum) file:write(string.pack("<i8i8", id, sum)) end
    while true do
      local fd = socket.open("127.0.0.1", port_of(service))
      if fd then
        socket.write(fd, ("%d\n"):format((i - 1) // services))
        listen(fd, note)
        socket.close(fd)
        losses[node] = (losses[node] or 0) + 1
      end
      skynet.sleep(50)
    end
  end
  for i = 1, views do skynet.fork(play, i) end
  if file then
    skynet.fork(function()
      while true do
        file:flush()
        skynet.sleep(50)
      end
    end)
  end
  return losses
end
