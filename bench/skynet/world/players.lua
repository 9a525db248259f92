-- The players of a world that goes on, in a process of their own that has no part in it: each has a connection to one
-- of the watchers, over which it gets its client view, and keeps the picture that its messages make. An empty message
-- asks for the picture: entities that it has, and for each its id and position.
--
--   players(nodes, services, views, port_of): the connections begin; a lost one is made again. Returns losses, a set of
-- counts by node that the caller may reset.
local skynet = require "skynet"
local socket = require "skynet.socket"
local sync = require "aoi.sync"

local function apply(picture, message, into)
  local news = assert(sync.read(message, into))
  if news.anew then for id in pairs(picture) do picture[id] = nil end end
  for i = 1, news.gone.n do picture[news.gone[i]] = nil end
  for i = 1, 4 * news.appeared.n, 4 do picture[news.appeared[i]] = { news.appeared[i + 2], news.appeared[i + 3] } end
  for i = 1, 3 * news.moved.n, 3 do
    local it = picture[news.moved[i]]
    if it then it[1], it[2] = news.moved[i + 1], news.moved[i + 2] end
  end
end

local function tell(fd, picture)
  local rows = {}
  for id, it in pairs(picture) do rows[#rows + 1] = string.pack("<i8dd", id, it[1], it[2]) end
  socket.write(fd, string.pack("<I4", #rows) .. table.concat(rows))
end

-- Until the connection ends.
local function listen(fd)
  local picture, into = {}, {}
  while true do
    local head = socket.read(fd, 4)
    local size = head and string.unpack(">I4", head)
    local message = size and size > 0 and socket.read(fd, size)
    if not size or not message and size > 0 then return end
    if message then apply(picture, message, into) else tell(fd, picture) end
  end
end

return function(nodes, services, views, port_of)
  local losses = {}
  local function play(i)
    local service = (i - 1) % services + 1
    local node = nodes[(service - 1) % #nodes + 1]
    while true do
      local fd = socket.open("127.0.0.1", port_of(service))
      if fd then
        socket.write(fd, ("%d\n"):format((i - 1) // services))
        listen(fd)
        socket.close(fd)
        losses[node] = (losses[node] or 0) + 1
      end
      skynet.sleep(50)
    end
  end
  for i = 1, views do skynet.fork(play, i) end
  return losses
end
