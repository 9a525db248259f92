-- exact.lua: a world of shards beside one big space that gets the union of their logs, once an epoch (replay.lua).
-- After each epoch the events of both are the same multiset, and the space has what has been commanded.
local aoi = require "aoi"
local pictures = require "spec.world.pictures"
local replay = require "spec.world.replay"
local rng = require "spec.support.rng"
local Shard = require "aoi.skynet.world.shard"
local wall_list = require "aoi.skynet.world.wall_list"
local tiles = require "aoi.skynet.world.tiles"
local wire_reference = require "spec.support.wire_reference"
local world = require "aoi.skynet.native" "world"

local exact = {}
local Run = {}
Run.__index = Run

local CLIENT = 1

-- What differs between instances is given.
local function new_shard(self, options)
  options.engine, options.dimensions, options.sight = self.engine, self.dimensions, self.walls ~= nil
  options.quantum, options.fields = pictures.quantum, pictures.fields
  options.log = function(epoch, line) self.replay:take(epoch, line) end
  return Shard.new(options)
end

function exact.new(scene, engine, seed)
  local plan = tiles.plan(scene.plan)
  local self = setmetatable({
    scene = scene, random = rng.new(seed), plan = plan, map = tiles.map(plan), dimensions = scene.dimensions,
    engine = engine, shards = {}, outbox = world.outbox(scene.dimensions, CLIENT, false, plan.shards), epoch = 0,
    early = {}, alive = {}, dead = {}, handle = 0, nodes = {}, counters = { events = 0 }, terms = {}, retired = {},
    walls = scene.walls and wall_list.new(), proposals = 0,
  }, Run)
  if scene.views then self.pictures = pictures.new(self) end
  self.replay = replay.new(plan, scene.dimensions, self.pictures and {
    quantum = pictures.quantum, fields = pictures.fields, sight = scene.walls,
    hear = function(...) self.pictures:hear_one(...) end,
  })
  self.space, self.sight = self.replay.space, self.replay.sight
  for number = 1, plan.shards do self.shards[number] = new_shard(self, { number = number, plan = plan }) end
  for i = 1, scene.population do self.dead[i] = { id = scene.id(i), nodes = {} } end
  return self
end

local function coordinates(self, near)
  local random, scene = self.random, self.scene
  local x0, y0 = self.plan.column * self.plan.tile, self.plan.row * self.plan.tile
  local w, h = self.plan.columns * self.plan.tile, self.plan.rows * self.plan.tile
  local x, y, z
  if near and random(scene.jump) > 1 then
    x, y, z = near.x + (random() - 0.5) * 4, near.y + (random() - 0.5) * 4, (near.z or 0) + (random() - 0.5) * 2
  else -- and beyond the grid's edge
    x, y, z = x0 + (random() * 1.2 - 0.1) * w, y0 + (random() * 1.2 - 0.1) * h, random() * 10
  end
  x, y, z = scene.place(random, x), scene.place(random, y), scene.place(random, z)
  return x, y, self.dimensions == 3 and z or nil
end

-- A request that must be answered at once.
local function ask(self, shard, ...)
  local got
  self.shards[shard]:request(CLIENT, self.epoch, function(...) got = table.pack(...) end, ...)
  assert(got and got[1] == true, got and tostring(got[3]) or "no answer")
  return table.unpack(got, 3, got.n)
end

local function owner(self, who) return assert(self.outbox:where(who.id)) end

--- The same of the shard that owns it.
function Run:ask(who, ...) return ask(self, owner(self, who), ...) end

function Run:owner_of(id) return self.shards[self.outbox:where(id)] end

--- Whether the owner's shard has the other one, too.
function Run:is_near(who, other)
  return math.max(who.entered, other.entered) < self.epoch and self:owner_of(who.id).core:has(other.id)
end

-- What an entity enters with: its kind alone, or the whole of it.
local function whole(self, kind)
  local random, most = self.random, self.plan.extent
  if random(2) == 1 then return { kind = kind } end
  return { kind = kind, layers = most > 0 and random(7) or 1, extent = most > 0 and random(most + 1) - 1 or 0,
           fields = self.pictures and { hp = random(4) - 1 } or nil }
end

local function enter(self, who)
  local x, y, z = coordinates(self)
  local kind, home = self.random(7), world.home(who.id, self.plan.shards)
  local all = whole(self, kind)
  local lives, owners, stamps = ask(self, home, "claim", { who.id }, { x, y }, { who.left or false })
  local shard = owners[1]
  ask(self, shard, "enter", lives, all.layers and all or kind, select(2, self.outbox:count()), stamps,
    { who.id, x, y, z }, nil, "enter")
  self.outbox:set(who.id, shard)
  who.x, who.y, who.z, who.kind, who.nodes, who.life = x, y, z, kind, {}, lives[1]
  who.layers, who.extent, who.entered = all.layers or 1, all.extent or 0, self.epoch
end

local function leave(self, who)
  who.left, who.life = { life = ask(self, owner(self, who), "leave", who.id), epoch = self.epoch }, nil
  self.outbox:forget(who.id)
  if self.pictures then self.pictures:ends(who) end
end

local function move(self, who)
  who.x, who.y, who.z = coordinates(self, who)
  self.outbox:move(who.id, who.x, who.y, who.z)
end

local function add_node(self, who)
  local number = self.random(3)
  if who.nodes[number] then return end
  local area, sight, linger = self.scene.area(self.random), nil, nil
  if self.walls and self.random(4) > 1 then sight, linger = true, self.random(4) - 1 end
  self.handle = self.handle + 1
  ask(self, owner(self, who), "add_node", who.id, number, area, self.handle, { sight = sight, linger = linger })
  who.nodes[number] = { area = area, linger = linger }
  self.nodes[self.handle] = { who.id, number, heard = 0 }
end

local function change_node(self, who)
  local number = self.random(3)
  local node = who.nodes[number]
  if not node then return end
  if self.random(3) == 1 then
    ask(self, owner(self, who), "remove_node", who.id, number)
    who.nodes[number] = nil
  else
    node.area = self.scene.area(self.random)
    ask(self, owner(self, who), "set_area", who.id, number, node.area)
  end
end

local function set_kind(self, who)
  who.kind = self.random(7)
  ask(self, owner(self, who), "set_kind", who.id, who.kind)
end

local function set_trait(self, who)
  local name, value = "layers", self.random(7)
  if self.random(2) == 1 then name, value = "extent", self.random(self.plan.extent + 1) - 1 end
  who[name] = value
  ask(self, owner(self, who), "set_" .. name, who.id, value)
end

-- The commands of one epoch: who left in it is not touched again, but may enter again.
local function command(self)
  local random = self.random
  for _ = 1, math.max(1, self.scene.population // self.scene.churn) do
    if #self.dead > 0 and (random(3) > 1 or #self.alive < self.scene.population / 2) then
      local who = table.remove(self.dead, random(#self.dead))
      enter(self, who)
      self.alive[#self.alive + 1] = who
    elseif #self.alive > 0 then
      local at = random(#self.alive)
      local who = self.alive[at]
      if who.entered < self.epoch then
        leave(self, who)
        self.alive[at] = self.alive[#self.alive]
        self.alive[#self.alive] = nil
        self.dead[#self.dead + 1] = who
      end
    end
  end
  for _, who in ipairs(self.alive) do
    if random(4) > 1 then move(self, who) end
    if random(8) == 1 then add_node(self, who) end
    if random(8) == 1 then change_node(self, who) end
    if random(20) == 1 then set_kind(self, who) end
    if self.plan.extent > 0 and random(8) == 1 then set_trait(self, who) end
    if self.pictures then self.pictures:command(who) end
  end
end

local function send_moves(self)
  local list, n = self.outbox:pending()
  for i = 1, n do assert(self.shards[list[i]]:moves(self.outbox:take(false, list[i]))) end
end

-- What has been commanded is what the space has.
local function check_commands(self)
  local space = self.space
  for _, who in ipairs(self.alive) do
    local id = who.id
    local x, y, z = space:position(id)
    assert(x == who.x and y == who.y and z == who.z and space:kind(id) == who.kind, "a command is lost")
    assert(space:layers(id) == who.layers and space:extent(id) == who.extent, "a trait is lost")
    for number = 1, 3 do
      local node, area = who.nodes[number], space:area(id, number)
      assert(not node == not area and (not node or self.replay:is_area(node.area, area)), "a node is not as commanded")
    end
  end
end

-- In the coming epoch.
local function order_all(self, change)
  for _, list in ipairs { self.shards, self.retired } do
    for _, one in ipairs(list) do one:order("change", change, self.epoch) end
  end
end

-- A wall somewhere, shorter than most areas.
local function any_wall(self)
  local x, y, z = coordinates(self)
  local place, random = self.scene.place, self.random
  local ex, ey = place(random, x + random(13) - 7), place(random, y + random(13) - 7)
  if not z then return { x, y, ex, ey } end
  return { x, y, ex, ey, z - 3, random(3) == 1 and math.huge or z + random(6) }
end

-- In the coming epoch walls come and go, doors open and shut, in all shards.
local function build(self)
  local random, proposals = self.random, {}
  local function proposal(verb, value)
    self.proposals = self.proposals + 1
    proposals[#proposals + 1] = { boot = "boot", n = self.proposals, verb = verb, value = value }
  end
  if self.walls.last < self.scene.walls or random(3) == 1 then proposal("add", { any_wall(self), any_wall(self) }) end
  for _ = 1, random(3) do
    local id = random(self.walls.last + 3)
    local third = self.walls.last < self.scene.walls and "shut_wall" or "remove_wall"
    proposal(random { "open_wall", "open_wall", "shut_wall", "shut_wall", third }, id)
  end
  order_all(self, { walls = proposals })
  for _, one in ipairs(proposals) do wall_list.enter(self.walls, one, function() end) end
end

-- Events by what they are: how many more of each the shards tell.
local function counter()
  local all = {}
  return all, function(more, kind, watcher, node, target)
    local key = ("%d %d %d %d"):format(kind, watcher, node, target)
    local event = all[key] or { kind = kind, watcher = watcher, node = node, target = target, key = key, count = 0 }
    event.count, all[key] = event.count + more, event
  end
end

-- The mail of a shard: `routes`, and `events` of nodes, each written by one shard.
local function hear(self, mail, count)
  local list = mail.routes or {}
  for i = 1, #list, 3 do
    assert(list[i + 1] > 0, "a move was refused")
    if self.outbox:where(list[i]) then self.outbox:set(list[i], list[i + 1]) end
  end
  for _, group in ipairs(mail.events and wire_reference.read_events(mail.events) or {}) do
    local node = assert(self.nodes[group.handle], "a group of a node that is closed")
    assert(node.heard < self.epoch, "a node has two groups in an epoch")
    node.heard = self.epoch
    for _, target in ipairs(group.leaves) do count(1, aoi.LEAVE, node[1], node[2], target) end
    for _, target in ipairs(group.enters) do count(1, aoi.ENTER, node[1], node[2], target) end
    if group.close then self.nodes[group.handle] = nil end
  end
end

-- In the coming epoch tiles change owners, and now and then another instance of a shard begins, to which the former one
-- hands over.
local function change_map(self)
  local random, plan, rows, moves = self.random, self.plan, {}, nil
  local column, row = random(plan.columns) - 1, random(plan.rows) - 1
  local shard = random(plan.shards)
  for r = row, math.min(plan.rows - 1, row + random(3)) do
    for c = column, math.min(plan.columns - 1, column + random(3)) do
      rows[#rows + 1] = string.pack("<I4I2", r * plan.columns + c, shard)
    end
  end
  if random(4) == 1 then
    local number, copy = random(plan.shards), {}
    self.terms[number] = (self.terms[number] or 0) + 1
    moves = { [number] = { process = 1, term = self.terms[number] } }
    for name, value in pairs(plan) do copy[name] = value end
    copy.owners = self.map:owners()
    self.retired[#self.retired + 1] = self.shards[number]
    self.shards[number] = new_shard(self, {
      number = number, plan = copy, term = self.terms[number], terms = self.terms, epoch = self.epoch - 1,
      walls = self.walls and wall_list.copy(self.walls),
    })
  end
  order_all(self, { tiles = table.concat(rows), moves = moves })
  self.map:assign(table.concat(rows))
end

-- A shard holds on to what lingers while it knows where that is: where one space still holds on to it, the shard has
-- told its leave, and tells an enter if it comes back in sight meanwhile.
local function is_early(self, e)
  local pair = ("%d %d %d"):format(e.watcher, e.node, e.target)
  if self.early[pair] then
    local back = e.count == (e.kind == aoi.ENTER and 1 or -1)
    self.early[pair] = not back or nil
    return back
  end
  if not self.walls or e.kind ~= aoi.LEAVE or e.count ~= 1 then return false end
  if self.sight:explain(e.watcher, e.node, e.target).why ~= "lingers" then return false end
  local shard = self.shards[self.outbox:where(e.watcher)]
  if shard.core:has(e.target) and not select(2, shard.router:ghost(e.target)) then return false end
  self.early[pair] = true
  return true
end

-- One epoch. Returns the number of events, and of keys in which the two differ with one of them.
function Run:step()
  self.epoch = self.epoch + 1
  local here = self.epoch
  self.epoch = here - 1 -- requests are made on the epoch before
  command(self)
  send_moves(self)
  self.epoch = here
  if self.scene.changes and self.random(3) == 1 then change_map(self) end
  if self.walls and self.random(2) == 1 then build(self) end
  local inbox, example, bad = {}, nil, 0
  local events, count = counter()
  for number in ipairs(self.shards) do inbox[number] = {} end
  for _, list in ipairs { self.shards, self.retired } do
    for _, shard in ipairs(list) do
      for to, part in pairs(shard:close(here)) do table.insert(inbox[to], part) end
    end
  end
  local function apply(shard, parts)
    local mail = shard:apply(here, parts)
    for _, one in pairs(mail) do
      if self.pictures and one.messages then self.pictures:hear(one.messages.packets or {}) end
      hear(self, one, count)
    end
  end
  for number, shard in ipairs(self.shards) do apply(shard, inbox[number]) end
  for i = #self.retired, 1, -1 do
    apply(self.retired[i], {})
    if self.retired[i].applied > self.retired[i].names + 3 then table.remove(self.retired, i):shutdown() end
  end
  local drained, n = self.replay:epoch(here)
  check_commands(self)
  if self.pictures then self.pictures:end_epoch() end
  for i = 1, 4 * n, 4 do count(-1, drained[i], drained[i + 1], drained[i + 3], drained[i + 2]) end
  for _, e in pairs(events) do
    if e.count ~= 0 and not is_early(self, e) and not (self.pictures and self.pictures:is_late(e)) then
      bad, example = bad + 1, ("%s: %+d"):format(e.key, e.count)
    end
  end
  if self.pictures and bad == 0 then bad, example = self.pictures:compare() end
  self.counters.events = self.counters.events + n
  return n, bad, example
end

-- A ghost is what its owner has, but one that came with a hand-over, until its owner has named it.
local function check_ghost(self, shard, id, its)
  local from = self.shards[assert(its, "a ghost without a real")]
  local x, y, z = shard.core:position(id)
  local rx, ry, rz = from.core:position(id)
  assert(x == rx and y == ry and z == rz and shard.core:kind(id) == from.core:kind(id), "a ghost differs")
  assert(shard.core:extent(id) == from.core:extent(id), "a ghost has another extent")
  assert(shard.core:layers(id) == from.core:layers(id), "a ghost has other layers")
  assert(from == shard or shard.router:ghost(id))
end

-- Each entity is real once; each ghost is, to the last bit, what its real is; cores and what is known of them agree.
function Run:verify()
  local real, total = {}, 0
  for number, shard in ipairs(self.shards) do
    shard:check()
    local ids, n = shard.router:ids "own"
    total = total + n
    for i = 1, n do
      assert(not real[ids[i]], "an entity is real twice")
      real[ids[i]] = number
    end
  end
  assert(total == self.space:count(), "entities are lost")
  for _, shard in ipairs(self.shards) do
    for _, id in ipairs((shard.core:ids())) do
      if not select(2, shard.router:ghost(id)) then check_ghost(self, shard, id, real[id]) end
    end
  end
end

function Run:handed()
  local n = 0
  for _, shard in ipairs(self.shards) do n = n + shard.counters.handed end
  return n
end

function Run:close()
  for _, shard in ipairs(self.shards) do shard:shutdown() end
  self.space:close()
end

return exact
