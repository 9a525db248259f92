-- What one live page is sent: independent of sockets.
--
--   the page's query --receive--> what it looks at        frame(now) --> blocks, or nil while there is nothing to say
--
--   { watcher = "12", target = "7", structure = "x0,y0,x1,y1" }      all of them optional
--
-- A page that has not taken its last frame gets none: what has changed meanwhile comes with the next one.

local aoi = require "aoi"
local blocks = require "aoi.viewer.blocks"
local json = require "aoi.viewer.json"

local Session = {}
Session.__index = Session

local EVENTS = 512          -- in a frame
local NODES_AT_ONCE = 2000  -- looked at in a frame, about
local MOST_PARTS = 3000
local STRUCTURE_EVERY = 0.5 -- seconds
local MOST_VIEW = 2000
local CROWD = 3000          -- entities; frames of more come less often, in proportion

local function integer(text)
  local id = type(text) == "string" and #text < 24 and text:find("^%-?%d+$") and tonumber(text)
  if not id then return nil end
  if math.type then return math.tointeger(id) end
  return id >= -9007199254740992 and id <= 9007199254740992 and id or nil
end

local function digits(id) return (math.type and math.type(id) == "integer" and "%d" or "%.0f"):format(id) end

--- A new page. options: `title`, `live_interval`.
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

-- Four finite numbers, or nil.
local function rectangle(text)
  local region = { (text or ""):match(RECTANGLE) }
  for i = 1, 4 do
    region[i] = tonumber(region[i])
    if not region[i] or region[i] - region[i] ~= 0 then return nil end
  end
  return region
end

--- Takes what the page looks at; what is not as it should be counts as absent.
function Session:receive(query)
  local region, had = rectangle(query.structure), self.wants.region
  self.wants = { watcher = integer(query.watcher), target = integer(query.target), region = region }
  if region and not had then self.structure_at = -math.huge end
  self.asked = true
end

local function list_of(ids, n)
  local list = {}
  for i = 1, math.min(n, MOST_VIEW) do list[i] = digits(ids[i]) end
  return list
end

-- What the chosen entity sees, what sees it, and why it sees the other one.
function Session:answer()
  local space, watcher, target = self.space, self.wants.watcher, self.wants.target
  if not watcher or not space:has(watcher) then return nil end
  local nodes, viewers, n = {}, space:viewers(watcher)
  for i, node in ipairs((space:nodes(watcher))) do
    nodes[i] = { node = digits(node), view = list_of(space:view(watcher, node)) }
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

--- What is to be sent at this time, in seconds. Raises an error if the space is closed.
function Session:frame(now)
  local changes = self.observer:changes()
  local structure = self:structure(now)
  if not changes and structure == "" and not self.asked and self.last and now - self.last < 1 then return nil end
  local answer, greeting = self:answer(), self.greeting or ""
  self.greeting, self.last, self.asked = nil, now, nil
  local said = answer and blocks.block("J", answer) or ""
  return greeting .. (changes or "") .. structure .. blocks.tick(now) .. said -- one copy
end

--- How long to wait for the next frame, where `least` is what small spaces wait: so that what the host pays in a second
-- does not grow with the crowd. The page draws what lies between.
function Session:pause(least) return least * math.max(1, self.space:count() / CROWD) end

function Session:close() self.observer:close() end

return Session
