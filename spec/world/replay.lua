-- replay.lua: what the shards of a world have accepted, made again in one space: epoch by epoch, in the order of the
-- phases.
--
--   local replay = replay.new(plan, dimensions [, options])    replay:take(epoch, line) ...
--   options: of client views: quantum, fields, sight = true; hear(id, bytes), what a player is sent; asked(id, name,
--   arguments), each request in order
--   replay:epoch(number)                             what space:drain returns, with the events of nodes with sight
--   replay:seen()                                    the space to be asked
--   replay.replaced[id]                              how many lives of it have ended by the entering of another
local aoi = require "aoi"
local instead = require "spec.support.instead"
local new_sight = require("aoi.sight").new
local new_sync = require("aoi.sync").new
local plain = require "aoi.skynet.plain"
local tiles = require "aoi.skynet.world.tiles"
local wire_reference = require "spec.support.wire_reference"
local world = require "aoi.skynet.native" "world"

local replay = {}
local Replay = {}
Replay.__index = Replay

-- Handlers of nodes with sight: their events join those that the space has drained.
local function hears(run)
  local function put(kind)
    return function(watcher, target, node)
      table.move({ kind, watcher, target, node }, 1, 4, 4 * run.count + 1, run.drained)
      run.count = run.count + 1
    end
  end
  return { enter = put(aoi.ENTER), leave = put(aoi.LEAVE) }
end

function replay.new(plan, dimensions, options)
  local space = aoi.new { engine = "grid", delivery = "deferred", dimensions = dimensions }
  local self = setmetatable({
    space = space, dimensions = dimensions, lines = {}, lives = {}, replaced = {}, drained = {},
    router = world.router(space, tiles.map(plan), 1), -- knows how areas are packed
    reach = plan.reach, sight = new_sight(space), wall_of = {}, count = 0,
  }, Replay)
  self.hears = hears(self)
  if options then
    self.hear, self.asked = options.hear, options.asked
    self.sync = new_sync(space, {
      quantum = options.quantum, fields = options.fields, sight = options.sight and self.sight or nil,
    })
  end
  return self
end

--- Whether both are one area.
function Replay:is_area(a, b) return self.router:pack(a, self.reach) == self.router:pack(b, self.reach) end

function Replay:take(epoch, line)
  local phases = self.lines[epoch]
  if not phases then
    phases = { {}, {}, {}, {}, {}, {}, {} }
    self.lines[epoch] = phases
  end
  local command = assert(plain.read(line))
  table.insert(phases[command[1]], command)
end

local MAKE = {}

function MAKE.leave(self, id, life)
  if self.lives[id] ~= life then return end -- it has been lost before
  self.lives[id] = nil
  self.space:leave(id)
end

-- Every shard says what a wall has become.
function MAKE.wall(self, id, how, ...)
  local sight, number = self.sight, self.wall_of[id]
  if how == "gone" then
    if number then sight:remove_wall(number) end
    self.wall_of[id] = nil
    return
  end
  number = number or sight:wall(...)
  self.wall_of[id] = number
  if how == "open" then sight:open_wall(number) else sight:shut_wall(number) end
end

function MAKE.remove(self, id, node) self.space:remove_node(id, node) end

function MAKE.move(self, id, x, y, z) self.space:move(id, x, y, z) end

function MAKE.rows(self, bytes) self.space:move_many((wire_reference.read_moves(bytes))) end

function MAKE.kind(self, id, kind) self.space:set_kind(id, kind) end

function MAKE.area(self, id, node, area) self.space:set_area(id, node, (self.router:unpack(area))) end

function MAKE.enter(self, id, kind, life, x, y, z)
  if self.lives[id] then -- that it has left was lost, and a ghost of that life may be seen until its home says so
    MAKE.leave(self, id, self.lives[id])
    self.replaced[id] = (self.replaced[id] or 0) + 1
  end
  self.lives[id] = life
  if z then self.space:enter(id, x, y, z, kind) else self.space:enter(id, x, y, kind) end
end

local function is_of_sight(self, id, node) return (pcall(self.sight.sees, self.sight, id, node, id)) end

-- One that has been restored may be there, or one of its name whose end was lost.
function MAKE.add(self, id, node, area)
  local linger
  if type(area) == "table" then area, linger = area[1], area[2] end
  area = self.router:unpack(area)
  local is_here = self.space:area(id, node) ~= nil
  if is_here and is_of_sight(self, id, node) == (linger ~= nil) then
    return self.space:set_area(id, node, area)
  elseif is_here then
    self.space:remove_node(id, node)
  end
  if linger then
    self.sight:add(id, node, area, self.hears, { linger = linger })
  else
    self.space:add_node(id, node, area)
  end
end

local OF_SYNC = { add_client = "add", set_client = "set", remove_client = "remove" }

-- An entity that leaves in the same epoch is not there any more.
MAKE["do"] = function(self, name, id, arguments)
  if not self.space:has(id) then return end
  if self.asked then self.asked(id, name, arguments) end
  if name == "override" then return end -- as the core has it
  if name == "rank" then
    local target, p = table.unpack(arguments)
    return self.space:has(target) and self.sync:set_priority(target, p or nil, id)
  end
  local by = name:find "^set_[el]" and self.space or self.sync
  if by then by[OF_SYNC[name] or name](by, id, table.unpack(arguments)) end
end

function MAKE.override(self, id, node, target, how, life)
  if not self.space:has(target) or not self.space:area(id, node) then return end
  self.space:override(id, node, target, self.lives[target] == life and how or nil)
end

-- It is now as this says, whatever was lost with a shard.
function MAKE.restore(self, id, kind, life, areas, x, y, z)
  local space = self.space
  if not space:has(id) then
    MAKE.enter(self, id, kind, life, x, y, z)
  else
    self.lives[id] = life
    MAKE.move(self, id, x, y, z)
    if space:kind(id) ~= kind then space:set_kind(id, kind) end
  end
  for node, area in pairs(areas) do MAKE.add(self, id, node, area) end
  for _, node in ipairs((space:nodes(id))) do
    if not areas[node] then space:remove_node(id, node) end
  end
end

-- The commands of that epoch; returns what space:drain returns.
function Replay:epoch(number)
  for phase, commands in ipairs(self.lines[number] or {}) do
    if phase == 1 then table.sort(commands, function(a, b) return a[2] > b[2] end) end -- nodes go before entities
    for _, c in ipairs(commands) do MAKE[c[2]](self, table.unpack(c, 3)) end
  end
  self.lines[number] = nil
  self.count = select(2, self.space:drain(self.drained))
  if self.sync then self.sync:tick(self.hear) end
  self.sight:tick()
  return self.drained, self.count
end

--- The space, whose answers know what walls hide.
function Replay:seen()
  local space, sight, seen = self.space, self.sight, {}
  for _, name in ipairs { "view", "sees" } do
    seen[name] = function(_, id, node, ...)
      local by = is_of_sight(self, id, node) and sight or space
      return by[name](by, id, node, ...)
    end
  end
  function seen.viewers(_, id)
    local list, n = sight:viewers(id)
    local all, count = space:viewers(id)
    for i = 1, 2 * count, 2 do
      if not is_of_sight(self, all[i], all[i + 1]) then
        n = n + 1
        list[2 * n - 1], list[2 * n] = all[i], all[i + 1]
      end
    end
    return list, n
  end
  return instead(space, seen)
end

return replay
