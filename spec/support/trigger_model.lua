-- trigger_model.lua: the semantics of triggers, naive on purpose: every change examines every entity, every update
-- every visit. Handlers only record.
--
--   model.entities[id]   { x, y, kind, layers }
--   model.triggers[i]    { id, options, radius, keep, shape, mask, layers, enabled, near = { target -> true }, area,
--                          visits, heard }
--   trigger.area         with `outside`: what the area holds; near is the rest of what counts
--   trigger.visits       in the order they came: { target, inside, since, stays, dwell, stay, linger, arriving, due };
--                        dwell, stay, linger and arriving say in which order timers were set, which decides between
--                        equal times
--   trigger.heard        "event target @time"
--
-- Within one change a trigger may gain one target and lose one: in which order many do is the engine's affair.
local bits = require "spec.support.bits"

local Model = {}
Model.__index = Model

function Model.new() return setmetatable({ entities = {}, triggers = {}, time = 0, sets = 0 }, Model) end

-- Who is near --------------------------------------------------------------------------------------------------------

local function within(shape, a, b, r)
  if shape == "circle" then return (b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y) <= r * r end
  return a.x - r <= b.x and b.x <= a.x + r and a.y - r <= b.y and b.y <= a.y + r
end

local function counts(self, trigger, id)
  local b = self.entities[id]
  return trigger.enabled and id ~= trigger.id and b and bits.meet(b.kind, trigger.mask or bits.all)
    and bits.meet(b.layers, trigger.layers or self.entities[trigger.id].layers)
end

local function in_area(self, trigger, id, memory)
  local shape, a, b = trigger.shape, self.entities[trigger.id], self.entities[id]
  if within(shape, a, b, trigger.radius) then return true end
  return memory[id] ~= nil and trigger.keep ~= nil and within(shape, a, b, trigger.keep)
end

local function sees(self, trigger, id)
  if not counts(self, trigger, id) then return false end
  if trigger.options.outside then return not in_area(self, trigger, id, trigger.area) end
  return in_area(self, trigger, id, trigger.near)
end

-- What the area of a trigger with `outside` holds of what counts.
local function remember_area(self, trigger)
  local area = {}
  for id in pairs(self.entities) do
    if counts(self, trigger, id) and in_area(self, trigger, id, trigger.area) then area[id] = true end
  end
  trigger.area = area
end

-- The targets that left and that entered the area of a trigger.
local function differences(self, trigger)
  local gone, come = {}, {}
  for id in pairs(trigger.near) do
    if not sees(self, trigger, id) then gone[#gone + 1] = id end
  end
  for id in pairs(self.entities) do
    if not trigger.near[id] and sees(self, trigger, id) then come[#come + 1] = id end
  end
  return gone, come
end

-- What is heard ------------------------------------------------------------------------------------------------------

local function tell(self, trigger, event, target)
  trigger.heard[#trigger.heard + 1] = ("%s %d @%.14g"):format(event, target, self.time)
end

local function order(self)
  self.sets = self.sets + 1
  return self.sets
end

local function count(trigger)
  local inside, first = 0, nil
  for _, visit in ipairs(trigger.visits) do
    if visit.inside then inside = inside + 1 elseif not visit.arriving then first = first or visit end
  end
  return inside, first
end

local function settle(self, trigger, leaver)
  local options = trigger.options
  while true do
    local inside, waiting = count(trigger)
    local full = options.limit and inside >= options.limit
    if waiting and not full and trigger.ready <= self.time then
      waiting.inside, waiting.since, waiting.stays = true, self.time, 0
      trigger.ready = self.time + (options.cooldown or 0)
      if options.once and not options.after then trigger.spent = true end
      if options.after then waiting.dwell = order(self) end
      if options.interval then waiting.stay = order(self) end
      if not trigger.occupied then tell(self, trigger, "first", waiting.target) end
      trigger.occupied = true
      tell(self, trigger, "enter", waiting.target)
    else
      if inside == 0 and trigger.occupied then
        tell(self, trigger, "last", leaver)
        trigger.occupied = false
      end
      if inside == 0 and trigger.spent then trigger.dead = true end
      if not waiting then
        trigger.gate = nil
      elseif not full and not trigger.gate then
        trigger.gate = order(self)
      end
      break
    end
    if trigger.spent then Model.send_away(trigger) end
  end
end

-- No further visit begins, no further `dwell` is due.
function Model.send_away(trigger)
  for i = #trigger.visits, 1, -1 do
    local visit = trigger.visits[i]
    visit.dwell = nil
    if not visit.inside then table.remove(trigger.visits, i) end
  end
  trigger.gate = nil
end

-- Whether a target that goes may linger.
local function may_linger(self, trigger, visit)
  if (trigger.options.linger or 0) == 0 or not visit.inside or not trigger.enabled then return false end
  return self.entities[visit.target] ~= nil
end

local function depart(self, trigger, target)
  trigger.near[target] = nil
  for i, visit in ipairs(trigger.visits) do
    if visit.target == target then
      if may_linger(self, trigger, visit) then
        if not visit.linger then visit.linger, visit.due = order(self), self.time + trigger.options.linger end
        return
      end
      table.remove(trigger.visits, i)
      if visit.inside then tell(self, trigger, "leave", target) end
      return settle(self, trigger, target)
    end
  end
end

-- Those that linger and may not any more.
local function overdue(self, trigger)
  local over = {}
  for _, visit in ipairs(trigger.visits) do
    if visit.linger and not may_linger(self, trigger, visit) then over[#over + 1] = visit.target end
  end
  table.sort(over)
  return over
end

local function refuses(trigger, target)
  return trigger.options.filter and not trigger.options.filter(trigger.id, target)
end

local function arrive(self, trigger, target)
  trigger.near[target] = true
  for _, visit in ipairs(trigger.visits) do
    if visit.target == target then
      visit.linger, visit.due = nil, nil
      return
    end
  end
  local visit, enter_after = { target = target }, trigger.options.enter_after or 0
  if trigger.spent or enter_after == 0 and refuses(trigger, target) then return end
  trigger.visits[#trigger.visits + 1] = visit
  if enter_after == 0 then return settle(self, trigger) end
  visit.arriving, visit.due = order(self), self.time + enter_after
end

-- Tries a change; false, and nothing changed, if some trigger would gain or lose more than one. `undo` takes it back.
function Model:try(change, undo)
  change()
  local plan = {}
  for _, trigger in ipairs(self.triggers) do
    if not trigger.dead then
      local gone, come = differences(self, trigger)
      if #gone > 1 or #come > 1 then
        undo()
        return false
      end
      plan[#plan + 1] = { trigger, gone[1], come[1] }
    end
  end
  for _, p in ipairs(plan) do
    if p[2] and not p[1].dead then depart(self, p[1], p[2]) end
    for _, target in ipairs(overdue(self, p[1])) do
      if not p[1].dead then depart(self, p[1], target) end
    end
    if p[3] and not p[1].dead then arrive(self, p[1], p[3]) end
  end
  for _, trigger in ipairs(self.triggers) do
    if trigger.options.outside and not trigger.dead then remember_area(self, trigger) end
  end
  return true
end

-- Changes ------------------------------------------------------------------------------------------------------------

-- place(id, nil) takes an entity away, with its triggers.
function Model:place(id, entity)
  local old = self.entities[id]
  local carried = {}
  return self:try(function()
    self.entities[id] = entity
    for _, trigger in ipairs(self.triggers) do
      if not entity and trigger.id == id and not trigger.dead then
        trigger.dead = true
        carried[#carried + 1] = trigger
      end
    end
  end, function()
    self.entities[id] = old
    for _, trigger in ipairs(carried) do trigger.dead = nil end
  end)
end

function Model:add(id, options)
  local trigger = {
    id = id, options = options, radius = options.radius, keep = options.keep, shape = options.shape,
    mask = options.mask, layers = options.layers, enabled = options.enabled ~= false,
    near = {}, area = {}, visits = {}, heard = {}, ready = -math.huge, occupied = false,
  }
  local ok = self:try(function() self.triggers[#self.triggers + 1] = trigger end, function()
    self.triggers[#self.triggers] = nil
  end)
  return ok and trigger
end

--- Changes fields of a trigger: "radius", "keep", "shape", "mask", "layers", "enabled".
function Model:change(trigger, fields)
  local old = {}
  for name in pairs(fields) do old[name] = trigger[name] end
  return self:try(function()
    for name, value in pairs(fields) do trigger[name] = value or nil end
    if fields.enabled ~= nil then trigger.enabled = fields.enabled end
  end, function()
    for name in pairs(fields) do trigger[name] = old[name] end
  end)
end

local function take_out(trigger, visit)
  for i, other in ipairs(trigger.visits) do
    if other == visit then return table.remove(trigger.visits, i) end
  end
end

-- Asks the filters about a target again.
function Model:refresh(target)
  for _, trigger in ipairs(self.triggers) do
    if trigger.options.filter and not trigger.dead and self.entities[target] then
      local ok, found = trigger.options.filter(trigger.id, target), nil
      for _, visit in ipairs(trigger.visits) do
        if visit.target == target then found = visit end
      end
      if found and not ok and not found.arriving then
        take_out(trigger, found)
        if found.inside then tell(self, trigger, "leave", target) end
        settle(self, trigger, target)
      elseif not found and ok and trigger.near[target] and not trigger.spent then
        trigger.visits[#trigger.visits + 1] = { target = target }
        settle(self, trigger)
      end
    end
  end
end

--- What `Trigger:explain` calls the state of a target that visits; nil for others.
function Model.state(trigger, target)
  for _, visit in ipairs(trigger.visits) do
    if visit.target == target then
      return visit.linger and "lingering" or visit.inside and "inside" or visit.arriving and "arriving" or "waiting"
    end
  end
end

--- How many are inside, and how many wait for room.
function Model.numbers(trigger)
  local inside, waiting = 0, 0
  for _, visit in ipairs(trigger.visits) do
    if visit.inside then inside = inside + 1 elseif not visit.arriving then waiting = waiting + 1 end
  end
  return inside, waiting
end

-- It has been in long enough.
function Model:confirm(trigger, visit)
  visit.arriving, visit.due = nil, nil
  take_out(trigger, visit)
  if refuses(trigger, visit.target) then return end
  table.insert(trigger.visits, visit)
  return settle(self, trigger)
end

-- It has been out long enough.
function Model:over(trigger, visit)
  take_out(trigger, visit)
  tell(self, trigger, "leave", visit.target)
  return settle(self, trigger, visit.target)
end

-- Time ---------------------------------------------------------------------------------------------------------------

local function earliest(trigger)
  local best
  local function offer(due, set, fire, visit)
    if set and (not best or due < best.due or (due == best.due and set < best.set)) then
      best = { due = due, set = set, fire = fire, visit = visit }
    end
  end
  for _, visit in ipairs(trigger.visits) do
    if visit.inside then
      offer(visit.since + (trigger.options.after or 0), visit.dwell, "dwell", visit)
      offer(visit.since + (visit.stays + 1) * (trigger.options.interval or 0), visit.stay, "stay", visit)
      offer(visit.due, visit.linger, "linger", visit)
    end
    offer(visit.due, visit.arriving, "arrive", visit)
  end
  offer(trigger.ready, trigger.gate, "gate")
  return best
end

-- Triggers don't touch each other, so each may have its whole tick at once.
function Model:update(now)
  local before = self.time
  for _, trigger in ipairs(self.triggers) do
    self.time = before
    local timer = not trigger.dead and earliest(trigger)
    while timer and timer.due <= now do
      if timer.due > self.time then self.time = timer.due end
      local visit = timer.visit
      if timer.fire == "gate" then
        trigger.gate = nil
        settle(self, trigger)
      elseif timer.fire == "arrive" then
        Model.confirm(self, trigger, visit)
      elseif timer.fire == "linger" then
        Model.over(self, trigger, visit)
      elseif timer.fire == "dwell" then
        visit.dwell = nil
        if trigger.options.once then
          trigger.spent = true
          Model.send_away(trigger)
        end
        tell(self, trigger, "dwell", visit.target)
      else
        visit.stays = visit.stays + 1
        visit.stay = order(self)
        tell(self, trigger, "stay", visit.target)
      end
      timer = earliest(trigger)
    end
  end
  self.time = now
end

return Model
