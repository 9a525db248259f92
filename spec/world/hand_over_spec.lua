-- What a client view is sent where it is handed over in the epoch in which something else happens: as in one space.
if not string.pack then return pending "hand-overs: needs string.pack of Lua 5.3" end

local plain = require "aoi.skynet.world.plain"
local Shard = require "aoi.skynet.world.shard"
local Sync = require "aoi.sync"
local tiles = require "aoi.skynet.world.tiles"
local wire = require "aoi.skynet.wire"
local world = require "aoi.skynet.native" "world"

local CLIENT, REACH = 1, 8
local FIELDS = { { "hp", "u16" }, { "name", "string" } }

-- A row of three shards, each 32 wide; one client.
local Row = {}
Row.__index = Row

local function new_row()
  local plan = tiles.plan { size = { 0, 0, 96, 8 }, reach = REACH, tile = 8, shards = { 3, 1 }, hysteresis = 0 }
  local self = setmetatable({ plan = plan, epoch = 0, shards = {}, lives = {}, kinds = {} }, Row)
  local function log(_, bytes)
    local command = plain.read(bytes)
    if command[2] == "kind" then table.insert(self.kinds, { command[3], command[4] }) end
  end
  self.outbox = world.outbox(2, CLIENT, false, plan.shards)
  for number = 1, plan.shards do
    self.shards[number] = Shard.new { number = number, plan = plan, dimensions = 2, fields = FIELDS, log = log }
  end
  return self
end

local function ask(self, shard, ...)
  local got
  self.shards[shard]:request(CLIENT, self.epoch, function(...) got = table.pack(...) end, ...)
  assert(got and got[1] == true, got and tostring(got[3]))
  return table.unpack(got, 3, got.n)
end

function Row:ask(name, id, ...) return ask(self, self.outbox:where(id), name, id, ...) end

function Row:enter(id, x)
  local home = world.home(id, self.plan.shards)
  local left = self.lives[id] and { life = self.lives[id], epoch = self.epoch } or false
  local lives, owners, stamps = ask(self, home, "claim", "enter", { id }, { x, 4 }, { left })
  ask(self, owners[1], "enter", "enter", lives, 1, select(2, self.outbox:count()), stamps, { id, x, 4 })
  self.outbox:set(id, owners[1])
  self.lives[id] = lives[1]
end

function Row:leave(id)
  self:ask("leave", id)
  self.outbox:forget(id)
end

function Row:move(id, x) self.outbox:move(id, x, 4) end

-- Returns what view 1 is sent in it, if anything.
function Row:step()
  local list, n = self.outbox:pending()
  for i = 1, n do assert(self.shards[list[i]]:moves(self.outbox:take(false, list[i]))) end
  self.epoch = self.epoch + 1
  local inbox, news = { {}, {}, {} }, nil
  for _, shard in ipairs(self.shards) do
    for to, part in pairs(shard:close(self.epoch)) do table.insert(inbox[to], part) end
  end
  for number, shard in ipairs(self.shards) do
    local mail, routes = shard:apply(self.epoch, inbox[number])[CLIENT] or {}, {}
    for i = 1, 3 * (mail.routes and wire.read_routes(mail.routes, routes) or 0), 3 do
      if self.outbox:where(routes[i]) then self.outbox:set(routes[i], routes[i + 1]) end
    end
    for i = 1, #(mail.letters and mail.letters.packets or {}), 2 do
      news = assert(Sync.read((select(4, string.unpack("<I4i8i8s4", mail.letters.packets[i + 1])))))
    end
  end
  return news
end

describe("a view that is handed over", function()
  local row

  before_each(function()
    row = new_row()
    row:enter(1, 28)
    row:enter(2, 30)
  end)

  it("is sent that a kind has been set, though it is the one that it was", function()
    row:ask("add_client", 1, REACH, {})
    row:step()
    row:ask("set_kind", 2, 7)
    assert.same({ 2, 7, n = 1 }, row:step().touched)
    row:ask("set_kind", 2, 8)
    row:ask("set_kind", 2, 7)
    row:move(1, 34)
    assert.same({ 2, 7, n = 1 }, row:step().touched)
    assert.equal(2, row.outbox:where(1))
    assert.equal(7, row:ask("kind", 2))
    assert.same({ { 2, 7 }, { 2, 7 } }, row.kinds) -- as the journals have it
  end)

  it("is not sent a value again that it has, because it has been put again", function()
    row:ask("add_client", 1, REACH, { tiers = { { 20, 6 } } })
    row:ask("put", 2, "name", "n")
    assert.same({ 2, { name = "n" }, n = 1 }, row:step().fields)
    for hp = 1, 6 do -- for one or another a record waits
      row:ask("put", 2, "hp", hp)
      row:step()
      row:ask("put", 2, "name", "n")
      row:step()
      row:move(1, hp % 2 == 1 and 34 or 28)
      row:move(2, hp % 2 == 1 and 41 or 20)
      for _ = 1, 8 do
        local news = row:step()
        for i = 2, news and 2 * news.fields.n or 0, 2 do assert.same({ hp = hp }, news.fields[i]) end
      end
    end
  end)

  it("pins the life that is named, though its new shard has a former one yet", function()
    row:ask("add_client", 1, REACH, {})
    row:enter(3, 90)
    row:step()
    row:ask("pin", 1, 3, row.lives[3])
    for _ = 1, 4 do row:step() end
    row:move(1, 34)
    row:leave(3)
    row:enter(3, 91)
    row:step()
    assert.is_true(row.shards[2].core:has(3))
    row:ask("pin", 1, 3, row.lives[3])
    local appeared
    for _ = 1, 8 do
      local news = row:step()
      if news and news.appeared.n > 0 then appeared = { news.appeared[1], news.appeared[3] } end
    end
    assert.same({ 3, 91 }, appeared)
  end)
end)
