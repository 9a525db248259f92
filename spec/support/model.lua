-- model.lua: the semantics of a space in plain Lua, naive on purpose; the specs compare every engine with it.
--
--   entities[id]            { id, position = {x, y, z}, kind, nodes }
--   entities[id].nodes[n]   { id, watcher, area, seen, overrides }
--   node.seen[entity]       true while the node sees that entity (the object: one life of an id)
--   node.overrides[entity]  "hide", "show" or "match"
--   node.held[entity]       of an area with `outside`: true while it holds the entity; held_then: at the last delivery
--   node.crosses            it hears of what goes through its area; fresh: it was added since the last delivery
--   ways[entity]            while a node crosses: where an entity was at the last delivery, `from`; broken: it has
--                           entered or jumped since
--   moved                   in a deferred space: entities that have moved and nodes that have turned, not judged yet
--   pending                 events not delivered yet, each with its call and its turn: the calls that a deferred space
--                           collects for one delivery share a turn, every other call has its own. Those of crossings
--                           are what may be heard: `must` if it has to be
--
-- A call changes the state, evaluates every pair that contains something it touched, and queues the differences:
-- leaves, then enters. Positions are arrays, so that 2D and 3D share every line.

local bits = require "spec.support.bits"
local crossings = require "spec.support.crossings"
local shapes = require "spec.support.shapes"

local Model = {}
Model.__index = Model

local DEFAULT_KIND = 1

function Model.new(options)
  options = options or {}
  return setmetatable({
    dimensions = options.dimensions or 2,
    deferred = options.delivery == "deferred",
    entities = {},
    pending = {},
    ways = {},
    crossers = 0, -- nodes
    calls = 0,
    fixed = 0, -- the order of events up to this call is fixed
  }, Model)
end

-- The rule -----------------------------------------------------------------------------------------------------------

-- Integers of Lua 5.3 would wrap around where doubles round.
local function doubles(position, dimensions)
  local copy = {}
  for axis = 1, dimensions do copy[axis] = position[axis] * 1.0 end   -- + 0.0 would lose -0.0
  return copy
end

-- Whether the node saw the target at the last delivery, which of a deferred space lies back: an event that waits tells;
-- with `outside`, whether the area held it.
local function saw(self, node, target)
  if node.area.outside then return (self.deferred and node.held_then or node.held)[target] end
  if self.deferred then
    for _, e in ipairs(self.pending) do
      if e.node == node and e.life == target and e.kind ~= "cross" then return e.kind == "leave" end
    end
  end
  return node.seen[target]
end

-- What a node looks for at all.
local function meets(node, target)
  local how = node.overrides[target]
  return target ~= node.watcher and how ~= "hide" and (how == "match" or bits.meet(target.kind, node.area.mask))
    and bits.meet(target.layers, node.area.layers or node.watcher.layers)
end

-- Whether it is seen; with `outside` also whether the area holds it.
local function visible(self, node, target)
  local area, how = node.area, node.overrides[target]
  if target == node.watcher or how == "hide" then return false end
  if how == "show" then return true end
  if not meets(node, target) then return false end
  local w, t, e = node.watcher.position, target.position, target.extent
  local holds = shapes.holds(area, w, t, e) or (shapes.holds_still(area, w, t, e) and saw(self, node, target)) or false
  return holds ~= (area.outside or false), holds
end

-- The queue ----------------------------------------------------------------------------------------------------------

local function event(self, kind, node, target)
  return {
    kind = kind, watcher = node.watcher.id, target = target.id, node_id = node.id,
    node = node, life = target, call = self.calls, turn = self.turn, latest = self.turn,
  }
end

-- An event cancels its opposite if that is still queued.
local function queue(self, e)
  local pending, life, node = self.pending, e.life, e.node
  for i = 1, #pending do
    local other = pending[i]
    if other.life == life and other.node == node and other.kind ~= "cross" then
      assert(other.kind ~= e.kind, "model: an event twice")
      table.remove(pending, i)
      e.cancelled = true
      return
    end
  end
  pending[#pending + 1] = e
end

local function finish(self, leaves, enters)
  local net = {}
  for _, list in ipairs { leaves, enters } do
    for _, e in ipairs(list) do
      net[#net + 1] = e
      queue(self, e)
    end
  end
  return net
end

-- Looks again at every pair with a touched entity or node in it.
local function settle(self, touched, leaves)
  local enters = {}
  leaves = leaves or {}
  local function look(node, target)
    local had, sees, holds = node.seen[target] or false, visible(self, node, target)
    node.held[target] = node.area.outside and holds or nil
    if had and not sees then
      leaves[#leaves + 1] = event(self, "leave", node, target)
      node.seen[target] = nil
    elseif sees and not had then
      enters[#enters + 1] = event(self, "enter", node, target)
      node.seen[target] = true
    end
  end
  for _, watcher in pairs(self.entities) do
    for _, node in pairs(watcher.nodes) do
      if touched[watcher] or touched[node] then
        for _, target in pairs(self.entities) do look(node, target) end
      else
        for target in pairs(touched) do
          if target.position then look(node, target) end
        end
      end
    end
  end
  return finish(self, leaves, enters)
end

-- Crossings ----------------------------------------------------------------------------------------------------------

-- An entity is about to move, or has entered.
local function note_way(self, e, broken)
  if self.crossers == 0 then return end
  local way = self.ways[e] or { from = doubles(e.position, self.dimensions) }
  self.ways[e], way.broken = way, way.broken or broken
end

-- `net`: the events of the call.
local function look_for_crossing(self, node, target, net)
  local w, t = self.ways[node.watcher], self.ways[target]
  if not (w or t) or (w or t).broken or (t or w).broken then return end
  local way = {
    w0 = w and w.from or node.watcher.position, t0 = t and t.from or target.position,
    w1 = doubles(node.watcher.position, self.dimensions), t1 = doubles(target.position, self.dimensions),
    extent = target.extent,
  }
  if node.area.outside or node.seen[target] or not meets(node, target) then return end
  if not crossings.possible(node.area, way) then return end
  for _, list in ipairs { net, self.pending } do
    for _, e in ipairs(list) do
      local left = e.node == node and e.life == target and e.kind == "leave"
      if left and not e.cancelled then return end -- it was seen at the last delivery
    end
  end
  local e, area = event(self, "cross", node, target), shapes.copy(node.area)
  e.way, e.area, e.must = way, area, crossings.fault(area, way) ~= nil
  self.pending[#self.pending + 1] = e
end

local function forget_ways(self)
  self.ways, self.fresh = {}, false
  for _, watcher in pairs(self.entities) do
    for _, node in pairs(watcher.nodes) do node.fresh = false end
  end
end

-- A delivery, or the end of a call that is one: what has gone through areas since the last one.
local function cross(self, net)
  if self.crossers == 0 then return end
  if next(self.ways) then
    for _, watcher in pairs(self.entities) do
      for _, node in pairs(watcher.nodes) do
        if node.crosses and not node.fresh then
          for _, target in pairs(self.entities) do look_for_crossing(self, node, target, net) end
        end
      end
    end
  end
  forget_ways(self)
end

-- What nobody has heard is dropped with the node, or with its target.
local function drop_crossings(self, node, target)
  for i = #self.pending, 1, -1 do
    local e = self.pending[i]
    if e.kind == "cross" and (e.node == node or e.life == target) then table.remove(self.pending, i) end
  end
end

local function end_node(self, node)
  drop_crossings(self, node)
  if not node.crosses then return end
  self.crossers = self.crossers - 1
  if self.crossers == 0 then self.ways, self.fresh = {}, false end
end

-- Moves and turns of a deferred space are judged together, before whatever else happens: the moves as one call, the
-- turns of some nodes as calls beside it, so that no leave of another pair needs to come before an enter of a node that
-- has turned. Such a turn may lose a target that a move gives back: an enter that waited is a new one then.
local function judge_moves(self)
  local moved = self.moved
  if not moved then return end
  self.moved = nil
  self.calls = self.calls + 1
  self.turn = self.calls
  for _, e in ipairs(settle(self, moved)) do
    if moved[e.node] then e.call = e end
  end
  for _, e in ipairs(self.pending) do
    if moved[e.node] then e.latest = self.turn end
  end
end

local function begin(self)
  judge_moves(self)
  self.calls = self.calls + 1
  self.turn = self.calls
end

-- In a deferred space, as a call of its own.
local function deliver_crossings(self)
  judge_moves(self)
  if not self.deferred then return end
  self.calls = self.calls + 1
  self.turn = self.calls
  cross(self, {})
end

-- A delivery begins: in a deferred space all that waits becomes one turn; calls of its handlers come behind.
function Model:deliver()
  deliver_crossings(self)
  for _, e in ipairs(self.deferred and self.pending or {}) do e.turn, e.latest = self.calls, self.calls end
  self:hold()
end

-- What areas with `outside` hold now is what they held at the last delivery.
function Model:hold()
  deliver_crossings(self)
  for _, watcher in pairs(self.entities) do
    for _, node in pairs(watcher.nodes) do
      node.held_then = {}
      for target in pairs(node.held) do node.held_then[target] = true end
    end
  end
end

-- Calls: each returns its own list of events, as if nothing had been pending ------------------------------------------

function Model:has(id) return self.entities[id] ~= nil end

function Model:has_node(id, node_id)
  return self:has(id) and self.entities[id].nodes[node_id] ~= nil
end

local function entity(self, id) return assert(self.entities[id], "model: no entity") end

local function node_of(self, id, node_id) return assert(entity(self, id).nodes[node_id], "model: no node") end

local function place(self, id, position, kind)
  assert(not self.entities[id], "model: entity twice")
  local e = { id = id, position = doubles(position, self.dimensions), kind = kind or DEFAULT_KIND, nodes = {} }
  e.layers, e.extent = 1, 0.0
  self.entities[id] = e
  if self.deferred then note_way(self, e, true) end
  return e
end

function Model:enter(id, position, kind)
  begin(self)
  return settle(self, { [place(self, id, position, kind)] = true })
end

function Model:move(id, position) return self:move_many { { id, position } } end

-- A move that crosses nothing.
function Model:jump(id, position) return self:move_many({ { id, position } }, true) end

-- Everything that an entity carries goes along, in `touched`.
local function carry(self, e, position, touched, jumps)
  note_way(self, e, jumps)
  touched[e] = true
  e.position = position
  for _, p in pairs(self.entities) do
    if p.carrier == e then
      local to = {}
      for axis = 1, self.dimensions do to[axis] = position[axis] + p.offset[axis] end
      carry(self, p, to, touched, jumps)
    end
  end
end

-- Whether it may move there: it is not attached, and takes nothing that it carries beyond 2^50.
function Model:may_move(id, position, on_top)
  local e = entity(self, id)
  if e.carrier and not on_top then return false end
  for axis = 1, self.dimensions do
    if math.abs(position[axis]) > 2 ^ 50 then return false end
  end
  for _, p in pairs(self.entities) do
    if p.carrier == e then
      local to = {}
      for axis = 1, self.dimensions do to[axis] = position[axis] + p.offset[axis] end
      if not self:may_move(p.id, to, true) then return false end
    end
  end
  return true
end

-- A circle, or more than 16 in a chain.
function Model:may_attach(id, carrier)
  local e, above, below = entity(self, id), entity(self, carrier), 0
  local function depth(of)
    local most = 0
    for _, p in pairs(self.entities) do
      if p.carrier == of then most = math.max(most, depth(p)) end
    end
    return most + 1
  end
  while above do
    if above == e then return false end
    above, below = above.carrier, below + 1
  end
  return below + depth(e) <= 16
end

function Model:attach(id, carrier, offset)
  local e, events = entity(self, id), {}
  if carrier then
    local on, to = entity(self, carrier), {}
    for axis = 1, self.dimensions do to[axis] = on.position[axis] + offset[axis] end
    events = self:move_many { { id, to } }
    e.offset = doubles(offset, self.dimensions)
  end
  e.carrier = carrier and entity(self, carrier)
  return events
end

function Model:carrier(id)
  local e = self.entities[id]
  return e and e.carrier and e.carrier.id
end

function Model:passengers(id)
  local list = {}
  for _, p in pairs(self.entities) do
    if p.carrier == entity(self, id) then list[#list + 1] = p.id end
  end
  table.sort(list)
  return list
end

-- change(touched) moves and turns: judged as one call or, in a deferred space, with what else has moved and turned.
local function move_or_turn(self, change)
  if not self.deferred then begin(self) end
  local touched = self.moved or {}
  change(touched)
  if self.deferred then
    self.moved = touched
    return
  end
  local net = settle(self, touched)
  cross(self, net)
  return net
end

-- rows: { {id, position}, ... }. A batch is one change: pairs are judged where it ends, not on the way.
function Model:move_many(rows, jumps)
  return move_or_turn(self, function(touched)
    for _, row in ipairs(rows) do
      carry(self, entity(self, row[1]), doubles(row[2], self.dimensions), touched, jumps)
    end
  end)
end

function Model:enter_many(rows, kind)
  begin(self)
  local touched = {}
  for _, row in ipairs(rows) do touched[place(self, row[1], row[2], kind)] = true end
  return settle(self, touched)
end

function Model:leave(id, reason)
  begin(self)
  local gone, leaves = entity(self, id), {}
  for _, node in pairs(gone.nodes) do
    for target in pairs(node.seen) do leaves[#leaves + 1] = event(self, "leave", node, target) end
  end
  drop_crossings(self, nil, gone)
  for _, node in pairs(gone.nodes) do end_node(self, node) end
  if self.ways[gone] then self.ways[gone].broken = true end
  for _, watcher in pairs(self.entities) do
    if watcher.carrier == gone then watcher.carrier = nil end
    for _, node in pairs(watcher.nodes) do
      if watcher ~= gone and node.seen[gone] then
        leaves[#leaves + 1] = event(self, "leave", node, gone)
        node.seen[gone] = nil
      end
      node.overrides[gone] = nil
    end
  end
  self.entities[id] = nil
  for _, e in ipairs(leaves) do e.reason = reason or 0 end
  return finish(self, leaves, {})
end

-- hears: which of its events somebody wants, { enter = true, leave = true } without it; `cross`, too.
function Model:add_node(id, node_id, area, hears)
  begin(self)
  local watcher = entity(self, id)
  assert(not watcher.nodes[node_id], "model: node twice")
  local node = {
    id = node_id, watcher = watcher, area = shapes.copy(area), overrides = {},
    hears = hears or { enter = true, leave = true }, seen = {}, held = {}, held_then = {},
  }
  watcher.nodes[node_id] = node
  node.crosses, node.fresh = node.hears.cross, self.deferred
  if node.crosses then self.crossers, self.fresh = self.crossers + 1, self.fresh or node.fresh end
  return settle(self, { [node] = true })
end

function Model:remove_node(id, node_id)
  begin(self)
  local node, leaves = node_of(self, id, node_id), {}
  for target in pairs(node.seen) do leaves[#leaves + 1] = event(self, "leave", node, target) end
  node.watcher.nodes[node_id] = nil
  end_node(self, node)
  return finish(self, leaves, {})
end

local function change_area(self, id, node_id, change)
  begin(self)
  local node = node_of(self, id, node_id)
  change(node)
  return settle(self, { [node] = true })
end

function Model:set_area(id, node_id, area)
  return change_area(self, id, node_id, function(node)
    local was = node.area.outside
    node.area = shapes.copy(area)
    if was ~= node.area.outside then node.held, node.held_then = {}, {} end
  end)
end

function Model:set_radius(id, node_id, radius, keep)
  return change_area(self, id, node_id, function(node)
    node.area.radius, node.area.keep, node.area.margin = radius * 1.0, keep and keep * 1.0, 0.0
  end)
end

function Model:set_facing(id, node_id, facing)
  return move_or_turn(self, function(touched)
    local node = node_of(self, id, node_id)
    node.area.facing = facing * 1.0
    touched[node] = true
  end)
end

function Model:set_mask(id, node_id, mask)
  return change_area(self, id, node_id, function(node) node.area.mask = mask end)
end

function Model:override(id, node_id, target, how)
  local other = entity(self, target)
  if node_of(self, id, node_id).overrides[other] == how then return {} end -- no change: moves go on waiting
  return change_area(self, id, node_id, function(node) node.overrides[other] = how end)
end

function Model:set_kind(id, kind)
  begin(self)
  local e = entity(self, id)
  e.kind = kind
  return settle(self, { [e] = true })
end

-- Of nodes without layers of their own, too.
function Model:set_layers(id, layers)
  begin(self)
  local e = entity(self, id)
  e.layers = layers
  local touched = { [e] = true }
  for _, node in pairs(e.nodes) do touched[node] = true end
  return settle(self, touched)
end

function Model:set_extent(id, extent)
  begin(self)
  local e = entity(self, id)
  e.extent = extent * 1.0
  return settle(self, { [e] = true })
end

-- Delivery -----------------------------------------------------------------------------------------------------------

-- Everything pending, in order.
function Model:drain()
  deliver_crossings(self)
  local list = self.pending
  self.pending = {}
  return list
end

-- Nobody asked for it.
local function silent(e) return not e.node.hears[e.kind] end

-- The first queued event that must be delivered before e: of an earlier turn, or a leave of the call whose enter e is,
-- or an enter or leave of the turn whose crossing it is.
-- (These two loops are most of what random histories take, hence the order of their conditions.)
local function predecessor(pending, e)
  local turn, call, crosses = e.turn, e.kind == "enter" and e.call, e.kind == "cross"
  for i = 1, #pending do
    local other = pending[i]
    local first = other.latest < turn or other.call == call and other.kind == "leave" or crosses and other.turn == turn
    local due = other.kind ~= "cross" or other.must and other.latest < turn
    if first and due and not silent(other) then return other end
  end
end

-- The number of the crossing that was told at t: of two that it may have been one that must be told. Or what is wrong.
local function hear_crossing(self, watcher, target, node_id, t, any_order)
  local found, wrong
  for i, e in ipairs(self.pending) do
    if e.kind == "cross" and e.target == target and e.watcher == watcher and e.node_id == node_id then
      local other = not any_order and predecessor(self.pending, e)
      local late = not any_order and e.call == self.crossed and t < self.crossed_at and "after one further on its way"
      local fault = other and "before " .. Model.text(other) or late or crossings.fault(e.area, e.way, t)
      if not fault and not (found and not e.must) then found = i end
      if found and self.pending[found].must then return found end
      wrong = wrong or fault and ("%s, by %s on %s"):format(fault, shapes.text(e.area), crossings.text(e.way))
    end
  end
  local text = Model.text { kind = "cross", watcher = watcher, target = target, node_id = node_id }
  return found, ("heard: %s at %.9f, but %s"):format(text, t, wrong or "not due")
end

-- An event was heard: it must be pending, and its turn must have come (or any_order). Returns what is wrong, or nil.
-- what: the reason of a leave, the place of a crossing.
function Model:hear(kind, watcher, target, node_id, any_order, what)
  judge_moves(self)
  if self.deferred then
    if next(self.ways) or self.fresh then -- of handlers: what they have done is delivered as one turn
      self:hold()
      for _, e in ipairs(self.pending) do
        if e.turn > self.fixed then e.turn, e.latest = self.calls, self.calls end
      end
    end
    self.fixed = self.calls
  end
  local pending = self.pending
  if kind == "cross" then
    local i, wrong = hear_crossing(self, watcher, target, node_id, what, any_order)
    if not i then return wrong end
    self.crossed, self.crossed_at = table.remove(pending, i).call, what
    return nil
  end
  for i = 1, #pending do
    local e = pending[i]
    local same = e.target == target and e.watcher == watcher and e.node_id == node_id and e.kind == kind
      and e.reason == what
    if same and not silent(e) then
      local other = not any_order and predecessor(pending, e)
      if other then return "heard too early: " .. Model.text(e) .. ", before " .. Model.text(other) end
      table.remove(pending, i)
      return nil
    end
  end
  return "heard, but not due: "
    .. Model.text { kind = kind, watcher = watcher, target = target, node_id = node_id, reason = what }
end

-- After a delivery: drops the events of nodes without a handler for them, and returns what should have been delivered.
function Model:overdue()
  local due = {}
  for _, e in ipairs(self:drain()) do
    if e.kind == "cross" and e.must or e.kind ~= "cross" and not silent(e) then due[#due + 1] = e end
  end
  self.pending = due
  return due
end

-- "+watcher/node>target" is an enter, "-watcher/node>target" a leave, with " (reason)" if an end of it has left,
-- "xwatcher/node>target" a crossing.
local SIGNS = { enter = "+", leave = "-", cross = "x" }

function Model.text(e)
  local sign, why = SIGNS[e.kind], e.reason and (" (%d)"):format(e.reason) or ""
  return ("%s%s/%s>%s"):format(sign, bits.id(e.watcher), bits.id(e.node_id), bits.id(e.target)) .. why
end

-- Queries: sorted lists ----------------------------------------------------------------------------------------------

local function sorted(list)
  table.sort(list)
  return list
end

function Model:sees(id, node_id, target)
  judge_moves(self)
  return node_of(self, id, node_id).seen[self.entities[target]] == true
end

function Model:view(id, node_id)
  judge_moves(self)
  local list = {}
  for target in pairs(node_of(self, id, node_id).seen) do list[#list + 1] = target.id end
  return sorted(list)
end

-- { {watcher, node_id}, ... }
function Model:viewers(id)
  judge_moves(self)
  local list, target = {}, entity(self, id)
  for _, watcher in pairs(self.entities) do
    for _, node in pairs(watcher.nodes) do
      if node.seen[target] then list[#list + 1] = { watcher.id, node.id } end
    end
  end
  table.sort(list, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
  return list
end

-- Without a mask it asks for no kind: one of kind 0 is found, too.
function Model:near(position, area, mask)
  local list, center = {}, doubles(position, self.dimensions)
  area = shapes.copy(area)
  if area.has_mask and mask == nil then mask = area.mask end
  for id, e in pairs(self.entities) do
    if (mask == nil or bits.meet(e.kind, mask)) and (not area.layers or bits.meet(e.layers, area.layers))
      and shapes.holds(area, center, e.position, e.extent) then
      list[#list + 1] = id
    end
  end
  return sorted(list)
end

-- Who is where, with what looks: a model of its own, without nodes.
function Model:picture()
  local copy = Model.new { dimensions = self.dimensions }
  for id, e in pairs(self.entities) do
    copy.entities[id] = {
      id = id, position = doubles(e.position, self.dimensions), kind = e.kind, layers = e.layers, extent = e.extent,
      nodes = {},
    }
  end
  return copy
end

-- In order.
function Model:nearest(position, n, radius, mask, least, except)
  local list, center = {}, doubles(position, self.dimensions)
  radius = (radius or math.huge) * 1.0
  for id, e in pairs(self.entities) do
    local sum = 0.0
    for axis = 1, self.dimensions do
      local d = e.position[axis] - center[axis]
      sum = sum + d * d
    end
    if sum <= radius * radius and (mask == nil or bits.meet(e.kind, mask)) and id ~= except
      and not (least and sum < least * least) then
      list[#list + 1] = { id = id, sum = sum }
    end
  end
  table.sort(list, function(a, b) return a.sum < b.sum or (a.sum == b.sum and a.id < b.id) end)
  local ids = {}
  for i = 1, math.min(n, #list) do ids[i] = list[i].id end
  return ids
end

-- "id t" of what a ball of that radius touches between two places, in order.
function Model:sweep(from, to, radius, mask)
  local p0, p1, list = doubles(from, self.dimensions), doubles(to, self.dimensions), {}
  for id, e in pairs(self.entities) do
    local a, b, c, R = 0.0, 0.0, 0.0, radius + e.extent
    for axis = 1, self.dimensions do
      local d, m = p1[axis] - p0[axis], p0[axis] - e.position[axis]
      a, b, c = a + d * d, b + m * d, c + m * m
    end
    c = c - R * R
    local q, t = b * b - a * c, nil
    if c <= 0 then t = 0.0
    elseif a ~= 0 and b < 0 and q >= 0 then t = (-b - math.sqrt(q)) / a end
    if t and t <= 1 and R >= 0 and (mask == nil or bits.meet(e.kind, mask)) then
      list[#list + 1] = { id = id, t = t }
    end
  end
  table.sort(list, function(x, y) return x.t < y.t or (x.t == y.t and x.id < y.id) end)
  for i, hit in ipairs(list) do list[i] = ("%s %.17g"):format(bits.id(hit.id), hit.t) end
  return list
end

-- { {target, how}, ... }
function Model:overrides(id, node_id)
  local list = {}
  for target, how in pairs(node_of(self, id, node_id).overrides) do list[#list + 1] = { target.id, how } end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

-- What is heard by "id/node id", of nodes and of events that wait; nil where two nodes of the same ids differ in it.
function Model:handlers()
  local wanted = {}
  local function want(node)
    local key = node.watcher.id .. "/" .. node.id
    local same = wanted[key] or node.hears
    wanted[key] = node.hears
    for _, kind in ipairs { "enter", "leave", "cross" } do
      if same[kind] ~= node.hears[kind] then return false end
    end
    return true
  end
  for _, e in ipairs(self.pending) do
    if not want(e.node) then return nil end
  end
  for _, e in pairs(self.entities) do
    for _, node in pairs(e.nodes) do
      if not want(node) then return nil end
    end
  end
  return wanted
end

function Model:area(id, node_id) return node_of(self, id, node_id).area end

-- Returns `sees` and `why`.
function Model:explain(id, node_id, target)
  judge_moves(self)
  if not self:has(id) then return false, "no watcher" end
  if not self:has_node(id, node_id) then return false, "no node" end
  local node, other = node_of(self, id, node_id), self.entities[target]
  if not other then return false, "no target" end
  if other == node.watcher then return false, "self" end
  local how = node.overrides[other]
  if how == "hide" then return false, "hidden" end
  if how == "show" then return true, "shown" end
  if how ~= "match" and not bits.meet(other.kind, node.area.mask) then return false, "mask" end
  if not bits.meet(other.layers, node.area.layers or node.watcher.layers) then return false, "layers" end
  if shapes.holds(node.area, node.watcher.position, other.position, other.extent) then
    return not node.area.outside, "inside"
  end
  if node.area.outside then return node.seen[other] or false, node.held[other] and "kept" or "outside" end
  if node.seen[other] then return true, "kept" end
  return false, "outside"
end

function Model:position(id)
  local e = self.entities[id]
  return e and e.position
end

function Model:kind(id)
  local e = self.entities[id]
  return e and e.kind
end

function Model:layers(id)
  local e = self.entities[id]
  return e and e.layers
end

function Model:extent(id)
  local e = self.entities[id]
  return e and e.extent
end

function Model:radius(id, node_id)
  return self:has_node(id, node_id) and self.entities[id].nodes[node_id].area.radius or nil
end

function Model:count()
  local n = 0
  for _ in pairs(self.entities) do n = n + 1 end
  return n
end

function Model:ids()
  local list = {}
  for id in pairs(self.entities) do list[#list + 1] = id end
  return sorted(list)
end

function Model:nodes(id)
  local list = {}
  for node_id in pairs(entity(self, id).nodes) do list[#list + 1] = node_id end
  return sorted(list)
end

return Model
