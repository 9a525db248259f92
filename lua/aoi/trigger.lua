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
--- reads `first`, `enter`, `stay` and `dwell` as time goes by, `leave`, `last`: see TriggerHandlers. What else a
--- trigger can do is said by its options: see TriggerOptions.
---
--- **Time** is what you pass to `update`, in any unit that counts up. What happens between two updates happens at the
--- time of the earlier one. Timers cost what fires, not what waits.
---
--- **Removal.** When a trigger, or the entity that carries it, is removed, its handlers are never called again, not
--- even `leave`; `disable` it before to hear that. A target that is removed leaves: that is its last call. Entities
--- simply leave the space. The records of their triggers go with them, those of empty ones within the next 512
--- updates; `Triggers:remove` forgets them at once.
---
--- **Errors** of a handler are raised from the call that was delivering, unchanged. The call that raised counts as
--- made; the rest of what its event had to do is done before the next event or `update` of these triggers. A filter
--- that raises refuses.
--- @module aoi.trigger

-- How it is built
--
--   node id --> key 3, 6, 9 ...   of one dense array, so that an event of a plain trigger looks at little memory:
--   cells[key]                    its name; false for a trigger with visits; nil when it is gone
--   cells[key + 1]                how many are inside
--   cells[key + 2]                the record
--   all[place]                    every record, without holes; `sweep` walks through a few at each update and looks
--                                 whether its entity is still there, since nobody hears of one that left seeing no one
--   families[id][name]            the triggers of an entity
--
-- A plain trigger only counts who is inside. One with a filter, a queue or timers keeps a visit for each target that
-- its node sees: visits[target] = { trigger, target, state = REFUSED, WAITING or INSIDE, since, stays, timers }.
--
-- Handlers may do anything, so every change is complete before a call, and what is still to be done for the same event
-- stands on a stack, `steps`. `run` takes it from there, now or, after an error, later; new events wait below it.

local reserved = require "aoi.reserved"
local timers = require "aoi.timers"

local trigger = {}

local Triggers, Trigger -- the two classes, below

local REFUSED, WAITING, INSIDE = 0, 1, 2 -- states of a visit
local STAY, DWELL, GATE = 1, 2, 3 -- kinds of timers
local ROUND = 256 -- updates in which every trigger is looked at; one that dies is found in this round or the next

-- key = 3 * (ONE - node id)
local ONE = reserved.FIRST + 1

-- Visits -----------------------------------------------------------------------------------------------------------

-- Visits and their timers are used again, the spare ones are chained by `next`; so are the tables of visits.
local NO_VISITS = {}

local function new_visit(set, t, target)
  local visit = set.spare
  if visit then
    set.spare = visit.next
    visit.next = nil
  else
    visit = {}
    visit.stay, visit.dwell = timers.record(STAY, visit), timers.record(DWELL, visit)
  end
  visit.trigger, visit.target, visit.state = t, target, REFUSED
  if t.known == 0 then t.visits = table.remove(set.spare_maps) or {} end
  t.known = t.known + 1
  t.visits[target] = visit
  return visit
end

local function cancel(set, visit)
  if visit.stay.place then set.timers:cancel(visit.stay) end
  if visit.dwell.place then set.timers:cancel(visit.dwell) end
end

local function free_visit(set, visit)
  local t = visit.trigger
  cancel(set, visit)
  t.visits[visit.target] = nil
  t.known = t.known - 1
  if t.known == 0 then
    set.spare_maps[#set.spare_maps + 1] = t.visits
    t.visits = NO_VISITS
  end
  visit.trigger = nil
  visit.next = set.spare
  set.spare = visit
end

-- The queue of those who wait is a list through `prev` and `next`.
local function queue(t, visit)
  visit.state = WAITING
  visit.prev = t.tail
  if t.tail then t.tail.next = visit else t.head = visit end
  t.tail = visit
end

local function unqueue(t, visit)
  local prev, next = visit.prev, visit.next
  if prev then prev.next = next else t.head = next end
  if next then next.prev = prev else t.tail = prev end
  visit.prev, visit.next = nil, nil
  visit.state = REFUSED
  if not t.head then t.set.timers:cancel(t.gate) end
end

-- Nobody comes in any more, and nobody else will have dwelt.
local function spend(t)
  t.spent = true
  while t.head do unqueue(t, t.head) end
  for _, visit in pairs(t.visits) do t.set.timers:cancel(visit.dwell) end
end

-- Life and death ---------------------------------------------------------------------------------------------------

local function alive(t)
  local set = t.set
  return not t.dead and set.radius(set.space, t.id, t.node) ~= nil
end

-- Forgets a trigger; its node is somebody else's care.
local function kill(t)
  if t.dead then return end
  local set, key, all = t.set, t.key, t.set.all
  t.dead = true
  set.cells[key], set.cells[key + 1], set.cells[key + 2] = nil, nil, nil
  local last = all[#all]
  all[t.place], last.place = last, t.place
  all[#all] = nil
  local family = set.families[t.id]
  family[t.name] = nil
  if next(family) == nil then set.families[t.id] = nil end
  if t.visits then
    set.timers:cancel(t.gate)
    for _, visit in pairs(t.visits) do
      visit.prev = nil
      free_visit(set, visit)
    end
  end
  for _ in pairs(t.mutes or {}) do set.mutes = set.mutes - 1 end
  t.visits, t.head, t.tail, t.mutes = nil, nil, nil, nil
end

-- Looks at the next n, downwards: the one that takes a dead one's place was looked at before. 0 is a share of a round.
local function sweep(set, n)
  local all = set.all
  for _ = 1, n > 0 and n or set.share do
    if set.hand == 0 then
      set.hand = #all
      set.share = math.ceil(#all / ROUND)
    end
    local t = all[set.hand]
    if t and not alive(t) then kill(t) end
    if set.hand > 0 then set.hand = set.hand - 1 end
  end
end

-- What is still to be done -----------------------------------------------------------------------------------------

-- A step is a function of the set, the key of a trigger, its entity and a target.
local function push(set, step, key, id, target)
  local n = set.n + 1
  set.n = n
  set.steps[n], set.keys[n], set.ids[n], set.targets[n] = step, key, id, target
end

local function run(set)
  local n = set.n
  while n > 0 do
    set.n = n - 1
    local key, id = set.keys[n], set.ids[n]
    if set.cells[key] ~= nil then
      if set.radius(set.space, id, ONE - key / 3) ~= nil then
        set.steps[n](set, key, id, set.targets[n])
      else
        kill(set.cells[key + 2])
      end
    end
    n = set.n
  end
end

-- An event that has to wait for the rest of another one: below it.
local function postpone(set, step, key, id, target)
  push(set, step, key, id, target)
  for _, list in ipairs { set.steps, set.keys, set.ids, set.targets } do
    table.insert(list, 1, table.remove(list, set.n))
  end
  return run(set)
end

-- Its target may be gone by the time of a step: then the one call that is owed is not made, nor its counterpart.
-- A target is muted until its leave comes; ENTERED: it counts as inside, but knows of no `enter`.
local ENTERED, NEVER_CAME = 1, 2

local function mute(set, key, target, how)
  local t = set.cells[key + 2]
  t.mutes = t.mutes or {}
  t.mutes[target] = how
  set.mutes = set.mutes + 1
end

local function unmute(set, key, target)
  local t = set.cells[key + 2]
  local how = t.mutes and t.mutes[target]
  if how then
    t.mutes[target] = nil
    set.mutes = set.mutes - 1
  end
  return how
end

local function call(set, key, event, id, target)
  local t = set.cells[key + 2]
  local own = set.handlers[set.cells[key] or t.name]
  local handler = own and own[event]
  if handler then return handler(id, target, t) end
end

local function step_enter(set, key, id, target)
  if not set.has(set.space, target) then return mute(set, key, target, ENTERED) end
  return call(set, key, "enter", id, target)
end

local function step_last(set, key, id, target) return call(set, key, "last", id, target) end

-- Somebody came into an empty trigger. `first` may do anything, so `enter` stands on the stack meanwhile.
local function begin(set, own, t, key, id, target)
  if not own then return end
  local first, enter = own.first, own.enter
  if first and enter then
    push(set, step_enter, key, id, target)
    first(id, target, t)
    return run(set)
  end
  local handler = first or enter
  if handler then return handler(id, target, t) end
end

-- The last one went. `muted`: without his `leave`.
local function finish(set, own, t, key, id, target, muted)
  if not own then return end
  local leave, last = not muted and own.leave, own.last
  if leave and last then
    push(set, step_last, key, id, target)
    leave(id, target, t)
    return run(set)
  end
  local handler = leave or last
  if handler then return handler(id, target, t) end
end

-- Triggers with visits ---------------------------------------------------------------------------------------------

local function open(set, t)
  return not t.spent and set.cells[t.key + 1] < t.limit and t.ready <= set.time
end

local function admit(set, t, visit)
  local time = set.time
  visit.state, visit.since, visit.stays = INSIDE, time, 0
  set.cells[t.key + 1] = set.cells[t.key + 1] + 1
  t.ready = time + t.cooldown
  if t.once and not t.after then spend(t) end
  if t.after then set.timers:set(visit.dwell, time + t.after) end
  if t.interval then set.timers:set(visit.stay, time + t.interval) end
end

-- Calls the handlers for a target that was admitted.
local function welcome(set, t, target)
  if t.occupied then return call(set, t.key, "enter", t.id, target) end
  t.occupied = true
  return begin(set, set.handlers[t.name], t, t.key, t.id, target)
end

-- Does the next thing that follows from the state of a trigger, and comes back for the one after it. `target` is who
-- came or left; he is the last one if it is empty now.
local function settle(set, key, id, target)
  local t = set.cells[key + 2]
  while t.head and open(set, t) do
    local visit = t.head
    local guest = visit.target
    unqueue(t, visit)
    if set.space:has(guest) then -- if not, its leave is on the way
      admit(set, t, visit)
      push(set, settle, key, id, guest)
      return welcome(set, t, guest)
    end
  end
  if set.cells[key + 1] == 0 then
    if t.occupied then
      t.occupied = false
      push(set, settle, key, id, target)
      return call(set, key, "last", id, target)
    elseif t.spent then
      return t:remove()
    end
  end
  if t.head and not t.gate.place and set.cells[key + 1] < t.limit then set.timers:set(t.gate, t.ready) end
end

local function settle_all(set, t, target)
  settle(set, t.key, t.id, target)
  return run(set)
end

local function passes(t, target)
  local filter = t.filter
  if filter == true then
    local own = t.set.handlers[t.name]
    filter = own and own.filter
  end
  return not filter or filter(t.id, target, t)
end

-- The filter may change everything; the visit tells whether its question still stands.
local function ask(t, visit)
  if not t.filter then return true, true end
  local target = visit.target
  local ok = passes(t, target)
  local stands = alive(t) and t.visits[target] == visit
  return stands, stands and ok
end

local function arrive(set, t, target)
  if t.spent or t.visits[target] then return end
  local visit = new_visit(set, t, target)
  if t.filter then
    local _, ok = ask(t, visit)
    if not ok or t.spent or visit.state ~= REFUSED then return end
  end
  if not t.head and open(set, t) and (not t.filter or set.space:has(target)) then
    admit(set, t, visit)
    return welcome(set, t, target)
  end
  queue(t, visit)
  return settle_all(set, t, target)
end

-- Out of the trigger, and out of its node's sight if `gone`; then what is to be called.
local function exit(set, t, visit, gone)
  local key, target = t.key, visit.target
  local state = visit.state
  if state == WAITING then unqueue(t, visit) end
  visit.state = REFUSED
  if gone then
    free_visit(set, visit)
  else
    cancel(set, visit)
  end
  if state ~= INSIDE then return end
  local n = set.cells[key + 1] - 1
  set.cells[key + 1] = n
  local muted = set.mutes > 0 and unmute(set, key, target)
  if t.head or t.spent then
    push(set, settle, key, t.id, target)
    if not muted then call(set, key, "leave", t.id, target) end
    return run(set)
  elseif n > 0 then
    if not muted then return call(set, key, "leave", t.id, target) end
  else
    t.occupied = false
    return finish(set, set.handlers[t.name], t, key, t.id, target, muted)
  end
end

local function depart(set, t, target)
  local visit = t.visits[target]
  if visit then return exit(set, t, visit, true) end
end

-- A filter's answer may have changed.
local function ask_again(set, t, visit)
  local stands, ok = ask(t, visit)
  if not stands then return end
  if not ok then return exit(set, t, visit) end
  if visit.state == REFUSED and not t.spent then
    queue(t, visit)
    return settle_all(set, t, visit.target)
  end
end

-- Events of the space ----------------------------------------------------------------------------------------------

-- Plain triggers: the record itself is not looked at, only passed on.
local function came(set, key, name, id, target)
  local cells = set.cells
  local n = cells[key + 1] + 1
  cells[key + 1] = n
  local own = set.handlers[name]
  if not own then return end
  local handler = own.enter
  if n == 1 and own.first then
    if handler then return begin(set, own, cells[key + 2], key, id, target) end
    handler = own.first
  end
  if handler then return handler(id, target, cells[key + 2]) end
end

local function went(set, key, name, id, target)
  local cells = set.cells
  local muted = set.mutes > 0 and unmute(set, key, target)
  if muted == NEVER_CAME then return end
  local n = cells[key + 1] - 1
  cells[key + 1] = n
  local own = set.handlers[name]
  if not own then return end
  local handler = not muted and own.leave
  if n == 0 and own.last then
    if handler then return finish(set, own, cells[key + 2], key, id, target) end
    handler = own.last
  end
  if handler then return handler(id, target, cells[key + 2]) end
end

-- The same as steps, for events that had to wait: the target may be gone.
local function step_came(set, key, id, target)
  local name, t = set.cells[key], set.cells[key + 2]
  if set.space:has(target) then
    if not name then return arrive(set, t, target) end
    return came(set, key, name, id, target)
  end
  if name then return mute(set, key, target, NEVER_CAME) end -- where there are visits its leave will find none
end

local function step_went(set, key, id, target)
  local name = set.cells[key]
  if not name then return depart(set, set.cells[key + 2], target) end
  return went(set, key, name, id, target)
end

-- An event of a trigger with visits, one that is gone, or one that has to wait.
local function enter_with_care(set, key, name, id, target)
  if name == nil then return end
  if set.n > 0 then return postpone(set, step_came, key, id, target) end
  return arrive(set, set.cells[key + 2], target)
end

local function leave_with_care(set, key, name, id, target)
  if name == nil then return end
  if set.n > 0 then return postpone(set, step_went, key, id, target) end
  if set.radius(set.space, id, ONE - key / 3) == nil then return kill(set.cells[key + 2]) end
  return step_went(set, key, id, target)
end

-- Timers -----------------------------------------------------------------------------------------------------------

local fire = {}

-- Whether the target of a timer can still hear of it; if not, its leave is on the way.
local function present(t, target)
  if not alive(t) then return kill(t) end
  return t.set.space:has(target) and not (t.mutes and t.mutes[target])
end

fire[STAY] = function(visit)
  local t, target = visit.trigger, visit.target
  local set = t.set
  if not present(t, target) then return end
  visit.stays = visit.stays + 1
  local due = visit.since + (visit.stays + 1) * t.interval -- not a sum of intervals: rounding would drift
  if due <= set.time then error(("trigger '%s': the clock is too large for its interval"):format(t.name), 0) end
  set.timers:set(visit.stay, due)
  return call(set, t.key, "stay", t.id, target)
end

fire[DWELL] = function(visit)
  local t, target = visit.trigger, visit.target
  if not present(t, target) then return end
  if t.once then spend(t) end
  return call(t.set, t.key, "dwell", t.id, target)
end

fire[GATE] = function(t)
  if not alive(t) then return kill(t) end
  return settle_all(t.set, t)
end

-- Making triggers --------------------------------------------------------------------------------------------------

local function positive(v) return type(v) == "number" and v > 0 and v < math.huge end
local function not_negative(v) return type(v) == "number" and v >= 0 end
local function delay(v) return not_negative(v) and v < math.huge end
local function whole(v) return type(v) == "number" and v % 1 == 0 end
local function coordinate(v) return type(v) == "number" and v - v == 0 end
local function boolean(v) return type(v) == "boolean" end

local OPTIONS = {
  radius = { not_negative, "a number >= 0" },
  keep = { not_negative, "a number >= radius" },
  mask = { whole, "kind bits" },
  shape = { function(v) return v == "square" or v == "circle" end, "'square' or 'circle'" },
  filter = { function(v) return type(v) == "function" end, "a function" },
  interval = { positive, "a number > 0" },
  after = { delay, "a number >= 0" },
  cooldown = { delay, "a number >= 0" },
  limit = { function(v) return v == math.huge or (whole(v) and v >= 1) end, "a whole number >= 1" },
  once = { boolean, "a boolean" },
  enabled = { boolean, "a boolean" },
  data = { function() return true end },
  x = { coordinate, "a coordinate" }, y = { coordinate, "a coordinate" }, z = { coordinate, "a coordinate" },
}

-- `level` as for `error`, counted from the caller of this.
local function bad_option(name, why, level) error(("bad option '%s' (%s)"):format(name, why), level + 1) end

-- Options by name, checked: the given ones, then those beside the handlers.
local function reader(given, own)
  for name in pairs(given) do
    if not OPTIONS[name] then bad_option(tostring(name), "unknown", 4) end
  end
  return function(name)
    local value = given[name]
    if value == nil then value = own[name] end
    local check = OPTIONS[name]
    if value ~= nil and not check[1](value) then bad_option(name, check[2] .. " expected", 4) end
    return value
  end
end

-- A trigger without an entity, and its area.
local function define(set, name, given)
  local own = set.handlers[name]
  if type(own) ~= "table" then error(("no handlers named '%s'"):format(tostring(name)), 3) end
  if given ~= nil and type(given) ~= "table" then error("bad options (table expected)", 3) end
  local option = reader(given or {}, own)
  local t = setmetatable({
    set = set, name = name, data = option "data", mask = option "mask", disabled = option "enabled" == false,
  }, Trigger)

  local area = { radius = option "radius", keep = option "keep", mask = t.mask, shape = option "shape" }
  if not area.radius then bad_option("radius", "required", 3) end
  if area.keep and area.keep < area.radius then bad_option("keep", "a number >= radius expected", 3) end
  if t.disabled then area.mask = 0 end

  t.interval, t.after, t.once = option "interval", option "after", option "once"
  if own.stay and not t.interval then bad_option("interval", "required by the handler 'stay'", 3) end
  if own.dwell and not t.after then bad_option("after", "required by the handler 'dwell'", 3) end
  t.filter = option "filter" and (given and given.filter or true)
  local limit, cooldown = option "limit", option "cooldown"
  if limit or cooldown or t.interval or t.after or t.once or t.filter then
    t.visits, t.known, t.gate, t.occupied = NO_VISITS, 0, timers.record(GATE, t), false
    t.limit, t.cooldown, t.ready = limit or math.huge, cooldown or 0, -math.huge
  end
  return t, area, option
end

local function install(set, t, id, area)
  for _, other in pairs(set.families[id] or {}) do
    if not alive(other) then kill(other) end
  end
  sweep(set, 2) -- so that the dead are never more than the living, whether or not there are updates
  local family = set.families[id] or {}
  if family[t.name] then error(("entity %s already has a trigger '%s'"):format(tostring(id), t.name), 3) end
  if not set.space:has(id) then error(("no entity %s"):format(tostring(id)), 3) end
  t.id, t.node = id, reserved.node(set.space)
  t.key, t.place = 3 * (ONE - t.node), #set.all + 1
  set.cells[t.key], set.cells[t.key + 1], set.cells[t.key + 2] = not t.visits and t.name, 0, t
  set.all[t.place] = t
  set.families[id] = family
  family[t.name] = t
  set.space:add_node(id, t.node, area, set.enter, set.leave)
end

--- What a trigger does. Every option may stand beside the handlers, `handlers[name]`; those given to `add` go first.
--- One with `once` lets nobody else in after it has fired, and removes itself when those who are inside have left.
---@class (exact) aoi.TriggerOptions
---@field radius? number half-extent in world units, >= 0, may be `math.huge`; required
---@field keep? number leave radius in world units, >= radius; the same without it
---@field mask? integer bits of the kinds that count, all without it
---@field shape? "square"|"circle" square without it
---@field filter? fun(id: integer, target: integer, trigger: aoi.Trigger): any who does not pass does not count
---@field interval? number seconds, > 0, from `enter` to the first `stay`, and to each next one
---@field after? number seconds, >= 0, from `enter` to `dwell`
---@field limit? integer how many may be inside at a time; the others wait in the order they came
---@field cooldown? number seconds, >= 0, from one `enter` to the next; who comes in between waits as for `limit`
---@field once? boolean fires once: `dwell` if there is `after`, otherwise `enter`
---@field enabled? boolean false to begin disabled
---@field data? any yours: `trigger.data`
---@field x? number world units: where a region is; required there
---@field y? number world units
---@field z? number world units; only in 3D

--- What a trigger calls; a missing handler is no error. A target goes by moving, by leaving the space, by its kind, or
--- because the trigger moves or is disabled.
---@alias aoi.TriggerHandler fun(id: integer, target: integer, trigger: aoi.Trigger)
---@class aoi.TriggerHandlers: aoi.TriggerOptions
---@field enter? aoi.TriggerHandler a target came in
---@field leave? aoi.TriggerHandler it went; the two strictly alternate
---@field first? aoi.TriggerHandler before `enter`, if the trigger was empty
---@field last? aoi.TriggerHandler after `leave`, if it is empty again
---@field stay? aoi.TriggerHandler every `interval` while inside; a long tick makes up for all
---@field dwell? aoi.TriggerHandler once per visit, when it has lasted `after`

--- Makes a set of triggers for a space; it may have several.
---@param space aoi.Space
---@param handlers table<string, aoi.TriggerHandlers> handlers, and options if you like, by the name of the trigger
---@param now? number seconds: the time at the beginning, 0 without it; the clock is the caller's
---@return aoi.Triggers
function trigger.new(space, handlers, now)
  if type(handlers) ~= "table" then error("bad argument #2 to 'new' (table expected)", 2) end
  if now ~= nil and not coordinate(now) then error("bad argument #3 to 'new' (finite number expected)", 2) end
  local cells, radius = {}, space.radius
  local self = setmetatable({
    space = space, radius = radius, has = space.has, handlers = handlers, time = now or 0, timers = timers.new(),
    cells = cells, all = {}, hand = 0, share = 1, families = {},
    spare_maps = {},
    steps = {}, keys = {}, ids = {}, targets = {}, n = 0, -- the stack of what is to be done
    mutes = 0,
  }, Triggers)

  -- The handlers of all nodes. The node alone finds the trigger: node ids are never used twice. For plain triggers they
  -- are `came` and `went` spelled out, since a call is most of what the layer costs.
  function self.enter(watcher, target, node)
    local key = 3 * (ONE - node)
    local name = cells[key]
    if not name or self.n > 0 then return enter_with_care(self, key, name, watcher, target) end
    local n = cells[key + 1] + 1
    cells[key + 1] = n
    local own = self.handlers[name]
    if not own then return end
    local handler = own.enter
    if n == 1 and own.first then
      if handler then return begin(self, own, cells[key + 2], key, watcher, target) end
      handler = own.first
    end
    if handler then return handler(watcher, target, cells[key + 2]) end
  end
  function self.leave(watcher, target, node)
    local key = 3 * (ONE - node)
    local name = cells[key]
    if not name or self.n > 0 or self.mutes > 0 then return leave_with_care(self, key, name, watcher, target) end
    local n = cells[key + 1] - 1
    local own = self.handlers[name]
    local handler = own and own.leave
    local last = n == 0 and own and own.last
    if not handler and not last then cells[key + 1] = n return end
    if radius(space, watcher, node) == nil then return kill(cells[key + 2]) end
    cells[key + 1] = n
    if last then
      if handler then return finish(self, own, cells[key + 2], key, watcher, target) end
      handler = last
    end
    return handler(watcher, target, cells[key + 2])
  end
  return self
end

--- A set of triggers on one space.
---@class aoi.Triggers
---@field time number seconds: the last `update`, or, while a timer's handler runs, when that was due
---@field handlers table<string, aoi.TriggerHandlers> handlers by name
Triggers = {}
Triggers.__index = Triggers

--- Adds a trigger to an entity. Whoever is near already comes in at once.
---@param id integer the entity
---@param name string `handlers[name]` are its handlers; unique on that entity
---@param options? aoi.TriggerOptions what is missing is taken from `handlers[name]`
---@return aoi.Trigger
function Triggers:add(id, name, options)
  local t, area = define(self, name, options)
  install(self, t, id, area)
  return t
end

--- Adds a trigger at a fixed place: the options `x`, `y` and, in 3D, `z` say where. It needs no visible entity: its
--- own, `trigger.id`, is of kind 0 and has an id of -2^52 or below. `space:ids`, `count` and `viewers` do know it.
---@param name string `handlers[name]` are its handlers; any number of regions may share them
---@param options? aoi.TriggerOptions
---@return aoi.Trigger
function Triggers:region(name, options)
  local t, area, option = define(self, name, options)
  local x, y, z = option "x", option "y", option "z"
  if not (x and y) then bad_option(x and "y" or "x", "required", 2) end
  local space, id = self.space, reserved.entity(self.space)
  space:enter(id, x, y, 0, 0) -- of kind 0, whether or not the fourth is a coordinate
  local _, _, is_3d = space:position(id)
  if (z ~= nil) ~= (is_3d ~= nil) then
    space:leave(id)
    bad_option("z", is_3d and "required in 3D" or "the space is 2D", 2)
  end
  if z then space:move(id, x, y, z) end
  t.is_region = true
  install(self, t, id, area)
  return t
end

--- The trigger of that name on that entity.
---@param id integer
---@param name string
---@return aoi.Trigger? trigger nil if there is none
function Triggers:get(id, name)
  local family = self.families[id]
  local t = family and family[name]
  if t and alive(t) then return t end
end

--- Removes triggers of an entity, whether or not it is still there.
---@param id integer
---@param name? string only this one
---@return integer n how many were removed
function Triggers:remove(id, name)
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

--- Asks the filters about a target again, in every trigger that has it near: its faction, say, has changed.
---@param target integer
function Triggers:refresh(target)
  run(self)
  if not self.space:has(target) then return end
  local pairs_of, n = self.space:viewers(target)
  for i = 2, 2 * n, 2 do
    local t = self.cells[3 * (ONE - pairs_of[i]) + 2]
    local visit = t and t.filter and t.visits[target]
    if visit then ask_again(self, t, visit) end
  end
end

--- Lets time pass: fires, in order of time, what is due by now.
---@param now number seconds, never less than before
---@return integer n how many timers fired
function Triggers:update(now)
  if not coordinate(now) then error("bad argument #1 to 'update' (finite number expected)", 2) end
  if now < self.time then
    error(("bad argument #1 to 'update' (%.14g is before %.14g)"):format(now, self.time), 2)
  end
  run(self)
  sweep(self, 0)
  local waiting, n = self.timers, 0
  local timer = waiting:take(now)
  while timer do
    n = n + 1
    if timer.due > self.time then self.time = timer.due end
    fire[timer.kind](timer.subject)
    timer = waiting:take(now)
  end
  if now > self.time then self.time = now end
  return n
end

--- Hands over events that `space:drain` returned. Other nodes' events are passed over. After an error of a handler the
--- rest waits for the next event or `update`.
---@param buf integer[] kind, watcher, target, node id, ...
---@param n integer how many events
function Triggers:dispatch(buf, n)
  local ENTER = require "aoi".ENTER
  local lists = { self.steps, self.keys, self.ids, self.targets }
  local old, new = self.n, 0
  for i = 4, 4 * n, 4 do
    if self.cells[3 * (ONE - buf[i])] ~= nil then new = new + 1 end
  end
  for _, list in ipairs(lists) do
    for i = old, 1, -1 do list[new + i] = list[i] end
  end
  self.n = old + new
  for i = 4, 4 * n, 4 do
    local key = 3 * (ONE - buf[i])
    if self.cells[key] ~= nil then
      self.steps[new] = buf[i - 3] == ENTER and step_came or step_went
      self.keys[new], self.ids[new], self.targets[new] = key, buf[i - 2], buf[i - 1]
      new = new - 1
    end
  end
  return run(self)
end

--- Counts what there is, by walking through it: `triggers`; `inside`, `waiting` and `refused` targets; `timers`;
--- `late` events.
---@return table<string, integer>
function Triggers:stats()
  for i = #self.all, 1, -1 do
    local t = self.all[i]
    if t and not alive(t) then kill(t) end
  end
  local stats = { triggers = #self.all, inside = 0, waiting = 0, refused = 0, timers = self.timers.n, late = self.n }
  for _, t in ipairs(self.all) do
    stats.inside = stats.inside + self.cells[t.key + 1]
    for _, visit in pairs(t.visits or {}) do
      if visit.state == WAITING then stats.waiting = stats.waiting + 1 end
      if visit.state == REFUSED then stats.refused = stats.refused + 1 end
    end
  end
  return stats
end

--- Removes every trigger and region. Closing twice is harmless, and so is closing after the space.
function Triggers:close()
  local is_open = pcall(self.space.count, self.space)
  while #self.all > 0 do
    local t = self.all[#self.all]
    if is_open then t:remove() else kill(t) end
  end
  self.n = 0
end

-- One trigger ------------------------------------------------------------------------------------------------------

local function check(t)
  if not alive(t) then error(("trigger '%s' is removed"):format(t.name), 3) end
end

--- One trigger.
---@class aoi.Trigger
---@field id integer the entity that carries it, a region's own id for a region
---@field name string
---@field node integer its node id
---@field data any the option `data`: yours
Trigger = {}
Trigger.__index = Trigger

--- Removes it: none of its handlers is called again. A region's entity leaves the space. Removing twice is harmless.
function Trigger:remove()
  if self.dead then return end
  local there = alive(self)
  kill(self)
  if not there then return end
  if self.is_region then
    self.set.space:leave(self.id)
  else
    self.set.space:remove_node(self.id, self.node)
  end
end

--- Whether it, and the entity that carries it, is still there.
---@return boolean
function Trigger:alive() return alive(self) end

--- Lets it see again; whoever is near comes in.
function Trigger:enable()
  check(self)
  if not self.disabled then return end
  self.disabled = false
  self.set.space:set_mask(self.id, self.node, self.mask or -1)
end

--- Makes it blind: everybody inside leaves, the queue is empty.
function Trigger:disable()
  check(self)
  if self.disabled then return end
  self.disabled = true
  self.set.space:set_mask(self.id, self.node, 0)
end

---@return boolean
function Trigger:enabled() return not self.disabled and alive(self) end

--- Changes its size, with exactly the difference in events.
---@param radius number half-extent in world units, may be math.huge
---@param keep? number leave radius in world units, >= radius
function Trigger:set_radius(radius, keep)
  check(self)
  self.set.space:set_radius(self.id, self.node, radius, keep)
end

--- Changes the kinds it looks for.
---@param mask integer kind bits
function Trigger:set_mask(mask)
  check(self)
  if not whole(mask) then error("bad argument #1 to 'set_mask' (kind bits expected)", 2) end
  self.mask = mask
  if not self.disabled then self.set.space:set_mask(self.id, self.node, mask) end
end

--- How many are inside.
---@return integer
function Trigger:count() return self.set.cells[self.key + 1] or 0 end

--- How many wait in the queue of `limit` or `cooldown`.
---@return integer
function Trigger:waiting()
  local n, visit = 0, self.head
  while visit do
    n, visit = n + 1, visit.next
  end
  return n
end

--- Whether a target is inside.
---@param target integer
---@return boolean
function Trigger:has(target)
  if not alive(self) then return false end
  if not self.visits then return self.set.space:has(target) and self.set.space:sees(self.id, self.node, target) end
  local visit = self.visits[target]
  return visit ~= nil and visit.state == INSIDE
end

--- Who is inside, in no particular order.
---@param buf? integer[] a table to fill
---@return integer[] list only `list[1..n]` is meaningful
---@return integer n
function Trigger:targets(buf)
  local list, n = buf or {}, 0
  if not alive(self) then return list, 0 end
  if not self.visits then return self.set.space:view(self.id, self.node, list) end
  for target, visit in pairs(self.visits) do
    if visit.state == INSIDE then
      n = n + 1
      list[n] = target
    end
  end
  return list, n
end

return trigger
