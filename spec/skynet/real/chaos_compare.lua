-- compare(reports): what clients under chaos (chaos_player.lua) have heard, and the pictures of their players, against
-- one space that is given what they have sent. Returns a list of differences, and how many nodes and pictures there
-- were. What an area's margin holds on to depends on the past: there each is between two areas.
local aoi = require "aoi"
local rounded = require("spec.support.client_model").rounded
local viewed = require "viewed"

local TIGHT, WIDE = 1, 2 -- nodes of the space

-- What a node with that area sees, and what it may see, added to two sets.
local function seen_by(space, id, its, overrides, tight, wide)
  for node, set in pairs { [TIGHT] = tight, [WIDE] = wide } do
    local area = { radius = its.radius + (node == WIDE and its.margin or 0), shape = its.shape, mask = its.mask }
    space:add_node(id, node, area)
    for target, how in pairs(overrides) do
      if space:has(target) then space:override(id, node, target, how) end
    end
    local list, n = space:view(id, node)
    for i = 1, n do set[list[i]] = true end
    space:remove_node(id, node)
  end
end

-- n: how many the library itself says that are in it, or nil.
local function check_set(differs, what, set, tight, wide, n)
  for id in pairs(tight) do
    if not set[id] then differs("%s lacks %d", what, id) end
  end
  for id in pairs(set) do
    if not wide[id] then differs("%s has %d", what, id) end
    n = n and n - 1
  end
  if n and n ~= 0 then differs("%s: %d more are seen than the handlers were called for", what, n) end
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
local function check_limit(differs, what, all, me, view, known, tight)
  local n, farthest, lowest = 0, 0, math.huge
  local function rank(id)
    local e = all[id]
    return e.priority or 1, math.sqrt((e.x - me.x) ^ 2 + (e.y - me.y) ^ 2)
  end
  for id in pairs(known) do
    if not view.pins[id] then
      local p, d = rank(id)
      n, farthest = n + 1, p < lowest and d or p == lowest and math.max(farthest, d) or farthest
      lowest = math.min(lowest, p)
    end
  end
  if n > view.options.limit then differs("%s has %d of %d", what, n, view.options.limit) end
  for id in pairs(tight) do
    local p, d = rank(id)
    if not known[id] and (n < view.options.limit or p > lowest or p == lowest and d < 0.89 * farthest) then
      differs("%s lacks %d with a limit", what, id)
    end
  end
end

local function check_picture(differs, space, all, id, view, picture)
  local what, known, tight, wide = ("the picture of %d in %s"):format(id, view.to), {}, {}, {}
  for _, area in ipairs(view.areas) do seen_by(space, id, area, {}, tight, wide) end
  for target in pairs(view.pins) do
    tight[target] = all[target] and true
    wide[target] = tight[target]
  end
  for other, it in pairs(picture) do
    local e = all[other]
    if e then check_entity(differs, ("%d in %s"):format(other, what), it, e, other == id) end
    if not e then differs("%s has %d, which has left", what, other) end
    known[other] = e and other ~= id and it or nil
  end
  local limit = view.options.limit
  check_set(differs, what, known, limit and {} or tight, wide)
  if limit and next(tight) then check_limit(differs, what, all, all[id], view, known, tight) end
end

return function(reports)
  local differences, nodes, pictures, all, places, total = {}, 0, 0, {}, {}, 0
  local space = aoi.new { engine = "grid" }
  local function differs(format, ...) differences[#differences + 1] = format:format(...) end

  for _, r in ipairs(reports) do
    places[r.where] = r
    if r.closed then differs("%s has no map", r.where) end
    for id, e in pairs(r.own) do
      if e.got and e.got ~= e.hp then differs("%d has hp %s, not %d", id, e.got, e.hp) end
      if all[id] then differs("two have %d", id) end
      if not all[id] then space:enter(id, e.x, e.y, e.kind) end
      all[id], total = e, total + 1
    end
  end

  local function check_node(id, node, its)
    local r, key, tight, wide = places[its.to], id .. "/" .. node, {}, {}
    nodes = nodes + 1
    if not r then return differs("node %s names %s, which is gone", key, its.to) end
    seen_by(space, id, its.area, its.overrides, tight, wide)
    check_set(differs, ("node %s in %s"):format(key, its.to), r.heard[key] or {}, tight, wide, its.seen)
    r.heard[key] = nil
  end
  for _, r in ipairs(reports) do
    if r.count and r.count ~= total then differs("%s entities are there, not %d", r.count, total) end
    for id, its in pairs(r.foreign) do
      for node, one in pairs(all[id] and its or {}) do check_node(id, node, one) end
    end
    for id, e in pairs(r.own) do
      for node, one in pairs(e.nodes) do check_node(id, node, one) end
      local view = e.view
      local to = view and places[view.to]
      if to then check_picture(differs, space, all, id, view, to.pictures[id] or {}) end
      if view and not to then differs("the view of %d names %s, which is gone", id, view.to) end
      pictures = pictures + (view and 1 or 0)
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
