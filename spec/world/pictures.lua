-- pictures.lua: client views in the histories of exact.lua, with limits, tiers, budgets, pins and overrides. Players
-- apply the messages that shards have written for them, and those of a synchroniser of one space; in each epoch both
-- messages of each player say the same, and so are the pictures.
--
--   run.pictures = pictures.new(run)     run.pictures:command(who), :ends(who)    what clients ask for
--   :hear(packets)                       messages of a shard
--   :hear_one(id, bytes)                 the message of the synchroniser of one space
--   :end_epoch()                         both have been heard
--   :compare()                           how many of them differ, and one of them
--   compared                             pictures that were the same
local aoi = require "aoi"
local Client = require "spec.support.client_model"
local Sync = require "aoi.sync"
local message_text = require "spec.support.message_text"
local world = require "aoi.skynet.native" "world"

local pictures = {
  quantum = 1 / 64,
  fields = { { "hp", "u16" }, { "dir", "angle8" }, { "name", "string" }, { "bag", "u8", own = true },
             { "mana", "u8", to = "team" } },
}

local Pictures = {}
Pictures.__index = Pictures

function pictures.new(run)
  return setmetatable({
    run = run, views = {}, pins = {}, shows = {}, messages = 0, behind = {}, doubted = {}, compared = 0, again = 0,
  }, Pictures)
end

local function tiers(random)
  local list, distance = {}, 0
  for i = 1, random(3) do
    distance = distance + random(5)
    list[i] = { distance, random(6) }
  end
  return list
end

-- Everything that may be named, or nothing.
local function options(self, change)
  local random, o = self.run.random, {}
  local none = change and false or nil
  o.limit = random(2) == 1 and random(12) or none
  o.tiers = random(2) == 1 and tiers(random) or none
  o.bytes = random(2) == 1 and 90 + random(150) or none
  o.team = random(2) == 1 and random(2) or none
  if random(2) == 1 or change then o.self = random(2) == 1 end
  return o
end

local function areas(self)
  local random, scene = self.run.random, self.run.scene
  if random(4) > 1 then return scene.area(random) end
  local list = {}
  for i = 1, random(3) do list[i] = scene.area(random) end
  return list
end

local function add(self, who)
  local area, id, dimensions = areas(self), who.id, self.run.dimensions
  self.run:ask(who, "add_client", id, area, options(self))
  self.views[id] = { area = area, world = Client.new(dimensions), one = Client.new(dimensions), said = {} }
end

local function change(self, who, view)
  local run, id = self.run, who.id
  local random = run.random
  local what = random(10)
  if what == 1 then
    run:ask(who, "remove_client", id)
    self.views[id] = nil
    for target in pairs(self.pins[id] or {}) do self.pins[id][target] = nil end
  elseif what <= 3 then
    run:ask(who, "set_client", id, options(self, true))
  elseif what == 4 then
    local i = type(view.area) == "table" and view.area[1] and random(#view.area) or 1
    run:ask(who, "set_view", id, i, run.scene.area(random))
  elseif what == 5 then
    run:ask(who, "resend", id)
  elseif what <= 7 then
    local target
    for _ = 1, 20 do -- one that it knows, if that is found
      target = run.alive[random(#run.alive)]
      if view.one.known[target.id] then break end
    end
    run:ask(who, "rank", id, target.id, random { false, 0.5, 3, 5 }, target.life)
  else
    local target = run.alive[random(#run.alive)]
    if target == who or not run:is_near(who, target) then return end
    local pins = self.pins[id] or {}
    self.pins[id], pins[target.id] = pins, not pins[target.id] or nil
    run:ask(who, pins[target.id] and "pin" or "unpin", id, target.id, pins[target.id] and target.life)
  end
end

local function set_trait(self, who)
  local run, id = self.run, who.id
  local random = run.random
  local what = random(8)
  if what == 8 then return run:ask(who, "set_team", id, random(3) - 1) end
  if what == 1 then return run:ask(who, "set_priority", id, random { 1, 1, 2, 4 }) end
  if what == 2 then return run:ask(who, "touch", id) end
  local name, value = "hp", random(4) - 1
  if what == 3 then name, value = "dir", random() * 7 elseif what == 5 then name = "bag" end
  if what == 7 then name = "mana" end
  if what == 4 then name, value = "name", ("n"):rep(random(31) - 1) end
  run:ask(who, "put", id, name, value)
end

-- What is shown is shown until that is taken back, or something else is set.
local function take_back(self, o)
  local how = ({ "hide", "match" })[self.run.random(3)]
  self.run:ask(o.who, "override", o.who.id, o.number, o.target.id, how, o.target.life)
  o.ended = true
end

local function override(self, who)
  local random, id = self.run.random, who.id
  local target, number = self.run.alive[random(#self.run.alive)], next(who.nodes)
  if not number or who.nodes[number].linger or target == who then return end
  local how = ({ "hide", "match", "show" })[random(4)]
  self.run:ask(who, "override", id, number, target.id, how, target.life)
  for _, o in ipairs(self.shows) do
    if o.who == who and o.number == number and o.target == target then o.ended = true end
  end
  if how ~= "show" then return end
  table.insert(self.shows, { who = who, number = number, node = who.nodes[number], target = target,
                             lives = { who.life, target.life } })
end

-- Whether the owner's shard would have the target if it were not pinned or shown.
local function is_in_halo(run, id, target)
  local shard = run:owner_of(id)
  for _, one in ipairs(run.map:audience(run.space:position(target))) do
    if one == shard.number then return true end
  end
end

-- Without a budget, as what waits for one is in front of what has not waited, after `resend` too.
local function begin_anew(self, who, view)
  for _, target in ipairs(view.unpinned or {}) do self.run:ask(who, "unpin", who.id, target) end
  view.unpinned = nil
  self.run:ask(who, "set_client", who.id, { bytes = false })
  self.run:ask(who, "resend", who.id)
end

function Pictures:command(who)
  local random, view = self.run.random, self.views[who.id]
  if not view and random(25) == 1 then add(self, who) end
  if view and view.anew == self.run.epoch then
    begin_anew(self, who, view)
  elseif view and random(8) == 1 then
    change(self, who, view)
  end
  if random(8) == 1 then set_trait(self, who) end
  if random(12) == 1 then override(self, who) end
end

--- The entity has left.
function Pictures:ends(who)
  self.views[who.id], self.pins[who.id] = nil, nil
  for _, targets in pairs(self.pins) do targets[who.id] = nil end
end

-- which: world, one.
local function hear(self, id, which, bytes)
  local view = self.views[id]
  if not view then return end
  view[which]:apply(bytes)
  view.said[which] = bytes
end

function Pictures:hear(packets)
  for i = 1, #packets, 2 do
    local _, id, _, bytes = string.unpack("<I4i8i8s4", packets[i + 1])
    self.messages = self.messages + 1
    hear(self, id, "world", bytes)
  end
end

function Pictures:hear_one(id, bytes) hear(self, id, "one", bytes) end

-- What is pinned from far away may be some epochs old in the world: it is unpinned, and its view begins anew in the
-- coming epoch; it is not compared in this one. What is shown from there is shown no more.
function Pictures:end_epoch()
  local shows = {}
  for _, o in ipairs(self.shows) do
    local alive = o.who.life == o.lives[1] and o.target.life == o.lives[2] and o.who.nodes[o.number] == o.node
    if alive and not o.ended then
      shows[#shows + 1] = o
      if not is_in_halo(self.run, o.who.id, o.target.id) then take_back(self, o) end
    end
  end
  self.shows = shows
  self.behind = {}
  for id, targets in pairs(self.pins) do
    for target in pairs(targets) do
      if not is_in_halo(self.run, id, target) then
        local view = self.views[id]
        view.unpinned = view.unpinned or {}
        table.insert(view.unpinned, target)
        targets[target], self.behind[id], view.anew = nil, true, self.run.epoch
      end
    end
  end
end

local function is_blank(value) return not value or value == 0 or value == "" end

-- blanks: what `b` has not been sent is 0, false or empty; what `a` has not been sent waits.
local function have_same_state(a, b, blanks)
  for name, value in pairs(a.fields) do
    local expected = b.fields[name]
    if expected ~= value and not (blanks and expected == nil and is_blank(value)) then return false end
  end
  for name in pairs(b.fields) do
    if a.fields[name] == nil and not blanks then return false end
  end
  return true
end

local function is_same(a, b)
  return a.kind == b.kind and a[1] == b[1] and a[2] == b[2] and a[3] == b[3] and have_same_state(a, b)
end

local function are_same(a, b)
  for id, it in pairs(a) do
    if not b[id] or not is_same(it, b[id]) then return false end
  end
  for id in pairs(b) do
    if not a[id] then return false end
  end
  return true
end

local function text_of(self, player)
  local picture = {}
  for id, it in pairs(player.known) do picture[id] = { it.kind, it[1], it[2], it[3], values = it.fields } end
  return message_text.picture(picture, self.run.dimensions)
end

-- Records of a message in the order of their texts; where there is a budget, it is that of both messages.
local function news_of(self, bytes)
  local rows = {}
  if not bytes then return "no message" end
  for row in message_text.news(Sync.read(bytes), self.run.dimensions):gmatch "[^;]+" do rows[#rows + 1] = row end
  table.sort(rows)
  return table.concat(rows, ";")
end

-- Whether the shard has a ghost, which no owner has named, of a life that has ended.
local function is_past(self, id, target)
  local shard, home = self.run:owner_of(id), self.run.shards[world.home(target, self.run.plan.shards)]
  return shard and select(2, shard.router:ghost(target)) and shard.router:life(target) ~= home.life[target]
end

--- Whether an event that only one of both has is of a target far away which has left, as its shard learns some epochs
-- later. event: kind, watcher, node, target; count: how many more the world has.
function Pictures:is_late(event)
  local pair = ("%d/%d/%d"):format(event.watcher, event.node, event.target)
  if not is_past(self, event.watcher, event.target) and not self.doubted[pair] then return false end
  local seen = (self.doubted[pair] or 0) + (event.kind == aoi.ENTER and event.count or -event.count)
  self.doubted[pair] = seen ~= 0 and seen or nil
  return true
end

-- The same of a picture, which then begins anew.
local function has_past(self, id, view)
  for target in pairs(view.world.known) do
    if is_past(self, id, target) then
      view.anew = self.run.epoch
      return true
    end
  end
end

-- Whether the world has sent state of a target that its player had: where a view comes that has missed what was put
-- while its shard had the target as a lent ghost, all views there are sent it. The picture then begins anew, as with a
-- budget other news wait for that.
local function is_again(self, view, said)
  local expected = ";" .. news_of(self, said.one) .. ";"
  for row in news_of(self, said.world):gmatch "[^;]+" do
    local target = tonumber(row:match "^f,(%-?%d+),")
    local a, b = view.world.known[target], view.one.known[target]
    if a and b and not expected:find(";" .. row .. ";", 1, true) and have_same_state(a, b, true) then
      self.again = self.again + 1
      view.anew = self.run.epoch
      return true
    end
  end
end

-- What differs, as two texts, or nil.
local function difference(self, view, said)
  if not are_same(view.world.known, view.one.known) then return text_of(self, view.world), text_of(self, view.one) end
  if said.world == said.one then return nil end
  local news, expected = news_of(self, said.world), news_of(self, said.one)
  if news ~= expected then return news, expected end
end

function Pictures:compare()
  local bad, example = 0, nil
  for id, view in pairs(self.views) do
    local said = view.said
    local got, expected = difference(self, view, said)
    view.said = {}
    if not got then
      self.compared = self.compared + 1
    elseif not self.behind[id] and not has_past(self, id, view) and not is_again(self, view, said) then
      bad, example = bad + 1, ("the player of entity %d has\n%s instead of\n%s"):format(id, got, expected)
    end
  end
  return bad, example
end

return pictures
