--- Named proximity triggers on entities and on fixed regions of the map, in plain Lua on top of a space.
---
---     local handlers = { alert = { radius = 12, mask = PLAYER, after = 2 } }
---     function handlers.alert.enter(guard, player) look_at(guard, player) end
---     function handlers.alert.dwell(guard, player) attack(guard, player) end
---     function handlers.alert.leave(guard, player) give_up(guard, player) end
---
---     local triggers = require("aoi.trigger").new(space, handlers)
---     triggers:add(guard, "alert")
---     triggers:update(now)                   -- once per tick
---
--- A trigger is a node of the space, and `handlers[name]` is the table of its handlers. That table and its functions
--- are looked up at each call, so replacing either reloads the code of every trigger of that name.
---
--- **Handlers** are called as `handler(id, target, trigger)`; `id` is the entity that carries the trigger. A visit
--- calls `first`, `enter`, then `stay` and `dwell` when they are due, then `leave`, `last`: see TriggerHandlers. The
--- options are described at TriggerOptions.
---
--- **Time** is the argument of `update`, in any unit that counts up. Events between two updates have the time of the
--- earlier update. The cost of an update depends on the timers that fire, not on those that are set. Without a start
--- time the clock begins at 0, or, if the first update is more than an hour away from 0 (`os.time()`), at that update:
--- earlier visits begin then. A long tick makes up for at most 1,000 `stay` of a visit, the last ones.
---
--- **Removal.** When a trigger, or the entity that carries it, is removed, its handlers are never called again, not
--- even `leave`; call `disable` first if `leave` is needed. A target that is removed leaves: that is its last call.
--- An entity with triggers needs no cleanup before it leaves the space. The records of its triggers are freed then, of
--- empty ones within 512 updates, with n > 16,384 triggers within n / 32; `Triggers:remove` frees them at once.
---
--- **Errors** of a handler are raised unchanged from the call that was delivering. The call that raised counts as
--- made; the remaining calls for its event are made before the next event or `update` of these triggers. A filter
--- that raises rejects the target.
--- @module aoi.trigger

-- How it is built: one file for each topic.
--
--   aoi.trigger.options      reads and checks the options
--   aoi.trigger.registry     the triggers of a set: by node, by entity and name, all; removing dead ones
--   aoi.trigger.events       enter and leave events of nodes; plain triggers
--   aoi.trigger.admission    triggers with visits: filter, limit, cooldown, once, timers
--   aoi.trigger.clock        the start of the time; the `stay` calls that a long tick makes up for
--   aoi.trigger.visits       the record of a visit, the queue of waiting targets
--   aoi.trigger.steps        the pending calls after a handler has raised or yielded
--   aoi.trigger.saved        the triggers of a set as plain data, and back
--
-- `set` there is an aoi.Triggers, `t` an aoi.Trigger; their other fields:
--
--   set   space, is_open, has_node, has      the space and three of its methods
--         base                      see aoi.reserved
--         triggers, names, inside, families, all, hand, share   see aoi.trigger.registry
--         timers                    the heap of all timers
--         same, upto                see aoi.trigger.clock
--         closed                    true after `close`
--         spare, spare_maps         see aoi.trigger.visits
--         steps, mutes              see aoi.trigger.steps
--         passed                    slots of triggers to be settled by the next update, see aoi.trigger.admission
--         enter, leave, cross, crossing   the handlers of all nodes, see aoi.trigger.events
--   t     set, slot, place, dead    see aoi.trigger.registry
--         mutes                     see aoi.trigger.steps; nil for most
--         label                     its name, as its nodes have it
--         mask, disabled            the mask that `enable` restores
--         layers                    the option; nil: the layers of its entity
--         is_region                 whether its entity is removed with it
--         visits, known, gate, ...  nil for plain triggers, else see aoi.trigger.visits

local admission = require "aoi.trigger.admission"
local check = require "aoi.trigger.options"
local checks = require "aoi.checks"
local clock = require "aoi.trigger.clock"
local events = require "aoi.trigger.events"
local registry = require "aoi.trigger.registry"
local reserved = require "aoi.reserved"
local saved = require "aoi.trigger.saved"
local steps = require "aoi.trigger.steps"
local timers = require "aoi.timers"
local visits = require "aoi.trigger.visits"

local alive, kill = registry.alive, registry.kill

local trigger = {}

local Triggers, Trigger -- the two classes, below

--- The options of a trigger. Options may be given in `handlers[name]`, beside the handlers; those given to `add` take
--- precedence. The area is that of a node, of any shape: square and circle need `radius`, for the others see aoi.Area.
--- If `shape` is given to `add`, the whole area is taken from the options given there.
--- With `once`, a trigger that has fired admits no more targets, and removes itself when it is empty.
---@class (exact) aoi.TriggerOptions
---@field shape? aoi.Shape square without it
---@field radius? number world units, >= 0, may be `math.huge` in squares and circles
---@field keep? number leave radius in world units, >= radius; the same without it
---@field margin? number world units, >= 0: a target leaves outside the area grown by it
---@field extents? number[] half-extents of a box
---@field half_height? number world units, in 3D
---@field facing? number radians, of a sector: 0 is along +x, counter-clockwise
---@field angle? number radians, the opening of a sector, > 0 and at most 2 pi
---@field points? number[] corners of a polygon, `x1, y1, x2, y2, ...`, relative to the entity
---@field rings? number[][] instead of `points`: such lists, parts and holes
---@field extents_apply? boolean false: it is tested as if every target had the extent 0
---@field offset? number[] world units, one an axis: the area stands that far from the entity
---@field mask? integer bits of the kinds of targets, all without it
---@field layers? integer bits of the layers of targets, those of the entity without it
---@field filter? fun(id: integer, target: integer, trigger: aoi.Trigger): any whether to admit the target
---@field interval? number seconds, > 0, from `enter` to the first `stay`, and between two `stay`
---@field after? number seconds, >= 0, from `enter` to `dwell`
---@field limit? integer the most targets inside at a time; the others wait in the order of their arrival
---@field cooldown? number seconds, >= 0, from one `enter` to the next; targets that arrive earlier wait as for `limit`
---@field linger? number seconds, >= 0: a target leaves only after it has been out of the area so long without a break
---@field enter_after? number seconds, >= 0: a target enters only after it has been in the area so long without a break
---@field outside? boolean inverts the area: targets outside of it count as inside
---@field once? boolean fires once: `dwell` if there is `after`, otherwise `enter`
---@field enabled? boolean false to begin disabled
---@field data? any user data: `trigger.data`
---@field sight? aoi.Sight targets that its shut walls hide are not inside; its `tick` delivers the events
---@field x? number world units: the place of a region; required there
---@field y? number world units
---@field z? number world units; only in 3D

--- The result of `Trigger:explain`.
---@class aoi.TriggerExplanation: aoi.Explanation
---@field name string name of the trigger
---@field state? aoi.TriggerState nil for a target that is not in it
---@alias aoi.TriggerState "inside"|"lingering"|"arriving"|"waiting"|"refused"|"muted"|"disabled"|"spent"

--- The handlers of a trigger; each may be missing. Fields other than these and the options are an error. A target
--- leaves when it moves, leaves the space or changes its kind, or when the trigger moves or is disabled.
---@alias aoi.TriggerHandler fun(id: integer, target: integer, trigger: aoi.Trigger)
---@class aoi.TriggerHandlers: aoi.TriggerOptions
---@field enter? aoi.TriggerHandler a target entered
---@field leave? aoi.TriggerHandler the target left; the two strictly alternate
---@field cross? fun(id: integer, target: integer, trigger: aoi.Trigger, t: number) a target that was not inside went
--- through the area and is not inside, see aoi.Handlers; `filter` is asked, the other options do not count. It must be
--- there when the trigger is added, and is not for those with `outside` or `sight`
---@field first? aoi.TriggerHandler before `enter`, if the trigger was empty
---@field last? aoi.TriggerHandler after `leave`, if the trigger is empty again
---@field stay? aoi.TriggerHandler every `interval` while inside; a long tick makes up for the last 1,000
---@field dwell? aoi.TriggerHandler once per visit, when it has lasted `after`

--- Makes a set of triggers for a space; it may have several.
---@param space aoi.Space
---@param handlers table<string, aoi.TriggerHandlers> handlers, and optionally options, by the name of the trigger
---@param now? number seconds: the start time on the caller's clock. Without it 0, or the time of the first `update` if
--- that is more than an hour away from 0
---@return aoi.Triggers
function trigger.new(space, handlers, now)
  checks.space(space, trigger, "trigger")
  if type(handlers) ~= "table" then
    local got = handlers == nil and "no value" or type(handlers)
    checks.fail(2, "new", "table of handlers by name expected, got " .. got)
  end
  if now ~= nil then checks.finite(now, 3, "new") end
  local self = setmetatable({
    space = space, is_open = space.is_open, has_node = space.has_node, has = space.has, base = reserved.base(space),
    handlers = handlers, time = now or 0, upto = now or 0, same = not now and 0 or nil,
    triggers = {}, names = {}, inside = {}, families = {}, all = {}, hand = 0, share = 1,
    timers = timers.new(), spare_maps = {}, steps = steps.new(), mutes = 0, passed = {},
  }, Triggers)
  events.attach(self)
  return self
end

-- Makes a trigger without an entity.
local function new_trigger(set, name, o)
  local t = setmetatable({
    set = set, name = name, data = o.data, mask = o.mask, layers = o.layers, disabled = not o.enabled, sight = o.sight,
  }, Trigger)
  t.label = tostring(name):gsub("%z", ""):sub(1, 255) -- for explanations, journals and viewers
  if t.label == "" then t.label = nil end
  if o.has_visits then visits.prepare(t, o) end
  return t
end

-- Index of an argument of a method of the space -> index of the argument here.
local IN_SET = { [3] = 1, [4] = 1, [5] = 2 }

-- Adds the node of a trigger to an entity. Errors carry the position of the caller of `add` or `region`.
local function install(set, t, id, area)
  registry.sweep(set, 2) -- bounds the dead triggers by the number of living ones, even without updates
  local family = registry.family(set, id)
  if family and family[t.name] then
    checks.fail(2, "add", ("entity %s already has a trigger '%s'"):format(checks.spell(id), t.name), 3)
  end
  area.label = t.label
  registry.insert(set, t, id)
  local of = t.sight or set.space
  local add_node = t.sight and of.add or of.add_node
  return add_node(of, id, t.node, area, events.of(set, t.name, area))
end

local function expect_open(set)
  if set.closed then error("attempt to use a closed set of triggers", 3) end
  checks.open(set.space, 3)
end

--- A set of triggers on one space.
---@class aoi.Triggers
---@field time number seconds: the last `update`; in the handler of a timer the time at which that was due
---@field handlers table<string, aoi.TriggerHandlers> handlers by name
Triggers = {}
Triggers.__index = Triggers

--- Adds a trigger to an entity. Targets that are in the area already enter at once.
---@param id integer the entity
---@param name string `handlers[name]` are its handlers; unique on that entity
---@param options? aoi.TriggerOptions missing options are taken from `handlers[name]`
---@return aoi.Trigger
function Triggers:add(id, name, options)
  checks.self(self, Triggers, "add", "triggers:add(id, name)")
  expect_open(self)
  checks.entity(self.space, id, 1, "add")
  local o = check.read(self, name, options)
  local t = new_trigger(self, name, o)
  install(self, t, id, o.area)
  return t
end

--- Adds a trigger at a fixed place, the options `x`, `y` and, in 3D, `z`. It has an invisible entity of its own,
--- `trigger.id`, of kind 0 and with an id of -2^52 or below. `space:ids`, `count` and `viewers` include it.
---@param name string `handlers[name]` are its handlers; any number of regions may share them
---@param options? aoi.TriggerOptions
---@return aoi.Trigger
function Triggers:region(name, options)
  checks.self(self, Triggers, "region", "triggers:region(name)")
  expect_open(self)
  local o = check.read(self, name, options, true)
  local space, high = self.space, self.space:dimensions() == 3
  if (o.z ~= nil) ~= high then check.fail(name, "z", high and "required in 3D" or "the space is 2D", 2) end
  local t = new_trigger(self, name, o)
  t.is_region = true
  local id = reserved.entity(space, o.x, o.y, o.z)
  local ok, err = pcall(install, self, t, id, o.area)
  if ok then return t end
  if space:is_open() and space:has(id) and not (t.slot and alive(t)) then space:leave(id) end -- memory was refused
  error(err, 0)
end

--- The trigger of that name on that entity.
---@param id integer
---@param name string
---@return aoi.Trigger? trigger nil if there is none
function Triggers:get(id, name)
  checks.self(self, Triggers, "get", "triggers:get(id, name)")
  checks.id(id, 1, "get")
  if name == nil then checks.fail(2, "get", "the name of a trigger expected, got no value") end
  local family = self.families[id]
  local t = family and family[name]
  if t and alive(t) then return t end
end

--- Removes triggers of an entity, whether or not it is still in the space.
---@param id integer
---@param name? string only this one
---@return integer n the number of removed triggers
function Triggers:remove(id, name)
  checks.self(self, Triggers, "remove", "triggers:remove(id)")
  checks.id(id, 1, "remove")
  local list, n = {}, 0
  for key, t in pairs(self.families[id] or {}) do
    if name == nil or key == name then list[#list + 1] = t end
  end
  for _, t in ipairs(list) do
    if alive(t) then n = n + 1 end
    t:remove()
  end
  return n
end

--- Calls the filters for a target again, in every trigger with the target in its area, for example after a change of
--- its faction. The cost is proportional to the number of nodes that see it.
---@param target integer
function Triggers:refresh(target)
  checks.self(self, Triggers, "refresh", "triggers:refresh(target)")
  checks.id(target, 1, "refresh")
  checks.open(self.space)
  steps.run(self)
  if not self.space:has(target) then return end
  local list, n = self.space:viewers(target)
  for i = 2, 2 * n, 2 do list[i / 2] = self.base - list[i] end
  n = admission.lingering(self, target, list, n)
  for i = 1, n do
    local t = self.triggers[list[i]]
    if t and t.filter then admission.refresh(t, target) end
  end
end

--- Advances the time and fires, in order of time, the timers that are due. Costs O(log n) of all timers for each one
--- that fires, and examines some triggers for removal: all of them in 256 updates, but at most 64 in one.
---@param now number seconds, never less than before
---@return integer n the number of timers that fired
function Triggers:update(now)
  checks.self(self, Triggers, "update", "triggers:update(now)")
  checks.finite(now, 1, "update")
  local fault = clock.fault(self, now)
  if fault then checks.fail(1, "update", fault) end
  admission.settle_passed(self)
  clock.begin(self, now)
  registry.sweep(self)
  local waiting, n = self.timers, 0
  local timer = waiting:take(now)
  while timer do
    n = n + 1
    if timer.due > self.time then self.time = timer.due end
    admission.fire(timer)
    timer = waiting:take(now)
  end
  if now > self.time then self.time = now end
  return n
end

--- The same as `update(time + dt)`, for a given length of the tick.
---@param dt number seconds since the last update, >= 0
---@return integer n the number of timers that fired
function Triggers:advance(dt)
  checks.self(self, Triggers, "advance", "triggers:advance(dt)")
  checks.finite(dt, 1, "advance")
  if dt < 0 then checks.fail(1, "advance", "number must not be negative") end
  checks.finite(self.time + dt, 1, "advance")
  self.same = nil
  return self:update(self.time + dt)
end

--- Processes events that `space:drain` returned and ignores those of other nodes. Each event is dispatched once: a
--- second time it counts twice. After an error of a handler the remaining events are processed at the next event or
--- `update`.
---@param buf integer[] kind, watcher, target, node id, ...
---@param n integer how many events
---@param reasons? number[] as `aoi.drain_reasons` returned them, for the place of crossings
function Triggers:dispatch(buf, n, reasons)
  checks.self(self, Triggers, "dispatch", "triggers:dispatch(buf, n)")
  checks.buffer(reasons, 3, "dispatch")
  checks.each_event(buf, n, "dispatch", function(kind, id, target, node, i)
    events.append(self, kind, id, target, node, reasons and reasons[i])
  end)
  return steps.run(self)
end

--- The triggers as plain data, for `load`: areas, options, targets, queues and timers, with handlers as names. The data
--- are numbers, strings, booleans and tables, except for `trigger.data`, which is not converted. Pending events are an
--- error: in a deferred space call `flush` before. docs/snapshot.md has the format.
---@return table data
function Triggers:save()
  checks.self(self, Triggers, "save", "triggers:save()")
  if not self.space:is_open() then error("'save': the space is closed", 2) end
  local data, why = saved.save(self)
  if not data then error("'save': " .. why, 2) end
  return data
end

--- Adds saved triggers to a space with their entities, loaded from a snapshot of the same time or built anew. Handlers
--- are called for the changes since `save`; in an equal space none is. Timers continue: their times are converted to
--- the clock of these triggers. Nodes of the triggers that the space was loaded with are removed. Data that `save` does
--- not make is an error and changes nothing.
---@param data table
---@param filters? fun(id: integer, name: string): function the filters that were given to `add`, which cannot be saved
---@return integer n the number of triggers
function Triggers:load(data, filters)
  checks.self(self, Triggers, "load", "triggers:load(data)")
  expect_open(self)
  checks.type(data, "table", 1, "load")
  if filters ~= nil then checks.type(filters, "function", 2, "load") end
  local own, why = saved.check(self, data, filters)
  expect_open(self)
  if not own then checks.fail(1, "load", why) end
  saved.load(self, data, own, new_trigger)
  return #data.triggers
end

--- Counts in O(n): `triggers`; `inside`, `arriving`, `waiting` and `refused` targets; `timers` that are set; `late`:
--- events and calls that are still pending after an error.
---@return table<string, integer>
function Triggers:stats()
  checks.self(self, Triggers, "stats", "triggers:stats()")
  registry.sweep_all(self)
  local stats = {
    triggers = #self.all, inside = 0, arriving = 0, waiting = 0, refused = 0, timers = self.timers.n,
    late = self.steps.n,
  }
  for _, t in ipairs(self.all) do
    stats.inside = stats.inside + self.inside[t.slot]
    for _, visit in pairs(t.visits or {}) do
      if visit.state ~= visits.INSIDE then stats[visit.state] = stats[visit.state] + 1 end
    end
  end
  return stats
end

--- Removes every trigger and region; `add` is an error then. Closing twice or after the space is harmless.
function Triggers:close()
  checks.self(self, Triggers, "close", "triggers:close()")
  local is_open = self.space:is_open()
  self.closed = true
  while #self.all > 0 do
    local t = self.all[#self.all]
    if is_open then t:remove() else kill(t) end
  end
  steps.clear(self.steps)
end

-- Nil if the target is not in the area or the trigger is removed.
local function state_of(t, target)
  if not alive(t) then return nil end
  if t.disabled then return "disabled" end
  if t.mutes and t.mutes[target] then return "muted" end
  local visit = t.visits and t.visits[target]
  if t:has(target) then return visit and visits.lingers(visit) and "lingering" or "inside" end
  if visit and (visit.state == visits.WAITING or visit.state == visits.ARRIVING) then return visit.state end
  if t.spent and admission.covers(t, target) then return "spent" end
  if visit and visit.state == visits.REFUSED then return "refused" end
end

-- One trigger -------------------------------------------------------------------------------------------------------

local function expect_alive(t, name)
  checks.self(t, Trigger, name, "as in trigger:enable()", 3)
  if not alive(t) then error(("trigger '%s' is removed"):format(t.name), 3) end
end

--- One trigger.
---@class aoi.Trigger
---@field id integer the entity that carries it, a region's own id for a region
---@field name string
---@field node integer its node id
---@field data any the option `data`
Trigger = {}
Trigger.__index = Trigger

--- Removes the trigger; its handlers are not called again. A region's entity leaves. Removing twice is harmless.
function Trigger:remove()
  checks.self(self, Trigger, "remove", "trigger:remove()")
  if self.dead then return end
  if alive(self) then -- if that is refused memory, it can be done again
    local space = self.set.space
    if self.is_region then space:leave(self.id) else space:remove_node(self.id, self.node) end
  end
  kill(self)
end

--- Whether the trigger and the entity that carries it are still in the space.
---@return boolean
function Trigger:alive()
  checks.self(self, Trigger, "alive", "trigger:alive()")
  return alive(self)
end

--- Restores the mask of a disabled trigger: targets in the area enter.
---@param none? nil `disable` switches it off
function Trigger:enable(none)
  expect_alive(self, "enable")
  checks.nothing(none, 1, "enable", 2, ": see disable")
  if not self.disabled then return end
  local space = self.set.space
  checks.as_one(space, function()
    space:set_mask(self.id, self.node, self.mask or -1)
    self.disabled = false
  end)
end

--- Clears the mask: all targets inside leave, lingering ones too, and the queue is emptied; in a deferred space by the
--- next `flush`. No `stay` and no `dwell` is called before.
---@param none? nil it stays disabled until `enable`
function Trigger:disable(none)
  expect_alive(self, "disable")
  checks.nothing(none, 1, "disable")
  if self.disabled then return end
  return checks.as_one(self.set.space, admission.disable, self)
end

---@param none? nil `enable` and `disable` change it
---@return boolean
function Trigger:enabled(none)
  checks.self(self, Trigger, "enabled", "trigger:enabled()")
  checks.nothing(none, 1, "enabled")
  return not self.disabled and alive(self)
end

--- Changes the size of a square or a circle, with exactly the difference in events.
---@param radius number half-extent in world units, may be math.huge
---@param keep? number leave radius in world units, >= radius
function Trigger:set_radius(radius, keep)
  expect_alive(self, "set_radius")
  local space = self.set.space
  checks.call("set_radius", IN_SET, space.set_radius, space, self.id, self.node, radius, keep)
end

--- Changes the whole area, with exactly the difference in events. Mask, layers and `outside` stay, unless the area has
--- them.
---@param area number|aoi.Area half-extent of a square in world units, or the table
function Trigger:set_area(area)
  expect_alive(self, "set_area")
  if area == nil then checks.fail(1, "set_area", "number or table expected, got no value") end
  local space = self.set.space
  local own = { mask = self.mask, layers = self.layers, outside = space:area(self.id, self.node).outside }
  if type(area) == "table" then
    for name, value in pairs(area) do own[name] = value end
  else
    own.radius = area
  end
  local mask, layers = own.mask, own.layers
  if self.disabled then own.mask = 0 end
  checks.call("set_area", IN_SET, space.set_area, space, self.id, self.node, own)
  self.mask, self.layers = mask, layers
end

--- Turns a sector, with exactly the difference in events.
---@param facing number radians, 0 is along +x, counter-clockwise
function Trigger:set_facing(facing)
  expect_alive(self, "set_facing")
  local space = self.set.space
  checks.call("set_facing", IN_SET, space.set_facing, space, self.id, self.node, facing)
end

--- Changes the kinds of targets.
---@param mask integer kind bits
function Trigger:set_mask(mask)
  expect_alive(self, "set_mask")
  if not checks.is_integer(mask) then checks.fail(1, "set_mask", "kind bits expected, got " .. tostring(mask)) end
  self.mask = mask
  if not self.disabled then self.set.space:set_mask(self.id, self.node, mask) end
end

--- The number of targets inside, as `targets` gives them.
---@return integer
function Trigger:count()
  checks.self(self, Trigger, "count", "trigger:count()")
  local _, n = self:targets()
  return n
end

--- The number of targets in the queue of `limit` or `cooldown`.
---@return integer
function Trigger:waiting()
  checks.self(self, Trigger, "waiting", "trigger:waiting()")
  local n, visit = 0, self.head
  while visit do n, visit = n + 1, visit.next end
  return n
end

--- Whether a target is inside, as `targets` gives them.
---@param target integer
---@return boolean
function Trigger:has(target)
  checks.self(self, Trigger, "has", "trigger:has(target)")
  checks.id(target, 1, "has")
  if not alive(self) then return false end
  return (self.visits and admission.has or admission.covers)(self, target)
end

--- Explains why a target is inside or not: the result of `space:explain` for the node, and `state`.
---@param target integer
---@return aoi.TriggerExplanation
function Trigger:explain(target)
  checks.self(self, Trigger, "explain", "trigger:explain(target)")
  checks.id(target, 1, "explain")
  local space = self.set.space
  checks.open(space)
  local it = (self.sight or space):explain(self.id, self.node, target)
  it.name, it.state = tostring(self.name), state_of(self, target)
  return it
end

--- The targets that are inside now, in no particular order: those that are leaving, and whose event waits, are not.
--- Those that come and whose event waits are, if there is room, unless a filter or `enter_after` decides first.
---@param buf? integer[] a table to fill
---@return integer[] list `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Trigger:targets(buf)
  checks.self(self, Trigger, "targets", "trigger:targets()")
  checks.buffer(buf, 1, "targets")
  local list, is_alive = buf or {}, alive(self)
  if is_alive and not self.visits then return (self.sight or self.set.space):view(self.id, self.node, list) end
  local n = is_alive and admission.inside(self, list) or 0
  checks.end_list(list, n)
  return list, n
end

return trigger
