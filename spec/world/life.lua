-- life.lua: what a client of a world does in the histories of clients_spec.lua: random actions on entities of its own
-- and on some that all clients share, and questions, whose answers are noted with their epoch.
--
--   life.new { net =, member =, number =, random =, scene =, handlers = f(), shared =, asked =, walls = }
--     :run(actions, goes_on)
--
--   walls     ids of walls, which any client puts there, opens and shuts
--   shared    ids that any client moves, changes, watches; the last half of them also leave and enter again
--   asked     { [epoch] = list of { name, arguments, answer } }: what one space must answer, too
local life = {}
local Life = {}
Life.__index = Life

local OWN = 10 -- entities of its own

function life.new(options) return setmetatable(options, Life) end

-- Nodes have numbers of their client, so that it is known whose handlers hear of them.
local function node_number(self, n) return 10 * self.number + n end

local function place(self)
  local plan, random = self.net.plan, self.random
  local size = plan.tile * plan.columns
  return random() * size, random() * size, self.net.dimensions == 3 and random() * 5 or nil
end

local function enter(self, id, x, y, z)
  if z then return self.member:enter(id, x, y, z) end
  return self.member:enter(id, x, y)
end

-- What another client has done meanwhile may forbid it; nothing else may.
local function may_fail(f, ...)
  local ok, err = pcall(f, ...)
  if ok then return true end
  for _, reason in ipairs { "no entity", "already in the world", "already has node", "has no node",
                            "no wall", "been taken over" } do
    if tostring(err):find(reason, 1, true) then return false end
  end
  error(err, 0)
end

-- Of a node.
local function options(self) return self.scene.walls and self.random(3) > 1 and { sight = true } or nil end

-- Walls are everybody's.
local function build(self)
  local random, member, walls = self.random, self.member, self.walls
  local id, what = walls[random(math.max(1, #walls))], random(4)
  if not id or what == 1 then
    local x, y, z = place(self)
    local row = { x, y, x + random(25) - 13, y + random(25) - 13, z and z - 2, z and z + 4 }
    if random(2) == 1 then
      walls[#walls + 1] = member:wall(table.unpack(row))
    else
      walls[#walls + 1] = member:wall_many(row)[1]
    end
  elseif what == 2 and random(4) == 1 then
    may_fail(member.remove_wall, member, id)
  else
    may_fail(member[what == 3 and "open_wall" or "shut_wall"], member, id)
  end
end

-- Its own entities ----------------------------------------------------------------------------------------------------

local function move_all(self)
  local random = self.random
  for _, who in ipairs(self.mine) do
    if random(3) > 1 then
      if random(15) == 1 then
        who.x, who.y, who.z = place(self)
      else
        who.x, who.y = who.x + (random() - 0.5) * 6, who.y + (random() - 0.5) * 6
      end
      self.member:move(who.id, who.x, who.y, who.z)
    end
  end
  if random(3) > 1 then self.member:flush() end
end

local function change_node(self, who)
  local node = node_number(self, self.random(3))
  if not who.nodes[node] then
    self.member:add_node(who.id, node, self.scene.area(self.random), self.handlers(), options(self))
    who.nodes[node] = self.member.answered_at -- it is there one epoch later
  elseif self.random(2) == 1 then
    self.member:set_area(who.id, node, self.scene.area(self.random))
  else
    self.member:remove_node(who.id, node)
    who.nodes[node] = nil
  end
end

local function enter_again(self, who)
  self.member:leave(who.id)
  who.nodes, who.kind = {}, 1
  who.x, who.y, who.z = place(self)
  if self.random(2) == 1 then self.net:sleep(self.random() * 0.3) end
  enter(self, who.id, who.x, who.y, who.z)
end

-- Only this client moves it: all that it has commanded is in the answer.
local function check_own(self, who)
  local x, y, z = self.member:position(who.id)
  -- A move that followed its entity may have been lost with the shard between, until it is sent again; or follows the
  -- shard itself.
  if self.net.deaths + self.net.moved > 0 and (x ~= who.x or y ~= who.y) then
    self.net:sleep(3)
    x, y, z = self.member:position(who.id)
  end
  if not (x == who.x and y == who.y and z == who.z) then
    error(("own moves of entity %d are not in the answer"):format(who.id), 0)
  end
  assert(self.member:kind(who.id) == who.kind, "an own change of kind is not in the answer")
  assert(self.member:has(who.id))
end

-- What is shared ------------------------------------------------------------------------------------------------------

local function act_on_shared(self)
  local random, member, shared = self.random, self.member, self.shared
  local at = random(#shared)
  local id, mortal, what = shared[at], at > #shared / 2, random(12)
  local node = node_number(self, random(3))
  if what <= 6 then
    if not mortal or member:has(id) then member:move(id, place(self)) end
  elseif what == 7 then
    may_fail(member.set_kind, member, id, random(3))
  elseif what <= 9 then
    may_fail(member.add_node, member, id, node, self.scene.area(random), self.handlers(), options(self))
  elseif what == 10 then
    may_fail(member.remove_node, member, id, node)
  elseif mortal and not (member:has(id) and may_fail(member.leave, member, id)) then
    may_fail(enter, self, id, place(self))
  end
end

-- From any other client, what may leave as well: of the others their moves are never refused.
local function take(self)
  may_fail(self.member.take_over, self.member, self.shared[#self.shared - self.random(3) + 1])
end

-- Questions -----------------------------------------------------------------------------------------------------------

local function record(self, name, arguments, list, n)
  local epoch = self.member.answered_at
  local asked = self.asked[epoch] or {}
  self.asked[epoch] = asked
  asked[#asked + 1] = { name, arguments, { table.unpack(list, 1, name == "viewers" and 2 * n or n) } }
end

local function note(self, name, arguments, ...)
  local member = self.member
  local ok, list, n = pcall(member[name], member, ...)
  if not ok then -- it has gone
    if name ~= "near" and name ~= "nearest" and may_fail(error, list, 0) == false then return end
    error(list, 0)
  end
  if not member.answered_at then return end -- the shards' answers are of several epochs
  record(self, name, arguments, list, n)
end

-- A node sees nothing before the epoch in which it comes; a former life of it may end with that.
local function ask_view(self, id, node, added)
  local list, n = self.member:view(id, node)
  if self.member.answered_at > added then record(self, "view", { id, node }, list, n) else assert(n == 0) end
end

local function ask(self)
  local random = self.random
  local what, x, y, z = random(5), place(self)
  local who = self.mine[random(#self.mine)]
  if what == 1 then
    local area = self.scene.area(random)
    local list = z and { x, y, z, area } or { x, y, area }
    note(self, "near", list, table.unpack(list))
  elseif what == 2 then
    local radius = random(2) == 1 and random(20) or nil
    local list = z and { x, y, z, random(5), radius } or { x, y, random(5), radius }
    note(self, "nearest", list, table.unpack(list))
  elseif what == 3 then
    local id = random(2) == 1 and who.id or self.shared[random(#self.shared)]
    note(self, "viewers", { id }, id)
  elseif what == 4 then
    local node = next(who.nodes)
    if node then ask_view(self, who.id, node, who.nodes[node]) end
  else
    local target = random(2) == 1 and who.id or self.shared[random(#self.shared)]
    local node = next(who.nodes)
    if node then self.member:sees(who.id, node, target) end
  end
end

-- Random actions, with pauses.
--- So many actions, and more while goes_on() is true.
function Life:run(actions, goes_on)
  local random, mine = self.random, {}
  self.mine = mine
  for i = 1, OWN do
    mine[i] = { id = self.scene.id(100 * self.number + i), nodes = {}, kind = 1 }
    mine[i].x, mine[i].y, mine[i].z = place(self)
    enter(self, mine[i].id, mine[i].x, mine[i].y, mine[i].z)
  end
  local done = 0
  while done < actions or goes_on() do
    done = done + 1
    local who, what = mine[random(#mine)], random(24)
    if self.scene.walls and random(5) == 1 then build(self) end
    if self.scene.takes and random(8) == 1 then take(self) end
    if what <= 10 then
      move_all(self)
    elseif what <= 13 then
      change_node(self, who)
    elseif what == 14 then
      enter_again(self, who)
    elseif what == 15 then
      who.kind = random(3)
      self.member:set_kind(who.id, who.kind)
    elseif what == 16 then
      check_own(self, who)
    elseif what <= 18 then
      ask(self)
    elseif what <= 21 then
      act_on_shared(self)
    else
      self.net:sleep(random() * 0.2)
    end
  end
  self.member:flush()
end

return life
