-- Mistakes that no signature knows (signatures_spec.lua), and what is said of them: CALL -- WORDS OF THE ERROR, in one
-- line or two. The error is about the caller's own line, and the space is as it was.
local aoi = require "aoi"
local calls = require "spec.support.calls"
local dump = require "spec.support.dump"

local ROWS = [==[
space:enter("bob", 0, 0) -- #1 to 'enter' (integer expected, got string 'bob')
space:enter(3, 0, 0, 1.5) -- #4 to 'enter' (number has no integer representation: 1.5)
space:set_kind(1, 1.5) -- #2 to 'set_kind' (number has no integer representation: 1.5)
space:add_node(1, 8, "10") -- #3 to 'add_node' (number or table expected, got string '10')
space:add_node(1, 8, { radius = "10" }) -- number expected for 'radius', got string '10'
space:add_node(1, 8, { radius = 5, mask = 1.5 }) -- integer expected for 'mask', got 1.5
space:add_node(1, 8, { shape = "cirle", radius = 5 })
  -- 'sector' or 'polygon' expected, got 'cirle'; did you mean 'circle'?
space:add_node(1, 8, { shape = "sector", radius = 5, facing = 0, angle = 90 })
  -- angle must be greater than 0 and at most 2 pi radians, got 90
space:attach(1, 1) -- #2 to 'attach' (entity 1 can not carry itself)
space:close() space:move(1, 0, 0) -- attempt to use a closed space
alert:enable(false) -- #1 to 'enable' (nothing expected, got boolean: see disable)
clients:put(1, "hp", nil) -- #3 to 'put' (number expected for field 'hp' (u8), got nil)
caves:add("b", 5, 0, 0, { prio = 1 }) -- #5 to 'add' (unknown option 'prio': 'kinds' or 'priority' expected; did you
aoi:new() -- call aoi.new{...} with a dot
aoi:engines() -- calling 'engines' on bad self
aoi.new { engine = "Grid" } -- 'list', 'grid', 'tower', 'quadtree' or 'brute' expected, got 'Grid'
aoi.new { "grid" } -- unknown option '1'
aoi.new { engin = "grid" } -- unknown option 'engin': 'engine', 'dimensions', 'cell' or 'delivery' expected; did you
aoi.new { dims = 3 } -- unknown option 'dims'
aoi.new { dimensions = "3D" } -- 2 or 3 expected, got '3D'
aoi.new { dimensions = 4 } -- 2 or 3 expected, got 4
aoi.new { width = 100, height = 100 } -- unknown option '
aoi.new { cell = 0 } -- a number > 0 expected, got 0
aoi.new { enigne = "grid" } -- did you mean 'engine'?
aoi.new { color = "red" } -- unknown option 'color': 'engine', 'dimensions', 'cell' or 'delivery' expected)
aoi.new { delivery = "defered" } -- 'immediate' or 'deferred' expected, got 'defered'
space:enter(1, 5, 5) -- entity 1 is already in the space
space:leave(2) space:move(2, 0, 0) -- no entity 2
space:leave(2) space:leave(2) -- no entity 2
space:enter(3, 0, 0, 0, 1) -- #5 to 'enter' (nothing expected in 2 dimensions, got number)
space:move(1, 0, 0, 0) -- #4 to 'move' (nothing expected in 2 dimensions, got number)
high:move(1, 0, 0, 0, 1) -- #5 to 'move' (nothing expected in 3 dimensions, got number)
space:leave(1, 700) -- #2 to 'leave' (
space:update(1, 0, 0) -- attempt to call
space:add_node(1, 7, 5, noop) -- entity 1 already has node 7
space:add_node(1, 8, -5, noop) -- radius must not be negative or nan, got -5
space:add_node(1, 10, { enter = noop }) -- an area expected, got handlers
space:move_many { { 1, 2, 3 } } -- row 1: integer expected, got table: rows are flat, {id, x, y, id, x, y}
sync.new { quantum = 1 } -- got table: call new(space, options) with a dot
space:add_node(1, 8, 5, 1, noop) -- #4 to 'add_node' (function or table expected, got number)
space:add_node(1, 8, 5, { on_enter = noop, on_leave = noop })
  -- unknown handler 'on_enter': 'enter', 'leave' or 'cross' expected
space:add_node(1, 8, 5, { enter = noop, on_leave = noop })
  -- unknown handler 'on_leave': 'enter', 'leave' or 'cross' expected
space:add_node(1, 8, 5, { noop, noop }) -- unknown handler '1': 'enter', 'leave' or 'cross' expected
space:add_node(1, 8, 5, { onEnter = noop }) -- unknown handler 'onEnter': 'enter', 'leave' or 'cross' expected
space:add_node(1, 8, 5, { enter = "attack" }) -- #4 to 'add_node' (handler 'enter': function expected, got string)
space:add_node(1, 8, 5, { enter = noop, leave = 3 })
  -- #4 to 'add_node' (handler 'leave': function expected, got number)
space:add_node(1, 8, 5, { enter = { noop } }) -- #4 to 'add_node' (handler 'enter': function expected, got table)
space:adopt(1, 8, 5, {}, { enter = "attack" }) -- #5 to 'adopt' (handler 'enter': function expected, got string)
space:enter_many({ 51, 0, 0, 52, 0, 0, 53, 0, 0 }, 2)
  -- #2 to 'enter_many' (the array has 3 rows, and the kind comes third: with it n may be less)
space:add_node(1, 8, 5, { enter = noop }, noop) -- nothing expected after a table of handlers, got function
space:add_node(1, 8, 5, "on_enter") -- #4 to 'add_node' (function or table expected, got string '
space:set_radius(2, 7, 9) -- entity 2 has no node 7
space:override(1, 7, 2, true) -- 'hide', 'show', 'match' or nil expected
space:override(1, 7, 1, "show") -- an entity does not see itself
space:move_many { { 1, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 } } -- row 1: integer expected, got table
space:move_many { 1, 0, 0, 2, 0 } -- the length of the array is no multiple of 3
space:move_many({ 1, 0, 0, 2, 0, 0 }, 6) -- the array has 2 rows
space:move_many { 1, 0, 0, 9, 0, 0 } -- row 2: no entity 9
space:move_many { 1, 0, 0, 0.5, 2, 0, 0, 0.5, 1, 1, 1, 0.5 } -- row 2:
space:enter_many { 3, 0, 0, 1, 4, 0, 0, 1 } -- the length of the array is no multiple of 3
space:near(0, 0, 0, { radius = 5 }) -- a table to fill expected in 2 dimensions, got an area
space:near(0, 0, { 5 }) -- unknown area option '1' of a square
space:attach(2, 1) space:move(2, 5, 5) -- entity 2 is attached: it moves with its carrier
space:attach(2, 1) space:attach(1, 2) -- entity 2 is carried by this one
space:nearest(0, 0, 3, { radius = 5 }) -- got an area
space:sees(1, 2) -- entity 1 has no node 2
aoi.load "hello" -- not a snapshot
aoi:load(space:save()) -- calling 'load' on bad self
aoi.load(space:save(), nil, { dimensions = 3 }) -- 'engine' is the only option
journal.record(high) -- #2 to 'record' (path or function expected
journal.read "/nowhere/x" -- cannot read the journal: /nowhere/x
trigger:new(space, {}) -- calling 'new' on bad self (call trigger.new(space) with a dot)
trigger.new(space) -- #2 to 'new' (table of handlers by name expected, got no value)
space:close() return (trigger.new(space, {})) -- #1 to 'new' (the space is closed)
triggers:add(1, "allert") -- did you mean 'alert'?
triggers:add(9, "alert") -- #1 to 'add' (no entity 9)
triggers:add(1, "alert") triggers:add(1, "alert") -- entity 1 already has a trigger 'alert'
triggers:add(1, "alert", 12) -- bad options of trigger 'alert' (table expected, got number)
handlers.alert.masc = 1 triggers:add(1, "alert") -- did you mean 'mask'?
triggers:add(1, "alert", { raduis = 5 }) -- bad option 'raduis' of trigger 'alert' (unknown:
handlers.alert.on_enter = noop triggers:add(1, "alert") -- bad option 'on_enter' in handlers 'alert' (unknown:
handlers.alert.enter = "attack" triggers:add(1, "alert")
  -- bad handler 'enter' in handlers 'alert' (function expected, got string)
triggers:add(1, "alert", { x = 5, y = 5 }) -- bad option 'x' of trigger 'alert' (only regions have a place
triggers:add(1, "place") -- bad option 'x' of trigger 'place' (only regions have a place
triggers:region("alert") -- bad option 'x' of trigger 'alert' (required, among the options or the handlers)
triggers:region(1, "place") -- no handlers named '1'
triggers:region("place", { z = 0 }) -- bad option 'z' of trigger 'place' (the space is 2D)
handlers.alert.stay = noop triggers:add(1, "alert")
  -- bad option 'interval' of trigger 'alert' (required by the handler 'stay')
handlers.alert.dwell = noop triggers:add(1, "alert")
  -- bad option 'after' of trigger 'alert' (required by the handler 'dwell')
triggers:add(1, "alert", { limit = 0 }) -- bad option 'limit' of trigger 'alert' (a whole number >= 1 expected, got 0)
triggers:update(10) triggers:update(0.1)
  -- #1 to 'update' (0.1 is before 10: the time expected; for the length of a tick there is 'advance')
triggers:region("place", { x = 2 ^ 51 }) -- bad option 'x' of trigger 'place' (a number of at most 2^50 either way
triggers:region("place", { radius = 2 ^ 51 }) -- (radius must be at most 2^50 or infinite, got
triggers:add(1, "alert", { radius = 2 ^ 51 }) -- (radius must be at most 2^50 or infinite, got
triggers:add(1, "alert", { radius = 1, keep = 2 ^ 60 }) -- (keep must be at most 2^50 or infinite, got
triggers:advance(-1) -- #1 to 'advance' (number must not be negative)
alert:set_radius(-1) -- #1 to 'set_radius' (radius must not be negative
alert:remove() alert:enable() -- trigger 'alert' is removed
triggers:get(1) -- #2 to 'get' (the name of a trigger expected, got no value)
neighbors:new(space) -- calling 'new' on bad self (call neighbors.new(space) with a dot)
near:add(9, 5) -- #1 to 'add' (no entity 9)
near:add(1, 5) -- #1 to 'add' (entity 1 already has a list)
sync:new(space) -- call new(space) with a dot
clients:add(1, 5) -- entity 1 is already a client
clients:add(2, 5, { limits = 30 })
  -- unknown option 'limits': 'limit', 'bytes', 'tiers', 'team' or 'self' expected; did you mean 'limit'?
space:add_node(1, 8, { raduis = 5 })
  -- 'extents_apply', 'offset' or 'label' expected; did you mean 'radius'?
space:enter(3, 0, 0, { knd = 1 })
  -- unknown option 'knd': 'kind', 'layers', 'extent' or 'fields' expected; did you mean 'kind'?
sync.new(space, { quantm = 1 }) -- 'team' or 'self' expected; did you mean 'quantum'?
sight.new(space, { wals = walls }) -- unknown option 'wals': 'walls' expected; did you mean 'walls'?
viewer.serve(space, { prot = 1 }) -- 'port', 'title' or 'token' expected; did you mean 'port'?
journal.record(high, noop, { rng = 4096 }) -- unknown option 'rng': 'ring' expected; did you mean 'ring'?
aoi.load(space:save(), nil, { engin = "grid" }) -- 'dimensions', 'cell' or 'delivery' expected; did you mean 'engine'?
clients:set(1, { tiers = { 20, 1, 50, 4 } }) -- pairs of numbers {distance, ticks} expected
clients:pin(2, 1) -- entity 2 is no client
clients:set_priority(2, 0) -- priority must be positive
clients:set_priority(2, 5, 2) -- #3 to 'set_priority' (entity 2 is no client)
clients:set(1, { limit = { monster = 3 } }) -- by kind: up to 16 numbers of bits, not 0, as keys expected
clients:set(1, { limit = { [1] = "few" } }) -- bad value for option 'limit' (a number expected, got 'few')
clients:set(1, { tiers = { [2] = { { 50, 4 }, { 20, 1 } } } }) -- 'tiers' (rising distances expected)
clients:add(2, 5, { riders = true }) -- unknown option 'riders'
sync.new(space, { riders = 1 }) -- bad value for option 'riders' (a boolean expected, got 1)
clients:read "" -- attempt to call
clients:add(2, { radius = 5, limit = 30 }) -- unknown area option 'limit' of a square
clients:add(2, 5, { tiers = { { 50, 4 }, { 20, 1 } } }) -- 'tiers' (rising distances expected)
clients:add(2, 5, { bytes = 3 }) -- 'bytes' (40 or more expected, room for any record, got 3)
sync.new(space, { quantum = "cm" }) -- a positive, finite number expected
clients:pin(1, 1) -- #2 to 'pin' (an entity does not see itself)
clients:pin(1, 99) -- #2 to 'pin' (no entity 99)
clients:remove(1) clients:remove(1) -- entity 1 is no client
near:dispatch({}, 3) -- #2 to 'dispatch' (3 events of four values expected
triggers:dispatch({}, 3) -- #2 to 'dispatch' (3 events of four values expected
triggers:dispatch({ 1, 2 }, 0.5) -- #2 to 'dispatch' (0.5 events of four values expected
triggers:load(triggers:save())
  -- #1 to 'load' (trigger 1: entity 2 already has a trigger 'alert')
space:close() return (triggers:save()) -- 'save': the space is closed
teams:add(1, 5) -- #2 to 'add' (no entity 5)
teams:add("red", 2) -- #3 to 'add' (number or table expected
teams:add("red", 1, 5) -- entity 1 watches for that team already
team.new(space, { on_enter = noop }) -- unknown handler 'on_enter'
team.new(space, { enter = "reveal" }) -- bad handler 'enter': function expected, got string
teams:bush { shape = "polygon", points = { 0, 0, 1, 0, 0, 1 } } -- x and y of 3 to 65535 corners expected
sight:new(space) -- call new(space) with a dot
sight.new(space, { walls = {} }) -- (an open sight of the same space expected, got table)
walls:wall(0, 0, 1, 1, 0, 3) -- #5 to 'wall' (nothing expected in 2 dimensions, got number)
walls:open_wall(99) -- #1 to 'open_wall' (no wall 99)
walls:remove_wall(wall) walls:remove_wall(wall) -- #1 to 'remove_wall' (no wall 1)
walls:add(1, 7, 5, {}) -- #2 to 'add' (entity 1 already has a node 7)
walls:add(2, 1, 5, { on_enter = noop }) -- unknown handler 'on_enter': 'enter', 'leave' or 'cross' expected
walls:add(2, 1, { radius = 5, linger = 3 }, {}) -- unknown area option 'linger'
walls:add(2, 1, 5, {}, { linger = 0.5 }) -- 'linger' (a whole number of ticks expected, got 0.5)
walls:add(2, 1, 5, {}, 3) -- #5 to 'add' (nothing expected after a table of handlers, got number)
walls:sees(1, 7, 2) -- #2 to 'sees' (node 7 of entity 1 is none of this sight)
history.new(space, 0) -- ticks from 1 to 1048576 expected, got 0
past:position(-1, 1) -- #1 to 'position' (number must not be negative, got -1)
past:position(11, 1) -- a history of 10 ticks does not go back 11
space:sweep(0, 0, 1, 0, -1) -- #5 to 'sweep' (radius must not be negative or nan, got -1)
space:near_many({ { 0, 0 }, { 1, 1 } }, 5) -- #1 to 'near_many' (row 1: number expected, got table)
space:near_many({ 1, 0, 0 }, 5) -- the length of the array is no multiple of 2
space:set_extent(1, huge) -- #2 to 'set_extent' (
space:attach(2) -- #2 to 'attach' (integer or nil expected, got no value)
sync.new(space, { fields = { hp = "u8" } }) -- 'fields' (a list of {name, type} expected, got names)
sync.new(space, { fields = { { "hp", "uint8" } } }) -- string or bytes, got 'uint8', at 1
sync.new(space, { fields = { { "hp", "u8" }, { "hp", "u8" } } }) -- two fields have the same name, at 2
clients:put(1, "mp", 3) -- #2 to 'put' (no field 'mp': 'hp'
clients:put(1, "hp", 300) -- #3 to 'put' (field 'hp' (u8) holds whole numbers from 0 to 255, got 300)
clients:put(1, "name", 5) -- #3 to 'put' (string expected for field 'name' (string), got number)
clients:set_view(1, 2, 5) -- #2 to 'set_view' (client 1 has no view 2)
clients:add(2, { 1, 2, 3, 4, 5, 6, 7, 8, 9 }) -- #2 to 'add' (at most 8 views)
sync.new(aoi.new(), { sight = walls }) -- an open sight of the same space expected, got
triggers:add(1, "alert", { linger = -1 }) -- bad option 'linger' of trigger 'alert' (a number >= 0 expected, got -1)
triggers:add(1, "alert", { linger = "2s" })
  -- bad option 'linger' of trigger 'alert' (a number >= 0 expected, got string '
triggers:add(1, "alert", { outside = "yes" })
  -- bad option 'outside' of trigger 'alert' (a boolean expected, got string '
triggers:add(1, "alert", { outside = true, sight = walls })
  -- bad option 'sight' of trigger 'alert' (not beside 'outside' or 'linger')
triggers:add(1, "alert", { sight = true }) -- bad option 'sight' of trigger 'alert' (an open sight of the space expected
journal.record(high, io.stdout) -- #2 to 'record' (path or function expected
journal.record(high, nil, { ring = 64 }) -- 'ring': bytes expected, 4096 or more
journal.record(high, nil, { ring = "64 MB" }) -- 'ring': bytes expected, 4096 or more
journal.record(high, noop) journal.record(high, noop) -- the space is recorded already
local j = journal.record(high, noop) j:mark(5) j:mark(4) -- the time of a mark must not go back
play({ engine = "Grid" }) -- #2 to 'read' (bad value for option 'engine': 'list', 'grid'
play({ handlers = {} }) -- (bad value for option 'handlers': function expected, got table
play({ handler = noop }) -- #2 to 'read' (unknown option 'handler': 'engine' or 'handlers' expected
alert:enable(false) -- #1 to 'enable' (nothing expected, got boolean: see disable)
play():step(10) -- #1 to 'step' (nothing expected: a step is one call)
viewer:serve(space, { port = 8642 }) -- call viewer.serve(space) with a dot
viewer.serve(space, 8642) -- #2 to 'serve' (table expected
viewer.serve(space, { port = 86420 }) -- bad value for option 'port': 0 to 65535 expected
viewer.serve(space, { port = "8642" }) -- bad value for option 'port': number expected, got string
viewer.serve(space, { host = "0.0.0.0" }) -- unknown option 'host'
viewer.serve(space, { address = "0.0.0.0" }) -- option 'token' is needed
viewer.serve(space, { token = "abc" }) -- 8 or more letters
viewer.serve(space, { interval = -1 }) -- bad value for option 'interval'
space:override(1, 7, 2, "shown") -- 'hide', 'show', 'match' or nil expected, got 'shown'
space:override(1, 2, "hide") -- entity 1 has no node 2
space:add_node(1, 8, { radius = 5, label = 7 }) -- bad value for 'label': a string of 1 to 255 bytes
space:add_node(1, 8, { radius = 5, layers = { 1, 2 } }) -- number expected for 'layers', got table
high:enter_many { 5, 0, 0, 6, 1, 1 } -- the length of the array is no multiple of 4
space:enter_many { 5, 0, 0, 5, 1, 1 } -- row 2: entity 5 is already in the space
space:nearest(0, 0, -1) -- #3 to 'nearest' (number must not be negative)
space:adopt(1, 8, 5, { enter = noop }) -- #4 to 'adopt' (a list of ids expected, got handlers)
space:attach(1, 1) -- #2 to 'attach' (entity 1 can not carry itself)
aoi.load(space:save():sub(1, 50)) -- its checksum is another: it is damaged or cut off
aoi.observe(space, { quantam = 1 }) -- unknown option 'quantam'
clients:set(1, { tiers = { 20, 1 } }) -- pairs of numbers {distance, ticks} expected, got 20
sync.new(space):put(1, "hp", 1) -- no field 'hp': 'fields' of new(space, options) names them
sync.new(space, { fields = { hp = "u8" } }) -- a list of {name, type} expected, got names
sight.new(high):wall(0, 0, 1, 1, 5) -- a wall has z0 and z1, or neither
sight.new(high):wall(0, 0, 1, 1, 5, 1) -- z1 must not be less than z0
past:position(-1, 1) -- number must not be negative, got -1
journal.read(file(space:save())) -- not a journal
journal.read "spec" -- cannot read the journal: spec:
local written = journal.record(high, noop) written:stop() written:mark(1) -- attempt to use a stopped journal
handlers.far = { enter = noop } triggers:add(1, "far")
  -- bad option 'radius' of trigger 'far' (required, among the options or the handlers)
handlers.cave = { radius = 5, once = "yes" } triggers:add(1, "cave")
  -- bad option 'once' in handlers 'cave' (a boolean expected, got string '
handlers.cave = { radius = 5, filter = true } triggers:add(1, "cave")
  -- bad option 'filter' in handlers 'cave' (a function expected, got boolean)
handlers.cave = { radius = 5, Enter = noop } triggers:add(1, "cave") -- did you mean 'enter'?
handlers.cave = noop triggers:add(1, "cave") -- no handlers named 'cave'
triggers:update(5) triggers:update(4) -- #1 to 'update' (4 is before 5: the time expected
teams:add(nan, 2, 5) -- #1 to 'add' (a team expected, got nan)
teams:bush { 0, 0, 2 ^ 51, 0, 1, 1 } -- #1 to 'bush' (corners of at most 2^50 either way expected, got
teams:bush { -1e300, 0, 1e300, 0, 0, 1 } -- #1 to 'bush' (corners of at most 2^50 either way expected, got
teams:bush { 0, 0, 1, 0, 1 } -- x and y of 3 to 65535 corners expected
team.new(space, { sight = true }) -- bad value for option 'sight' (an open sight of the same space expected, got true)
team.new(aoi.new(), { sight = walls }) -- bad value for option 'sight' (an open sight of the same space expected
past:close() past:tick() -- attempt to use a closed history
local t = {} space:near_many({ 0, 0 }, 5, nil, t, t)
  -- #5 to 'near_many' (another table than that of the ids expected)
sync.new(space, { fields = { "hp", "u8" } }) -- bad value for option 'fields' ({name, type} expected, at 1)
sync.new(space, { fields = { { "hp", "u8", owner = true } } }) -- {name, type, to = 'own' or 'team'} expected, at 1
sync.new(space, { fields = { { "hp", "u8", to = "guild" } } }) -- to must be 'own' or 'team', at 1
sync.new(space, { fields = { { "hp", "u8", to = "team", own = true } } }) -- own = true is to = 'own', at 1
clients:set(1, { team = "red" }) -- bad value for option 'team' (a whole number or false expected, got 'red')
clients:put(1, "hp", "full") -- #3 to 'put' (number expected for field 'hp' (u8), got string '
sync.new(space, { sight = sight }) -- bad value for option 'sight' (an open sight of the same space expected
sight.new(space, walls) -- #2 to 'new' (table expected, got aoi.Sight)
walls:remove(1, 7) -- #2 to 'remove' (node 7 of entity 1 is none of this sight)
journal.record(high, noop, { ring = 4096 }) -- a ring has no sink: journal:dump() returns its bytes
journal.record(high, noop):dump() -- only a ring has its bytes in memory: give record the option 'ring'
aoi.new { cell = -huge } -- bad value for option 'cell': a number > 0 expected, got -inf
aoi.new { dimensions = 2.5 } -- bad value for option 'dimensions': 2 or 3 expected, got 2.5
aoi.new { delivery = false } -- bad value for option 'delivery': 'immediate' or 'deferred' expected, got false
space:move(-99, 0, 0) -- #1 to 'move' (no entity -99)
space:leave(2 ^ 53) -- #1 to 'leave' (no entity 9007199254740992)
space:leave(-2 ^ 53) -- #1 to 'leave' (no entity -9007199254740992)
space:move(2 ^ 64, 0, 0) -- #1 to 'move' (number has no integer representation:
space:leave(1, -1) -- #2 to 'leave' (reason must be 0 to 255, got -1
space:leave(1, 256) -- #2 to 'leave' (reason must be 0 to 255, got 256
high:enter(50, 0, 0, 0, 1, 1) -- #6 to 'enter' (nothing expected in 3 dimensions, got number)
space:near(0, 0, 5, 1, {}, {}) -- #6 to 'near' (nothing expected in 2 dimensions, got table)
high:near(0, 0, 0, 0, { shape = "box" }) -- #5 to 'near' (a table to fill expected in 3 dimensions, got an area)
space:nearest(0, 0, 1, 5, 1, {}, nil, 1) -- #8 to 'nearest' (nothing expected in 2 dimensions, got number)
space:add_node(1, 8, -(2 ^ -1074)) -- #3 to 'add_node' (radius must not be negative
space:set_radius(1, 7, 5, 4) -- #4 to 'set_radius' (keep must not be less than radius
space:add_node(1, 8, 5, nil, {}) -- #5 to 'add_node' (function expected, got table)
space:attach(1, 2, 0) -- #4 to 'attach' (number expected, got no value)
space:attach(1, nil, 0) -- #3 to 'attach' (nothing expected, got number)
space:attach(1, 2, 0, 0, 0) -- #5 to 'attach' (nothing expected in 2 dimensions, got number)
high:near_many({ 1 }, 5) -- #1 to 'near_many' (the length of the array is no multiple of 3)
space:near_many({ 1, 1, "x", 1 }, 5) -- #1 to 'near_many' (row 2: number expected, got string '
space:near_many({ 1, huge }, 5) -- #1 to 'near_many' (row 1: finite number expected, got inf)
space:move_many { 1, 0, 2 ^ 51 } -- #1 to 'move_many' (row 1: number of at most 2^50 either way expected, got
space:move_many { 1, 2, 3, 2, 3, 4, 2, nan, 0, 1, 2, 3 } -- #1 to 'move_many' (row 3: finite number expected, got nan)
space:move_many { 1, 2, 3, 2, 3, 4, 2, 0, "0" } -- #1 to 'move_many' (row 3: number expected, got string '
space:move_many { 1, 2, 3, "2", 0, 0 } -- #1 to 'move_many' (row 2: integer expected, got string '
space:move_many { 1, 2, 3, 1.5, 0, 0 } -- #1 to 'move_many' (row 2: number has no integer representation:
space:move_many({ 1, 2, 3 }, -1) -- #2 to 'move_many' (the array has 1 rows
space:move_many({ 1, 2, 3 }, 2 ^ 40) -- #2 to 'move_many' (the array has 1 rows
space:move_many({}, 1) -- #2 to 'move_many' (the array has 0 rows
space:enter_many({}, 1) -- #2 to 'enter_many' (the array has 0 rows
space:enter_many({ 50, 2, 3 }, 2) -- #2 to 'enter_many' (the array has 1 rows
space:enter_many { 50, 0, 0, 51, 1, 1, 1, 0, 0 } -- #1 to 'enter_many' (row 3: entity 1 is already in the space)
space:enter_many { 50, 0, 0, 52, 0, -huge } -- #1 to 'enter_many' (row 2: finite number expected, got -inf)
space:enter_many { 50, 0, 0, {}, 0, 0 } -- #1 to 'enter_many' (row 2: integer expected, got table)
space:enter_many({ 50, 0, 0 }, 1, "2") -- #3 to 'enter_many' (integer expected, got string '
space:set_radius(1, 9, 5) -- #2 to 'set_radius' (set_radius is for squares and circles, not for a sector: use set_area)
space:set_facing(1, 7, 1) -- #2 to 'set_facing' (a square has no 'facing': only sectors have)
space:override(1, 7, 99, nil) -- #3 to 'override' (no entity 99)
space:override(1, 7, 2, {}) -- #4 to 'override' ('hide', 'show', 'match' or nil expected, got table)
local move = space.move move(io.stdout, 1, 0, 0) -- aoi.space expected, got FILE*
local move = space.move move() -- aoi.space expected, got no value
triggers:add(1, "alert", { shape = "box", radius = 5 }) -- bad options of trigger 'alert' (a box has no 'radius')
triggers:add(1, "alert", { shape = "box", extents = { 1 } })
  -- bad options of trigger 'alert' ('extents' must have 2 numbers)
triggers:add(1, "alert", { radius = 1, keep = 2, margin = 1 })
  -- bad options of trigger 'alert' ('keep' and 'margin' exclude each other)
triggers:add(1, "alert", { shape = "cone", radius = 1 })
  -- bad option 'shape' of trigger 'alert' ('square', 'circle', 'box',
triggers:add(1, "alert", { shape = "polygon", points = 5 })
  -- bad option 'points' of trigger 'alert' (a table expected, got 5)
triggers:add(1, "alert", { radius = 2, keep = 1 }) -- 'keep'
triggers:add(1, "alert", { radius = -1 }) -- bad option 'radius' of trigger 'alert'
triggers:add(1, "alert", { interval = 0 }) -- bad option 'interval' of trigger 'alert'
triggers:add(1, "alert", { cooldown = huge }) -- bad option 'cooldown' of trigger 'alert'
triggers:add(1, "alert", { linger = huge }) -- bad option 'linger' of trigger 'alert'
triggers:add(1, "alert", { limit = 1.5 }) -- bad option 'limit' of trigger 'alert'
triggers:add(1, "alert", { mask = 2 ^ 63, outside = true }) -- bad option 'mask' of trigger 'alert'
triggers:add(1, "alert", { layers = -2 ^ 64 }) -- bad option 'layers' of trigger 'alert'
triggers:add(1, "alert", { radius = 5, enter = noop }) -- bad option 'enter' of trigger 'alert' (unknown
triggers:region("place", { y = nan }) -- bad option 'y' of trigger 'place'
triggers:region("place", { mask = 2 ^ 63 }) -- bad option 'mask' of trigger 'place'
handlers.cave = { radius = -5 } triggers:add(1, "cave") -- bad option 'radius' in handlers 'cave' (a number >= 0
handlers.cave = { radius = 1, limit = 0 } triggers:add(1, "cave") -- bad option 'limit' in handlers 'cave'
handlers.cave = { radius = 1, 5 } triggers:add(1, "cave") -- bad option '1' in handlers 'cave' (unknown
trigger.new(space, {}, "now") -- #3 to 'new' (
alert:disable() alert:set_mask(2 ^ 63) -- #1 to 'set_mask' (kind bits expected, got
alert:explain(2 ^ 63) -- #1 to 'explain' (number has no integer
triggers:get(1e300, "alert") -- #1 to 'get' (number has no integer
history.new(space, -1) -- ticks from 1 to 1048576 expected
history.new(space, 2 ^ 30) -- ticks from 1 to 1048576 expected
past:near(1, 0, 0, 0, { radius = 1 }) -- got an area
walls:wall(0, 0, 1, -2 ^ 50 - 1) -- #4 to 'wall' (number of at most 2^50 either way expected, got
walls:ray(0, 2 ^ 50 + 1, 1, 1) -- #2 to 'ray' (number of at most 2^50 either way expected, got
walls:ray(0, 0, -1e200, 1) -- #3 to 'ray' (number of at most 2^50 either way expected, got
walls:add(1, 1, 5, {}, { lingers = 3 }) -- #5 to 'add' (unknown option 'lingers':
walls:add(1, 1, 5, {}, { linger = 2 ^ 31 }) -- #5 to 'add' (bad value for option 'linger'
walls:add(1, 1, 5, {}, { linger = -1 }) -- #5 to 'add' (bad value for option 'linger'
sight.new(aoi.new(), { walls = walls }) -- 'walls'
sight.new(space, { walls = space }) -- 'walls'
clients:set(1, { quantum = 1 }) -- unknown option 'quantum': 'limit', 'bytes', 'tiers', 'team' or 'self' expected
clients:set(1, { limit = 0 }) -- bad value for option 'limit' (a whole number of 1 or more expected, got 0)
sync.new(space, { bytes = 39 }) -- bad value for option 'bytes' (40 or more expected, room for any record, got 39)
clients:set(1, { tiers = {} }) -- bad value for option 'tiers' (1 to 16 pairs {distance, ticks} expected, got table)
clients:set(1, { tiers = { { 1 } } }) -- 'tiers' (pairs of numbers {distance, ticks} expected, got nil)
clients:set(1, { tiers = { { 1, 3, 4 } } }) -- 'tiers' (pairs of numbers {distance, ticks} expected, got table)
clients:set(1, { tiers = { { 1, 0.5 } } }) -- 'tiers' (ticks must be whole, from 1 to 65536, got 0.5)
clients:set(1, { tiers = { { 2, 1 }, { 1, 2 } } }) -- 'tiers' (rising distances expected)
sync.new(space, { quantum = -1 }) -- 'quantum' (a positive, finite number expected, got -1)
teams:add(nil, 1, 5) -- #1 to 'add' (a team expected
teams:bush { 0, 0, 10, 0, 10, nil, 5, 5 } -- #1 to 'bush' (finite number expected
teams:bush(setmetatable({}, { __index = function() return 1 end })) -- #1 to 'bush' (x and y of 3 to
caves:add("cave", 5, 0, 0) -- #1 to 'add' (there is a zone 'cave')
caves:add() -- #1 to 'add' (the name of a zone expected, got nil)
caves:add("b", { shape = "circle" }, 0, 0) -- #2 to 'add' (number expected for 'radius' of a circle
caves:add("b", { radius = 1, label = "c" }, 0, 0) -- #2 to 'add' (the label of a zone is its name)
caves:add("b", { radius = 1, outside = 1 }, 0, 0) -- #2 to 'add' (boolean expected for 'outside')
caves:add("b", { radius = 1, mask = 0.5 }, 0, 0) -- #2 to 'add' (kind bits expected for 'mask')
caves:add("b", 5, 0, nan) -- #4 to 'add' (
caves:add("b", 5, 0, 0, { prority = 1 }) -- #5 to 'add' (unknown option 'prority'
caves:add("b", 5, 0, 0, { priority = nan }) -- #5 to 'add' (a number expected as priority, got nan)
caves:add("b", 5, 0, 0, nil, {}) -- #6 to 'add' (nothing expected, got table)
caves:remove("b") -- #1 to 'remove' (no zone 'b')
caves:set_priority("cave", "high") -- #2 to 'set_priority' (a number expected
zones.new(space, { enter = noop }) -- #2 to 'new' ('change' = function expected, got 'enter' = function
space:adopt(1, 8, 10, { 2, "3" }) -- id 2: integer expected, got string
space:adopt(1, 8, 10, { 2.5 }) -- id 1: integer expected
space:adopt(1, 8, 10, { 2, 3 }, 3) -- the array has 2 ids
space:adopt(1, 8, 10, { 2, 3 }, -1) -- the array has 2 ids
space:adopt(1, 7, 10, {}) -- already has node 7
]==]

local compile = loadstring or load -- luacheck: ignore

-- What a row may name: the modules, what calls.world has, a file with some bytes, a journal that is played.
local function names(w)
  local journal = require "aoi.journal"
  local env = { aoi = aoi, nan = 0 / 0, huge = math.huge, io = io, noop = function() end }
  env.setmetatable, env.caves = setmetatable, w.zones
  for _, name in ipairs { "history", "journal", "neighbors", "sight", "sync", "team", "trigger", "viewer", "zones" } do
    env[name] = require("aoi." .. name)
  end
  for name, object in pairs(w) do env[name] = env[name] or object end
  w.handlers.place = { radius = 4, x = 0, y = 0 }
  env.high = aoi.new { dimensions = 3 }
  env.high:enter(1, 0, 0, 0)
  env.alert = w.trigger
  function env.file(bytes)
    local path = os.tmpname()
    local file = assert(io.open(path, "wb"))
    file:write(bytes)
    file:close()
    env.path = path
    return path
  end
  function env.play(options)
    journal.record(env.high, env.file ""):stop()
    local ok, player = pcall(journal.read, env.path, options)
    if not ok then error((player:gsub("'%?'", "'read'")), 2) end
    return player
  end
  return env
end

describe("a mistake:", function()
  for call, says in ROWS:gsub("\n  %-%-", " --"):gmatch "([^\n]+) %-%- ([^\n]*)" do
    it(call, function()
      local w = calls.world(2)
      local env = names(w)
      local f = setfenv and setfenv(assert(compile(call, "@row")), env) or assert(load(call, "@row", "t", env)) -- luacheck: ignore
      local alone = not call:find("%) ", 1) and not call:find("} ", 1, true)
      local before = dump(w.space)
      local ok, err = pcall(f)
      if env.path then os.remove(env.path) end
      assert.is_false(ok, "accepted in silence")
      err = err:gsub("got userdata", "got FILE*")
      assert.is_truthy(err:find(says, 1, true), err .. "\n does not say\n" .. says)
      assert.is_truthy(err:find "^row:1: ", "not about the caller's line: " .. err)
      if alone then assert.equal(before, dump(w.space)) end
    end)
  end
end)

describe("a mistake that may be meant, and so is no error,", function()
  local function guarded(options, area)
    local space = aoi.new(options)
    space:enter(1, 0, 0)
    space:enter(2, -4, 8) -- at 117 degrees
    space:add_node(1, 1, area, function() end)
    return space
  end

  it("shows in explain: a facing in degrees", function()
    local space = guarded(nil, { shape = "sector", radius = 10, facing = 90, angle = 0.1 })
    assert.matches(", facing 90[.0]*, kind 1,", tostring(space:explain(1, 1, 2)))
    assert.is_true(space:sees(1, 1, 2))
    space:set_facing(1, 1, math.rad(90))
    assert.is_false(space:sees(1, 1, 2))
    assert.matches(", facing 1%.570", tostring(space:explain(1, 1, 2)))
    space:set_area(1, 1, 10)
    assert.is_nil(space:explain(1, 1, 2).facing)
  end)

  it("shows in the next tick: a clock in milliseconds", function()
    local space, said = aoi.new(), {}
    local handlers = { alert = { radius = 5, after = 2, dwell = function() said[#said + 1] = "dwell" end } }
    local triggers = require("aoi.trigger").new(space, handlers, 0)
    space:enter(1, 0, 0)
    triggers:add(1, "alert")
    space:enter(2, 1, 0)
    triggers:update(100) -- a tenth of a second
    assert.same({ "dwell" }, said)
  end)

  it("shows in explain and in stats: a forgotten flush", function()
    local space = guarded({ delivery = "deferred" }, 10)
    assert.is_true(space:explain(1, 1, 2).pending)
    assert.is_true(space:stats().pending > 0)
    space:flush()
    assert.is_false(space:explain(1, 1, 2).pending)
    assert.equal(0, space:stats().pending)
  end)
end)

describe("another library's userdata", function()
  it("is no space, whatever its size and its content", function()
    local path = os.getenv("AOI_FAULTY") -- built by make, next to the core
    if not path then pending("needs AOI_FAULTY: run the specs with `make spec`") return end
    local faulty = assert(package.loadlib(path, "luaopen_faulty"))()
    local ok, why = faulty.run("spec/support/child/foreign_userdata.lua", package.path, package.cpath)
    if ok == nil then pending(why) return end
    assert.is_true(ok, why)
  end)
end)

describe("the metamethods of a space", function()
  it("check their self like all other calls", function()
    local meta = getmetatable(aoi.new())
    if type(meta) ~= "table" then return end
    for name, f in pairs(meta) do
      if type(f) == "function" then
        for _, self in ipairs { {}, "space", 1, io.stdout } do
          assert.is_false(pcall(f, self), name)
        end
        assert.is_false(pcall(f), name)
      end
    end
  end)
end)
