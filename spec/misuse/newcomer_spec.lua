-- What a newcomer gets wrong, and what is said: wrong order, missing, wrong type, misspelt, dead, wrong delivery. Each
-- line is one mistake: { title, what the error says, the call }. The error is about the caller's own line. A line whose
-- message is nil is no error, because it does what was meant; what that is, is checked by the call itself.
local aoi = require "aoi"
local history = require "aoi.history"
local journal = require "aoi.journal"
local neighbors = require "aoi.neighbors"
local sight = require "aoi.sight"
local sync = require "aoi.sync"
local team = require "aoi.team"
local trigger = require "aoi.trigger"
local viewer = require "aoi.viewer"

local nan, huge = 0 / 0, math.huge
local function noop() end

-- A space with 1 at (0, 0), which sees 2 at (3, 0) by node 7; and what stands on top of it.
local function world()
  local w = { heard = {} }
  w.space = aoi.new()
  w.space:enter(1, 0, 0)
  w.space:enter(2, 3, 0, 2)
  w.space:add_node(1, 7, 5, noop, noop)
  w.handlers = { alert = { radius = 5, enter = noop }, bell = { radius = 4, x = 0, y = 0 } }
  w.triggers = trigger.new(w.space, w.handlers)
  w.near = neighbors.new(w.space)
  w.near:add(1, 5)
  w.sync = sync.new(w.space)
  w.sync:add(1, 5)
  w.team = team.new(w.space, {})
  w.team:add("red", 1, 5)
  w.walls = sight.new(w.space)
  w.wall = w.walls:wall(1, -1, 1, 1)
  w.walls:add(1, 3, 10, { enter = noop })
  w.past = history.new(w.space, 10)
  w.state = sync.new(w.space, { fields = { { "hp", "u8" }, { "name", "string" } } })
  w.state:add(2, 5)
  w.high = aoi.new { dimensions = 3 }
  w.high:enter(1, 0, 0, 0)
  w.late = aoi.new { delivery = "deferred" }
  return w
end

local function sector(fields)
  local area = { shape = "sector", radius = 5, facing = 0, angle = 1 }
  for name, value in pairs(fields) do area[name] = value end
  return area
end

-- A journal in a file, which goes when it has been read.
local function read_journal(w, options)
  local path = os.tmpname()
  journal.record(w.space, path):stop()
  local ok, player = pcall(function() return (journal.read(path, options)) end)
  os.remove(path)
  if not ok then error(player, 0) end
  return player
end

local MISTAKES = {
  -- making a space
  { "a colon: aoi:new", "call aoi.new{...} with a dot", function() return (aoi:new()) end },
  { "a colon: aoi:engines", "calling 'engines' on bad self", function() return (aoi:engines()) end },
  { "an engine in capitals", "'list', 'grid', 'tower', 'quadtree' or 'brute' expected, got 'Grid'",
    function() return (aoi.new { engine = "Grid" }) end },
  { "the engine alone", "#1 to 'new' (table expected, got string)", function() return (aoi.new "grid") end },
  { "options without names", "unknown option '1'", function() return (aoi.new { "grid" }) end },
  { "an option misspelt", "unknown option 'engin': 'engine', 'dimensions', 'cell' or 'delivery' expected; did you",
    function() return (aoi.new { engin = "grid" }) end },
  { "dims for dimensions", "unknown option 'dims'", function() return (aoi.new { dims = 3 }) end },
  { "the number of dimensions as a word", "2 or 3 expected, got '3D'",
    function() return (aoi.new { dimensions = "3D" }) end },
  { "four dimensions", "2 or 3 expected, got 4", function() return (aoi.new { dimensions = 4 }) end },
  { "a width and a height", "unknown option '", function() return (aoi.new { width = 100, height = 100 }) end },
  { "a cell of 0", "a number > 0 expected, got 0", function() return (aoi.new { cell = 0 }) end },
  { "letters of an option in another order", "did you mean 'engine'?",
    function() return (aoi.new { enigne = "grid" }) end },
  { "an option of something else", "unknown option 'color': 'engine', 'dimensions', 'cell' or 'delivery' expected)",
    function() return (aoi.new { color = "red" }) end },
  { "a misspelt delivery", "'immediate' or 'deferred' expected, got 'defered'",
    function() return (aoi.new { delivery = "defered" }) end },
  { "two tables of options", "#2 to 'new' (nothing expected, got table)", function() return (aoi.new({}, {})) end },

  -- entities
  { "a dot: space.move", "call it with a colon, space:move(...)", function(w) w.space.move(1, 2, 3) end },
  { "enter without a position", "#2 to 'enter' (number expected, got no value)", function(w) w.space:enter(3) end },
  { "the position as a table", "#2 to 'enter' (number expected, got table)",
    function(w) w.space:enter(3, { x = 1, y = 2 }) end },
  { "an id that is a string", "#1 to 'enter' (integer expected, got string)",
    function(w) w.space:enter("ann", 0, 0) end },
  { "an id that is an object", "#1 to 'enter' (integer expected, got table)", function(w) w.space:enter({}, 0, 0) end },
  { "an id with a fraction", "number has no integer representation", function(w) w.space:enter(1.5, 0, 0) end },
  { "nil for an id", "#1 to 'move' (integer expected, got nil)", function(w) w.space:move(nil, 0, 0) end },
  { "entering twice", "entity 1 is already in the space", function(w) w.space:enter(1, 5, 5) end },
  { "moving before entering", "no entity 9", function(w) w.space:move(9, 0, 0) end },
  { "moving after leaving", "no entity 2", function(w) w.space:leave(2) w.space:move(2, 0, 0) end },
  { "leaving twice", "no entity 2", function(w) w.space:leave(2) w.space:leave(2) end },
  { "a height in 2 dimensions: enter", "#5 to 'enter' (nothing expected in 2 dimensions, got number)",
    function(w) w.space:enter(3, 0, 0, 0, 1) end },
  { "a height with a fraction in 2 dimensions: enter", "#4 to 'enter' (number has no integer representation)",
    function(w) w.space:enter(3, 0, 0, 1.5) end },
  { "a height in 2 dimensions: move", "#4 to 'move' (nothing expected in 2 dimensions, got number)",
    function(w) w.space:move(1, 0, 0, 0) end },
  { "no height in 3 dimensions", "#4 to 'move' (number expected, got no value)",
    function(w) w.high:move(1, 0, 0) end },
  { "a kind in place of the height", "#4 to 'enter' (number expected, got no value)",
    function(w) w.high:enter(3, 0, 0) end },
  { "a fifth number for move", "#5 to 'move' (nothing expected in 3 dimensions, got number)",
    function(w) w.high:move(1, 0, 0, 0, 1) end },
  { "a coordinate that is nan", "finite number expected, got nan", function(w) w.space:move(1, nan, 0) end },
  { "a coordinate that is infinite", "finite number expected, got inf", function(w) w.space:move(1, huge, 0) end },
  { "coordinates as text", "#2 to 'move' (number expected, got string)", function(w) w.space:move(1, "10", "20") end },
  { "a kind by name", "#4 to 'enter' (integer expected, got string)",
    function(w) w.space:enter(3, 0, 0, "player") end },
  { "leave with a node and its owner, for remove_node", "#3 to 'leave' (nothing expected, got number)",
    function(w) w.space:leave(1, 7, 7) end },
  { "leave with a large node id, for remove_node", "#2 to 'leave' (",
    function(w) w.space:leave(1, 700) end },
  { "set_kind with a node, for set_mask", "#3 to 'set_kind' (nothing expected, got number)",
    function(w) w.space:set_kind(1, 7, 2) end },
  { "position as a setter", "#2 to 'position' (nothing expected, got number)",
    function(w) w.space:position(1, 5, 5) end },
  { "kind as a setter", "#2 to 'kind' (nothing expected, got number)", function(w) w.space:kind(1, 2) end },
  { "radius as a setter", "#3 to 'radius' (nothing expected, got number)", function(w) w.space:radius(1, 7, 9) end },
  { "area as a setter", "#3 to 'area' (nothing expected, got number)", function(w) w.space:area(1, 7, 9) end },
  { "a method that there is not", "attempt to call", function(w) w.space:update(1, 0, 0) end },

  -- nodes
  { "no node id", "#3 to 'add_node' (number or table expected, got function)",
    function(w) w.space:add_node(1, 5, noop, noop) end },
  { "a node id by name", "#2 to 'add_node' (integer expected, got string)",
    function(w) w.space:add_node(1, "view", 5) end },
  { "an entity that is not there yet", "no entity 9", function(w) w.space:add_node(9, 1, 5, noop) end },
  { "the same node twice", "entity 1 already has node 7", function(w) w.space:add_node(1, 7, 5, noop) end },
  { "a negative radius", "radius must not be negative", function(w) w.space:add_node(1, 8, -5, noop) end },
  { "a radius as text", "#3 to 'add_node' (number or table expected, got string)",
    function(w) w.space:add_node(1, 8, "5", noop) end },
  { "no radius", "number expected for 'radius' of a square, got nil",
    function(w) w.space:add_node(1, 8, { mask = 1 }, noop) end },
  { "a radius below zero", "radius must not be negative or nan, got -5",
    function(w) w.space:add_node(1, 8, { shape = "circle", radius = -5 }, noop) end },
  { "a circle misspelt", "got 'cirle'; did you mean 'circle'?",
    function(w) w.space:add_node(1, 8, { shape = "cirle", radius = 5 }, noop) end },
  { "an opening in degrees", "angle must be greater than 0 and at most 2 pi radians, got 90",
    function(w) w.space:add_node(1, 8, sector { angle = 90 }, noop) end },
  { "a forgotten node id", "an area expected, got handlers",
    function(w) w.space:add_node(1, 10, { enter = noop }) end },
  { "rows in tables", "row 1: integer expected, got table: rows are flat, {id, x, y, id, x, y}",
    function(w) w.space:move_many { { 1, 2, 3 } } end },
  { "the options of clients without the space", "got table: call new(space, options) with a dot",
    function() return (sync.new { quantum = 1 }) end },
  { "a radius misspelt", "unknown area option 'raduis' of a square",
    function(w) w.space:add_node(1, 8, { raduis = 5 }, noop) end },
  { "a mask misspelt", "unknown area option 'masc' of a square",
    function(w) w.space:add_node(1, 8, { radius = 5, masc = 1 }, noop) end },
  { "a shape misspelt", "'square', 'circle', 'box', 'cylinder', 'sector' or 'polygon' expected",
    function(w) w.space:add_node(1, 8, { shape = "Circle", radius = 5 }, noop) end },
  { "an angle of a circle", "a circle has no 'angle'",
    function(w) w.space:add_node(1, 8, { shape = "circle", radius = 5, angle = 1 }, noop) end },
  { "an angle in degrees", "angle must be greater than 0 and at most 2 pi",
    function(w) w.space:add_node(1, 8, sector { angle = 90 }, noop) end },
  { "a sector that faces nowhere", "number expected for 'facing' of a sector, got nil",
    function(w) w.space:add_node(1, 8, { shape = "sector", radius = 5, angle = 1 }, noop) end },
  { "a cylinder in 2 dimensions", "a cylinder needs 3 dimensions",
    function(w) w.space:add_node(1, 8, { shape = "cylinder", radius = 5, half_height = 1 }, noop) end },
  { "a box with a width", "unknown area option 'width' of a box",
    function(w) w.space:add_node(1, 8, { shape = "box", width = 5 }, noop) end },
  { "a box with too few extents", "'extents' must have 2 numbers",
    function(w) w.space:add_node(1, 8, { shape = "box", extents = { 5 } }, noop) end },
  { "a polygon of pairs", "number expected in 'points', got table",
    function(w) w.space:add_node(1, 8, { shape = "polygon", points = { { 0, 0 }, { 1, 0 }, { 0, 1 } } }, noop) end },
  { "a polygon of two corners", "'points' must have x and y of 3 to 64 corners",
    function(w) w.space:add_node(1, 8, { shape = "polygon", points = { 0, 0, 1, 0 } }, noop) end },
  { "keep smaller than radius", "keep must not be less than radius",
    function(w) w.space:add_node(1, 8, { radius = 5, keep = 2 }, noop) end },
  { "keep and margin", "'keep' and 'margin' exclude each other",
    function(w) w.space:add_node(1, 8, { radius = 5, keep = 6, margin = 1 }, noop) end },
  { "the mask as an argument", "#4 to 'add_node' (function or table expected, got number)",
    function(w) w.space:add_node(1, 8, 5, 1, noop) end },
  { "on_enter in a table", "unknown handler 'on_enter': 'enter' or 'leave' expected",
    function(w) w.space:add_node(1, 8, 5, { on_enter = noop, on_leave = noop }) end },
  { "on_leave beside enter", "unknown handler 'on_leave': 'enter' or 'leave' expected",
    function(w) w.space:add_node(1, 8, 5, { enter = noop, on_leave = noop }) end },
  { "handlers in a list", "unknown handler '1': 'enter' or 'leave' expected",
    function(w) w.space:add_node(1, 8, 5, { noop, noop }) end },
  { "a table of handlers without any", "unknown handler 'onEnter': 'enter' or 'leave' expected",
    function(w) w.space:add_node(1, 8, 5, { onEnter = noop }) end },
  { "text as a handler", "#4 to 'add_node' (handler 'enter': function expected, got string)",
    function(w) w.space:add_node(1, 8, 5, { enter = "attack" }) end },
  { "a number as a handler", "#4 to 'add_node' (handler 'leave': function expected, got number)",
    function(w) w.space:add_node(1, 8, 5, { enter = noop, leave = 3 }) end },
  { "a table as a handler", "#4 to 'add_node' (handler 'enter': function expected, got table)",
    function(w) w.space:add_node(1, 8, 5, { enter = { noop } }) end },
  { "text as a handler of adopt", "#5 to 'adopt' (handler 'enter': function expected, got string)",
    function(w) w.space:adopt(1, 8, 5, {}, { enter = "attack" }) end },
  { "the kind for the number of rows",
    "#2 to 'enter_many' (the array has 3 rows, and the kind comes third: with it n may be less)",
    function(w) w.space:enter_many({ 51, 0, 0, 52, 0, 0, 53, 0, 0 }, 2) end },
  { "a function after a table of handlers", "nothing expected after a table of handlers, got function",
    function(w) w.space:add_node(1, 8, 5, { enter = noop }, noop) end },
  { "a handler that was called, not given", "attempt to perform arithmetic",
    function(w)
      local function on_enter(_, target) return target + 1 end
      w.space:add_node(1, 8, 5, on_enter(1), noop)
    end },
  { "the name of a handler", "#4 to 'add_node' (function or table expected, got string)",
    function(w) w.space:add_node(1, 8, 5, "on_enter") end },
  { "adopt without what was seen", "#4 to 'adopt' (table expected, got function)",
    function(w) w.space:adopt(1, 8, 5, noop, noop) end },
  { "a radius for the node of somebody else", "entity 2 has no node 7",
    function(w) w.space:set_radius(2, 7, 9) end },
  { "set_radius without the node", "#3 to 'set_radius' (number expected, got no value)",
    function(w) w.space:set_radius(1, 7) end },
  { "set_radius with a table", "#3 to 'set_radius' (number expected, got table)",
    function(w) w.space:set_radius(1, 7, { radius = 5 }) end },
  { "set_radius of a box", "set_radius is for squares and circles, not for a box: use set_area",
    function(w) w.space:set_area(1, 7, { shape = "box", extents = { 1, 1 } }) w.space:set_radius(1, 7, 5) end },
  { "set_facing of a square", "a square has no 'facing': only sectors have",
    function(w) w.space:set_facing(1, 7, 1) end },
  { "set_mask without the node", "#3 to 'set_mask' (integer expected, got no value)",
    function(w) w.space:set_mask(1, 7) end },
  { "a mask as a list", "#3 to 'set_mask' (integer expected, got table)",
    function(w) w.space:set_mask(1, 7, { 1, 2 }) end },
  { "override with a boolean", "'hide', 'show', 'match' or nil expected",
    function(w) w.space:override(1, 7, 2, true) end },
  { "override of oneself", "an entity does not see itself", function(w) w.space:override(1, 7, 1, "show") end },
  { "override of a target that is gone", "no entity 9", function(w) w.space:override(1, 7, 9, "hide") end },

  -- batches
  { "rows as tables", "row 1: integer expected, got table",
    function(w) w.space:move_many { { 1, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 } } end },
  { "a row that is short", "the length of the array is no multiple of 3",
    function(w) w.space:move_many { 1, 0, 0, 2, 0 } end },
  { "the number of values for that of rows", "the array has 2 rows",
    function(w) w.space:move_many({ 1, 0, 0, 2, 0, 0 }, 6) end },
  { "a row of somebody who has left", "row 2: no entity 9",
    function(w) w.space:move_many { 1, 0, 0, 9, 0, 0 } end },
  { "heights in 2 dimensions", "row 2: ",
    function(w) w.space:move_many { 1, 0, 0, 0.5, 2, 0, 0, 0.5, 1, 1, 1, 0.5 } end },
  { "enter_many with kinds in the rows", "the length of the array is no multiple of 3",
    function(w) w.space:enter_many { 3, 0, 0, 1, 4, 0, 0, 1 } end },

  -- questions
  { "a height for near in 2 dimensions", "a table to fill expected in 2 dimensions, got an area",
    function(w) w.space:near(0, 0, 0, { radius = 5 }) end },
  { "near around an entity", "#3 to 'near' (number or table expected, got no value)",
    function(w) w.space:near(1, 5) end },
  { "the circle of near in a table of its own", "unknown area option '1' of a square",
    function(w) w.space:near(0, 0, { 5 }) end },
  { "nearest without a number", "#3 to 'nearest' (integer expected, got no value)",
    function(w) w.space:nearest(0, 0) end },
  { "a passenger that walks", "entity 2 is attached: it moves with its carrier",
    function(w)
      w.space:attach(2, 1)
      w.space:move(2, 5, 5)
    end },
  { "a bus in its own passenger", "entity 2 is carried by this one",
    function(w)
      w.space:attach(2, 1)
      w.space:attach(1, 2)
    end },
  { "a bullet without its radius", "#5 to 'sweep' (number expected, got no value)",
    function(w) w.space:sweep(0, 0, 10, 0) end },
  { "a bullet with an area", "#5 to 'sweep' (number expected, got table)",
    function(w) w.space:sweep(0, 0, 10, 0, { radius = 5 }) end },
  { "nearest: the area for the radius", "got an area",
    function(w) w.space:nearest(0, 0, 3, { radius = 5 }) end },
  { "sees without the node", "entity 1 has no node 2", function(w) w.space:sees(1, 2) end },
  { "view without the node", "#2 to 'view' (integer expected, got no value)", function(w) w.space:view(1) end },
  { "viewers of a node", "#2 to 'viewers' (table expected, got number)", function(w) w.space:viewers(1, 7) end },
  { "has of a node", "#2 to 'has' (nothing expected, got number)", function(w) w.space:has(1, 7) end },
  { "explain without the node", "#3 to 'explain' (integer expected, got no value)",
    function(w) w.space:explain(1, 2) end },
  { "a closed space", "attempt to use a closed space", function(w) w.space:close() w.space:move(1, 0, 0) end },

  -- delivery
  { "flush with a table, for drain", "#1 to 'flush' (nothing expected, got table)",
    function(w) w.late:flush {} end },
  { "drain with a function", "#1 to 'drain' (table expected, got function)", function(w) w.late:drain(noop) end },
  { "on_error with a message", "#1 to 'on_error' (function expected, got string)",
    function(w) w.space:on_error "oops" end },
  { "flush where nothing waits", nil, function(w) assert.equal(0, w.space:flush()) end },

  -- bytes
  { "load without bytes", "#1 to 'load' (string expected, got no value)", function() return (aoi.load()) end },
  { "load of what is no snapshot", "not a snapshot", function() return (aoi.load "hello") end },
  { "load with a colon", "calling 'load' on bad self", function(w) return (aoi:load(w.space:save())) end },
  { "load with a table of handlers", "#2 to 'load' (function expected, got table)",
    function(w) return (aoi.load(w.space:save(), {})) end },
  { "load into other dimensions", "'engine' is the only option",
    function(w) return (aoi.load(w.space:save(), nil, { dimensions = 3 })) end },
  { "save to a file", "#1 to 'save' (nothing expected, got string)", function(w) return (w.space:save "x.aoi") end },
  { "a journal without a place to go", "#2 to 'record' (path or function expected",
    function(w) return (journal.record(w.space)) end },
  { "a journal of nothing", "#1 to 'record' (aoi.space expected, got no value)",
    function() return (journal.record()) end },
  { "reading a journal that is not there", "cannot read the journal: /nowhere/x",
    function() return (journal.read "/nowhere/x") end },
  { "reading no journal", "#1 to 'read' (string expected, got no value)", function() return (journal.read()) end },

  -- triggers
  { "triggers without a space", "#1 to 'new' (aoi.space expected, got no value)",
    function() return (trigger.new(nil, {})) end },
  { "triggers on a table", "#1 to 'new' (aoi.space expected, got table)",
    function() return (trigger.new({}, {})) end },
  { "triggers with a colon", "calling 'new' on bad self (call trigger.new(space) with a dot)",
    function(w) return (trigger:new(w.space, {})) end },
  { "triggers without handlers", "#2 to 'new' (table expected, got no value)",
    function(w) return (trigger.new(w.space)) end },
  { "handlers before the space", "#1 to 'new' (aoi.space expected, got table)",
    function(w) return (trigger.new({}, w.space)) end },
  { "triggers on a closed space", "#1 to 'new' (the space is closed)",
    function(w) w.space:close() return (trigger.new(w.space, {})) end },
  { "a trigger by a name that has no handlers", "no handlers named 'allert'",
    function(w) w.triggers:add(1, "allert") end },
  { "the name before the entity", "#1 to 'add' (integer expected, got string)",
    function(w) w.triggers:add("alert", 1) end },
  { "a trigger on an entity that is gone", "#1 to 'add' (no entity 9)", function(w) w.triggers:add(9, "alert") end },
  { "the same trigger twice", "entity 1 already has a trigger 'alert'",
    function(w) w.triggers:add(1, "alert") w.triggers:add(1, "alert") end },
  { "a radius as options", "bad options (table expected, got number)",
    function(w) w.triggers:add(1, "alert", 12) end },
  { "an option misspelt among handlers", "bad option 'masc' in handlers 'alert' (unknown)",
    function(w) w.handlers.alert.masc = 1 w.triggers:add(1, "alert") end },
  { "an option of a trigger misspelt", "bad option 'raduis' (unknown)",
    function(w) w.triggers:add(1, "alert", { raduis = 5 }) end },
  { "on_enter among handlers", "bad option 'on_enter' in handlers 'alert' (unknown)",
    function(w) w.handlers.alert.on_enter = noop w.triggers:add(1, "alert") end },
  { "a handler that is none", "bad handler 'enter' in handlers 'alert' (function expected, got string)",
    function(w) w.handlers.alert.enter = "attack" w.triggers:add(1, "alert") end },
  { "a place for a trigger of an entity", "bad option 'x' (only regions have a place",
    function(w) w.triggers:add(1, "alert", { x = 5, y = 5 }) end },
  { "add for region", "bad option 'x' (only regions have a place", function(w) w.triggers:add(1, "bell") end },
  { "a region without a place", "bad option 'x' (required, among the options or the handlers)",
    function(w) w.triggers:region("alert") end },
  { "a region with an entity", "no handlers named '1'", function(w) w.triggers:region(1, "bell") end },
  { "a region with a height in 2 dimensions", "bad option 'z' (the space is 2D)",
    function(w) w.triggers:region("bell", { z = 0 }) end },
  { "stay without an interval", "bad option 'interval' (required by the handler 'stay')",
    function(w) w.handlers.alert.stay = noop w.triggers:add(1, "alert") end },
  { "dwell without after", "bad option 'after' (required by the handler 'dwell')",
    function(w) w.handlers.alert.dwell = noop w.triggers:add(1, "alert") end },
  { "a limit of 0", "bad option 'limit' (a whole number >= 1 expected, got 0)",
    function(w) w.triggers:add(1, "alert", { limit = 0 }) end },
  { "update without the time", "#1 to 'update' (finite number expected, got no value)",
    function(w) w.triggers:update() end },
  { "update with the length of a tick", "#1 to 'update' (0.1 is before 10)",
    function(w) w.triggers:update(10) w.triggers:update(0.1) end },
  { "advance backwards", "#1 to 'advance' (number must not be negative)", function(w) w.triggers:advance(-1) end },
  { "advance by the length of a tick", nil, function(w)
    w.triggers:update(10)
    w.triggers:advance(0.5)
    assert.equal(10.5, w.triggers.time)
  end },
  { "a negative radius of a trigger", "#1 to 'set_radius' (radius must not be negative",
    function(w) w.triggers:add(1, "alert"):set_radius(-1) end },
  { "a trigger that is removed", "trigger 'alert' is removed", function(w)
    local t = w.triggers:add(1, "alert")
    t:remove()
    t:enable()
  end },
  { "get without a name", "#2 to 'get' (the name of a trigger expected, got no value)",
    function(w) return (w.triggers:get(1)) end },
  { "dispatch without events", "#1 to 'dispatch' (table expected, got no value)",
    function(w) w.triggers:dispatch() end },

  -- neighbour lists
  { "neighbours without a space", "#1 to 'new' (aoi.space expected, got no value)",
    function() return (neighbors.new()) end },
  { "neighbours with a colon", "calling 'new' on bad self (call neighbors.new(space) with a dot)",
    function(w) return (neighbors:new(w.space)) end },
  { "a list for an entity that is gone", "#1 to 'add' (no entity 9)", function(w) w.near:add(9, 5) end },
  { "a second list", "#1 to 'add' (entity 1 already has a list)", function(w) w.near:add(1, 5) end },
  { "a list without an area", "#2 to 'add' (number or table expected, got nil)", function(w) w.near:add(2) end },
  { "each of nothing", "#1 to 'each' (integer expected, got no value)",
    function(w) for _ in w.near:each() do error "never" end end },
  { "each as for pairs, index first", nil, function(w)
    local found = {}
    for _, id in w.near:each(1) do found[#found + 1] = id end
    assert.same({ 2 }, found)
  end },
  { "each with the id alone", nil, function(w)
    local found = {}
    for id in w.near:each(1) do found[#found + 1] = id end
    assert.same({ 2 }, found)
  end },
  { "has without the target", "#2 to 'has' (integer expected, got no value)", function(w) return (w.near:has(1)) end },
  { "near:move to tell the clients, not needed any more", nil, function(w)
    w.near:move(2, 4, 0)
    assert.same({ 4, 0 }, { w.space:position(2) })
  end },

  -- client synchronisation
  { "synchronisation with a colon", "call new(space) with a dot", function(w) return (sync:new(w.space)) end },
  { "synchronisation without a space", "#1 to 'new' (aoi.space expected, got no value)",
    function() return (sync.new()) end },
  { "a client that is no entity", "no entity 9", function(w) w.sync:add(9, 5) end },
  { "a client twice", "entity 1 is already a client", function(w) w.sync:add(1, 5) end },
  { "an option of a client misspelt", "unknown option 'limits'",
    function(w) w.sync:add(2, 5, { limits = 30 }) end },
  { "tiers without a table each", "pairs of numbers {distance, ticks} expected",
    function(w) w.sync:set(1, { tiers = { 20, 1, 50, 4 } }) end },
  { "a pin of somebody who is no client", "entity 2 is no client", function(w) w.sync:pin(2, 1) end },
  { "a tick without a function", "#1 to 'tick' (function expected, got no value)", function(w) w.sync:tick() end },
  { "a priority of 0", "priority must be positive", function(w) w.sync:set_priority(2, 0) end },
  { "read with a colon, of a client", "attempt to call", function(w) w.sync:read "" end },
  { "a limit in the area of a client", "unknown area option 'limit' of a square",
    function(w) w.sync:add(2, { radius = 5, limit = 30 }) end },
  { "tiers that fall", "'tiers' (rising distances expected)",
    function(w) w.sync:add(2, 5, { tiers = { { 50, 4 }, { 20, 1 } } }) end },
  { "a budget that holds no record", "40 hold one record of any size",
    function(w) w.sync:add(2, 5, { bytes = 3 }) end },
  { "a quantum by name", "a positive, finite number expected",
    function(w) return (sync.new(w.space, { quantum = "cm" })) end },
  { "a pin to itself", "#2 to 'pin' (an entity does not see itself)", function(w) w.sync:pin(1, 1) end },
  { "a pin of somebody who is not there", "#2 to 'pin' (no entity 99)", function(w) w.sync:pin(1, 99) end },
  { "a client that is removed twice", "entity 1 is no client", function(w) w.sync:remove(1) w.sync:remove(1) end },
  { "a handler for read", "#2 to 'read' (table expected, got function)", function() return (sync.read("", noop)) end },
  { "neighbours told without a function", "#1 to 'sync' (function expected, got no value)",
    function(w) w.near:sync() end },
  { "a number to fill: joined", "#2 to 'joined' (table expected, got number)",
    function(w) return (w.near:joined(1, 5)) end },
  { "a number to fill: left", "#2 to 'left' (table expected, got number)",
    function(w) return (w.near:left(1, 5)) end },
  { "more events than were drained: neighbours", "#2 to 'dispatch' (3 events of four values expected",
    function(w) w.near:dispatch({}, 3) end },
  { "a dot: near.remove", "call it with a colon, near:remove(id)", function(w) return (w.near.remove(1)) end },
  { "a dot: near.stats", "call it with a colon, near:stats()", function(w) return (w.near.stats()) end },
  { "a dot: near.joined", "call it with a colon, near:joined(id)", function(w) return (w.near.joined(1)) end },
  { "a dot: near.move", "call it with a colon, near:move(id, x, y)", function(w) w.near.move(1, 2, 3) end },
  { "a dot: near.add", "call it with a colon, near:add(id, area)", function(w) w.near.add(2, 5) end },

  -- triggers, saved and dispatched
  { "a dot: triggers.add", "call it with a colon, triggers:add(id, name)",
    function(w) w.triggers.add(1, "alert") end },
  { "a dot: triggers.get", "call it with a colon, triggers:get(id, name)",
    function(w) return (w.triggers.get(1, "alert")) end },
  { "a dot: triggers.remove", "call it with a colon, triggers:remove(id)", function(w) w.triggers.remove(1) end },
  { "a dot: triggers.advance", "call it with a colon, triggers:advance(dt)", function(w) w.triggers.advance(1) end },
  { "a dot: triggers.refresh", "call it with a colon, triggers:refresh(target)",
    function(w) w.triggers.refresh(1) end },
  { "a dot: triggers.dispatch", "call it with a colon, triggers:dispatch(buf, n)",
    function(w) w.triggers.dispatch({}, 0) end },
  { "a dot: triggers.stats", "call it with a colon, triggers:stats()",
    function(w) return (w.triggers.stats()) end },
  { "a dot: triggers.close", "call it with a colon, triggers:close()", function(w) w.triggers.close() end },
  { "a dot: triggers.update", "call it with a colon, triggers:update(now)", function(w) w.triggers.update(1) end },
  { "more events than were drained: triggers", "#2 to 'dispatch' (3 events of four values expected",
    function(w) w.triggers:dispatch({}, 3) end },
  { "half an event", "#2 to 'dispatch' (0.5 events of four values expected",
    function(w) w.triggers:dispatch({ 1, 2 }, 0.5) end },
  { "the bytes of a space, to triggers", "#1 to 'load' (table expected, got string)",
    function(w) w.triggers:load(w.space:save()) end },
  { "triggers loaded twice", "#1 to 'load' (trigger 1: entity 1 already has a trigger 'alert')",
    function(w) w.triggers:add(1, "alert") w.triggers:load(w.triggers:save()) end },
  { "triggers saved after the space is closed", "'save': the space is closed",
    function(w) w.space:close() return (w.triggers:save()) end },
  { "a number to fill: targets", "#1 to 'targets' (table expected, got number)",
    function(w) return (w.triggers:add(1, "alert"):targets(5)) end },

  -- teams
  { "a team that is forgotten: add", "#2 to 'add' (no entity 5)", function(w) w.team:add(1, 5) end },
  { "the watcher before the team", "#2 to 'add' (integer expected, got string)",
    function(w) w.team:add(2, "red", 5) end },
  { "no area for a team's watcher", "#3 to 'add' (number or table expected", function(w) w.team:add("red", 2) end },
  { "a watcher twice", "entity 1 watches for that team already", function(w) w.team:add("red", 1, 5) end },
  { "a team's on_enter", "unknown handler 'on_enter'",
    function(w) return (team.new(w.space, { on_enter = noop })) end },
  { "a team's handler that is none", "bad handler 'enter': function expected, got string",
    function(w) return (team.new(w.space, { enter = "reveal" })) end },
  { "a team without handlers", "#2 to 'new' (table expected, got no value)",
    function(w) return (team.new(w.space)) end },
  { "a bush of pairs", "#1 to 'bush' (finite number expected, got table)",
    function(w) w.team:bush { { 0, 0 }, { 1, 0 }, { 0, 1 } } end },
  { "a bush as an area", "x and y of 3 to 64 corners expected",
    function(w) w.team:bush { shape = "polygon", points = { 0, 0, 1, 0, 0, 1 } } end },
  { "knows, in the wrong order", "#2 to 'knows' (integer expected, got string)",
    function(w) return (w.team:knows(1, "red")) end },
  { "known of one target", "#2 to 'known' (table expected, got number)",
    function(w) return (w.team:known("red", 1)) end },
  { "a dot: sight.remove", "call it with a colon, sight:remove(team, id)",
    function(w) return (w.team.remove("red", 1)) end },
  { "a dot: sight.known", "call it with a colon, sight:known(team)", function(w) return (w.team.known "red") end },
  { "a dot: sight.add", "call it with a colon, sight:add(team, id, area)",
    function(w) w.team.add("red", 1, 5) end },

  -- walls
  { "walls with a colon", "call new(space) with a dot", function(w) return (sight:new(w.space)) end },
  { "walls without a space", "aoi.space expected, got no value", function() return (sight.new()) end },
  { "the walls of nothing", "(an open sight of the same space expected, got table)",
    function(w) return (sight.new(w.space, { walls = {} })) end },
  { "a wall of two points", "#1 to 'wall' (number expected, got table)",
    function(w) w.walls:wall({ 0, 0 }, { 1, 1 }) end },
  { "half a wall", "#4 to 'wall' (number expected, got no value)", function(w) w.walls:wall(0, 0, 1) end },
  { "a wall with heights in 2 dimensions", "#5 to 'wall' (nothing expected in 2 dimensions, got number)",
    function(w) w.walls:wall(0, 0, 1, 1, 0, 3) end },
  { "a door that there is not", "#1 to 'open_wall' (no wall 99)", function(w) w.walls:open_wall(99) end },
  { "shut by a boolean", "#2 to 'shut_wall' (nothing expected, got boolean)",
    function(w) w.walls:shut_wall(w.wall, true) end },
  { "a wall removed twice", "#1 to 'remove_wall' (no wall 1)",
    function(w) w.walls:remove_wall(w.wall) w.walls:remove_wall(w.wall) end },
  { "a node that the space has", "#2 to 'add' (entity 1 already has a node 7)",
    function(w) w.walls:add(1, 7, 5, {}) end },
  { "on_enter past walls", "unknown handler 'on_enter': 'enter' or 'leave' expected",
    function(w) w.walls:add(2, 1, 5, { on_enter = noop }) end },
  { "linger in the area", "unknown area option 'linger'",
    function(w) w.walls:add(2, 1, { radius = 5, linger = 3 }, {}) end },
  { "linger in seconds", "'linger' (a whole number of ticks expected, got 0.5)",
    function(w) w.walls:add(2, 1, 5, {}, { linger = 0.5 }) end },
  { "linger alone", "#5 to 'add' (nothing expected after a table of handlers, got number)",
    function(w) w.walls:add(2, 1, 5, {}, 3) end },
  { "a tick of walls by its length", "#1 to 'tick' (nothing expected, got number)", function(w) w.walls:tick(0.1) end },
  { "a plain node, asked past walls", "#2 to 'sees' (node 7 of entity 1 is none of this sight)",
    function(w) return (w.walls:sees(1, 7, 2)) end },
  { "a ray of two points", "#1 to 'ray' (number expected, got table)",
    function(w) return (w.walls:ray({ 0, 0 }, { 1, 1 })) end },
  { "a dot: walls.tick", "aoi.Sight expected, got no value: call it with a colon", function(w) w.walls.tick() end },

  -- history
  { "a history with options", "#2 to 'new' (integer expected, got table)",
    function(w) return (history.new(w.space, { ticks = 10 })) end },
  { "a history of nothing", "ticks from 1 to 1048576 expected, got 0",
    function(w) return (history.new(w.space, 0)) end },
  { "a place in the past by the id alone", "#2 to 'position' (integer expected, got no value)",
    function(w) return (w.past:position(1)) end },
  { "the future", "#1 to 'position' (number must not be negative, got -1)",
    function(w) return (w.past:position(-1, 1)) end },
  { "a longer past than is kept", "a history of 10 ticks does not go back 11",
    function(w) return (w.past:position(11, 1)) end },
  { "the past in seconds", "#1 to 'near' (number has no integer representation)",
    function(w) return (w.past:near(0.25, 0, 0, 5)) end },
  { "a tick of history by its length", "#1 to 'tick' (nothing expected, got number)",
    function(w) w.past:tick(0.1) end },

  -- bullets, floors, vehicles
  { "a bullet of two points", "#1 to 'sweep' (number expected, got table)",
    function(w) w.space:sweep({ 0, 0 }, { 1, 1 }, 1) end },
  { "a bullet thinner than nothing", "#5 to 'sweep' (radius must not be negative or nan, got -1)",
    function(w) w.space:sweep(0, 0, 1, 0, -1) end },
  { "questions as a list of points", "#1 to 'near_many' (row 1: number expected, got table)",
    function(w) w.space:near_many({ { 0, 0 }, { 1, 1 } }, 5) end },
  { "questions with ids", "the length of the array is no multiple of 2",
    function(w) w.space:near_many({ 1, 0, 0 }, 5) end },
  { "a floor by name", "#2 to 'set_layers' (integer expected, got string)",
    function(w) w.space:set_layers(1, "cellar") end },
  { "a size without end", "#2 to 'set_extent' (",
    function(w) w.space:set_extent(1, huge) end },
  { "a width and a length", "#3 to 'set_extent' (nothing expected, got number)",
    function(w) w.space:set_extent(1, 2, 3) end },
  { "a seat as a table", "#3 to 'attach' (number expected, got table)",
    function(w) w.space:attach(2, 1, { 1, 1 }) end },
  { "letting go without nil", "#2 to 'attach' (integer or nil expected, got no value)",
    function(w) w.space:attach(2) end },

  -- state of clients
  { "fields by name", "'fields' (a list of {name, type} expected, got names)",
    function(w) return (sync.new(w.space, { fields = { hp = "u8" } })) end },
  { "a field's type misspelt", "string or bytes, got 'uint8', at 1",
    function(w) return (sync.new(w.space, { fields = { { "hp", "uint8" } } })) end },
  { "two fields of one name", "two fields have the same name, at 2",
    function(w) return (sync.new(w.space, { fields = { { "hp", "u8" }, { "hp", "u8" } } })) end },
  { "a field that there is not", "#2 to 'put' (no field 'mp')", function(w) w.state:put(1, "mp", 3) end },
  { "more than a field holds", "#3 to 'put' (field 'hp' (u8) holds whole numbers from 0 to 255, got 300)",
    function(w) w.state:put(1, "hp", 300) end },
  { "a field of text as a number", "#3 to 'put' (string expected for field 'name' (string), got number)",
    function(w) w.state:put(1, "name", 5) end },
  { "fields in a table", "#2 to 'put' (string expected, got table)", function(w) w.state:put(1, { hp = 5 }) end },
  { "a view that the client has not", "#2 to 'set_view' (client 2 has no view 2)",
    function(w) w.state:set_view(2, 2, 5) end },
  { "nine views", "#2 to 'add' (at most 8 views)",
    function(w) w.state:add(1, { 1, 2, 3, 4, 5, 6, 7, 8, 9 }) end },
  { "clients past the walls of another space", "an open sight of the same space expected, got ",
    function(w) return (sync.new(aoi.new(), { sight = w.walls })) end },

  -- triggers that linger
  { "lingering backwards", "bad option 'linger' (a number >= 0 expected, got -1)",
    function(w) w.triggers:add(1, "alert", { linger = -1 }) end },
  { "lingering in words", "bad option 'linger' (a number >= 0 expected, got string)",
    function(w) w.triggers:add(1, "alert", { linger = "2s" }) end },
  { "outside by a word", "bad option 'outside' (a boolean expected, got string)",
    function(w) w.triggers:add(1, "alert", { outside = "yes" }) end },
  { "outside past walls", "bad option 'sight' (not beside 'outside' or 'linger')",
    function(w) w.triggers:add(1, "alert", { outside = true, sight = w.walls }) end },
  { "a trigger past true", "bad option 'sight' (an open sight of the space expected",
    function(w) w.triggers:add(1, "alert", { sight = true }) end },

  -- journals and the viewer
  { "the path before the space", "#1 to 'record' (aoi.space expected, got string)",
    function(w) return (journal.record("x.journal", w.space)) end },
  { "an open file for a journal", "#2 to 'record' (path or function expected",
    function(w) return (journal.record(w.space, io.stdout)) end },
  { "a ring in megabytes", "'ring': bytes expected, 4096 or more",
    function(w) return (journal.record(w.space, nil, { ring = 64 })) end },
  { "a ring in words", "'ring': bytes expected, 4096 or more",
    function(w) return (journal.record(w.space, nil, { ring = "64 MB" })) end },
  { "two journals of a space", "the space is recorded already",
    function(w) journal.record(w.space, noop) journal.record(w.space, noop) end },
  { "a mark by name", "#1 to 'mark' (number expected, got string)",
    function(w) journal.record(w.space, noop):mark "tick 5" end },
  { "a mark that goes back", "the time of a mark must not go back", function(w)
    local j = journal.record(w.space, noop)
    j:mark(5)
    j:mark(4)
  end },
  { "a journal on an engine in capitals", "#2 to 'read' (bad value for option 'engine': 'list', 'grid'",
    function(w) return (read_journal(w, { engine = "Grid" })) end },
  { "a journal with a table of handlers", "(bad value for option 'handlers': function expected, got table",
    function(w) return (read_journal(w, { handlers = {} })) end },
  { "an option of a journal misspelt", "#2 to 'read' (unknown option 'handler': 'engine' or 'handlers' expected",
    function(w) return (read_journal(w, { handler = noop })) end },
  { "the end of a journal at a time", "#1 to 'stop' (nothing expected, got number)",
    function(w) journal.record(w.space, noop):stop(5) end },
  { "a part of a journal's bytes", "#1 to 'bytes' (nothing expected, got number)",
    function(w) return (journal.record(w.space, noop):bytes(5)) end },
  { "seek to a call", "#2 to 'seek' (nothing expected, got number)", function(w) read_journal(w):seek(0, 10) end },
  { "handlers of a journal beside its options", "#3 to 'open' (nothing expected, got function)",
    function() return (journal.open("", {}, noop)) end },
  { "a message with its client", "#3 to 'read' (nothing expected, got number)",
    function() return (sync.read("", {}, 1)) end },
  { "changes into a table", "#1 to 'changes' (nothing expected, got table)",
    function(w) return (aoi.observe(w.space):changes {}) end },
  { "enabled as a setter", "#1 to 'enabled' (nothing expected, got boolean)",
    function(w) w.triggers:add(1, "alert"):enabled(false) end },
  { "enable with what it is to be", "#1 to 'enable' (nothing expected, got boolean)",
    function(w) w.triggers:add(1, "alert"):enable(false) end },
  { "disable for a time", "#1 to 'disable' (nothing expected, got number)",
    function(w) w.triggers:add(1, "alert"):disable(5) end },
  { "ten steps at once", "#1 to 'step' (nothing expected: a step is one call)",
    function(w) read_journal(w):step(10) end },
  { "seek to a word", "#1 to 'seek' (number expected, got string)", function(w) read_journal(w):seek "end" end },
  { "a page of nothing", "#1 to 'serve' (aoi.space expected, got nil)", function() return (viewer.serve()) end },
  { "a page with a colon", "call viewer.serve(space) with a dot",
    function(w) return (viewer:serve(w.space, { port = 8642 })) end },
  { "the port alone", "#2 to 'serve' (table expected", function(w) return (viewer.serve(w.space, 8642)) end },
  { "a port that there is not", "bad value for option 'port': 0 to 65535 expected",
    function(w) return (viewer.serve(w.space, { port = 86420 })) end },
  { "a port as text", "bad value for option 'port': number expected, got string",
    function(w) return (viewer.serve(w.space, { port = "8642" })) end },
  { "host for address", "unknown option 'host'",
    function(w) return (viewer.serve(w.space, { host = "0.0.0.0" })) end },
  { "a page for everybody", "option 'token' is needed",
    function(w) return (viewer.serve(w.space, { address = "0.0.0.0" })) end },
  { "a short token", "8 or more letters", function(w) return (viewer.serve(w.space, { token = "abc" })) end },
  { "an interval that goes back", "bad value for option 'interval'",
    function(w) return (viewer.serve(w.space, { interval = -1 })) end },

  -- once more: spaces
  { "override in the past tense", "'hide', 'show', 'match' or nil expected, got 'shown'",
    function(w) w.space:override(1, 7, 2, "shown") end },
  { "override without the node", "entity 1 has no node 2", function(w) w.space:override(1, 2, "hide") end },
  { "a label that is a number", "bad value for 'label': a string of 1 to 255 bytes",
    function(w) w.space:add_node(1, 9, { radius = 5, label = 7 }) end },
  { "layers as a list", "number expected for 'layers', got table",
    function(w) w.space:add_node(1, 9, { radius = 5, layers = { 1, 2 } }) end },
  { "a row without a height", "the length of the array is no multiple of 4",
    function(w) w.high:enter_many { 5, 0, 0, 6, 1, 1 } end },
  { "an id in two rows", "row 2: entity 5 is already in the space",
    function(w) w.space:enter_many { 5, 0, 0, 5, 1, 1 } end },
  { "fewer than none", "#3 to 'nearest' (number must not be negative)", function(w) w.space:nearest(0, 0, -1) end },
  { "handlers for what was seen", "#4 to 'adopt' (a list of ids expected, got handlers)",
    function(w) w.space:adopt(1, 9, 5, { enter = noop }) end },
  { "a seat on itself", "#2 to 'attach' (entity 1 can not carry itself)", function(w) w.space:attach(1, 1) end },
  { "options for handlers: load", "#2 to 'load' (function expected, got table)",
    function(w) return (aoi.load(w.space:save(), { engine = "grid" })) end },
  { "half a snapshot", "its checksum is another: it is damaged or cut off",
    function(w) return (aoi.load(w.space:save():sub(1, 50))) end },
  { "an option of an observer misspelt", "unknown option 'quantam'",
    function(w) return (aoi.observe(w.space, { quantam = 1 })) end },

  -- once more: layers
  { "a limit without its name", "#3 to 'add' (table expected, got number)", function(w) w.sync:add(2, 5, 30) end },
  { "tiers in one list", "pairs of numbers {distance, ticks} expected, got 20",
    function(w) w.sync:set(1, { tiers = { 20, 1 } }) end },
  { "state without fields", "#2 to 'put' (no field 'hp')", function(w) w.sync:put(1, "hp", 1) end },
  { "fields as a table of types", "a list of {name, type} expected, got names",
    function(w) return (sync.new(w.space, { fields = { hp = "u8" } })) end },
  { "a list of sockets for a function", "#1 to 'tick' (function expected, got table)", function(w) w.sync:tick {} end },
  { "walls of corners", "#1 to 'wall' (number expected, got table)", function(w) w.walls:wall({ 1, 1 }, { 2, 2 }) end },
  { "one height of two", "a wall has z0 and z1, or neither",
    function(w) return (sight.new(w.high):wall(0, 0, 1, 1, 5)) end },
  { "a wall upside down", "z1 must not be less than z0",
    function(w) return (sight.new(w.high):wall(0, 0, 1, 1, 5, 1)) end },
  { "a fence in the past", "number must not be negative, got -1", function(w) w.past:position(-1, 1) end },
  { "a snapshot for a journal", "not a journal", function(w)
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write(w.space:save())
    file:close()
    local ok, err = pcall(function() return (journal.read(path)) end)
    os.remove(path)
    if not ok then error(err, 0) end
  end },
  { "a folder for a journal", "cannot read the journal: spec: ", function() return (journal.read "spec") end },
  { "marks after the end", "attempt to use a stopped journal", function(w)
    local written = journal.record(w.space, noop)
    written:stop()
    written:mark(1)
  end },

  -- once more: triggers, teams, lists
  { "a dot: trigger.enable", "call it with a colon, as in trigger:enable()",
    function(w) w.triggers:add(1, "alert").enable() end },
  { "a dot: trigger.count", "call it with a colon, trigger:count()",
    function(w) return (w.triggers:add(1, "alert").count()) end },
  { "a trigger without a size", "bad option 'radius' (required, among the options or the handlers)", function(w)
    w.handlers.far = { enter = noop }
    w.triggers:add(1, "far")
  end },
  { "once by a word", "bad option 'once' in handlers 'cave' (a boolean expected, got string)", function(w)
    w.handlers.cave = { radius = 5, once = "yes" }
    w.triggers:add(1, "cave")
  end },
  { "a filter that is none", "bad option 'filter' in handlers 'cave' (a function expected, got boolean)", function(w)
    w.handlers.cave = { radius = 5, filter = true }
    w.triggers:add(1, "cave")
  end },
  { "a handler in capitals", "bad option 'Enter' in handlers 'cave' (unknown)", function(w)
    w.handlers.cave = { radius = 5, Enter = noop }
    w.triggers:add(1, "cave")
  end },
  { "handlers that are a function", "no handlers named 'cave'", function(w)
    w.handlers.cave = noop
    w.triggers:add(1, "cave")
  end },
  { "a clock that goes back", "#1 to 'update' (4 is before 5)", function(w)
    w.triggers:update(5)
    w.triggers:update(4)
  end },
  { "a clock in words", "#1 to 'update' (finite number expected, got string)", function(w) w.triggers:update "1" end },
  { "a clock that is nan", "#1 to 'update' (finite number expected, got nan)", function(w) w.triggers:update(nan) end },
  { "a trigger on a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.triggers:add(1, "alert")
  end },
  { "a region of a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.triggers:region("bell")
  end },
  { "a filter asked again on a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.triggers:refresh(2)
  end },
  { "a team that is nan", "#1 to 'add' (a team expected, got nan)", function(w) w.team:add(nan, 2, 5) end },
  { "walls of a team as options", "#3 to 'new' (nothing expected, got table)",
    function(w) return (team.new(w.space, {}, { sight = w.walls })) end },
  { "a tick of teams by its length", "#1 to 'tick' (nothing expected, got number)", function(w) w.team:tick(0.1) end },
  { "teams of a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.team:tick()
  end },
  { "a bush on a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.team:bush { 0, 0, 1, 0, 1, 1 }
  end },
  { "a watcher of a team on a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.team:remove("red", 1)
  end },
  { "lists of a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.near:remove(1)
  end },
  { "clients of lists of a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.near:sync(noop)
  end },
  { "a move of lists of a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.near:move(1, 0, 0)
  end },
  { "moves of lists of a closed space", "attempt to use a closed space", function(w)
    w.space:close()
    w.near:move_many { 1, 0, 0 }
  end },
  { "an odd bush", "x and y of 3 to 64 corners expected", function(w) w.team:bush { 0, 0, 1, 0, 1 } end },
  { "options for a list", "#3 to 'add' (nothing expected, got table)", function(w) w.near:add(2, 5, {}) end },
  { "a table to fill with a list", "#2 to 'list' (nothing expected, got table)",
    function(w) w.near:list(1, {}) end },
  { "a table to fill with viewers", "#2 to 'viewers' (nothing expected, got table)",
    function(w) w.near:viewers(2, {}) end },
  { "a dot: near.each", "call it with a colon, near:each(id)", function(w) w.near.each(1)() end },
  { "a dot: near.each_viewer", "call it with a colon, near:each_viewer(id)", function(w) w.near.each_viewer(1)() end },
  { "a dot: near.list", "call it with a colon, near:list(id)", function(w) return (w.near.list(1)) end },
  { "a dot: near.viewers", "call it with a colon, near:viewers(id)", function(w) return (w.near.viewers(1)) end },
  { "a dot: near.count", "call it with a colon, near:count(id)", function(w) return (w.near.count(1)) end },
  { "a dot: near.viewer_count", "call it with a colon, near:viewer_count(id)",
    function(w) return (w.near.viewer_count(1)) end },
  { "a dot: near.has", "call it with a colon, near:has(id, target)", function(w) return (w.near.has(1, 2)) end },
  { "a tick of lists by its length", "#1 to 'tick' (nothing expected, got number)", function(w) w.near:tick(0.1) end },
  { "teams past true", "bad value for option 'sight' (an open sight of the same space expected, got true)",
    function(w) return (team.new(w.space, { sight = true })) end },
  { "teams past the walls of another space", "bad value for option 'sight' (an open sight of the same space expected",
    function(w) return (team.new(aoi.new(), { sight = w.walls })) end },
  { "another area that is none: of a trigger", "#1 to 'set_area' (number or table expected, got no value)",
    function(w) w.triggers:add(1, "alert"):set_area() end },

  -- close, with what it does not close
  { "close for a door", "#1 to 'close' (nothing expected, got number)", function(w) w.walls:close(w.wall) end },
  { "close for an entity", "#1 to 'close' (nothing expected, got number)", function(w) w.space:close(1) end },
  { "close for a client", "#1 to 'close' (nothing expected, got number)", function(w) w.sync:close(1) end },
  { "close for a tick", "#1 to 'close' (nothing expected, got number)", function(w) w.past:close(3) end },

  -- once more: the past, bullets, state
  { "a past without its height", "#5 to 'near' (number or table expected, got no value)",
    function(w) history.new(w.high, 5):near(0, 0, 0, 5) end },
  { "the past without how long ago", "#4 to 'near' (number or table expected, got no value)",
    function(w) w.past:near(0, 0, 5) end },
  { "a closed history", "attempt to use a closed history", function(w)
    w.past:close()
    w.past:tick()
  end },
  { "a node in the past", "#3 to 'position' (nothing expected, got number)", function(w) w.past:position(0, 1, 7) end },
  { "a bullet to nowhere", "#3 to 'sweep' (finite number expected, got nan)",
    function(w) w.space:sweep(0, 0, nan, 1, 1) end },
  { "a bullet without heights", "#6 to 'sweep' (number expected, got no value)",
    function(w) w.high:sweep(0, 0, 10, 0, 1) end },
  { "one table for ids and their ends", "#5 to 'near_many' (another table than that of the ids expected)",
    function(w)
      local t = {}
      w.space:near_many({ 0, 0 }, 5, nil, t, t)
    end },
  { "fields in one list", "bad value for option 'fields' ({name, type} expected, at 1)",
    function(w) return (sync.new(w.space, { fields = { "hp", "u8" } })) end },
  { "an option of a field misspelt", "{name, type, own = true} expected, at 1",
    function(w) return (sync.new(w.space, { fields = { { "hp", "u8", owner = true } } })) end },
  { "a field of numbers as text", "#3 to 'put' (number expected for field 'hp' (u8), got string)",
    function(w) w.state:put(1, "hp", "full") end },
  { "walls that are the module", "bad value for option 'sight' (an open sight of the same space expected",
    function(w) return (sync.new(w.space, { sight = sight })) end },
  { "walls as options", "#2 to 'new' (table expected, got aoi.Sight)",
    function(w) return (sight.new(w.space, w.walls)) end },
  { "a node of the space, removed from walls", "#2 to 'remove' (node 7 of entity 1 is none of this sight)",
    function(w) w.walls:remove(1, 7) end },
  { "a ring with a sink", "a ring has no sink: journal:dump() returns its bytes",
    function(w) return (journal.record(w.space, noop, { ring = 4096 })) end },
  { "bytes of a journal in a file", "only a ring has its bytes in memory: give record the option 'ring'",
    function(w) journal.record(w.space, noop):dump() end },
}

describe("a newcomer's mistake:", function()
  for _, mistake in ipairs(MISTAKES) do
    local title, says, call = mistake[1], mistake[2], mistake[3]
    it(title, function()
      local w = world()
      local ok, err = pcall(call, w)
      if not says then
        assert.is_true(ok, tostring(err))
        return
      end
      assert.is_false(ok, "accepted in silence")
      assert.is_truthy(tostring(err):find(says, 1, true), tostring(err) .. "\n does not say\n" .. says)
      assert.is_truthy(tostring(err):find("newcomer_spec.lua:%d+: "), "not about the caller's line: " .. tostring(err))
    end)
  end

  it("is one of more than three hundred", function()
    local seen, n = {}, 0
    for _, mistake in ipairs(MISTAKES) do
      assert.is_nil(seen[mistake[1]], mistake[1])
      seen[mistake[1]] = true
      if mistake[2] then n = n + 1 end
    end
    assert.is_true(n >= 300)
  end)
end)
