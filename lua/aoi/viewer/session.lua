-- The frames for one live page, independent of sockets.
--
--   query of the page --receive--> selection          frame(now) --> blocks, or nil without any change
--
--   { watcher = "12", target = "7", structure = "x0,y0,x1,y1" }      a query; all fields are optional
--
-- A page that has not received its last frame gets no new one: later changes are part of the next frame.

local aoi = require "aoi"
local blocks = require "aoi.viewer.blocks"
local json = require "aoi.viewer.json"

local Session = {}
Session.__index = Session

local EVENTS = 512          -- in a frame
local NODES_AT_ONCE = 2000  -- about this many are examined for a frame
local MOST_PARTS = 3000
local STRUCTURE_EVERY = 0.5 -- seconds
local MOST_VIEW = 2000
local CROWD = 3000          -- entities; with more the interval between frames grows in proportion

local function integer(text)
  local id = type(text) == "string" and #text < 24 and text:find("^%-?%d+$") and tonumber(text)
  if not id then return nil end
  if math.type then return math.tointeger(id) end
  return id >= -9007199254740992 and id <= 9007199254740992 and id or nil
end

--- A session for a new page. options: `title`.
function Session.new(space, options)
  local stats = space:stats()
  local head = { what = "head", live = true, title = options.title or "live", exact = false }
  return setmetatable({
    space = space, wants = {}, structure_at = -math.huge, tick = 0,
    greeting = blocks.block("J", json.encode(head)),
    observer = aoi.observe(space, { events = EVENTS, share = math.max(1, math.ceil(stats.nodes / NODES_AT_ONCE)) }),
  }, Session)
end

local NUMBER = "(%-?[%d.]+e?[+-]?%d*)"
local RECTANGLE = "^" .. (NUMBER .. ","):rep(3) .. NUMBER .. "$"

-- Parses four finite numbers; returns nil for other texts.
local function rectangle(text)
  local region = { (text or ""):match(RECTANGLE) }
  for i = 1, 4 do
    region[i] = tonumber(region[i])
    if not region[i] or region[i] - region[i] ~= 0 then return nil end
  end
  return region
end

--- Sets the page's selection; malformed fields count as absent.
function Session:receive(query)
  local region, had = rectangle(query.structure), self.wants.region
  self.wants = { watcher = integer(query.watcher), target = integer(query.target), region = region }
  if region and not had then self.structure_at = -math.huge end
  self.asked = true
end

local function list_of(ids, n)
  local list = {}
  for i = 1, math.min(n, MOST_VIEW) do list[i] = json.id(ids[i]) end
  return list
end

-- The targets of the selected entity, its viewers, and an explanation for the selected target.
function Session:answer()
  local space, watcher, target = self.space, self.wants.watcher, self.wants.target
  if not watcher or not space:has(watcher) then return nil end
  local nodes, viewers, n = {}, space:viewers(watcher)
  for i, node in ipairs((space:nodes(watcher))) do
    nodes[i] = { node = json.id(node), view = list_of(space:view(watcher, node)) }
    if target then
      local it = space:explain(watcher, node, target)
      nodes[i].text, nodes[i].sees, nodes[i].why = tostring(it), it.sees, it.why
    end
  end
  self.tick = self.tick + 1
  return json.encode { what = "answer", tick = self.tick, nodes = nodes, viewers = list_of(viewers, 2 * n) }
end

function Session:structure(now)
  local region = self.wants.region
  if not region or now - self.structure_at < STRUCTURE_EVERY then return "" end
  self.structure_at = now
  local x, y
  if self.wants.watcher then x, y = self.space:position(self.wants.watcher) end
  if not x then x, y = (region[1] + region[3]) / 2, (region[2] + region[4]) / 2 end
  return self.observer:structure(region[1], region[2], region[3], region[4], MOST_PARTS, x, y)
end

--- The bytes to send at this time in seconds, or nil. Raises an error if the space is closed.
function Session:frame(now)
  local changes = self.observer:changes()
  local structure = self:structure(now)
  if not changes and structure == "" and not self.asked and self.last and now - self.last < 1 then return nil end
  local answer, greeting = self:answer(), self.greeting or ""
  self.greeting, self.last, self.asked = nil, now, nil
  answer = answer and blocks.block("J", answer) or ""
  return greeting .. (changes or "") .. structure .. blocks.tick(now) .. answer -- one copy
end

--- The time until the next frame; `least` is that of small spaces. In large ones it grows with the number of entities,
-- so that the host's cost per second does not. The page interpolates positions between frames.
function Session:pause(least) return least * math.max(1, self.space:count() / CROWD) end

function Session:close() self.observer:close() end

return Session
