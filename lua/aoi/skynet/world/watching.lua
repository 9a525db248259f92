-- Nodes, overrides and client views of a world, as one of its clients asks for them: own[name](self, ...) of
-- aoi.skynet.world.member, which return true and the answer, or false and what was wrong. What the owner accepts is
-- kept, for the case that its shard dies (restore.lua).

local argument = require "aoi.skynet.argument"
local core = require "aoi.skynet.world.native"
local wire = require "aoi.skynet.wire"

local function home(self, id) return core.home(id, self.shards) end

local own = {}

-- The number of the client at that address, and a handle of a node there.
local function client_at(self, address, n, name)
  local to, handle = self.foreign_handle(argument.integer(address, n, name, 0))
  if to then return to, handle end
  argument.fail(n, name, 0, "service :%08x has not opened world '%s'", address, self.name)
end

--- As that of a map. Events may come before the answer.
local function request_node(self, id, node, area, handlers, options)
  if self.closed then return false, self:closed_text() end
  if options and options.to then
    local ok, to, foreign = pcall(client_at, self, options.to, 5, "add_node")
    if not ok then return false, to end
    local added, packed = self:request("add_node", id, node, area, foreign, { positions = options.positions, to = to })
    if not added then return false, packed end
    self.lent[foreign] = { id = math.tointeger(id), node = math.tointeger(node), handle = foreign, to = to,
                           positions = options.positions, area = packed }
    return true
  end
  local handle, client = self.handle, self.client
  repeat
    handle = handle % (wire.GATE - 1) + 1
  until not client.records[handle]
  self.handle = handle
  id, node = math.tointeger(id), math.tointeger(node)
  if not id or not node then return self:request("add_node", id, node) end
  local record = self:keep_record(id, node, handle, handlers)
  client.inbox:since(handle, 0xffffffff)
  local ok, reason = self:request("add_node", id, node, area, handle, options)
  if not ok then
    self.records[handle] = nil
    client:forget_record(record)
    return false, reason
  end
  record.area, record.positions = reason, options and options.positions or nil
  if self.records[handle] == record then -- else it has already been closed
    client.inbox:since(handle, self.answered_at + 1)
    self:own_record(record)
  end
  return true
end

-- Of a node that this client has added: its record, or what it has lent; nil: it is another's.
local function kept_node(self, id, node)
  local record = self.mine[id] and self.mine[id][node]
  if record then return record end
  for _, one in pairs(self.lent) do
    if one.id == id and one.node == node then return one end
  end
end

for _, name in ipairs { "set_area", "set_radius", "set_facing", "set_mask" } do
  own[name] = function(self, id, node, ...)
    local ok, area = self:ask_owner(name, id, node, ...)
    if not ok then return false, area end
    local kept = kept_node(self, id, node)
    if kept then kept.area = area end
    return true
  end
end

function own.remove_node(self, id, node)
  local kept = kept_node(self, id, node)
  local ok, reason = self:ask_owner("remove_node", id, node)
  if not ok then return false, reason end
  if kept then kept.ends, self.lent[kept.handle] = self.answered_at + 1, nil end
  return true
end

function own.set_kind(self, id, kind)
  kind = argument.integer(kind, 2, "set_kind", 0)
  local ok, reason = self:ask_owner("set_kind", id, kind)
  if ok then self.outbox:rekind(id, kind) end
  return ok, reason
end

local HOWS = { hide = true, show = true, match = true }

function own.override(self, id, node, target, how)
  if how ~= nil and not HOWS[how] then argument.fail(4, "override", 0, "'hide', 'show', 'match' or nil expected") end
  local ok, lives = self:ask_shard(home(self, target), "lives_of", { target })
  if not ok then return false, lives end
  if not lives[1] then argument.fail(3, "override", 0, "no entity %d", target) end
  local done, reason = self:ask_owner("override", id, node, target, how, lives[1])
  local kept = done and kept_node(self, id, node)
  if kept then
    kept.overrides = kept.overrides or {}
    kept.overrides[target] = how and { how = how, life = lives[1] } or nil
  end
  return done, reason
end

-- Those whose targets are still alive.
function own.overrides(self, id, node)
  local ok, list = self:ask_owner("overrides", id, node)
  if not ok then return false, list end
  local alive, n = {}, 0
  for i = 1, #list, 3 do
    local good, lives = self:ask_shard(home(self, list[i]), "lives_of", { list[i] })
    if not good then return false, lives end
    if lives[1] == list[i + 2] then
      alive[2 * n + 1], alive[2 * n + 2] = list[i], list[i + 1]
      n = n + 1
    end
  end
  return true, alive, n
end

function own.set_priority()
  return false, "bad argument #1 to 'set_priority' (a world has none: it would not go to other shards)"
end

local VIEW = { to = true, fd = true }

function own.add_client(self, id, area, options)
  local given, o = {}, argument.options(3, "add_client", options)
  for key, value in pairs(o) do
    if not VIEW[key] then given[key] = value end
  end
  local to = o.to ~= nil and client_at(self, o.to, 3, "add_client") or nil
  local fd = o.fd ~= nil and argument.integer(o.fd, 3, "add_client", 0) or nil
  local done, reason = self:ask_owner("add_client", id, area, given, to, fd)
  if done then self.views[id] = { area = area, options = given, client = to, fd = fd } end
  return done, reason
end

function own.remove_client(self, id)
  local done, reason = self:ask_owner("remove_client", id)
  if done then self.views[id] = nil end
  return done, reason
end

-- The former owner restores it no more, this one does.
function own.take_over(self, id)
  local done, own_life, kind, x, y, z = self:ask_owner("take_over", id)
  if not done then return false, own_life end
  self.outbox:keep(id, self.outbox:where(id), own_life, kind, x, y, z)
  return true, x, y, z
end

--- Another client has taken it over.
local function taken(self, id)
  self.outbox:forget(id)
  self.views[id] = nil
end

return function(Member, into)
  for name, f in pairs(own) do into[name] = f end
  Member.request_node, Member.taken = request_node, taken
end
