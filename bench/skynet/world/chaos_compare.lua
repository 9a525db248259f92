-- compare(reports): what clients under chaos (chaos_player.lua) have heard, and the pictures of their players, against
-- one space that is given what they have sent. Returns a list of differences, and how many nodes and pictures there
-- were. What an area's margin holds on to depends on the past: there each is between two areas.
local aoi = require "aoi"
local rounded = require("spec.support.client_model").rounded
local viewed = require "viewed"

local TIGHT, WIDE = 1, 2 -- nodes of the space

local function set_of(list, n, set)
  for i = 1, n do set[list[i]] = true end
  return set
end

local function by_where(reports)
  local all, places = {}, {}
  for _, r in ipairs(reports) do
    places[r.where] = r
    for id, e in pairs(r.own) do all[id] = e end
  end
  return all, places
end

-- What a node with that area sees, and what it may see, added to two sets.
local function seen_by(space, id, its, overrides, tight, wide)
  for node, set in pairs { [TIGHT] = tight, [WIDE] = wide } do
    local area = { radius = its.radius + (node == WIDE and its.margin or 0), shape = its.shape, mask = its.mask }
    space:add_node(id, node, area)
    for target, how in pairs(overrides) do
      if space:has(target) then space:override(id, node, target, how) end
    end
    local list, n = space:view(id, node)
    set_of(list, n, set)
    space:remove_node(id, node)
  end
end

local function check_set(differs, what, set, tight, wide)
  for id in pairs(tight) do
    if not set[id] then differs("%s lacks %d", what, id) end
  end
  for id in pairs(set) do
    if not wide[id] then differs("%s has %d", what, id) end
  end
end

local function check_entity(differs, what, it, e, is_self)
  local x, y = rounded(e.x, viewed.quantum), rounded(e.y, viewed.quantum)
  if it[1] ~= x or it[2] ~= y then differs("%s at %f, %f, not %f, %f", what, it[1], it[2], x, y) end
  if it.kind ~= e.kind then differs("%s is of kind %d, not %d", what, it.kind, e.kind) end
  local hp, name, bag = it.fields.hp or 0, it.fields.name or "", it.fields.bag or 0
  if hp ~= (e.hp or 0) or name ~= (e.name or "") or bag ~= (is_self and e.bag or 0) then
    differs("%s has hp %s, name of %d, bag %s, not %s, %d, %s", what, hp, #name, bag, e.hp, #(e.name or ""), e.bag)
  end
end

-- What a limit leaves out is of no higher priority and not more than a tenth nearer.
local function check_limit(differs, what, all, id, view, known, tight)
  local me, n, farthest, lowest = all[id], 0, 0, math.huge
  local function distance(other) return math.sqrt((all[other].x - me.x) ^ 2 + (all[other].y - me.y) ^ 2) end
  for other in pairs(known) do
    if other ~= id and not view.pins[other] then
      n, lowest = n + 1, math.min(lowest, all[other].priority or 1)
    end
  end
  for other in pairs(known) do
    if other ~= id and not view.pins[other] and (all[other].priority or 1) == lowest then
      farthest = math.max(farthest, distance(other))
    end
  end
  if n > view.options.limit then differs("%s has %d of %d", what, n, view.options.limit) end
  for other in pairs(tight) do
    local p = all[other].priority or 1
    if not known[other] and (n < view.options.limit or p > lowest or p == lowest and distance(other) < 0.89 * farthest)
    then
      differs("%s lacks %d with a limit", what, other)
    end
  end
end

local function check_picture(differs, space, all, id, view, picture)
  local what, tight, wide = ("the picture of %d in %s"):format(id, view.to), {}, {}
  for _, area in ipairs(view.areas) do seen_by(space, id, area, {}, tight, wide) end
  for target in pairs(view.pins) do
    if all[target] then tight[target], wide[target] = true, true end
  end
  local known = {}
  for other, it in pairs(picture) do
    if all[other] and other ~= id then known[other] = it end
    if not all[other] then
      differs("%s has %d, which has left", what, other)
    else
      check_entity(differs, ("%d in %s"):format(other, what), it, all[other], other == id)
    end
  end
  if view.options.limit then
    check_set(differs, what, known, {}, wide)
    if next(tight) then check_limit(differs, what, all, id, view, known, tight) end
  else
    check_set(differs, what, known, tight, wide)
  end
end

return function(reports)
  local differences, nodes, pictures = {}, 0, 0
  local function differs(format, ...) differences[#differences + 1] = format:format(...) end
  local all, places = by_where(reports)
  local space = aoi.new { engine = "grid" }
  for _, r in ipairs(reports) do
    for id, e in pairs(r.own) do
      if e.got and e.got ~= e.hp then differs("%d has hp %s, not %d", id, e.got, e.hp) end
      if all[id] ~= e then differs("two have %d", id) else space:enter(id, e.x, e.y, e.kind) end
    end
  end
  local function check_node(id, node, its)
    local r, key, tight, wide = places[its.to], id .. "/" .. node, {}, {}
    nodes = nodes + 1
    if not r then return differs("node %s names %s, which is gone", key, its.to) end
    seen_by(space, id, its.area, its.overrides, tight, wide)
    check_set(differs, ("node %s in %s"):format(key, its.to), r.heard[key] or {}, tight, wide)
    r.heard[key] = nil
  end
  for _, r in ipairs(reports) do
    if r.closed then differs("%s has no map", r.where) end
    for id, its in pairs(r.foreign) do
      for node, one in pairs(all[id] and its or {}) do check_node(id, node, one) end
    end
    for id, e in pairs(r.own) do
      for node, one in pairs(all[id] == e and e.nodes or {}) do check_node(id, node, one) end
      if e.view and all[id] == e then
        local to = places[e.view.to]
        pictures = pictures + 1
        if to then
          check_picture(differs, space, all, id, e.view, to.pictures[id] or {})
        else
          differs("the view of %d names %s, which is gone", id, e.view.to)
        end
      end
    end
  end
  for _, r in ipairs(reports) do
    for key, set in pairs(r.heard) do
      if next(set) then differs("%s still sees %d by node %s, which has ended", r.where, next(set), key) end
    end
  end
  space:close()
  return differences, nodes, pictures
end
