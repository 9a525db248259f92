-- Every misuse raises its exact message and leaves the space as it was.
local aoi = require "aoi"
local bits = require "spec.support.bits"
local dump = require "spec.support.dump"
local fixture = require "spec.support.fixture"

local nan, huge = 0 / 0, math.huge

-- The words, as the binding has them.
local M = {
  argument = "bad argument #%s to '%s' (%s)",
  no_entity = "no entity %s",
  no_node = "entity %s has no node %s",
  duplicate_entity = "entity %s is already in the space",
  duplicate_node = "entity %s already has node %s",
  integer = "integer expected, got %s",
  whole = "number has no integer representation",
  number = "number expected, got %s",
  finite = "finite number expected, got %s",
  limit = "number of at most 2^50 either way expected, got %s",
  keep_limit = "keep must be at most 2^50 or infinite, got %s",
  radius_limit = "radius must be at most 2^50 or infinite, got %s",
  radius = "radius must not be negative or nan",
  keep = "keep must not be less than radius",
  area = "number or table expected, got %s",
  area_option = "unknown area option '%s' of a square",
  field = "number expected for '%s', got %s",
  missing = "number expected for '%s' of a %s, got nil",
  mask = "integer expected for 'mask'",
  shape = "bad value for 'shape': 'square', 'circle', 'box', 'cylinder', 'sector' or 'polygon' expected",
  handler = "function or table expected, got %s",
  callback = "function expected, got %s",
  table = "table expected, got %s",
  rows = "the array has %s rows",
  length = "the length of the array is no multiple of %s",
  row = "row %s: %s",
  option = "unknown option '%s'",
  option_value = "bad value for option '%s': %s expected, got %s",
  engines = "'list', 'grid', 'tower', 'quadtree' or 'brute'",
  deliveries = "'immediate' or 'deferred'",
  nothing = "nothing expected, got %s",
  nothing_in = "nothing expected in %d dimensions, got %s",
  unknown_handler = "unknown handler '%s': 'enter' or 'leave' expected",
  self = "aoi.space expected, got %s",
  closed = "attempt to use a closed space",
}

-- The message of an argument error; `argument` counts without self.
local function bad(argument, name, words, ...)
  return M.argument:format(argument, name, words:format(...))
end

local function row(words, number, ...)
  return M.row:format(number, words:format(...))
end

local function place(message)
  return (message:gsub("^[^\n]-:%d+: ", ""))
end

-- The text of an error without the place; the call must be a method call in the source, that is how Lua counts.
local function message_of(call, ...)
  local ok, err = pcall(call, ...)
  assert.is_false(ok, "no error")
  assert.is_string(err)
  return place(err)
end

-- Cases of both dimensions: { call, message }. d is 2 or 3; z() adds the height where there is one.
local function cases(d)
  local list = {}
  local function case(message, call) list[#list + 1] = { message, call } end

  -- enter, move
  local calls = {
    enter = d == 2 and function(s, id, x, y) s:enter(id, x, y) end or function(s, id, x, y, z) s:enter(id, x, y, z) end,
    move = d == 2 and function(s, id, x, y) s:move(id, x, y) end or function(s, id, x, y, z) s:move(id, x, y, z) end,
  }
  for name, call in pairs(calls) do
    local id = name == "enter" and 50 or 1
    for axis = 1, d do
      local function with(value)
        return function(s)
          local p = { 1, 1, 1 }
          p[axis] = value
          call(s, id, p[1], p[2], p[3])
        end
      end
      case(bad(axis + 1, name, M.finite, "nan"), with(nan))
      case(bad(axis + 1, name, M.finite, "nan"), with(-nan))
      case(bad(axis + 1, name, M.finite, "inf"), with(huge))
      case(bad(axis + 1, name, M.finite, "-inf"), with(-huge))
      case(bad(axis + 1, name, M.limit, tostring(1e16)), with(1e16))
      case(bad(axis + 1, name, M.limit, tostring(-1e16)), with(-1e16))
      case(bad(axis + 1, name, M.number, "string"), with "1")
      case(bad(axis + 1, name, M.number, "table"), with {})
      case(bad(axis + 1, name, M.number, "boolean"), with(true))
      case(bad(axis + 1, name, M.number, "nil"), with(nil))
    end
    case(bad(1, name, M.integer, "string"), function(s) call(s, "1", 1, 1, 1) end)
    case(bad(1, name, M.integer, "nil"), function(s) call(s, nil, 1, 1, 1) end)
    case(bad(1, name, M.integer, "table"), function(s) call(s, {}, 1, 1, 1) end)
    for _, value in ipairs { 1.5, nan, huge, -huge, 2 ^ 64 } do
      case(bad(1, name, M.whole), function(s) call(s, value, 1, 1, 1) end)
    end
  end
  if d == 2 then
    case(bad(3, "move", M.number, "no value"), function(s) s:move(1, 0) end)
    case(bad(3, "enter", M.number, "no value"), function(s) s:enter(50, 0) end)
    case(bad(4, "enter", M.integer, "string"), function(s) s:enter(50, 0, 0, "1") end)
    case(bad(4, "enter", M.whole), function(s) s:enter(50, 0, 0, 0.5) end)
  else
    case(bad(4, "move", M.number, "no value"), function(s) s:move(1, 0, 0) end)
    case(bad(4, "enter", M.number, "no value"), function(s) s:enter(50, 0, 0) end)
    case(bad(5, "enter", M.integer, "string"), function(s) s:enter(50, 0, 0, 0, "1") end)
    case(bad(5, "enter", M.whole), function(s) s:enter(50, 0, 0, 0, 0.5) end)
  end
  case(bad(1, "move", M.integer, "no value"), function(s) s:move() end)
  case(bad(1, "enter", M.integer, "no value"), function(s) s:enter() end)
  case(bad(1, "enter", M.duplicate_entity, 1), function(s) s:enter(1, 0, 0, 0) end)
  case(bad(1, "move", M.no_entity, 99), function(s) s:move(99, 0, 0, 0) end)
  case(bad(1, "move", M.no_entity, -99), function(s) s:move(-99, 0, 0, 0) end)

  -- beyond 2^50
  local beyond = 2 ^ 50 * (1 + 2 ^ -52)
  local got, z = tostring(beyond), d == 3 and 0 or nil
  case(bad(1, "move_many", M.row:format(1, M.limit), got), function(s) s:move_many { 1, 0, beyond, z } end)
  case(bad(2, "set_extent", M.limit, got), function(s) s:set_extent(1, beyond) end)
  case(bad(3, "attach", M.limit, got), function(s) s:attach(2, 1, beyond, 0, z) end)
  case(bad(3, "add_node", M.radius_limit, got), function(s) s:add_node(1, 9, beyond) end)
  case(bad(3, "set_radius", M.radius_limit, got), function(s) s:set_radius(1, 7, beyond) end)
  case(bad(4, "set_radius", M.keep_limit, got), function(s) s:set_radius(1, 7, 1, beyond) end)
  local near = d == 2 and function(s) s:near(0, 0, beyond) end or function(s) s:near(0, 0, 0, beyond) end
  case(bad(d + 1, "near", M.radius_limit, got), near)

  -- calls that name an entity
  case(bad(1, "leave", M.no_entity, 99), function(s) s:leave(99) end)
  for _, reason in ipairs { -1, 256 } do
    case(bad(2, "leave", "reason must be 0 to 255, got " .. reason), function(s) s:leave(1, reason) end)
  end
  case(bad(1, "add_node", M.no_entity, 99), function(s) s:add_node(99, 1, 5) end)
  case(bad(1, "remove_node", M.no_entity, 99), function(s) s:remove_node(99, 1) end)
  case(bad(1, "set_radius", M.no_entity, 99), function(s) s:set_radius(99, 1, 5) end)
  case(bad(1, "set_mask", M.no_entity, 99), function(s) s:set_mask(99, 1, 5) end)
  case(bad(1, "set_kind", M.no_entity, 99), function(s) s:set_kind(99, 1) end)
  case(bad(1, "view", M.no_entity, 99), function(s) s:view(99, 7) end)
  case(bad(1, "viewers", M.no_entity, 99), function(s) s:viewers(99) end)
  case(bad(1, "nodes", M.no_entity, 99), function(s) s:nodes(99) end)
  case(bad(1, "sees", M.no_entity, 99), function(s) s:sees(99, 7, 1) end)

  -- and a node
  case(bad(2, "add_node", M.duplicate_node, 1, 7), function(s) s:add_node(1, 7, 5) end)
  case(bad(2, "remove_node", M.no_node, 1, 99), function(s) s:remove_node(1, 99) end)
  case(bad(2, "remove_node", M.no_node, 3, 7), function(s) s:remove_node(3, 7) end)
  case(bad(2, "set_radius", M.no_node, 1, 99), function(s) s:set_radius(1, 99, 5) end)
  case(bad(2, "set_mask", M.no_node, 1, 99), function(s) s:set_mask(1, 99, 5) end)
  case(bad(2, "view", M.no_node, 1, 99), function(s) s:view(1, 99) end)
  case(bad(2, "sees", M.no_node, 1, 99), function(s) s:sees(1, 99, 2) end)

  -- ids that are none
  local takes_id = {
    leave = function(s, id) s:leave(id) end,
    add_node = function(s, id) s:add_node(id, 9, 5) end,
    remove_node = function(s, id) s:remove_node(id, 7) end,
    set_radius = function(s, id) s:set_radius(id, 7, 5) end,
    set_mask = function(s, id) s:set_mask(id, 7, 5) end,
    set_kind = function(s, id) s:set_kind(id, 5) end,
    view = function(s, id) s:view(id, 7) end,
    viewers = function(s, id) s:viewers(id) end,
    sees = function(s, id) s:sees(id, 7, 2) end,
    nodes = function(s, id) s:nodes(id) end,
    position = function(s, id) s:position(id) end,
    kind = function(s, id) s:kind(id) end,
    radius = function(s, id) s:radius(id, 7) end,
    has = function(s, id) s:has(id) end,
  }
  for name, call in pairs(takes_id) do
    case(bad(1, name, M.whole), function(s) call(s, 1.5) end)
    case(bad(1, name, M.integer, "string"), function(s) call(s, "1") end)
    case(bad(1, name, M.integer, "boolean"), function(s) call(s, true) end)
  end
  local takes_node_id = {
    add_node = function(s, node_id) s:add_node(1, node_id, 5) end,
    remove_node = function(s, node_id) s:remove_node(1, node_id) end,
    set_radius = function(s, node_id) s:set_radius(1, node_id, 5) end,
    set_mask = function(s, node_id) s:set_mask(1, node_id, 5) end,
    view = function(s, node_id) s:view(1, node_id) end,
    sees = function(s, node_id) s:sees(1, node_id, 2) end,
    radius = function(s, node_id) s:radius(1, node_id) end,
  }
  for name, call in pairs(takes_node_id) do
    case(bad(2, name, M.whole), function(s) call(s, 1.5) end)
    case(bad(2, name, M.integer, "string"), function(s) call(s, "7") end)
    case(bad(2, name, M.integer, "nil"), function(s) call(s, nil) end)
  end
  case(bad(3, "sees", M.integer, "string"), function(s) s:sees(1, 7, "2") end)

  -- areas
  case(bad(3, "add_node", M.radius), function(s) s:add_node(1, 9, -1) end)
  case(bad(3, "add_node", M.radius), function(s) s:add_node(1, 9, -(2 ^ -1074)) end)
  case(bad(3, "add_node", M.radius), function(s) s:add_node(1, 9, nan) end)
  case(bad(3, "add_node", M.radius), function(s) s:add_node(1, 9, -huge) end)
  case(bad(3, "add_node", M.radius), function(s) s:add_node(1, 9, { radius = -1 }) end)
  case(bad(3, "add_node", M.radius), function(s) s:add_node(1, 9, { radius = nan }) end)
  case(bad(3, "add_node", M.keep), function(s) s:add_node(1, 9, { radius = 5, keep = 4 }) end)
  case(bad(3, "add_node", M.keep), function(s) s:add_node(1, 9, { radius = 5, keep = nan }) end)
  case(bad(3, "add_node", M.keep), function(s) s:add_node(1, 9, { radius = huge, keep = 4 }) end)
  case(bad(3, "add_node", M.area, "string"), function(s) s:add_node(1, 9, "5") end)
  case(bad(3, "add_node", M.area, "nil"), function(s) s:add_node(1, 9, nil) end)
  case(bad(3, "add_node", M.area, "no value"), function(s) s:add_node(1, 9) end)
  case(bad(3, "add_node", M.area_option, "radios"), function(s) s:add_node(1, 9, { radius = 5, radios = 5 }) end)
  case(bad(3, "add_node", M.area_option, "1"), function(s) s:add_node(1, 9, { radius = 5, 6 }) end)
  case(bad(3, "add_node", M.missing, "radius", "square"), function(s) s:add_node(1, 9, {}) end)
  case(bad(3, "add_node", M.field, "radius", "string"), function(s) s:add_node(1, 9, { radius = "5" }) end)
  case(bad(3, "add_node", M.field, "keep", "string"), function(s) s:add_node(1, 9, { radius = 5, keep = "6" }) end)
  case(bad(3, "add_node", M.field, "mask", "string"), function(s) s:add_node(1, 9, { radius = 5, mask = "1" }) end)
  case(bad(3, "add_node", M.mask), function(s) s:add_node(1, 9, { radius = 5, mask = 0.5 }) end)
  case(bad(3, "add_node", M.shape), function(s) s:add_node(1, 9, { radius = 5, shape = "disc" }) end)
  case(bad(3, "add_node", M.shape), function(s) s:add_node(1, 9, { radius = 5, shape = 1 }) end)
  case(bad(3, "set_radius", M.radius), function(s) s:set_radius(1, 7, -1) end)
  case(bad(3, "set_radius", M.radius), function(s) s:set_radius(1, 7, nan) end)
  case(bad(3, "set_radius", M.number, "string"), function(s) s:set_radius(1, 7, "5") end)
  case(bad(3, "set_radius", M.number, "no value"), function(s) s:set_radius(1, 7) end)
  case(bad(4, "set_radius", M.keep), function(s) s:set_radius(1, 7, 5, 4) end)
  case(bad(4, "set_radius", M.keep), function(s) s:set_radius(1, 7, 5, nan) end)
  case(bad(4, "set_radius", M.number, "string"), function(s) s:set_radius(1, 7, 5, "6") end)

  -- handlers
  case(bad(4, "add_node", M.handler, "string"), function(s) s:add_node(1, 9, 5, "enter") end)
  case(bad(4, "add_node", M.handler, "number"), function(s) s:add_node(1, 9, 5, 1) end)
  case(bad(5, "add_node", M.callback, "string"), function(s) s:add_node(1, 9, 5, print, "leave") end)
  case(bad(5, "add_node", M.callback, "table"), function(s) s:add_node(1, 9, 5, nil, {}) end)
  case(bad(1, "on_error", M.callback, "string"), function(s) s:on_error "print" end)
  case(bad(4, "add_node", M.unknown_handler, "on_enter"), function(s) s:add_node(1, 9, 5, { on_enter = print }) end)
  case(bad(4, "add_node", M.unknown_handler, "on_leave"), function(s)
    s:add_node(1, 9, 5, { enter = print, on_leave = print })
  end)
  case(bad(4, "add_node", M.unknown_handler, "entre"), function(s) s:add_node(1, 9, 5, { entre = print }) end)
  case(bad(4, "add_node", M.unknown_handler, "1"), function(s) s:add_node(1, 9, 5, { print }) end)
  case(bad(5, "adopt", M.unknown_handler, "on_enter"), function(s) s:adopt(1, 9, 5, {}, { on_enter = print }) end)
  case(bad(5, "add_node", "nothing expected after a table of handlers, got function"), function(s)
    s:add_node(1, 9, 5, { enter = print }, print)
  end)

  -- arguments that there are not
  case(bad(d + 2, "move", M.nothing_in, d, "number"), function(s)
    if d == 2 then s:move(1, 0, 0, 0) else s:move(1, 0, 0, 0, 0) end
  end)
  case(bad(d + 3, "enter", M.nothing_in, d, "number"), function(s)
    if d == 2 then s:enter(50, 0, 0, 0, 1) else s:enter(50, 0, 0, 0, 1, 1) end
  end)
  case(bad(d + 4, "near", M.nothing_in, d, "table"), function(s)
    if d == 2 then s:near(0, 0, 5, 1, {}, {}) else s:near(0, 0, 0, 5, 1, {}, {}) end
  end)
  case(bad(d + 2, "near", "a table to fill expected in %d dimensions, got an area", d), function(s)
    if d == 2 then s:near(0, 0, 0, { radius = 5 }) else s:near(0, 0, 0, 0, { shape = "box" }) end
  end)
  for name, call in pairs {
    add_node = function(s, extra) s:add_node(1, 9, 5, print, print, extra) end,
    leave = function(s, extra) s:leave(1, nil, extra) end,
    set_kind = function(s, extra) s:set_kind(1, 7, extra) end,
    set_mask = function(s, extra) s:set_mask(1, 7, 1, extra) end,
    set_radius = function(s, extra) s:set_radius(1, 7, 5, 6, extra) end,
    remove_node = function(s, extra) s:remove_node(1, 7, extra) end,
    kind = function(s, extra) s:kind(1, extra) end,
    position = function(s, extra) s:position(1, extra) end,
    radius = function(s, extra) s:radius(1, 7, extra) end,
    area = function(s, extra) s:area(1, 7, extra) end,
    has = function(s, extra) s:has(1, extra) end,
    count = function(s, extra) s:count(extra) end,
    flush = function(s, extra) s:flush(extra) end,
    stats = function(s, extra) s:stats(extra) end,
    ids = function(s, extra) s:ids({}, extra) end,
    view = function(s, extra) s:view(1, 7, {}, extra) end,
    move_many = function(s, extra) s:move_many({}, 0, nil, extra) end,
  } do
    local places = { add_node = 6, set_kind = 3, set_mask = 4, set_radius = 5, remove_node = 3, radius = 3, area = 3 }
    places.count, places.flush, places.stats, places.view, places.move_many, places.leave = 1, 1, 1, 4, 4, 3
    case(bad(places[name] or 2, name, M.nothing, "number"), function(s) call(s, 1) end)
  end

  -- kinds and masks
  case(bad(2, "set_kind", M.integer, "string"), function(s) s:set_kind(1, "1") end)
  case(bad(2, "set_kind", M.integer, "no value"), function(s) s:set_kind(1) end)
  case(bad(2, "set_kind", M.whole), function(s) s:set_kind(1, 0.5) end)
  case(bad(3, "set_mask", M.integer, "boolean"), function(s) s:set_mask(1, 7, true) end)
  case(bad(3, "set_mask", M.integer, "no value"), function(s) s:set_mask(1, 7) end)
  case(bad(3, "set_mask", M.whole), function(s) s:set_mask(1, 7, nan) end)

  -- near
  if d == 2 then
    case(bad(1, "near", M.finite, "nan"), function(s) s:near(nan, 0, 5) end)
    case(bad(2, "near", M.finite, "inf"), function(s) s:near(0, huge, 5) end)
    case(bad(2, "near", M.number, "string"), function(s) s:near(0, "0", 5) end)
    case(bad(3, "near", M.radius), function(s) s:near(0, 0, -1) end)
    case(bad(3, "near", M.radius), function(s) s:near(0, 0, nan) end)
    case(bad(3, "near", M.area, "no value"), function(s) s:near(0, 0) end)
    case(bad(4, "near", M.whole), function(s) s:near(0, 0, 5, 0.5) end)
    case(bad(5, "near", M.table, "string"), function(s) s:near(0, 0, 5, 1, "buf") end)
  else
    case(bad(3, "near", M.finite, "nan"), function(s) s:near(0, 0, nan, 5) end)
    case(bad(3, "near", M.finite, "-inf"), function(s) s:near(0, 0, -huge, 5) end)
    case(bad(4, "near", M.radius), function(s) s:near(0, 0, 0, -1) end)
    case(bad(4, "near", M.area, "no value"), function(s) s:near(0, 0, 0) end)
    case(bad(5, "near", M.whole), function(s) s:near(0, 0, 0, 5, 0.5) end)
    case(bad(6, "near", M.table, "string"), function(s) s:near(0, 0, 0, 5, 1, "buf") end)
  end

  -- layers and extents
  case(bad(1, "set_layers", M.no_entity, 99), function(s) s:set_layers(99, 1) end)
  case(bad(2, "set_layers", M.integer, "no value"), function(s) s:set_layers(1) end)
  case(bad(2, "set_layers", M.whole), function(s) s:set_layers(1, 0.5) end)
  case(bad(1, "set_extent", M.no_entity, 99), function(s) s:set_extent(99, 1) end)
  case(bad(2, "set_extent", M.number, "no value"), function(s) s:set_extent(1) end)
  case(bad(2, "set_extent", M.finite, "inf"), function(s) s:set_extent(1, huge) end)
  case(bad(2, "set_extent", M.finite, "nan"), function(s) s:set_extent(1, nan) end)
  case(bad(3, "set_extent", M.nothing, "number"), function(s) s:set_extent(1, 1, 1) end)
  case(bad(3, "set_area", "integer expected for 'layers'"), function(s)
    s:set_area(1, 7, { radius = 1, layers = 0.5 })
  end)

  -- attach
  do
    case(bad(1, "attach", M.no_entity, 99), function(s) s:attach(99, 1) end)
    case(bad(2, "attach", M.no_entity, 99), function(s) s:attach(1, 99) end)
    case(bad(2, "attach", "integer or nil expected, got no value"), function(s) s:attach(1) end)
    case(bad(2, "attach", M.integer, "string"), function(s) s:attach(1, "bus") end)
    local circle = "entity 1 can not carry itself"
    case(bad(2, "attach", circle), function(s) s:attach(1, 1) end)
    case(bad(3, "attach", M.number, "string"), function(s) s:attach(1, 2, "x", 0, 0) end)
    case(bad(4, "attach", M.finite, "nan"), function(s) s:attach(1, 2, 0, nan, 0) end)
    case(bad(4, "attach", M.number, "no value"), function(s) s:attach(1, 2, 0) end)
    case(bad(3, "attach", M.nothing, "number"), function(s) s:attach(1, nil, 0) end)
    case(bad(3 + d, "attach", M.nothing_in, d, "number"), function(s)
      if d == 2 then s:attach(1, 2, 0, 0, 0) else s:attach(1, 2, 0, 0, 0, 0) end
    end)
  end

  -- near_many
  do
    local one = d == 2 and { 1, 1 } or { 1, 1, 1 }
    local text = d == 2 and { 1, 1, "x", 1 } or { 1, 1, 1, "x", 1, 1 }
    local far = d == 2 and { 1, huge } or { 1, 1, huge }
    case(bad(1, "near_many", M.table, "no value"), function(s) s:near_many() end)
    case(bad(1, "near_many", M.table, "number"), function(s) s:near_many(1, 1, 5) end)
    case(bad(1, "near_many", "the length of the array is no multiple of %d", d), function(s) s:near_many({ 1 }, 5) end)
    case(bad(1, "near_many", "row 2: number expected, got string"), function(s) s:near_many(text, 5) end)
    case(bad(1, "near_many", "row 1: finite number expected, got inf"), function(s) s:near_many(far, 5) end)
    case(bad(2, "near_many", M.area, "no value"), function(s) s:near_many(one) end)
    case(bad(2, "near_many", M.radius), function(s) s:near_many(one, -1) end)
    case(bad(3, "near_many", M.whole), function(s) s:near_many(one, 5, 0.5) end)
    case(bad(4, "near_many", M.table, "string"), function(s) s:near_many(one, 5, 1, "buf") end)
    case(bad(5, "near_many", M.table, "number"), function(s) s:near_many(one, 5, 1, {}, 3) end)
    case(bad(6, "near_many", M.nothing, "table"), function(s) s:near_many(one, 5, 1, {}, {}, {}) end)
    case(bad(5, "near_many", "another table than that of the ids expected"), function(s)
      local t = {}
      s:near_many(one, 5, 1, t, t)
    end)
  end

  -- sweep
  do
    local function sweep(s, ...)
      if d == 2 then s:sweep(0, 0, ...) else s:sweep(0, 0, 0, ...) end
    end
    local function at(...)
      if d == 2 then return 1, 1, ... end
      return 1, 1, 1, ...
    end
    case(bad(d + 1, "sweep", M.finite, "nan"), function(s) sweep(s, nan, 0, 0, 0) end)
    case(bad(d + 2, "sweep", M.finite, "inf"), function(s) sweep(s, 0, huge, 0, 0) end)
    case(bad(2 * d + 1, "sweep", M.number, "no value"), function(s) sweep(s, at()) end)
    case(bad(2 * d + 1, "sweep", M.radius), function(s) sweep(s, at(-1)) end)
    case(bad(2 * d + 1, "sweep", M.radius), function(s) sweep(s, at(nan)) end)
    case(bad(2 * d + 2, "sweep", M.whole), function(s) sweep(s, at(1, 0.5)) end)
    case(bad(2 * d + 3, "sweep", M.table, "string"), function(s) sweep(s, at(1, 1, "buf")) end)
    case(bad(2 * d + 4, "sweep", M.nothing_in, d, "number"), function(s) sweep(s, at(1, 1, {}, 1)) end)
  end

  -- tables to fill
  case(bad(3, "view", M.table, "number"), function(s) s:view(1, 7, 5) end)
  case(bad(2, "viewers", M.table, "string"), function(s) s:viewers(1, "buf") end)
  case(bad(1, "ids", M.table, "boolean"), function(s) s:ids(true) end)
  case(bad(2, "nodes", M.table, "number"), function(s) s:nodes(1, 1) end)
  case(bad(1, "drain", M.table, "number"), function(s) s:drain(1) end)

  -- batches: all rows are checked before the first is applied
  local function rows(...)
    local t = {}
    for _, r in ipairs { ... } do
      for column = 1, d + 1 do t[#t + 1] = r[column] end
    end
    return t
  end
  local good, other = { 1, 2, 3, 4 }, { 2, 3, 4, 5 }
  for _, r in ipairs {
    { { 99, 0, 0, 0 }, M.no_entity, 99 },
    { { 2, nan, 0, 0 }, M.finite, "nan" },
    { { 2, 0, huge, 0 }, M.finite, "inf" },
    { { 2, 0, "0", 0 }, M.number, "string" },
    { { 2, {}, 0, 0 }, M.number, "table" },
    { { "2", 0, 0, 0 }, M.integer, "string" },
    { { 1.5, 0, 0, 0 }, M.whole },
  } do
    case(bad(1, "move_many", row(r[2], 3, r[3])), function(s) s:move_many(rows(good, other, r[1], good)) end)
    case(bad(1, "move_many", row(r[2], 1, r[3])), function(s) s:move_many(rows(r[1], good)) end)
  end
  local new, newer = { 50, 0, 0, 0 }, { 51, 1, 1, 1 }
  for _, r in ipairs {
    { { 1, 0, 0, 0 }, M.duplicate_entity, 1 },
    { { 50, 3, 3, 3 }, M.duplicate_entity, 50 },
    { { 52, 0, -huge, 0 }, M.finite, "-inf" },
    { { 52, true, 0, 0 }, M.number, "boolean" },
    { { {}, 0, 0, 0 }, M.integer, "table" },
    { { 52.5, 0, 0, 0 }, M.whole },
  } do
    case(bad(1, "enter_many", row(r[2], 3, r[3])), function(s) s:enter_many(rows(new, newer, r[1])) end)
  end
  for name, call in pairs {
    move_many = function(s, ...) s:move_many(...) end,
    enter_many = function(s, ...) s:enter_many(...) end,
  } do
    local first = name == "move_many" and good or new
    case(bad(1, name, M.table, "number"), function(s) call(s, 1) end)
    case(bad(1, name, M.table, "nil"), function(s) call(s, nil) end)
    case(bad(2, name, M.integer, "string"), function(s) call(s, rows(first), "1") end)
    case(bad(2, name, M.whole), function(s) call(s, rows(first), 0.5) end)
    case(bad(2, name, M.rows, 1), function(s) call(s, rows(first), -1) end)
    case(bad(2, name, M.rows, 1), function(s) call(s, rows(first), 2) end)
    case(bad(2, name, M.rows, 1), function(s) call(s, rows(first), 2 ^ 40) end)
    case(bad(2, name, M.rows, 0), function(s) call(s, {}, 1) end)
    case(bad(1, name, M.length, d + 1), function(s)
      local t = rows(first)
      t[#t + 1] = name == "move_many" and 2 or 51
      call(s, t)
    end)
  end
  case(bad(3, "enter_many", M.integer, "string"), function(s) s:enter_many(rows(new), 1, "2") end)
  case(bad(3, "enter_many", M.whole), function(s) s:enter_many(rows(new), 1, 0.5) end)

  return list
end

-- The messages are the same for all engines.
for setup in fixture.all { modes = { "immediate", "drain" } } do
  describe("misuse on " .. setup.name, function()
    local w, space
    before_each(function()
      w = setup.new()
      space = w.space
      w:enter(1, w:at(0))
      w:enter(2, w:at(3))
      w:enter(3, w:at(-4), 6)
      w:watch(1, 7, 5)
      w:watch(1, 8, { radius = 1, keep = 3, mask = 2 })
      w:watch(2, 7, math.huge)
    end)

    it("raises its message and changes nothing", function()
      local before, heard = dump(space), #w.heard
      for i, c in ipairs(cases(setup.dimensions)) do
        local ok, err = pcall(c[2], space)
        assert.is_false(ok, "no error, but expected: " .. c[1])
        assert.equal(c[1]:sub(1, -2), place(err):sub(1, #c[1] - 1), "case " .. i)
        assert.equal(before, dump(space), "the space has changed after: " .. c[1])
        assert.equal(heard, #w.heard, "somebody was called after: " .. c[1])
      end
    end)

    it("leaves a space that still works", function()
      for _, c in ipairs(cases(setup.dimensions)) do pcall(c[2], space) end
      w:take()
      w:move(2, w:at(6))
      w:enter(50, w:at(1))
      assert.same({ "+1/7>50", "+2/7>50", "-1/7>2" }, w:take())
    end)

    it("is found out when self is wrong", function()
      for _, self in ipairs { {}, "space", 1, print, io.stdout } do
        local name = type(self)
        assert.equal(bad(1, "move", M.self, name == "userdata" and "FILE*" or name), message_of(function()
          local move = space.move
          move(self, 1, 0, 0)
        end):gsub("got userdata", "got FILE*"):gsub("%(to '%?'", "to 'move'"))
      end
      assert.equal("bad argument #1 to 'move' (aoi.space expected, got number: call it with a colon, space:move(...))",
        message_of(function() space.move(1, 0, 0) end))
      local object = { leave = space.leave }
      assert.matches("bad self", message_of(function() object:leave(1) end))
      assert.matches(M.self:format "no value", message_of(function() local move = space.move move() end), 1, true)
    end)
  end)
end

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

describe("misuse of aoi.new", function()
  for _, case in ipairs {
    { { engin = "list" }, M.option:format "engin" },
    { { "list" }, M.option:format "1" },
    { { engine = "lists" }, M.option_value:format("engine", M.engines, "'lists'") },
    { { engine = 1 }, M.option_value:format("engine", M.engines, "1") },
    { { engine = true }, M.option_value:format("engine", M.engines, "true") },
    { { dimensions = 1 }, M.option_value:format("dimensions", "2 or 3", "1") },
    { { dimensions = 4 }, M.option_value:format("dimensions", "2 or 3", "4") },
    { { dimensions = 2.5 }, M.option_value:format("dimensions", "2 or 3", "2.5") },
    { { dimensions = "2" }, M.option_value:format("dimensions", "2 or 3", "'2'") },
    { { cell = 0 }, M.option_value:format("cell", "a number > 0", "0") },
    { { cell = -1 }, M.option_value:format("cell", "a number > 0", "-1") },
    { { cell = nan }, M.option_value:format("cell", "a number > 0", tostring(nan)) },
    { { cell = -huge }, M.option_value:format("cell", "a number > 0", "-inf") },
    { { cell = "10" }, M.option_value:format("cell", "a number > 0", "'10'") },
    { { cell = {} }, M.option_value:format("cell", "a number > 0", "table") },
    { { delivery = "later" }, M.option_value:format("delivery", M.deliveries, "'later'") },
    { { delivery = false }, M.option_value:format("delivery", M.deliveries, "false") },
    { 1, M.table:format "number" },
    { "list", M.table:format "string" },
  } do
    it("raises " .. case[2], function()
      local err = message_of(function()
        local space = aoi.new(case[1])
        return space
      end)
      local said = bad(1, "new", case[2]):sub(1, -2)
      assert.equal(said, err:sub(1, #said))
    end)
  end
end)

describe("misuse of the module", function()
  it("with a colon says to use a dot", function()
    assert.equal("calling 'new' on bad self (the module, not options: call aoi.new{...} with a dot)",
      message_of(function() return (aoi:new { engine = "grid" }) end))
    assert.equal("calling 'engines' on bad self (nothing expected, got table)",
      message_of(function() return (aoi:engines()) end))
    assert.equal("calling 'new' on bad self (the module, not a space: call new(space) with a dot)",
      message_of(function() return (aoi.sync:new(aoi.new())) end))
  end)

  it("takes nothing after the options", function()
    assert.equal(bad(2, "new", M.nothing, "number"), message_of(function() return (aoi.new({}, 2)) end))
  end)
end)

describe("misuse of a closed space", function()
  it("says so", function()
    local space = aoi.new()
    space:close()
    assert.equal(M.closed, message_of(function() space:move(1, 0, 0) end))
    assert.equal(M.closed, message_of(function() space:count() end))
  end)
end)

describe("names of numbers", function()
  it("are whole in messages, on every Lua", function()
    local space = aoi.new()
    assert.equal(bad(1, "leave", M.no_entity, "9007199254740992"),
      message_of(function() space:leave(2 ^ 53) end))
    assert.equal(bad(1, "leave", M.no_entity, "-9007199254740992"),
      message_of(function() space:leave(-2 ^ 53) end))
    if bits.integers then
      assert.equal(bad(1, "leave", M.no_entity, "-9223372036854775808"),
        message_of(function() space:leave(math.mininteger) end))
    else
      assert.equal(bad(1, "leave", M.whole), message_of(function() space:leave(2 ^ 53 + 2) end))
    end
  end)
end)
