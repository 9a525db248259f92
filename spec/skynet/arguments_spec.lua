-- Calls that are mistakes: of a map in the caller's own service, of one of the AOI service and of a world. All raise
-- the same error at the line of the caller, and change nothing; where a plain space has the method, that of the space.
if not string.pack then return pending "arguments of a map and a world: needs string.pack of Lua 5.3" end

local aoi = require "aoi"
local methods = require "aoi.skynet.methods"
local places = require "spec.support.places"

local NAN, INF = 0 / 0, 1 / 0

-- Entity 1 has a node 5 with the radius 1, and a client view; 3 has a node 6, a sector; the view of 4 begins at the
-- next tick; 2, 9 and 999 are not there.
local function begin(space, is_plain)
  space:enter(1, 0, 0)
  space:enter(3, 30, 0)
  space:add_node(1, 5, 1)
  space:add_node(3, 6, { shape = "sector", radius = 3, facing = 1, angle = 1 })
  if is_plain then return end
  space:wall(9, 0, 9, 9)
  space:add_client(1, 5)
  space:tick()
  space:enter(4, 5, 0)
  space:add_client(4, 5)
end

-- Of these a plain space says the same.
local OF_SPACES = {
  enter = { { 2, NAN, 0 }, { "2", 0, 0 }, { 2.5, 0, 0 }, { 2, 0 }, { 2 }, {}, { 7, 5, 5, 0, 1 }, { 7, 5, 5, "x" },
            { 7, 5, 5, 1, {} }, { 2, nil, 5, n = 3 }, { 7, 5, 5, "x", 1 }, { 7, 5, 5, { kid = 1 } },
            { 7, 5, 5, { kind = "x" } }, { 7, 5, 5, { layers = 1.5 } }, { 7, 5, 5, { extent = NAN } },
            { 7, 5, 5, { fields = 5 } }, { 7, 5, 5, { fields = { mana = 1 } } } },
  leave = { { 9 }, { "x" }, {}, { 1, 256 }, { 1, 2.5 }, { 1, "x" }, { 1, 0, 3 } },
  enter_many = { { 5 }, { { 5, 0, 0 }, 2 }, { { 5, 0, 0 }, -1 }, { { 5, 0, 0 }, 2 ^ 60 }, { { "5", 1, 1 } },
                 { { 5, 1 } }, { { 5.5, 1, 1 } }, { { 5, 1, INF } }, { { 5, true, 1 } },
                 { { 5, 1, 1 }, 1, { kid = 1 } }, { { 5, 1, 1 }, nil, { extent = "x" }, n = 3 } },
  move = { { 1, NAN, 0 }, { 1, 0, INF }, { 1.5, 0, 0 }, { "1", 0, 0 }, { 1, "0", 0 }, { 1 }, { 1, 1 } },
  jump = { { 1, NAN, 0 }, { 1, 0, INF }, { 1.5, 0, 0 }, { "1", 0, 0 }, { 1 }, { 1, 1 } },
  move_many = { { { 1, 0 } }, { { 5, 1, 2 }, -1 }, { { 5, NAN, 2 } }, { { "1", 2, 3 } } },
  add_node = { { 1, 5, 1 }, { 9, 5, 1 }, { 1, 6, -1 }, { 1, 6, {} }, { 1, 6, 1, 5 }, { 1, 6, 1, nil, 5 }, { 1, "6", 1 },
               { 1, {}, 5 }, { 1, 8, nil, n = 3 }, { 1, 8, { radius = 1, kep = 1 } }, { 1, 8, 5, print, 12 } },
  remove_node = { { 1, 6 }, { 9, 5 }, { 1 }, { 1, 5, 7 } },
  set_radius = { { 1, 6, 1 }, { 1, 5, NAN }, { 1, 5, 2, 1 }, { 1, 5, -1 }, { 3, 6, 5 } },
  set_area = { { 1, 6, 1 }, { 1, 5, { radius = -1 } }, { 1, 5, { shape = "box", radius = 1 } }, { 1, 5 } },
  set_mask = { { 1, 5 }, { 1, 8, 1 }, { 1, 5, "x" } },
  set_facing = { { 1, 5, 0 } },
  set_kind = { { 9, 1 }, { 1, "x" }, { 1 } },
  set_extent = { { 1, -1 }, { 9, 1 } },
  set_layers = { { 1, 1.5 }, { 1, 1, 1 }, { 1, 1, true, 2 } },
  override = { { 1, 5, 9, "hide" }, { 1, 6, 1 }, { 1, 5, 3, "shown" }, { 1, 5, 3, {} }, { 1, 5, 1, "hide" },
               { 1, 9, 3, "hide" } },
  overrides = { { 1, 6 } },
  view = { { 1, 6 }, { 9, 5 }, { 1 }, { 1, 5, 1 } },
  viewers = { { 9 }, { "x" }, {}, { 1, 1 } },
  sees = { { 1, 5 }, { 1, 6, 1 } },
  nodes = { { 2 }, { 1, 1 } },
  ids = { { 1 }, { {}, 5 } },
  position = { { "x" } },
  has = { { 1.5 } },
  kind = { { "x" }, { 1, true } },
  radius = { { 1 } },
  area = { { "x", 1 }, { 1 } },
  extent = { { "x" } },
  count = { { 5 } },
  near = { { 0, 0 }, {}, { 0, 0, -1 }, { 0, 0, 1, "x" }, { 0, 0, { shape = "box" } }, { nil, 5, 1, n = 3 },
           { 5, "x", 1 }, { 5, NAN, 1 } },
  near_many = { { { 1 }, 5 }, { {}, "x" }, { {}, { radius = -1 } }, { { 1, "2" }, 5 }, { { 1, NAN }, 5 },
                { { 1, 2 }, 5, "x" }, { { 1, 2 }, 5, 1, 5 }, { 5, 5 }, { { 1, 2 }, 5, 1, false },
                { { 1, 2 }, 5, 1, {}, false }, { { 1, 2, 3 }, 5 }, { { 1, 2, 3, {} }, 5 } },
  nearest = { { 0, 0 }, { 0, 0, -1 }, { 0, 0, 1, -1 }, { nil, 5, 1, n = 3 }, { 5, 5, "x" }, { 5, 5, 1.5 },
              { 5, 5, 1, "x" }, { 5, 5, 1, NAN }, { 5, 5, 1, 5, "x" }, { 5, 5, 1, 5, 1, "x" },
              { 5, 5, 1, 5, 1, {}, 7 }, { 5, 5, 1, { least = -1 } }, { 5, 5, 1, 9, { except = "x" } },
              { 5, 5, 1, {}, { leest = 1 } } },
  sweep = { { 0, 0, 9, 9, "x" }, { 0, 0, 9, 9 }, { 0, 0, 9, 9, -1 }, { 0, 0, 9, 9, NAN }, { 0, 0, 9, "x", 1 },
            { nil, 0, 9, 9, 1, n = 5 }, { 0, 0, 9 } },
  explain = { { 1, 5, "x" }, { "x", 5, 1 }, { 1 }, { 999, "x", 2 } },
}

-- Method, arguments, what is said of them.
local OURS = {
  { "enter", { 1, 0, 0 }, "#1 to 'enter' (entity 1 is already in the " },
  { "enter", { 7, 5, 5, 1, nil, 2 }, "#6 to 'enter' (nothing expected in 2 dimensions, got number)" },
  { "enter_many", { { 2, 0, 0, 1, 0, 0 } }, "#1 to 'enter_many' (row 2: entity 1 is already in the " },
  { "enter_many", { { 7, 0, 0, 8, 0, 0, 7, 40, 40 } }, "#1 to 'enter_many' (row 3: entity 7 is already in the " },
  { "enter_many", { { 7, 0, 0, 8, 0, 0 }, 1 }, "#2 to 'enter_many' (the array has 2 rows, and the kind comes third: " },
  { "enter", { 7, 5, 5, { fields = { hp = -1 } } }, "#4 to 'enter' (field 'hp' (u16) holds whole numbers" },
  { "join", { { id = 7, x = 5, y = 5, kind = { layers = {} } } }, "#4 to 'enter' (bad value for option 'layers'" },
  { "join", { { id = 1, x = 1, y = 1 } }, "entity 1 is already in the " },
  { "join", { { id = 2, x = 1, y = 1, viw = 1 } }, "unknown field 'viw'" },
  { "join", { { id = 2, x = 1, y = 1, nodes = { { 1, -1 } } } }, "#3 to 'add_node' (radius must not be negative" },
  { "join", { { id = 2, x = 1, y = 1, view = { 5, { limmit = 1 } } } }, "#3 to 'add_client' (unknown option 'limmit'" },
  { "join", { { id = 2, x = 5, y = 5, view = 5 } }, "#1 to 'join' (view: table expected, got number)" },
  { "join", { { id = 2, x = 5, y = 5, view = { 5, {}, 6 } } }, "#1 to 'join' (view: unknown field '3')" },
  { "join", { { id = 2, x = 5, y = 5, nodes = { { 1, 5, {}, nil, nil, 5 } } } }, "(node 1: unknown field '6')" },
  { "join", { {} }, "#1 to 'enter' (integer expected, got " },
  { "join", { { id = 2 } }, "#2 to 'enter' (number expected, got " },
  { "join", { { id = 2, x = 5, y = 5, kind = false } }, "#4 to 'enter' (integer expected, got boolean)" },
  { "join", { { id = 2, x = 5, y = 5, view = false } }, "#1 to 'join' (view: table expected, got boolean)" },
  { "move", { 1, 1, 2, 3 }, "#4 to 'move' (nothing expected, got number)" },
  { "move_many", {}, "#1 to 'move_many' (table expected, got nil)" },
  { "flush", { { 1, 1 } }, "#1 to 'flush' (the length of the array is no multiple of 3)" },
  { "flush", { { 1, 1, 2 }, 2 }, "#2 to 'flush' (the array has 1 rows)" },
  { "flush", { { 1, 1, "2" } }, "#1 to 'flush' (row 1: number expected, got string '2')" },
  { "flush", { { "1", 1, 2 } }, "#1 to 'flush' (row 1: integer expected, got string '1')" },
  { "flush", { { 1, 3, 4, 1, 2, NAN } }, "#1 to 'flush' (row 2: finite number expected, got nan)" },
  { "flush", { { 1.5, 2, 3 } }, "#1 to 'flush' (row 1: number has no integer representation: 1.5)" },
  { "flush", { 5 }, "#1 to 'flush' (table expected, got number)" },
  { "flush", { { 1, 1, 2 }, 1, 5 }, "#3 to 'flush' (function expected, got number)" },
  { "move_many", { { 1, 1, 2 }, 1, {} }, "#3 to 'move_many' (function expected, got table)" },
  { "add_node", { 1, 1, 5, { entr = print } }, "(a table of handlers has 'enter', 'leave' or 'cross', and not" },
  { "add_node", { 1, 1, 5, { cross = "x" } }, "#4 to 'add_node' (function expected for 'cross', got string)" },
  { "add_node", { 1, 1, 5, { cross = print }, { sight = true } }, "#4 to 'add_node' (handler 'cross': no" },
  { "add_node", { 1, 1, 5, { cross = print }, { to = 3 } }, "#4 to 'add_node' (handler 'cross': crossings are told" },
  { "jump", { 1, 1, 2, 3 }, "#4 to 'jump' (nothing expected" },
  { "add_node", { 1, 1, 5, { enter = "x" } }, "#4 to 'add_node' (function expected for 'enter', got string)" },
  { "add_node", { 1, 1, 5, {}, { position = true } }, "#5 to 'add_node' (unknown option 'position')" },
  { "add_node", { 1, 1, 5, {}, { to = "ann" } }, "#5 to 'add_node' (bad value for option 'to' (a number expected))" },
  { "add_node", { 1, 1, 5, {}, { linger = 3 } }, "option 'linger' is of nodes with sight" },
  { "add_node", { 1, 1, 5, {}, { sight = 1 } }, "#5 to 'add_node' (bad value for option 'sight' (a boolean expected" },
  { "add_node", { 1, 1, 5, {}, { sight = true, linger = 1.5 } }, "#5 to 'add_node' (bad value for option 'linger'" },
  { "add_node", { 1, 1, 5, {}, nil, { sihgt = 5 } }, "#6 to 'add_node' (unknown option 'sihgt')" },
  { "add_node", { 1, 1, 5, {}, {}, { sight = true } }, "#6 to 'add_node' (nothing expected, got table)" },
  { "seen", { 1, 8 }, "#2 to 'seen' (entity 1 has no node 8" },
  { "seen", { "x", 8 }, "#1 to 'seen' (integer expected, got string 'x')" },
  { "seen", { 1, 5, "x" }, "#3 to 'seen' (table expected, got string)" },
  { "seen", { 1, 5, false }, "#3 to 'seen' (table expected, got boolean)" },
  { "add_client", { 1, 20 }, "already a client" },
  { "add_client", { 999, 5 }, "#1 to 'add_client' (no entity 999)" },
  { "add_client", { 3, error }, "#2 to 'add_client' (number or table expected, got function)" },
  { "add_client", { 3, 5, { limmit = 1 } }, "#3 to 'add_client' (unknown option 'limmit': " },
  { "add_client", { 3, 5, 5 }, "#3 to 'add_client' (table expected, got number)" },
  { "set_client", { 1, { limmit = 3 } }, "unknown option 'limmit'" },
  { "set_view", { 3, 1, 5 }, "#1 to 'set_view' (entity 3 is no client)" },
  { "set_view", { 1, 1, { 3, 4 } }, "#3 to 'set_view' (unknown area option '1' of a square: " },
  { "set_view", { 1, 1, -5 }, "#3 to 'set_view' (radius must not be negative" },
  { "set_view", { 1, 2, 5 }, "#2 to 'set_view' (client 1 has no view 2)" },
  { "set_view", { 1, "1", 5 }, "#2 to 'set_view' (number expected, got string '1')" },
  { "set_view", { 1, 1.5, 5 }, "#2 to 'set_view' (client 1 has no view 1.5)" },
  { "set_view", { 4, 1, { 3, 4 } }, "#3 to 'set_view' (unknown area option '1' of a square: " },
  { "set_view", { 4, 2, 5 }, "#2 to 'set_view' (client 4 has no view 2)" },
  { "pin", { 1, 999 }, "#2 to 'pin' (no entity 999)" },
  { "pin", { 1, 1 }, "#2 to 'pin' (an entity does not see itself)" },
  { "pin", { 1, "2" }, "#2 to 'pin' (integer expected, got string '2')" },
  { "pin", { 3, 1 }, "#1 to 'pin' (entity 3 is no client)" },
  { "pin", { 4, 999 }, "#2 to 'pin' (no entity 999)" },
  { "pin", { 4, 4 }, "#2 to 'pin' (an entity does not see itself)" },
  { "remove_client", { 3 }, "#1 to 'remove_client' (entity 3 is no client)" },
  { "remove_client", { 1, "x" }, "#2 to 'remove_client' (nothing expected, got string)" },
  { "resend", { 3 }, "#1 to 'resend' (entity 3 is no client)" },
  { "resend", { 1, {} }, "#2 to 'resend' (nothing expected, got table)" },
  { "set_priority", { 1, 0 }, "#2 to 'set_priority' (priority must be positive)" },
  { "set_priority", { 9, 1 }, "#1 to 'set_priority' (no entity 9)" },
  { "set_priority", { 1, 1, {} }, "#3 to 'set_priority' (" },
  { "set_team", { 9, 1 }, "#1 to 'set_team' (no entity 9)" },
  { "set_team", { 1, "x" }, "#2 to 'set_team' (integer expected, got string 'x')" },
  { "set_team", { 1 }, "#2 to 'set_team' (integer expected, got no" },
  { "put", { 1, "hp", -1 }, "#3 to 'put' (field 'hp' (u16) holds whole numbers from 0 to 65535, got -1)" },
  { "put", { 1, "mana", 1 }, "#2 to 'put' (no field 'mana': " },
  { "put", { 1, "mana:1: max", 1 }, "#2 to 'put' (no field 'mana:1: max': " },
  { "get", { 1 }, "#2 to 'get' (string expected, got no value)" },
  { "get", { 1, 5 }, "#2 to 'get' (string expected, got number)" },
  { "knowers", { 999 }, "#1 to 'knowers' (no entity 999)" },
  { "broadcast", { 999, "x" }, "#1 to 'broadcast' (no entity 999)" },
  { "broadcast", { 1, 5 }, "#2 to 'broadcast' (string expected, got number)" },
  { "take_over", { 999 }, "#1 to 'take_over' (no entity 999)" },
  { "listen", { 5 }, "#1 to 'listen' (table expected, got number)" },
  { "handlers_wait", { "never" }, "#1 to 'handlers_wait' ('order' or 'free' expected)" },
  { "wall", { 1, 2, NAN, 3 }, "#3 to 'wall' (finite number expected, got nan)" },
  { "wall", { 0, 0, 1 }, "#4 to 'wall' (number expected, got no" },
  { "wall_many", { { 0, 0, 1, 1, 2, 2, "x", 3 } }, "#1 to 'wall_many' (row 2: number expected, got string 'x'" },
  { "wall_many", { { 0, 0, 1, 1, 2, NAN, 3, 3 } }, "#1 to 'wall_many' (row 2: finite number expected" },
  { "wall_many", { { 0, 0, 1 } }, "#1 to 'wall_many' (3 values: each row has 4" },
  { "wall_many", { 3 }, "#1 to 'wall_many' (table expected, got number" },
  { "open_wall", { 7 }, "#1 to 'open_wall' (no wall 7" },
  { "open_wall", { "x" }, "#1 to 'open_wall' (integer expected" },
  { "open_wall", { 1, 5 }, "#2 to 'open_wall' (nothing expected, got number)" },
  { "shut_wall", { 1, {} }, "#2 to 'shut_wall' (nothing expected, got table)" },
  { "remove_wall", { 1, 5 }, "#2 to 'remove_wall' (nothing expected, got number)" },
  { "get_wall", { 1, 5 }, "#2 to 'get_wall' (nothing expected, got number)" },
  { "walls", { 5 }, "#1 to 'walls' (" },
  { "ray", {}, "#1 to 'ray' (number expected, got no" },
  { "ray", { 1, "x" }, "#2 to 'ray' (number expected, got string 'x')" },
  { "remove_wall", { 0 }, "#1 to 'remove_wall' (no wall 0" },
  { "ray", { 0, 0, 1 }, "#4 to 'ray' (number expected, got no" },
}
for _, name in ipairs { "error", "refused", "resync", "close", "client", "broadcast", "taken", "view_lost" } do
  table.insert(OURS, { "on_" .. name, { "x" }, ("#1 to 'on_%s' (function expected, got string"):format(name) })
end

-- Calls that are right, in this order, and n: how many results they have, 0 without it. A plain space, synchroniser or
-- sight has as many.
local RIGHT = {
  { "enter", 2, 1, 1 }, { "enter_many", { 20, 0, 0 } }, { "enter_many", { 21, 0, 0 }, 1, 2 }, { "move", 2, 2, 2 },
  { "jump", 1, 0, 0 },
  { "move_many", { 2, 1, 1 } }, { "join", { id = 30, x = 1, y = 1, nodes = { { 1, 5, {} } }, view = { 5 } }, n = 2 },
  { "add_node", 2, 1, 5, { enter = type } }, { "set_radius", 2, 1, 6 }, { "set_area", 2, 1, 5 },
  { "set_mask", 2, 1, 3 }, { "set_facing", 3, 6, 2 }, { "set_kind", 2, 1 }, { "set_extent", 2, 0 },
  { "set_layers", 2, 1 },
  { "override", 2, 1, 1, "show" }, { "override", 2, 1, 1 }, { "overrides", 2, 1, n = 2 }, { "view", 2, 1, n = 2 },
  { "viewers", 2, n = 2 }, { "near", 0, 0, 5, n = 2 }, { "nearest", 0, 0, 2, n = 2 }, { "sees", 2, 1, 1, n = 1 },
  { "nodes", 2, n = 2 }, { "ids", n = 2 }, { "position", 2, n = 2 }, { "position", 99, n = 1 }, { "has", 2, n = 1 },
  { "kind", 2, n = 1 }, { "kind", 99, n = 1 }, { "radius", 2, 1, n = 1 }, { "radius", 99, 1, n = 1 },
  { "area", 2, 1, n = 1 }, { "area", 99, 1, n = 1 }, { "extent", 99, n = 1 }, { "layers", 99, n = 1 },
  { "count", n = 1 }, { "stats", n = 1 }, { "explain", 2, 1, 1, n = 1 }, { "sweep", 0, 0, 1, 1, 1, n = 2 },
  { "near_many", { 0, 0 }, 5, n = 3 }, { "remove_node", 2, 1 }, { "check", n = 1 }, { "add_client", 2, 5 },
  { "set_view", 2, 1, 6 }, { "set_client", 2, { limit = 3 } }, { "put", 2, "hp", 4 }, { "get", 2, "hp", n = 1 },
  { "resend", 2 }, { "pin", 2, 3 }, { "unpin", 2, 3 }, { "touch", 2 }, { "set_priority", 2, 3 }, { "set_team", 2, 3 },
  { "known", 2, n = 2 },
  { "remove_client", 2 }, { "wall", 0, 5, 1, 5, n = 1 }, { "open_wall", 1 }, { "shut_wall", 1 }, { "walls", n = 2 },
  { "ray", 0, 1, 9.5, 1, n = 3 }, { "ray", 50, 50, 50, 51 }, { "remove_wall", 1 }, { "leave", 2 },
}

-- Right calls that answer differently by place, or do not answer.
local MORE = {
  { "take_over", 1 }, { "knowers", 1 }, { "broadcast", 1, "" }, { "carrier", 1 }, { "passengers", 1 }, { "attach", 3 },
  { "seen", 1, 5 }, { "listen", {} }, { "handlers_wait", "order" }, { "tick" }, { "flush" }, { "close" },
  { "near_many", { 0, 0 }, 5 }, { "get_wall", 1 }, { "wall_many", {} }, { "where", 1 }, { "epoch" }, { "info" },
  { "snapshot", type }, { "assign", 0, 0, 1, 1, 1 }, { "host", 1, "p1" }, { "drain", "p1" }, { "tiles" },
}
-- Methods that the list of aoi.skynet.methods does not have, or with fewer arguments: the most that they take.
local OWN = {
  join = 1, seen = 3, listen = 1, handlers_wait = 1, tick = 0, flush = 3, close = 0, near_many = 5, enter_many = 3,
}
local OF_WORLDS = { where = 1, epoch = 0, info = 0, snapshot = 1, assign = 5, host = 2, drain = 1,
                    tiles = 0, on_late = 1 }
for _, name in ipairs { "error", "refused", "resync", "close", "client", "broadcast", "taken", "view_lost", "late" } do
  MORE[#MORE + 1] = { "on_" .. name, type }
  OWN["on_" .. name] = name ~= "late" and 1 or nil
end

-- The position must be the caller's: ours.
local function raised(space, name, arguments)
  local ok, err = pcall(function() space[name](space, table.unpack(arguments, 1, arguments.n or #arguments)) end)
  if ok then return name .. ": no error" end
  local text, n = tostring(err):gsub("^[^:]*arguments_spec%.lua:%d+: ", "")
  return n == 1 and text or "no position: " .. err
end

local function has_changed(space)
  return space:count() ~= 3 or space:position(1) ~= 0 or select(2, space:nodes(1)) ~= 1 or space:radius(1, 5) ~= 1
    or not pcall(space.seen, space, 1, 5)
end

-- As functions, the methods of a plain space count it, too.
local function counted_from_space(text)
  return (text:gsub("#(%d+)", function(n) return "#" .. math.tointeger(n) + 1 end))
end

for where, new in pairs(places) do
  describe(("a mistake in an argument (%s)"):format(where), function()
    local place

    before_each(function()
      place = new { fields = { { "hp", "u16" } }, sight = true }
      place.run(function(space) begin(space) end)
    end)

    it("is what it is to a plain space", function()
      local plain = aoi.new { delivery = "deferred" }
      begin(plain, true)
      place.run(function(space)
        for name, calls in pairs(OF_SPACES) do
          for _, arguments in ipairs(calls) do
            local text = raised(space, name, arguments)
            assert.equal(raised(plain, name, arguments), counted_from_space(text))
            assert.is_false(has_changed(space), text)
          end
        end
      end)
    end)

    it("is named with its cure", function()
      place.run(function(space)
        for _, row in ipairs(OURS) do
          local text = raised(space, row[1], row[2])
          assert.matches(row[3], text, 1, true)
          assert.is_false(has_changed(space), text)
        end
      end)
    end)

    it("is none, and there are as many results as a plain space has", function()
      place.run(function(space)
        for i, call in ipairs(RIGHT) do
          local n = select("#", space[call[1]](space, table.unpack(call, 2)))
          assert.equal(call.n or 0, n, ("%s, call %d"):format(call[1], i))
        end
      end)
    end)

    it("is an argument too many, also behind nil, of every method", function()
      place.run(function(space)
        local most, right = {}, {}
        for _, list in ipairs { OWN, where == "world" and OF_WORLDS or nil } do
          for name, n in pairs(list) do most[name] = n end
        end
        methods.each(function(name, arguments, values)
          local _, n = arguments:gsub("%f[%w][%w_]+", "")
          local _, heights = arguments:gsub("%f[%w]z%f[%W]", "")
          most[name] = most[name] or n - heights + (values and 1 or 0)
        end)
        for _, list in ipairs { RIGHT, MORE } do
          for _, call in ipairs(list) do right[call[1]] = table.move(call, 2, #call, 1, {}) end
        end
        for name, n in pairs(most) do
          local arguments = assert(right[name], name)
          arguments[n + 1], arguments.n = 5, n + 1
          local text = raised(space, name, arguments)
          if not text:find "attached in maps alone" then
            text = text:gsub(" in 2 dimensions", "")
            assert.equal(("bad argument #%d to '%s' (nothing expected, got number)"):format(n + 1, name), text)
          end
        end
      end)
    end)

    it("is none where there is nothing to do, and where nil takes a callback back", function()
      place.run(function(space)
        space:near_many({}, 5)
        space:flush {}
        space:has(1, nil)
        local filled, absent = {}, nil
        assert.equal(filled, (space:near(0, 0, 5, absent, filled, absent)))
        assert.equal(1, filled[1])
        space:unpin(1, 999)
        space:unpin(4, 999) -- whose view has not begun
        for _, name in ipairs { "error", "refused", "resync", "close", "client", "broadcast", "taken", "view_lost" } do
          space["on_" .. name](space, nil)
        end
      end)
      assert.same({}, place.logged)
    end)
  end)
end
