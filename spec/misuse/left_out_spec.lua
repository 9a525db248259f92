-- Arguments that may be left out: a nil in the place of one leaves out that one; nothing lands in another parameter.
local aoi = require "aoi"

local absent, filled, other = nil, {}, {}

-- Entities 1 to 4 at x = 0, 1, 2, 8 of kinds 4, 1, 2, 1.
local function new_space()
  local space = aoi.new()
  for id, x in ipairs { 0, 1, 2, 8 } do space:enter(id, x, 0, ({ 4, 1, 2, 1 })[id]) end
  space:add_node(1, 7, 5)
  return space
end

-- The ids of an answer in ascending order, and which of the tables it is in.
local function ids(width, list, n, ends)
  local found = {}
  for i = 1, n do found[i] = list[(i - 1) * width + 1] end
  table.sort(found)
  local where = list == filled and " filled" or list == other and " other" or ""
  return table.concat(found, " ") .. where .. (ends == other and " ends" or "")
end

-- What handlers hear of node 8, which has seen 4 and 2 and sees 2 and 3.
local function adopted(...)
  local space, heard = new_space(), {}
  local function f(_, target) heard[#heard + 1] = "f" .. target end
  local function g(_, target) heard[#heard + 1] = "g" .. target end
  local args, n = { ... }, select("#", ...)
  for i = 1, n do args[i] = args[i] == "f" and f or args[i] == "g" and g or args[i] end
  space:adopt(1, 8, 5, { 4, 2 }, (table.unpack or unpack)(args, 1, n))
  table.sort(heard)
  return table.concat(heard, " ")
end

local CALLS = { -- method, what is left out, call, what is seen of it
  { "near", "all", function(s) return ids(1, s:near(0, 0, 5)) end, "1 2 3" },
  { "near", "nil as mask", function(s) return ids(1, s:near(0, 0, 5, absent)) end, "1 2 3" },
  { "near", "nil as mask, a table", function(s) return ids(1, s:near(0, 0, 5, absent, filled)) end, "1 2 3 filled" },
  { "near", "the mask", function(s) return ids(1, s:near(0, 0, 5, filled)) end, "1 2 3 filled" },
  { "near", "nil as table", function(s) return ids(1, s:near(0, 0, 5, 1, absent)) end, "2" },
  { "sweep", "nil as mask, a table", function(s) return ids(2, s:sweep(0, 0, 0, 0, 5, absent, filled)) end,
    "1 2 3 filled" },
  { "sweep", "the mask", function(s) return ids(2, s:sweep(0, 0, 0, 0, 5, filled)) end, "1 2 3 filled" },
  { "sweep", "nothing", function(s) return ids(2, s:sweep(0, 0, 0, 0, 5, 2, filled)) end, "3 filled" },
  { "nearest", "radius and mask", function(s) return ids(1, s:nearest(0, 0, 9, filled)) end, "1 2 3 4 filled" },
  { "nearest", "nil as radius", function(s) return ids(1, s:nearest(0, 0, 9, absent, 1)) end, "2 4" },
  { "nearest", "nil as radius, a table", function(s) return ids(1, s:nearest(0, 0, 9, absent, filled)) end,
    "1 2 3 4 filled" },
  { "nearest", "nil as both", function(s) return ids(1, s:nearest(0, 0, 9, absent, absent, filled)) end,
    "1 2 3 4 filled" },
  { "nearest", "nil as mask", function(s) return ids(1, s:nearest(0, 0, 9, 1.5, absent, filled)) end, "1 2 filled" },
  { "nearest", "the mask", function(s) return ids(1, s:nearest(0, 0, 9, 1.5, filled)) end, "1 2 filled" },
  { "near_many", "the mask", function(s) return ids(1, s:near_many({ 0, 0 }, 5, filled, other)) end,
    "1 2 3 filled ends" },
  { "near_many", "nil as mask", function(s) return ids(1, s:near_many({ 0, 0 }, 5, absent, filled, other)) end,
    "1 2 3 filled ends" },
  { "near_many", "nil as mask, one table", function(s) return ids(1, s:near_many({ 0, 0 }, 5, absent, other)) end,
    "1 2 3 other" },
  { "near_many", "nil as both", function(s) return ids(1, s:near_many({ 0, 0 }, 5, absent, absent, other)) end,
    "1 2 3 ends" },
  { "near_many", "nil as table", function(s) return ids(1, s:near_many({ 0, 0 }, 5, 1, absent, other)) end, "2 ends" },
  { "adopt", "all", function() return adopted() end, "" },
  { "adopt", "n", function() return adopted("f", "g") end, "f3 g4" },
  { "adopt", "n and on_leave", function() return adopted("f") end, "f3" },
  { "adopt", "nil as n", function() return adopted(absent, "f", "g") end, "f3 g4" },
  { "adopt", "nil as n, on_leave", function() return adopted(absent, "f") end, "f3" },
  { "adopt", "nil as n and on_leave", function() return adopted(absent, "f", absent) end, "f3" },
  { "adopt", "nil as n and on_enter", function() return adopted(absent, absent, "g") end, "g4" },
  { "adopt", "nil as on_enter", function() return adopted(1, absent, "g") end, "g4" },
  { "adopt", "on_leave", function() return adopted(1, "f") end, "f2 f3" },
  { "set_radius", "nil as keep", function(s) s:set_radius(1, 7, 3, absent) return s:area(1, 7).keep end, nil },
  { "move_many", "nil as n", function(s) s:move_many({ 2, 9, 0, 3, 9, 0 }, absent) return s:position(3) end, 9 },
  { "enter_many", "nil as n", function(s) s:enter_many({ 5, 9, 0 }, absent, 8) return s:kind(5) end, 8 },
  { "enter_many", "nil as kind", function(s) s:enter_many({ 5, 9, 0, 6, 9, 0 }, 1, absent) return s:count() end, 5 },
}

describe("arguments that are left out", function()
  for _, row in ipairs(CALLS) do
    it(("%s: %s"):format(row[1], row[2]), function() assert.equal(row[4], row[3](new_space())) end)
  end

  it("a table of handlers behind nil as n is no table to fill", function()
    local space, heard = new_space(), {}
    space:adopt(1, 8, 5, { 2 }, absent, { enter = function(_, target) heard[#heard + 1] = target end })
    assert.same({ 3 }, heard)
  end)

  it("of heights a wall has both or neither", function()
    local space = aoi.new { dimensions = 3 }
    local sight = require("aoi.sight").new(space)
    assert.error_matches(function() sight:wall(0, 0, 1, 0, 1, absent) end, "#6 to 'wall' %(number expected, got nil")
    assert.error_matches(function() sight:wall(0, 0, 1, 0, absent, 1) end, "#5 to 'wall' %(number expected, got nil")
    sight:wall(0, 0, 1, 0, absent, absent)
  end)
end)
