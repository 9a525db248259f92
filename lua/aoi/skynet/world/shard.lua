-- One shard of a world: it owns the entities in a region, and has ghosts of those that nodes there may see. shardd.lua
-- is the service around it, the exchange of its process the caller. It is a place (aoi.skynet.commands) in which
-- commands wait for the coming epoch. No function yields or sends a message: results are handed to the caller.
--
--   core                     an aoi space with deferred delivery: owned entities and ghosts
--   router                   (C) which entities are owned, and their moves, sorted by the shards that receive them
--   post                     (C) makes messages of events, as in an AOI service (src/skynet/wire_post.h); the exchange
--                            has the windows
--   clients[number]          clients that have or had something here (clients.lua); link, slot: their keys in the post
--   ents[id]                 owned entities, and those that enter in the coming epoch: the fields of any place, and
--                            life, kind, entry = { x, y, z, client, batch } until the entity has entered; entry.mover:
--                            another client that has moved it since
--   mail[client]             what is sent to the client with the coming epoch: outlet.lua
--   targets[target]          nodes with an override for the target, views that pin it: targets.lua, distant.lua
--   moved[id]                the new owner of an entity that has been handed over, for a while
--   forwarding[id]           the shard to which moves of the entity are forwarded with the coming epoch
--   sent_on[id][client]      the last move that has been forwarded (followers.lua)
--   life[id], holder[id], claims[id]   the directory of the ids that have this shard as home: life and owner
--
--   request, moves -> coming epoch (coming.lua) -> close(e) -> parts for other shards
--                                                  apply(e, parts of others) -> messages for clients
--
-- Between close and apply the shard accepts moves only; a request waits until apply is done, so that it reads the end
-- of an epoch and the commands accepted since. Apply has six phases: of an entity that is handed over, the former owner
-- carries out the first one, which ends things, the new owner the others.

local clients = require "aoi.skynet.clients"
local coming = require "aoi.skynet.world.coming"
local commands = require "aoi.skynet.world.owner"
local directory = require "aoi.skynet.world.directory"
local distant = require "aoi.skynet.world.distant"
local epoch = require "aoi.skynet.world.epoch"
local failures = require "aoi.skynet.failures"
local followers = require "aoi.skynet.world.followers"
local log = require "aoi.skynet.world.log"
local outlet = require "aoi.skynet.world.outlet"
local recovery = require "aoi.skynet.world.recovery"
local senders = require "aoi.skynet.world.senders"
local snapshot = require "aoi.skynet.world.snapshot"
local misrouted = require "aoi.skynet.world.misrouted"
local targets = require "aoi.skynet.world.targets"
local tiles = require "aoi.skynet.world.tiles"
local traits = require "aoi.skynet.world.traits"
local wall_list = require "aoi.skynet.world.wall_list"
local views = require "aoi.skynet.views"
local world = require "aoi.skynet.native" "world"

local MOVE, NEAR, FAR, GONE, ENTER, KIND = 1, 2, 3, 4, 5, 6

local Shard = {}
Shard.__index, Shard.admit = Shard, senders.admit
coming(Shard)

--- options: name; number; plan, from tiles.plan; engine, dimensions, cell, sight. Optional: clock() in seconds;
-- log(epoch, line) receives the commands of each closed epoch, for a replay; grace: epochs for which lost entities wait
-- to be restored; warn(text). Of a successor (recovery.lua): term; terms of all shards; epoch: the last one before its
-- first; lost: whether the former instance has died; walls: a state of wall_list.lua.
function Shard.new(options)
  local space = require("aoi").new {
    engine = options.engine, dimensions = options.dimensions, cell = options.cell, delivery = "deferred",
  }
  local map = tiles.map(options.plan)
  local self = setmetatable({
    name = options.name, number = options.number, plan = options.plan, dimensions = options.dimensions or 2, map = map,
    core = space, router = world.router(space, map, options.number, (options.epoch or 0) + 1),
    term = options.term or 0, terms = options.terms or {}, ready = options.term and options.epoch + 1 or 0,
    grace = options.grace or 100, renewed = 0, state = options.lost and "blank" or "whole",
    restored = {}, lost_ids = {}, replaced = {}, revived = {}, ended = {}, superseded = {}, lost = {},
    post = outlet.post(), clients = {}, mail = {},
    targets = {}, overriding = {}, asked = {}, asking = {}, passing = {}, expired = {},
    views = {}, quantum = options.quantum, fields = options.fields, traits = {}, trait_changes = {},
    clock = options.clock or os.clock, log = options.log, new_sync = require("aoi.sync").new,
    warn = options.warn or function() end,
    ents = {}, recs = {}, moved = {}, sent_on = {}, number_of = {}, address_of = {},
    life = {}, holder = {}, client_of = {}, claims = {}, departed = {},
    last_life = (options.term or 0) << 24 & 0xffffffff,
    closed = options.epoch or 0, applied = options.epoch or 0,
    queue = {}, early = {}, forward = {}, forwarding = {}, orders = {},
    counters = {
      requests = 0, moves = 0, misrouted = 0, refused = 0, overtaken = 0, handed = 0, adopted = 0, events = 0,
      bytes = 0, read_seconds = 0, close_seconds = 0, hand_seconds = 0, apply_seconds = 0, drain_seconds = 0,
    },
  }, Shard)
  if options.sight then wall_list.begin(self, options.walls) end
  self:begin()
  return self
end

-- Requests ----------------------------------------------------------------------------------------------------------

local function answer(self, reply, ok, ...)
  if ok then return reply(true, self.applied, ...) end
  local reason = (...)
  if type(reason) == "table" then -- owner.lua; a move that is forwarded arrives with the next epoch, and goes first
    local applied = (reason.later or self.forwarding[reason.id]) and self.applied + 1 or self.applied
    if reason.stale or reason.taken then return reply(reason.stale and "stale" or "taken", applied, reason.id) end
    if reason.owners then return reply(true, applied, reason.owners) end
    return reply(reason.moved and "moved" or "unknown", applied, reason.moved)
  end
  reply(false, self.applied, failures.reason(reason))
end

local function owned(command, self, client, name, ...)
  commands.helpers.check_owner(self, client, name, ...)
  return command(self, client, ...)
end

local function run(self, client, reply, name, ...)
  local command = commands[name] or directory.commands[name] or recovery.commands[name]
  self.counters.requests = self.counters.requests + 1
  if type(command) ~= "function" then
    return reply(false, self.applied, ("unknown request '%s'"):format(tostring(name)))
  end
  answer(self, reply, pcall(owned, command, self, client, name, ...))
end

--- A request of a client, given by its number, which runs when epoch `after` has been applied here. Calls, at once or
-- later, reply(true, applied, results ...), reply(false, applied, reason), reply("moved", applied, shard) where another
-- shard owns the entity, reply("unknown", applied), reply("stale", applied, id) where the home of the id has died since
-- it was asked, reply("taken", applied, id) where it is in the world, or reply("retired", applied): another instance of
-- this shard. A request that fails has changed nothing. Only close and apply may be fatal.
function Shard:request(client, after, reply, name, ...)
  if self.shut then return reply(self.retired and "retired" or false, self.applied, "the world is closed") end
  if math.type(client) ~= "integer" or client < 0 or client > 0xffffffff or math.type(after) ~= "integer" then
    return reply(false, self.applied, "bad request (numbers of a client and of an epoch expected)")
  end
  local waits = self.retired or self.closed > self.applied or after > self.applied or recovery.is_absent(self)
  if waits or name == snapshot.REQUEST or name == "claim" and directory.is_unsure(self, ...) then
    self.queue[#self.queue + 1] = { client = client, after = after, reply = reply, n = select("#", ...) + 1, name, ... }
  else
    run(self, client, reply, name, ...)
  end
end

local function run_queue(self)
  local queue = self.queue
  if #queue == 0 then return end
  self.queue = {}
  for _, r in ipairs(queue) do
    if self.retired then
      r.reply("retired", self.applied)
    else
      self:request(r.client, r.after, r.reply, table.unpack(r, 1, r.n))
    end
  end
end

-- Moves -------------------------------------------------------------------------------------------------------------

--- A client's message of moves (src/skynet/wire_outbox.h): a string, or a pointer and its length. address: of the
-- client that has sent it; nil: an exchange has, which has checked it. Returns true, or nil and a reason. Rows that the
-- router does not accept go to misrouted.lua.
function Shard:moves(message, size, address)
  if self.shut then return true end
  local started = self.clock()
  local n, client, batch, rows, count = self.router:read(message, size, address and senders.number(self, address))
  if not n then return nil, client end
  self.counters.moves = self.counters.moves + n
  local values = self.dimensions + 1
  for i = 1, count * values, values do
    local x, y, z = rows[i + 1], rows[i + 2], values == 4 and rows[i + 3] or nil
    misrouted.move(self, client, batch, 0, rows[i], x, y, z)
  end
  self.counters.read_seconds = self.counters.read_seconds + self.clock() - started
  return true
end

-- Dated orders of the exchange, which all shards obey in the same epoch ---------------------------------------------

--- An order for epoch `at`: "whole", a client: its nodes report all that they see; "death", a client: its entities
-- leave and its nodes are removed; "resend", a list of entities: their client views begin anew; "change": see
-- changes.lua. Orders of several processes may come out of turn when one of these has died: the list is sorted by date.
function Shard:order(what, value, at)
  local i = #self.orders + 1
  while i > 1 and self.orders[i - 1].at > at do i = i - 1 end
  table.insert(self.orders, i, { at = at, [what] = value })
end

local function obey(self, number, what, f)
  local kept = {}
  for _, order in ipairs(self.orders) do
    if order[what] and order.at <= number then
      f(self, order[what], order.at)
    else
      kept[#kept + 1] = order
    end
  end
  self.orders = kept
end

local function end_client(self, client)
  self.ended_clients[#self.ended_clients + 1] = client
  senders.forget(self, client)
  directory.end_client(self, client)
  for _, id in ipairs(clients.entities(self, client)) do self.sent_on[id] = nil end
  commands.helpers.end_client(self, client)
end

-- close -------------------------------------------------------------------------------------------------------------

local function put_row(lists, shard, tag, row)
  lists[shard] = lists[shard] or {}
  lists[shard][tag] = lists[shard][tag] or {}
  table.insert(lists[shard][tag], row)
end

-- Notifies the home of the id, and the exchanges: the new owner of that life, 0: it has ended. The row goes to this
-- shard, too, if it is the home.
local function notify_home(self, lists, id, life, shard)
  local ent = self.ents[id]
  local row = directory.note(self, id, life, shard, ent and ent.client or 0)
  put_row(lists, directory.home(self, id), epoch.HOME, row)
end

local function is_own(self, owner) return owner == self.number and not self.retired end

-- Hands an entity over to a shard: to this one, if the entity is restored here. hand: a HAND row without what is on the
-- entity. Its nodes report nothing here from now on. Returns their numbers in the core.
local function give(self, lists, hand, shard)
  local id, numbers = hand.id
  local ent = self.ents[id]
  hand.ghosts = distant.lend(self, id, ent, shard)
  hand.nodes, numbers = snapshot.nodes(self, id, ent)
  for _, rec in pairs(ent.nodes or {}) do
    rec.dead = true
    if rec.number then
      self.post:drop(rec.number)
      self.recs[rec.number] = nil
    end
    targets.forget(self, rec)
    clients.forget_node(self, ent, rec)
  end
  hand.barred, hand.view, hand.traits = ent.barred, views.export(self, id), self.traits[id]
  put_row(lists, shard, epoch.HAND, hand)
  notify_home(self, lists, id, hand.life, shard)
  clients.disown(self, id)
  if is_own(self, shard) then return numbers end
  outlet.note(self, ent.client, id, shard)
  self.moved[id] = { shard = shard, epoch = self.closed }
  return numbers
end

local function hand_over(self, lists, id, shard, x, y, z)
  local client, movers = self.ents[id].client, { self.router:mover(id) }
  targets.mark(self, id) -- before it is handed over
  local stays, kind, life, follows = self.router:hand(id, shard, x, y, z)
  local numbers = give(self, lists, { id = id, life = life, kind = self.kinds[id] or kind, client = client,
                                      movers = movers, x = x, y = y, z = z, follows = follows, enters = false }, shard)
  if movers[1] ~= 0 and movers[1] ~= client then outlet.note(self, movers[1], id, shard) end
  self.given[#self.given + 1] = { id = id, stays = stays, numbers = numbers, x = x, y = y, z = z }
end

local function hand_over_all(self, lists)
  local list, n = self.router:close()
  local started, values = self.clock(), self.dimensions + 2
  for i = 1, n * values, values do
    hand_over(self, lists, list[i], list[i + 1], list[i + 2], list[i + 3], values == 5 and list[i + 4] or nil)
  end
  if n > 0 then
    self.counters.handed = self.counters.handed + n
    self.counters.hand_seconds = self.counters.hand_seconds + self.clock() - started
  end
end

-- An entity that enters or is restored, as the fields of a HAND row.
local function hand_of(self, id, ent)
  local at = ent.entry
  self.newcomers[id] = { id = id, life = ent.life, kind = ent.kind, client = ent.client,
                         movers = { at.client, at.batch, 0, 0 }, x = at.x, y = at.y, z = at.z, enters = false }
  return self.newcomers[id]
end

local function enter_restored(self, lists, id, ent)
  if self.log then log.restored(self, id, ent) end
  local owner = recovery.enter(self, id, ent)
  give(self, lists, hand_of(self, id, ent), owner)
end

-- This instance is retired before R: the next one goes on waiting for it, with all that has been restored here.
local function hand_on_restored(self, lists, id, ent)
  local hand = hand_of(self, id, ent)
  hand.waits, self.traits[id], self.trait_changes[id] = true, self.trait_changes[id], nil
  give(self, lists, hand, self.number)
  self.traits[id] = nil
end

-- If moves have taken the entity into another region since it was accepted, it is handed over as it enters.
local function enter(self, lists, id, ent)
  local hand = hand_of(self, id, ent)
  local owner, here = self.router:enter(id, hand.life, hand.kind, hand.x, hand.y, hand.z)
  hand.enters, hand.real = true, is_own(self, owner)
  if hand.real then
    ent.entry = nil
    notify_home(self, lists, id, ent.life, owner)
  else
    if ent.entry.mover then outlet.note(self, ent.entry.mover, id, owner) end
    give(self, lists, hand, owner)
  end
  if hand.real or here then self.entering[#self.entering + 1] = hand end
end

-- A kind that is set again is a touch, which also reaches client views that arrive with the same epoch.
local function touch_same_kinds(self)
  for id, kind in pairs(self.kinds) do
    if kind == self.core:kind(id) then
      self.kinds[id] = nil
      traits.touch(self, id)
    end
  end
end

local function rekind_all(self)
  for id, kind in pairs(self.kinds) do
    local moved = self.moved[id]
    self.router:rekind(id, kind, not self.ents[id] and moved and moved.shard or self.number)
  end
end

--- Closes epoch `number`: all commands accepted since the last close belong to it. Returns the parts for the shards
-- that must receive one, by shard; this shard may be one of them; and rows for the directory of each exchange.
function Shard:close(number)
  assert(self.closed == self.applied and number == self.closed + 1, "an epoch out of turn")
  local started, lists, router = self.clock(), {}, self.router
  self.ended_clients = {}
  for _, id in ipairs(self.enters) do router:widen(id) end
  for id in pairs(self.restored) do router:widen(id) end
  obey(self, number, "death", end_client) -- before a change hands everything over to another instance
  obey(self, number, "change", recovery.change)
  recovery.name_all(self, function(...) notify_home(self, lists, ...) end)
  obey(self, number, "death", end_client) -- of clients in processes that the change has removed
  self.closed, self.given, self.entering, self.newcomers = number, {}, {}, {}
  for _, leave in ipairs(self.leaves) do
    router:gone(leave.id)
    notify_home(self, lists, leave.id, leave.life, 0)
  end
  for _, release in ipairs(self.releases) do notify_home(self, lists, release.id, release.life, 0) end
  for id, life in pairs(self.taken_over) do
    local ent = self.ents[id]
    if ent and ent.life == life and not ent.entry then notify_home(self, lists, id, life, self.number) end
  end
  recovery.expire(self)
  if self.log then log.commands(self) end
  touch_same_kinds(self)
  for _, id in ipairs(self.enters) do
    local ent = self.ents[id]
    if ent and ent.entry and not ent.restored then enter(self, lists, id, ent) end
  end
  local must_wait = self.state == "waits" or self.state == "blank"
  for id in pairs(must_wait and not self.retired and {} or self.restored) do
    local ent = self.ents[id]
    if ent and ent.restored then (must_wait and hand_on_restored or enter_restored)(self, lists, id, ent) end
    self.restored[id] = nil
  end
  local function put(...) put_row(lists, ...) end
  recovery.put_lost(self, put)
  hand_over_all(self, lists)
  rekind_all(self)
  traits.put_rows(self, function(shard, row) put(shard, epoch.TRAIT, row) end, self.newcomers)
  distant.put_rows(self, put)
  for _, row in ipairs(self.forward) do put(row[1], epoch.ROWS, row[2]) end
  self.forward, self.forwarding = {}, {}
  if self.log then log.moves(self) end
  local parts = {}
  for shard = 1, self.plan.shards do
    local part = epoch.part(router:part(shard), lists[shard])
    if part then
      parts[shard] = part
      if shard ~= self.number then self.counters.bytes = self.counters.bytes + #part end
    end
  end
  self.counters.close_seconds = self.counters.close_seconds + self.clock() - started
  return parts, table.concat(self.entries)
end

-- apply -------------------------------------------------------------------------------------------------------------

local function apply_rows(self, parts, tag)
  for _, part in ipairs(parts) do self.router:apply(tag, part.bytes, self.unsure) end
end

-- Phase 1: nodes, entities and ghosts that end. Nodes that are handed over have been silent since the epoch was closed.
local function apply_ends(self, parts)
  local core = self.core
  for _, rec in ipairs(self.removed) do core:remove_node(rec.id, rec.number) end
  self.expected = {}
  epoch.each_row(parts, epoch.HAND, distant.expect, self)
  for _, given in ipairs(self.given) do
    for _, number in ipairs(given.numbers) do self.router:drop(given.id, number) end
    given.kept = not given.stays and distant.keeps(self, given.id)
    if not (given.stays or given.kept) then core:leave(given.id) end
  end
  for _, leave in ipairs(self.leaves) do core:leave(leave.id) end
  if not recovery.has_no_ghosts(self) and self.closed ~= self.ready then
    apply_rows(self, parts, FAR)
    apply_rows(self, parts, GONE)
  end
  recovery.drop_unconfirmed(self)
end

-- This shard becomes the owner of the entity, but for its nodes: take_nodes.
local function take_hand(self, hand)
  local id, router, is_known = hand.id, self.router, self.core:has(hand.id)
  if hand.enters or not is_known then
    self:enter_core(hand)
  elseif not router:ghost(id) then
    error(("shard %d was handed entity %d, which is its own"):format(self.number, id), 0)
  end
  router:note(id, hand.life, true, hand.follows)
  router:mover(id, table.unpack(hand.movers))
  if not hand.enters then
    followers.expect(self, id, hand.movers)
    self.counters.adopted = self.counters.adopted + 1
  end
  clients.own(self, id, { life = hand.life, client = hand.client, kind = hand.kind, barred = hand.barred })
  self.moved[id] = nil
  if hand.barred then router:mark(id, "barred", true) end
  traits.take(self, id, hand.traits, is_known)
  views.import(self, id, hand.view)
end

-- Removes a ghost of a former life: the row that ends it was lost with a shard.
local function drop_former(self, id, life)
  if self.core:has(id) and self.router:ghost(id) and self.router:life(id) ~= life then self.core:leave(id) end
end

-- Calls f(self, hand) for each HAND row of an entity that enters the world, or that had a former owner.
local function each_hand(self, parts, enters, f)
  epoch.each_row(parts, epoch.HAND, function(_, hand)
    if hand.enters == enters then f(self, hand) end
  end)
end

local function move_hand(self, hand)
  drop_former(self, hand.id, hand.life)
  if self.core:has(hand.id) then self.core:move(hand.id, hand.x, hand.y, hand.z) end
end

-- The node is in the core from now on.
local function begin_node(self, rec)
  rec.added = nil
  outlet.open_node(self, rec)
  wall_list.adopt(self, rec)
end

-- added: nodes that are added with this epoch, or those that had a former owner.
local function take_nodes(self, parts, added)
  epoch.each_row(parts, epoch.HAND, function(_, hand)
    for _, n in ipairs(hand.nodes) do
      if n.added == added then
        recovery.take_node(self, self.ents[hand.id], hand.id, n)
        begin_node(self, n)
      end
    end
  end)
end

-- Phase 2: positions of the end of the epoch. Then nodes are adopted: what they saw before is compared with these.
local function apply_moves(self, parts)
  self.router:apply_moves()
  for _, given in ipairs(self.given) do
    if given.kept then self.core:move(given.id, given.x, given.y, given.z) end
  end
  apply_rows(self, parts, MOVE)
  each_hand(self, parts, false, move_hand)
  apply_rows(self, parts, NEAR)
  each_hand(self, parts, false, take_hand)
  epoch.each_row(parts, epoch.HAND, distant.take, self)
  distant.apply(self)
  epoch.each_row(parts, epoch.LOST, recovery.apply_lost, self)
  traits.reset_restored(self, parts)
  traits.apply_in_space(self, parts)
  take_nodes(self, parts, false)
end

-- Phase 3: kinds. Phase 4, areas of nodes, is a loop in Shard:apply.
local function apply_kinds(self, parts)
  for id, kind in pairs(self.kinds) do
    if self.core:has(id) then self.core:set_kind(id, kind) end
  end
  apply_rows(self, parts, KIND)
  each_hand(self, parts, false, function(_, hand)
    if self.core:kind(hand.id) ~= hand.kind then self.core:set_kind(hand.id, hand.kind) end
  end)
end

local function enter_accepted(self, hand)
  drop_former(self, hand.id, hand.life)
  self:enter_core(hand)
  self.router:note(hand.id, hand.life, hand.real)
  if not hand.real then return end
  self.router:mover(hand.id, table.unpack(hand.movers))
  if self.ents[hand.id].barred then self.router:mark(hand.id, "barred", true) end
end

-- Phase 5: entities that enter, here or as ghosts.
local function apply_enters(self, parts)
  for _, hand in ipairs(self.entering) do enter_accepted(self, hand) end
  apply_rows(self, parts, ENTER)
  each_hand(self, parts, true, function(_, hand)
    drop_former(self, hand.id, hand.life)
    take_hand(self, hand)
  end)
end

-- Phase 6: nodes that are new, of this shard and of entities that are handed over.
local function apply_nodes(self, parts)
  for _, rec in ipairs(self.added) do
    if not rec.dead then begin_node(self, rec) end
  end
  take_nodes(self, parts, true)
end

--- Applies the closed epoch. list: the parts that shards have made for this one; unsure, begins_empty, partial:
-- see recovery.begin. Returns the messages for clients, as outlet.drain has them, and the number of events. An error in
-- here leaves the shard inconsistent: its service ends, and it gets a successor.
function Shard:apply(number, list, unsure, begins_empty, partial)
  assert(number == self.closed and number == self.applied + 1, "an epoch out of turn")
  local started = self.clock()
  local parts = {}
  for i, bytes in ipairs(list) do parts[i] = epoch.read(bytes) end
  recovery.begin(self, parts, unsure, begins_empty, partial)
  if self.state == "blank" then parts = recovery.sift(self, parts) end
  apply_ends(self, parts)
  epoch.each_row(parts, epoch.TRAIT, traits.find_known, self)
  apply_moves(self, parts)
  apply_kinds(self, parts)
  for rec in pairs(self.changed) do
    if not rec.dead then self.router:set(rec.id, rec.number, rec.area) end
  end
  apply_enters(self, parts)
  traits.apply_in_space(self, parts)
  traits.apply_wholes(self, parts)
  apply_nodes(self, parts)
  self.counters.apply_seconds = self.counters.apply_seconds + self.clock() - started
  targets.apply(self)
  views.apply(self)
  traits.apply_changes(self, parts)
  obey(self, number, "whole", outlet.whole)
  obey(self, number, "resend", views.resend)
  views.tick(self, function(view, packet) outlet.put_packet(self, view.client, view.id, packet) end)
  started = self.clock()
  local mail, events = outlet.drain(self, number)
  self.counters.drain_seconds = self.counters.drain_seconds + self.clock() - started
  self.counters.events = self.counters.events + events
  self.applied = number
  self:begin()
  snapshot.answer(self)
  if self.state == "filling" then self.state = "whole" end
  epoch.each_row(parts, epoch.HOME, directory.on_home, self)
  epoch.each_row(parts, epoch.WANT, distant.on_want, self)
  epoch.each_row(parts, epoch.LOST, recovery.end_own, self)
  recovery.refill(self, parts)
  epoch.each_row(parts, epoch.ROWS, function(_, row)
    misrouted.move(self, row.client, row.batch, row.hops, row.id, row.x, row.y, row.z)
  end, self)
  misrouted.retry(self)
  if number % 50 == 0 then
    misrouted.forget_old(self)
    directory.forget_departed(self)
  end
  run_queue(self)
  return mail, events
end

--- Numbers for operators: owned entities, ghosts, rows sent (moves, nears, fars), and the counters.
function Shard:info()
  local info = {}
  for name, value in pairs(self.counters) do info[name] = value end
  info.reals, info.ghosts, info.rows, info.nears, info.fars = self.router:counts()
  info.epoch, info.term, info.waits = self.applied, self.term, self.state ~= "whole" or nil
  info.world, info.shard, info.requests_waiting = self.name, self.number, #self.queue
  local seconds = info.read_seconds + info.close_seconds + info.apply_seconds + info.drain_seconds
  info.mean_seconds = seconds / math.max(1, self.applied - math.max(0, self.ready - 1))
  return info
end

--- Verifies the core, and that entities, router and core agree; raises the first difference.
function Shard:check()
  assert(self.core:check())
  for id, ent in pairs(self.ents) do
    if not ent.entry and not (self.core:has(id) and self.router:owns(id)) then
      error(("entity %d is none of shard %d's own"):format(id, self.number), 0)
    end
  end
  local _, n = self.router:ids "own"
  for _, ent in pairs(self.ents) do n = n - (ent.entry and 0 or 1) end
  if n ~= 0 and self.closed == self.applied then
    error(("shard %d has %d entities too many"):format(self.number, n), 0)
  end
  return true
end

--- Later requests are answered that the world is closed; replaced: that this instance of the shard is retired.
function Shard:shutdown(replaced)
  self.shut, self.retired = true, replaced
  self.core:close()
  run_queue(self)
end

return Shard
