--- Neighbour lists: the targets near each watcher, kept up to date by the events of a space, without queries.
---
---     local near = require("aoi.neighbors").new(space)
---     near:add(player, 30)                                 -- the player has a list of the targets within 30
---     for other in near:each(player) do ... end            -- the targets; makes no garbage
---     for player in near:each_viewer(npc) do ... end       -- the players that have the NPC in their list
---
--- Lists are for game logic. Messages for clients are made by `aoi.sync`, which `near:sync` calls.
---
--- Call `tick` (or `sync`) once per tick, even if you only read the lists: the list of changes grows until then.
--- In a deferred space, `flush` before you read.
--- @module aoi.neighbors

-- How it is built
--
--   space --(handlers of a node)--> watcher { list = {targets}, at = {target -> index} }
--   seen[target] --> viewers { list = {watcher ids}, at = {watcher id -> index} }
--
-- Both are dense arrays; the last item fills the gap of a removed one. The watcher's record is the handlers table of
-- its node, and every other reference to it is weak, so that it is collected when its entity leaves; `held` keeps the
-- records of watchers with targets until their last event.

local aoi = require "aoi"
local checks = require "aoi.checks"
local reserved = require "aoi.reserved"

local neighbors = {}

local Neighbors -- the class, below

-- Net change of a target since the last tick. SAME: none, after an enter and a leave.
local SAME, JOINED, LEFT, RENEWED = 0, 1, 2, 3

local ON_ENTER = { [SAME] = JOINED, [LEFT] = RENEWED }
local ON_LEAVE = { [JOINED] = SAME, [RENEWED] = LEFT }

local EMPTY = { n = 0, at = {} }

-- Lists -------------------------------------------------------------------------------------------------------------

local function insert(list, id)
  local n = list.n + 1
  list.n, list[n], list.at[id] = n, id, n
end

-- The last item fills the gap: a walk from the end to the beginning skips no item when its current one is removed.
local function delete(list, id)
  local n, at = list.n, list.at
  local i, last = at[id], list[n]
  list[i], at[last] = last, i
  list[n], at[id] = nil, nil
  list.n = n - 1
end

-- The iterator of a walk { list, at, spare }, from the end of the list. A finished walk is reused by the next `each`.
local function backwards(walk)
  local list, i = walk.list, walk.at - 1
  if not list then return nil end
  if i > list.n then i = list.n end
  if i > 0 then
    walk.at = i
    local id = list[i]
    return id, id
  end
  local spare = walk.spare
  spare.n = spare.n + 1
  spare[spare.n], walk.list = walk, false
end

-- Iterator and state of a `for` loop over a list. The walk of a loop that is left by `break` is garbage.
local function walk_over(self, list)
  local spare = self.spare.walks
  local n = spare.n
  local walk = spare[n]
  if walk then
    spare[n], spare.n = nil, n - 1
  else
    walk = { spare = spare }
  end
  walk.list, walk.at = list, list.n + 1
  return backwards, walk
end

local function new_list(self)
  local n = self.spares
  if n == 0 then return { n = 0, at = {} } end
  local list = self.spare[n]
  self.spare[n], self.spares = nil, n - 1
  return list
end

-- Events ------------------------------------------------------------------------------------------------------------

-- Records the net change of a target. The first change of a watcher appends it to the queue `dirty`.
local function note(self, watcher, target, what)
  local changed = watcher.changed
  if watcher.mark[target] == nil then
    changed.n = changed.n + 1
    changed[changed.n] = target
    if changed.n == 1 then
      self.last = self.last + 1
      self.dirty[self.last] = watcher
    end
  end
  watcher.mark[target] = what
end

local function on_enter(self, watcher, target)
  local list = watcher.list
  insert(list, target)
  if list.n == 1 then self.held[watcher.node] = watcher end
  local viewers = self.seen[target]
  if not viewers then
    viewers = new_list(self)
    self.seen[target] = viewers
  end
  insert(viewers, watcher.id)
  note(self, watcher, target, ON_ENTER[watcher.mark[target]] or JOINED)
end

local function on_leave(self, watcher, target)
  local list = watcher.list
  delete(list, target)
  if list.n == 0 then self.held[watcher.node] = nil end
  local viewers = self.seen[target]
  delete(viewers, watcher.id)
  if viewers.n == 0 then
    self.empties = self.empties + 1
    self.emptied[self.empties] = target
  end
  note(self, watcher, target, ON_LEAVE[watcher.mark[target]] or LEFT)
end

-- Watchers ----------------------------------------------------------------------------------------------------------

--- Makes neighbour lists for a space; it may have several, with different areas.
---@param space aoi.Space
---@return aoi.Neighbors
function neighbors.new(space)
  checks.space(space, neighbors, "neighbors")
  local by_node = setmetatable({}, { __mode = "v" })
  local self = setmetatable({
    space = space,
    by_node = by_node, by_id = setmetatable({}, { __mode = "v" }), held = {},
    seen = {}, spare = { walks = { n = 0 } }, spares = 0, -- lists and walks to be reused
    emptied = {}, empties = 0, -- targets that lost their last viewer since the last tick; some may have one again
    dirty = {}, first = 1, last = 0, -- a queue of watchers
    late = {}, -- watchers by id that are to be clients: a handler has raised while their node was added
  }, Neighbors)

  function self.enter(_, target, node)
    local watcher = by_node[node]
    if watcher then return on_enter(self, watcher, target) end
  end
  function self.leave(_, target, node)
    local watcher = by_node[node]
    if watcher then return on_leave(self, watcher, target) end
  end
  return self
end

--- Neighbour lists of one space. Each set has one area per watcher.
---@class aoi.Neighbors
Neighbors = {}
Neighbors.__index = Neighbors

local function alive(self, watcher) return self.space:has_node(watcher.id, watcher.node) end

local function watcher_of(self, id)
  local watcher = self.by_id[id]
  if watcher and alive(self, watcher) then return watcher end
end

-- The host may have added or removed a client by itself.
local function is_client(self, id) return self.clients:explain(id, id).why ~= "no client" end

local function make_client(self, id, watcher)
  self.late[id] = nil
  if alive(self, watcher) and not is_client(self, id) then self.clients:add(id, self.space:area(id, watcher.node)) end
end

--- Makes a list for an entity. The list is removed when the entity leaves the space.
---@param id integer the watcher
---@param area number|aoi.Area half-extent in world units, or a table of any shape as for `space:add_node`
---@param none? nil a list has no options
function Neighbors:add(id, area, none)
  checks.self(self, Neighbors, "add", "near:add(id, area)")
  checks.nothing(none, 3, "add")
  checks.entity(self.space, id, 1, "add")
  if watcher_of(self, id) then checks.fail(1, "add", ("entity %s already has a list"):format(checks.spell(id))) end
  local watcher = {
    id = id, node = reserved.node(self.space), enter = self.enter, leave = self.leave,
    list = { n = 0, at = {} }, mark = {}, changed = { n = 0 },
  }
  self.by_id[id], self.by_node[watcher.node] = watcher, watcher
  if self.clients then self.late[id] = watcher end
  checks.call("add", { [2] = 1, [4] = 2 }, self.space.add_node, self.space, id, watcher.node, area, watcher)
  if self.clients then make_client(self, id, watcher) end
end

--- Removes the list of an entity.
---@param id integer the watcher
---@return boolean done false if it had none
function Neighbors:remove(id)
  checks.self(self, Neighbors, "remove", "near:remove(id)")
  checks.id(id, 1, "remove")
  checks.open(self.space)
  local watcher = watcher_of(self, id)
  if not watcher then return false end
  self.by_id[id] = nil
  self.space:remove_node(id, watcher.node)
  if self.clients and is_client(self, id) then self.clients:remove(id) end
  return true
end

--- The node that an entity's list is made of, for `space:set_area`, `set_facing`, `set_mask`, `override`.
---@param id integer the watcher
---@return integer? node nil if it has no list
function Neighbors:node(id)
  checks.self(self, Neighbors, "node", "near:node(id)")
  checks.id(id, 1, "node")
  checks.open(self.space)
  local watcher = watcher_of(self, id)
  return watcher and watcher.node
end

-- Queries -----------------------------------------------------------------------------------------------------------

local function list_of(self, id)
  local watcher = self.by_id[id]
  return watcher and watcher.list or EMPTY
end

--- Iterates over the targets that are near: `for other in near:each(id) do`. Each step returns the id twice, so that
--- `for _, other in` works, too. Targets may be removed during the iteration.
---@param id integer the watcher
---@return fun(walk: table): integer?, integer? next
---@return table walk
function Neighbors:each(id)
  -- Here and below: these methods are called in loops, so a correct self is tested without a function call.
  if getmetatable(self) ~= Neighbors then checks.self(self, Neighbors, "each", "near:each(id)") end
  checks.id(id, 1, "each")
  return walk_over(self, list_of(self, id))
end

--- Iterates, as `each`, over the watchers that have a target in their list: `for watcher in near:each_viewer(id) do`.
---@param id integer the target
---@return fun(walk: table): integer?, integer? next
---@return table walk
function Neighbors:each_viewer(id)
  if getmetatable(self) ~= Neighbors then checks.self(self, Neighbors, "each_viewer", "near:each_viewer(id)") end
  checks.id(id, 1, "each_viewer")
  return walk_over(self, self.seen[id] or EMPTY)
end

--- The targets that are near, as an array: the list itself, read-only, valid until the next event.
---@param id integer the watcher
---@param none? nil the list is no copy: there is no table to fill
---@return integer[] list
---@return integer n
function Neighbors:list(id, none)
  if getmetatable(self) ~= Neighbors then checks.self(self, Neighbors, "list", "near:list(id)") end
  checks.id(id, 1, "list")
  checks.nothing(none, 2, "list")
  local list = list_of(self, id)
  return list, list.n
end

--- The watchers that have a target in their list, as an array: read-only, valid until the next event.
---@param id integer the target
---@param none? nil the list is no copy: there is no table to fill
---@return integer[] list
---@return integer n
function Neighbors:viewers(id, none)
  if getmetatable(self) ~= Neighbors then checks.self(self, Neighbors, "viewers", "near:viewers(id)") end
  checks.id(id, 1, "viewers")
  checks.nothing(none, 2, "viewers")
  local list = self.seen[id] or EMPTY
  return list, list.n
end

--- The number of targets that are near.
---@param id integer the watcher
---@return integer
function Neighbors:count(id)
  if getmetatable(self) ~= Neighbors then checks.self(self, Neighbors, "count", "near:count(id)") end
  checks.id(id, 1, "count")
  return list_of(self, id).n
end

--- The number of watchers that have a target in their list.
---@param id integer the target
---@return integer
function Neighbors:viewer_count(id)
  if getmetatable(self) ~= Neighbors then checks.self(self, Neighbors, "viewer_count", "near:viewer_count(id)") end
  checks.id(id, 1, "viewer_count")
  return (self.seen[id] or EMPTY).n
end

--- Whether a target is in a watcher's list.
---@param id integer the watcher
---@param target integer
---@return boolean
function Neighbors:has(id, target)
  if getmetatable(self) ~= Neighbors then checks.self(self, Neighbors, "has", "near:has(id, target)") end
  checks.id(id, 1, "has")
  checks.id(target, 2, "has")
  return list_of(self, id).at[target] ~= nil
end

local function changes(self, id, buf, this, that)
  local list, n = buf or {}, 0
  local watcher = self.by_id[id]
  local changed = watcher and watcher.changed or EMPTY
  for i = 1, changed.n do
    local mark = watcher.mark[changed[i]]
    if mark == this or mark == that then
      n = n + 1
      list[n] = changed[i]
    end
  end
  checks.end_list(list, n)
  return list, n
end

--- The targets that entered the list since the last `tick` or `sync` and are still in it.
---@param id integer the watcher
---@param buf? integer[] a table to fill
---@return integer[] list `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Neighbors:joined(id, buf)
  checks.self(self, Neighbors, "joined", "near:joined(id)")
  checks.id(id, 1, "joined")
  checks.buffer(buf, 2, "joined")
  return changes(self, id, buf, JOINED, RENEWED)
end

--- The targets in the list at the last `tick` or `sync` that left it since. One that entered again is in `joined`, too.
---@param id integer the watcher
---@param buf? integer[] a table to fill
---@return integer[] list `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Neighbors:left(id, buf)
  checks.self(self, Neighbors, "left", "near:left(id)")
  checks.id(id, 1, "left")
  checks.buffer(buf, 2, "left")
  return changes(self, id, buf, LEFT, RENEWED)
end

-- Ticks -------------------------------------------------------------------------------------------------------------

local function clean(watcher)
  local changed, mark = watcher.changed, watcher.mark
  for i = 1, changed.n do mark[changed[i]], changed[i] = nil, nil end
  changed.n = 0
end

-- Removes and returns the next watcher of the queue; nil behind `last`, the end of the queue when the tick began.
local function next_dirty(self, last)
  local i = self.first
  if i > last then
    if i > self.last then self.first, self.last = 1, 0 end
    return nil
  end
  local watcher = self.dirty[i]
  self.dirty[i], self.first = nil, i + 1
  return watcher
end

-- Reuses the lists of targets without viewers, but only at the end of a tick: until then iterators may refer to them.
local function reuse_lists(self)
  for i = 1, self.empties do
    local target = self.emptied[i]
    local viewers = self.seen[target]
    if viewers and viewers.n == 0 then
      self.seen[target] = nil
      self.spares = self.spares + 1
      self.spare[self.spares] = viewers
    end
    self.emptied[i] = nil
  end
  self.empties = 0
end

--- Begins a new tick for `joined` and `left`.
---@param none? nil a tick has no length
function Neighbors:tick(none)
  checks.self(self, Neighbors, "tick", "near:tick()")
  checks.nothing(none, 1, "tick")
  local last = self.last
  local watcher = next_dirty(self, last)
  while watcher do
    clean(watcher)
    watcher = next_dirty(self, last)
  end
  reuse_lists(self)
end

-- The first `sync` makes a client of each watcher, with the current area of its list.
local function make_clients(self)
  self.clients = require("aoi.sync").new(self.space)
  local ids = {}
  for id, watcher in pairs(self.by_id) do
    if alive(self, watcher) then ids[#ids + 1] = id end
  end
  table.sort(ids) -- for a reproducible order of messages
  for _, id in ipairs(ids) do make_client(self, id, self.by_id[id]) end
end

--- Ends a tick and calls `Sync:tick` of `near.clients`, a synchroniser with every watcher as a client that the first
--- call makes. For options and later changes of views use `near.clients:set(id, options)` and `:node(id)`.
---@param send fun(watcher: integer, message: string) as for `Sync:tick`; `aoi.sync.read` reads the message
---@return integer messages
---@return integer bytes
function Neighbors:sync(send)
  checks.self(self, Neighbors, "sync", "near:sync(send)")
  if not checks.is_callable(send) then checks.type(send, "function", 1, "sync") end
  checks.open(self.space)
  if not self.clients then make_clients(self) end
  for id, watcher in pairs(self.late) do make_client(self, id, watcher) end
  self:tick()
  return self.clients:tick(send)
end

--- Processes events that `space:drain` returned and ignores those of other nodes. Each event is dispatched once.
---@param buf integer[] kind, watcher, target, node id, ...
---@param n integer how many events
function Neighbors:dispatch(buf, n)
  checks.self(self, Neighbors, "dispatch", "near:dispatch(buf, n)")
  checks.each_event(buf, n, "dispatch", function(kind, id, target, node)
    local watcher, is_enter = self.by_node[node], kind == aoi.ENTER
    if not watcher then return end
    if is_enter == (watcher.list.at[target] ~= nil) then
      checks.fail(1, "dispatch", ("entity %s is %s in the list of %s: each event is dispatched once"):format(
        checks.spell(target), is_enter and "already" or "not", checks.spell(id)), 4)
    end
    local handle = is_enter and on_enter or on_leave
    handle(self, watcher, target)
  end)
end

--- Counts in O(n): `watchers`, `neighbors` (pairs), `targets` with viewers, `changes`.
---@return table<string, integer>
function Neighbors:stats()
  checks.self(self, Neighbors, "stats", "near:stats()")
  checks.open(self.space)
  local stats = { watchers = 0, neighbors = 0, targets = 0, changes = 0 }
  for node, watcher in pairs(self.by_node) do
    if alive(self, watcher) then
      stats.watchers = stats.watchers + 1
    elseif watcher.list.n == 0 then
      self.by_node[node] = nil
    end
    stats.neighbors = stats.neighbors + watcher.list.n
  end
  for _, viewers in pairs(self.seen) do
    if viewers.n > 0 then stats.targets = stats.targets + 1 end
  end
  for i = self.first, self.last do stats.changes = stats.changes + self.dirty[i].changed.n end
  return stats
end

-- Moves -------------------------------------------------------------------------------------------------------------

local IN_MOVE = { [2] = 1, [3] = 2, [4] = 3, [5] = 4 } -- argument of a method of the space -> argument here

--- The same as `space:move`, which records moves for `aoi.sync`, too.
---@param id integer
---@param x number world units
---@param y number world units
---@param z? number world units, in 3D
function Neighbors:move(id, x, y, z)
  checks.self(self, Neighbors, "move", "near:move(id, x, y)")
  local space = self.space
  checks.open(space)
  checks.call("move", IN_MOVE, space.move, space, id, x, y, z)
end

--- The same as `space:move_many`.
---@param t number[] id, x, y [, z], id, x, y [, z], ...
---@param n? integer number of rows, all without it
function Neighbors:move_many(t, n)
  checks.self(self, Neighbors, "move_many", "near:move_many(t)")
  local space = self.space
  checks.open(space)
  checks.call("move_many", IN_MOVE, space.move_many, space, t, n)
end

return neighbors
