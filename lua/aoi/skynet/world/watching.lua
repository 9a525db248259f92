-- Nodes, overrides and client views of a world, as one of its clients asks for them: requests[name](self, ...) of
-- member.lua, which return true and the answer, or false and what was wrong. What the owner has accepted is kept in
-- `mine` (of nodes with events for another service, too: record.to) and `views`: restore.lua brings it back after a
-- death.

local argument = require "aoi.skynet.argument"
local failures = require "aoi.skynet.failures"
local methods = require "aoi.skynet.methods"
local taking = require "aoi.skynet.world.taking"
local wire = require "aoi.skynet.wire"

local requests = {}

local MOST_ENTRIES = 10 -- tries of `join` for an id that comes and goes

local done = methods.done

-- The number of the client at that address, and a handle for a node that sends its events there. Raises.
local function client_at(self, address, n, name)
  local to, handle = self.foreign_handle(argument.integer(address, n, name, 0))
  if to then return to, handle end
  argument.fail(n, name, 0, "service :%08x has not opened world '%s'", address, self.name)
end

-- Options of a client view, `to` as the number of that client, and `fd`; both nil where they are not given. Raises.
local function view_options(self, n, name, options)
  local given, to, fd = argument.view_options(n, name, options)
  if to ~= nil then to = client_at(self, to, n, name) end
  return given, to, fd
end

-- Keeps a client view that the owner has made.
local function keep_view(self, id, life, area, options, to, fd, handle)
  self.views[id] = { area = area, options = options, client = to, fd = fd, life = life, since = self.answered_at + 1,
                     pins = {}, priorities = {}, handle = handle }
end

local function new_handle(self)
  repeat
    self.handle = self.handle % (wire.GATE - 1) + 1
  until not self.client.records[self.handle]
  return self.handle
end

-- A record with a handle of its own. No resync has to name it before the epoch of its addition is known.
local function new_record(self, id, node, handlers)
  local record = self:keep_record(id, node, new_handle(self), handlers)
  self.client.inbox:since(record.handle, 0xffffffff)
  return record
end

-- The arguments of the owner's add_client behind the entity. Raises.
local function view_of(self, area, options)
  local given, to, fd = view_options(self, 3, "add_client", options)
  return { argument.copy(area), given, to, fd, new_handle(self) }
end

-- Checks what the owner is to add. Returns the record of the node, and the arguments of the owner's add_node behind the
-- entity. Events may come before the answer, so the record is registered here, unless they go to another service.
-- Raises.
local function prepare(self, id, node, area, handlers, options)
  id, node = methods.checked("add_node", id, node)
  local o, record, to, handle = options or {}, nil, nil, nil
  if o.crosses then
    argument.fail(4, "add_node", 0, "handler 'cross': no shard sees all of a way, so that maps alone tell crossings")
  end
  if o.to then to, handle = client_at(self, o.to, 5, "add_node") end
  if to and to ~= self.number then record = { watcher = id, node = node, handle = handle, to = to } end
  record = record or new_record(self, id, node, handlers)
  record.positions, record.sight, record.linger = o.positions or nil, o.sight or nil, math.tointeger(o.linger)
  return record, { node, area, record.handle, {
    positions = record.positions, to = record.to, sight = record.sight, linger = o.linger,
  } }
end

-- The record of a node that this client has added; nil: another has added it.
local function kept_node(self, id, node) return self.mine[id] and self.mine[id][node] end

-- The answer of the owner: the node's area as bytes, nil: the node has not been added; and the life of the entity.
local function finish(self, record, area, life)
  local handle = record.handle
  if not area and not record.to then
    self.records[handle] = nil
    self.client:forget_record(record)
  end
  if not area then return end
  record.since, record.life, record.area = self.answered_at + 1, life, area
  if not record.to then
    if self.records[handle] ~= record then return end -- the node has already been closed
    self.client.inbox:since(handle, self.answered_at + 1)
  end
  local former = kept_node(self, record.watcher, record.node)
  if former then former.ends = former.ends or record.since end -- the message that ends it may be lost
  self:own_record(record)
end

--- Overrides the method of Map.
local function request_node(self, id, node, area, handlers, options)
  if self.closed then return false, self:closed_text() end
  local good, record, arguments = pcall(prepare, self, id, node, area, handlers, options)
  if not good then return false, record end
  local ok, packed, life = self:request("add_node", id, table.unpack(arguments, 1, 4))
  finish(self, record, ok and packed or nil, life)
  if ok then return true end
  return false, packed
end

-- Enters, or, if e.take_over, takes over what is there, whichever holds while the id may come and go. Returns true, the
-- areas of the nodes, and a list of the coordinates; or false and why.
local function enter_or_take(self, e, more)
  local ok, areas
  local function is_there() return e.take_over and select(2, self:ask_owner("has", math.tointeger(e.id))) end
  for _ = 1, MOST_ENTRIES do
    if e.take_over then
      local taken = table.pack(taking.take(self, methods.checked("take_over", e.id), more))
      if taken[1] or is_there() then return taken[1], taken[2], { table.unpack(taken, 3, taken.n) } end
    end
    ok, areas = self:request_enter(e, more)
    if ok or not is_there() then break end
  end
  return ok, areas, { e.x, e.y, e.z }
end

-- Overrides the method of Map: one request to the home of the id, then one to the owner with everything.
local function request_join(self, e, nodes, handlers, view)
  if self.closed then return false, self:closed_text() end
  local records, more = {}, { nodes = {} }
  local ok, reason = pcall(function()
    for i, n in ipairs(nodes) do
      records[i], more.nodes[i] = prepare(self, e.id, n[1], n[2], handlers[i], n[3])
    end
    more.view = view and view_of(self, view[1], view[2])
  end)
  local areas, where = reason, nil
  if ok then ok, areas, where = failures.caught(pcall(enter_or_take, self, e, more)) end
  local id = ok and math.tointeger(e.id)
  local life = ok and self.outbox:owns(id)
  for i, record in ipairs(records) do finish(self, record, ok and areas[i] or nil, life) end
  if not ok then return false, areas end
  if view then keep_view(self, id, life, table.unpack(more.view, 1, 5)) end
  return true, table.unpack(where)
end

for _, name in ipairs { "set_area", "set_radius", "set_facing", "set_mask" } do
  requests[name] = function(self, id, node, ...)
    local ok, area = self:ask_owner(name, id, node, ...)
    if not ok then return false, area end
    local kept = kept_node(self, id, node)
    if kept then kept.area = area end
    return true
  end
end

function requests.remove_node(self, id, node)
  local kept = kept_node(self, id, node)
  local ok, reason = self:ask_owner("remove_node", id, node)
  if not ok then return false, reason end
  if kept then kept.ends = self.answered_at + 1 end
  if kept and kept.to then self:disown_record(kept) end
  return true
end

function requests.set_kind(self, id, kind)
  local ok, reason = self:ask_owner("set_kind", id, kind)
  if ok then self.outbox:rekind(id, kind) end
  return done(ok, reason)
end

-- The life of a target, as its home has it; false: there is none. Raises.
local function life_of(self, target) return methods.answered(self:ask_home("lives_of", target)) end

function requests.override(self, id, node, target, how)
  local life = life_of(self, target)
  local ok, reason = self:ask_owner("override", id, node, target, how, life)
  local kept = ok and kept_node(self, id, node)
  if kept then
    kept.overrides = kept.overrides or {}
    kept.overrides[target] = how and { how = how, life = life } or nil
  end
  return done(ok, reason)
end

-- Without those of targets that have ended.
function requests.overrides(self, id, node)
  local ok, list = self:ask_owner("overrides", id, node)
  if not ok then return false, list end
  local alive, n = {}, 0
  for i = 1, #list, 3 do
    if life_of(self, list[i]) == list[i + 2] then
      alive[2 * n + 1], alive[2 * n + 2] = list[i], list[i + 1]
      n = n + 1
    end
  end
  return true, alive, n
end

-- set_priority for one client: of its view, whose owner has it.
function requests.rank(self, target, p, client)
  client = argument.integer(client, 3, "set_priority", 0)
  local life = life_of(self, target)
  if not life then argument.fail(1, "set_priority", 0, "no entity %d", target) end
  local ok, reason = self:ask_owner("rank", client, target, p == nil and false or p, life)
  if not ok then return false, (reason:gsub("#1 to 'rank'", "#3 to 'set_priority'", 1)) end
  if self.views[client] then self.views[client].priorities[target] = p and { p = p, life = life } end
  return true
end

for _, name in ipairs { "set_extent", "set_layers", "set_priority", "set_team", "put" } do
  requests[name] = function(self, id, ...)
    if name == "set_priority" and select(2, ...) ~= nil then return requests.rank(self, id, ...) end
    if name == "set_team" and select("#", ...) > 0 and (...) == nil then return requests.set_team(self, id, 0) end
    local ok, all = self:ask_owner(name, id, ...)
    if not ok then return false, all end
    if self.outbox:owns(id) then self.traits[id] = all end
    return true
  end
end

for _, name in ipairs { "attach", "carrier", "passengers" } do
  requests[name] = function()
    return false, ("attempt to call '%s' of a world (entities are attached in maps alone)"):format(name)
  end
end

function requests.add_client(self, id, area, options)
  local view = view_of(self, area, options)
  local ok, life = self:ask_owner("add_client", id, table.unpack(view, 1, 5))
  if not ok then return false, life end
  keep_view(self, id, life, table.unpack(view, 1, 5))
  return true
end

function requests.set_client(self, id, options)
  local given, to, fd = view_options(self, 2, "set_client", options)
  local ok, reason = self:ask_owner("set_client", id, given, to, fd)
  local view = self.views[id]
  if not ok or not view then return done(ok, reason) end
  for name, value in pairs(given) do view.options[name] = value end
  view.client, view.fd = to or view.client, fd or view.fd
  return true
end

function requests.set_view(self, id, i, area)
  area = argument.copy(area)
  local ok, reason = self:ask_owner("set_view", id, i, area)
  local view = self.views[id]
  if not ok or not view then return done(ok, reason) end
  view.area = argument.with_view(view.area, i, area)
  return true
end

function requests.remove_client(self, id)
  local ok, reason = self:ask_owner("remove_client", id)
  self.views[id] = nil -- where that failed, the view has ended with its entity
  return done(ok, reason)
end

-- The target may be anywhere: its home has its life.
function requests.pin(self, id, target)
  local life = life_of(self, target)
  local ok, reason = self:ask_owner("pin", id, target, life)
  if ok and self.views[id] then self.views[id].pins[target] = life end
  return done(ok, reason)
end

function requests.unpin(self, id, target)
  local ok, reason = self:ask_owner("unpin", id, target)
  if self.views[id] then self.views[id].pins[target] = nil end
  return done(ok, reason)
end

--- Drops the nodes with events for other services on that entity, which have ended; node: that one alone.
local function forget_lent(self, id, node)
  for number, record in pairs(self.mine[id] or {}) do
    if record.to and number == (node or number) then self:disown_record(record) end
  end
end

--- A life of the entity has ended, and in that epoch what this client has had on it.
local function end_life(self, id, epoch)
  for _, record in pairs(self.mine[id] or {}) do record.ends = record.ends or epoch end
  forget_lent(self, id)
end

--- Nodes and views have ended that this client has added: pairs of an entity and a node, false: the client view, or, if
-- quiet, a handle.
local function lose_views(self, list)
  for i = 1, #list, 2 do
    local id, what = list[i], list[i + 1]
    local view = self.views[id]
    if list.quiet then
      for _, record in pairs(self.mine[id] or {}) do
        if record.handle == what then record.ends = record.ends or 0 end
        if record.handle == what and record.to then self:disown_record(record) end
      end
      if view and view.handle == what then self.views[id] = nil end
    elseif what then
      forget_lent(self, id, what)
    else
      self.views[id] = nil
    end
  end
end

requests.take_over = taking.take_over

return function(Member, into)
  for name, f in pairs(requests) do into[name] = f end
  Member.new_record, Member.request_node, Member.request_join = new_record, request_node, request_join
  Member.lose_views, Member.forget_lent, Member.end_life = lose_views, forget_lent, end_life
end
