-- Random histories of several clients over a network that delays, reorders between senders, stalls and kills; that are
-- taken for dead, close maps, let handlers fail and wait, and have client views: whenever no message is under way, each
-- client's view equals what a plain space has told its handlers, and client views have what is near.
if not string.pack then return pending "the view of a subscriber: needs string.pack of Lua 5.3" end

local aoi = require "aoi"
local client_model = require "spec.support.client_model"
local instead = require "spec.support.instead"
local lines = require "spec.support.lines"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local reference = require "spec.support.wire_reference"
local transport = require "spec.support.transport"
local new_sight = require("aoi.sight").new
local new_sync = require("aoi.sync").new
local walls = require "aoi.skynet.walls"
local wire = require "aoi.skynet.wire"

local SERVICE = 1
local VIEW = 20 -- the radius of client views
local SEED = random_run.seed("service consistency")
-- They are cheap here, so never fewer than these.
local STEPS = math.max(6000, math.min(random_run.steps(6000), 50000))

-- A core that tells a plain space of the brute engine all that is done to it, deliveries included: what a node that
-- keeps holds on to is what it saw at the last one. In the core a node is known by its handle, so views[handle] is what
-- that node has been told. `real` is the space that the C code works on: moves are applied to it, events taken from it.
local function shadowed(given)
  local core = aoi.new(given)
  local plain = aoi.new { engine = "brute", dimensions = given.dimensions, delivery = "deferred" }
  local views, events = {}, {}
  local shadow = { real = core, views = views, plain = plain, plain_sight = false }
  for _, name in ipairs { "enter", "enter_many", "leave", "move_many", "remove_node", "set_radius", "set_mask",
                          "set_kind" } do
    shadow[name] = function(_, ...)
      core[name](core, ...)
      plain[name](plain, ...)
    end
  end
  function shadow.add_node(_, id, handle, area)
    core:add_node(id, handle, area)
    views[handle] = {}
    plain:add_node(id, handle, area)
  end
  function shadow.moved(message)
    local rows, n, _, dimensions = reference.read_moves(message)
    for i = 1, n * (dimensions + 1), dimensions + 1 do
      local z = dimensions == 3 and rows[i + 3] or nil
      if plain:has(rows[i]) then plain:move(rows[i], rows[i + 1], rows[i + 2], z) end
    end
  end
  function shadow.apply(_, message, refused)
    local good, bad, batch = wire.apply(core, message, refused)
    if good then shadow.moved(message) end
    return good, bad, batch
  end
  function shadow.told()
    local _, n = plain:drain(events)
    for i = 1, 4 * n, 4 do
      local comes, target, handle = events[i] == aoi.ENTER, events[i + 2], events[i + 3]
      assert(comes == not views[handle][target])
      views[handle][target] = comes or nil
    end
    if shadow.plain_sight then shadow.plain_sight:tick() end
  end
  return instead(core, shadow)
end

-- The sight of such a core: walls, and nodes whose views the plain space's sight tells.
local function shadowed_sight(core)
  local real, plain, views = new_sight(core.real), new_sight(core.plain), core.views
  core.plain_sight = plain
  local shadow = { real = real }
  for _, name in ipairs { "wall", "open_wall", "shut_wall", "remove_wall" } do
    shadow[name] = function(_, ...)
      plain[name](plain, ...)
      return real[name](real, ...)
    end
  end
  function shadow.add(_, id, handle, area, _, options)
    real:add(id, handle, area, nil, options)
    views[handle] = {}
    plain:add(id, handle, area, {
      enter = function(_, target) views[handle][target] = true end,
      leave = function(_, target) views[handle][target] = nil end,
    }, options)
  end
  return instead(real, shadow)
end

-- The post of a server whose cores are shadowed.
local function shadowed_post(server)
  local post = server.post
  function server.moves(_, address, message)
    local link = post:moves(address, message)
    if link ~= nil then server.links[select(3, wire.head(message))].space.core.moved(message) end
    return link
  end
  server.post = instead(post, {
    link = function(_, slot, core, number) return post:link(slot, core.real, number) end,
    collect = function(_, core, sight)
      core.told()
      return post:collect(core.real, sight and sight.real)
    end,
  })
end

-- Some messages of events are lost, or cannot be sent: the server knows of these alone.
local function lose_some(net, server, random)
  local send = server.send
  function server.send(to, message)
    local kind = wire.head(message)
    local what = not net.quiet and (kind == wire.EVENTS or kind == wire.PACKETS) and random(20) or 0
    if what == 1 then return false end
    return what == 2 and kind == wire.EVENTS or send(to, message)
  end
  function server.log(text) assert(text:find("could not be sent", 1, true), text) end
end

local function same_set(a, b)
  for k in pairs(a) do if not b[k] then return false end end
  for k in pairs(b) do if not a[k] then return false end end
  return true
end

-- The picture of a client view is what is near its entity, and not behind a wall.
local function check_picture(core, id, known, quantum)
  local plain, seen, n = core.plain, {}, 0
  local x, y, z = plain:position(id)
  local near, count = plain:near(x, y, z or VIEW, z and VIEW or nil)
  for i = 1, count do
    local tx, ty, tz = plain:position(near[i])
    local wall = core.plain_sight and core.plain_sight:ray(x, y, z or tx, z and tx or ty, z and ty, tz)
    if near[i] ~= id and not wall then seen[near[i]], n = tx, n + 1 end
  end
  for target, it in pairs(known) do
    assert(seen[target], "somebody is too much in the picture")
    assert(it[1] == client_model.rounded(seen[target], quantum), "a place in a picture is old")
    n = n - 1
  end
  assert(n == 0, "somebody is not in the picture")
end

local function set_of(list, n)
  local set = {}
  for i = 1, n do set[list[i]] = true end
  return set, n
end

local function world(seed, steps, options)
  local random = rng.new(seed)
  local net = transport.new(seed + 1)
  local server = net:serve(SERVICE, {
    window = options.window, max_message = options.max_message, new_space = shadowed, new_sight = shadowed_sight,
    first_seq = options.first_seq, silence = options.silent and 60 or nil,
    new_sync = function(core, given)
      given.sight = given.sight and given.sight.real
      return new_sync(core.real, given)
    end,
    apply = function(core, ...) return core:apply(...) end,
  })
  shadowed_post(server)
  if options.loses then lose_some(net, server, random) end
  local ids, nodes, size = 25, 3, 100
  local people, next_address = {}, 2
  local stats = { quiet = 0, compared = 0, deaths = 0, events = 0, resyncs = 0, pictures = 0, walls = 30 }

  local function coordinates()
    if options.dimensions == 3 then return random(size), random(size), random(10) end
    return random(size), random(size)
  end

  local function area()
    local r = random(40) - 1
    if random(3) > 1 then return random(20) == 1 and math.huge or r end
    return { radius = r, keep = r + random(10), mask = random(7), shape = random { "square", "circle" } }
  end

  -- Handlers that keep a set of their own and know when an event is wrong. They may ask the service, wait for nothing
  -- in particular, and fail.
  local function handlers(person)
    local seen = {}
    local function write(sees)
      return function(watcher, target, node)
        person.heard = person.heard + 1
        if sees == (seen[target] or false) then error(("%d/%d hears twice of %d"):format(watcher, node, target), 0) end
        seen[target] = sees or nil
        if options.handlers_ask and random(20) == 1 then person.map:has(target) end
        if options.handlers_wait and random(10) == 1 then
          table.insert(person.waiting, (coroutine.running()))
          coroutine.yield()
        end
        if options.handlers_fail and random(20) == 1 then
          person.failed = person.failed + 1
          error "on purpose"
        end
      end
    end
    return { seen = seen, enter = write(true), leave = write(false) }
  end

  local function go_on(person)
    if person.waiting[1] then lines.resume(table.remove(person.waiting, random(#person.waiting))) end
  end

  -- A mistake, which changes nothing; a handler that fails on purpose; or the client has been taken for dead.
  local function is_expected(err)
    for _, text in ipairs { "bad argument", "on purpose", "is closed", "closed space", "is gone" } do
      if err:find(text, 1, true) then return true end
    end
  end

  local function open(person)
    local given = { dimensions = options.dimensions, engine = options.engine, sight = options.sight,
                    quantum = options.quantum }
    local ok
    repeat -- it may be taken for dead meanwhile
      ok, person.map = pcall(person.client.open, person.client, "map", given)
    until ok
    person.players = client_model.watch(person.map)
    person.map:on_refused(function() end) -- stale ids, and services that have gone, are part of the game
    person.map:on_view_lost(function() end)
    person.map:on_error(function(err)
      local text = tostring(err)
      if text:find "on purpose" then person.failed = person.failed - 1 end
      if not is_expected(text) then person.client.log(text) end
    end)
  end

  local function born()
    local address = next_address
    next_address = next_address + 1
    local client = net:client(address, SERVICE, options.watched and random(2) == 1)
    local person = { address = address, client = client, heard = 0, busy = true, waiting = {}, failed = 0 }
    person.client.inbox:seq(options.first_seq or 0)
    people[#people + 1] = person
    coroutine.wrap(function()
      open(person)
      person.busy = false
    end)()
  end

  -- What one client may do; a mistake (an id that is there, or is not) is an error that changes nothing.
  local function enter(map) map:enter(random(ids), coordinates()) end
  local function watch(map, person)
    local past = options.sight and random(3) > 1 and { sight = true, linger = random(4) - 1 } or nil
    map:add_node(random(ids), random(nodes), area(), handlers(person), past)
  end
  local function walk(map)
    for _ = 1, random(8) do map:move(random(ids), coordinates()) end
    map:flush()
  end
  local acts = {
    enter, enter, enter, enter, watch, watch, watch, walk, walk, walk, walk, walk, walk,
    function(map) map:leave(random(ids)) end,
    function(map) map:remove_node(random(ids), random(nodes)) end,
    function(map) map:set_radius(random(ids), random(nodes), random(50)) end,
    function(map) map:set_mask(random(ids), random(nodes), random(7)) end,
    function(map) map:set_kind(random(ids), random(7)) end,
    function(map)
      local x, y, z = coordinates()
      map:move_many(options.dimensions == 3 and { random(ids), x, y, z } or { random(ids), x, y })
    end,
    function(map) map:tick() end,
    function(map) map:add_client(random(ids), VIEW, { to = random(2) == 1 and random(people).address or nil }) end,
    function(map) map:remove_client(random(ids)) end,
    function(map) map:resend(random(ids)) end,
    function(map, person)
      if random(10) > 1 then return end
      map:close()
      open(person)
    end,
  }
  local function build(map)
    local x, y = random(size), random(size)
    if options.dimensions == 3 then
      map:wall(x, y, x + random(24) - 12, y + random(24) - 12, random(5), 4 + random(5))
    else
      map:wall_many { x, y, x + random(24) - 12, y + random(24) - 12, 50, random(size), random(size), 50 }
    end
  end
  for _, one in ipairs(options.sight and {
    build, build,
    function(map) map:remove_wall(random(stats.walls)) end,
    function(map) map[random { "open_wall", "shut_wall" }](map, random(stats.walls)) end,
  } or {}) do
    acts[#acts + 1] = one
  end

  local function act(person, what)
    if person.busy then return end
    person.busy = true
    coroutine.wrap(function()
      local ok, err = pcall(what, person.map, person)
      if not ok and not is_expected(tostring(err)) then error(err, 0) end
      if person.map.closed then open(person) end -- it has been taken for dead
      person.busy = false
    end)()
  end

  local function quiet()
    net.stalled, net.quiet = {}, true
    if options.loses then -- the last message may be among what is lost
      net:run()
      for _, person in ipairs(people) do person.client:ask_for_all() end
    end
    -- Events, the whole view of clients that fell behind, and what handlers caused.
    for _ = 1, options.silent and 10 or 4 do
      net.time = net.time + 10
      server:probe_all()
      for _, person in ipairs(people) do
        while person.waiting[1] do go_on(person) end
        person.client:beat(false)
        if person.map and person.map.closed then act(person, function() end) end
      end
      net:tick(server)
    end
    for _, person in ipairs(people) do
      while person.waiting[1] do go_on(person) end
    end
    net.quiet = false
    stats.quiet = stats.quiet + 1
    local space = server.names.map
    if not space then return end
    assert(space.core:check())
    local by_link, alive, records = {}, {}, {}
    for _, person in ipairs(people) do
      by_link[person.map.link], alive[person.address] = person, true
      assert(#person.client.logged == 0, person.client.logged[1])
      assert(person.failed == 0, "a handler has failed, and nothing is said of it")
      assert(options.loses or person.taken_for_dead or person.client.counters.lost == 0)
      local expected = {}
      local its_own = (space.clients[person.map.link] or { nodes = {} }).nodes
      for record in pairs(its_own) do expected[record.number], records[record.number] = true, true end
      for handle, record in pairs(person.client.records) do
        assert(expected[handle], "a record that the service has not")
        local seen, n = set_of(person.map:seen(record.watcher, record.node))
        assert(same_set(seen, space.core.views[handle]), "the view differs from the plain space's")
        assert(same_set(seen, record.handlers.seen), "the handlers have heard something else")
        local view, count = walls.seer(space, server.records[handle]):view(record.watcher, handle)
        assert(n == count)
        for _, target in ipairs(view) do assert(seen[target]) end
        stats.compared = stats.compared + 1
      end
      for handle in pairs(expected) do
        assert(person.client.records[handle], "a record that the client has not")
      end
    end
    for handle in pairs(server.records) do assert(records[handle], "a record that has ended is kept") end
    for id, ent in pairs(space.ents) do
      assert(space.core:has(id) and space.clients[ent.client].entities[id], "an entity that has gone is kept")
    end
    for address in pairs(server.subscribers) do assert(alive[address], "a subscriber is dead") end
    for id, view in pairs(space.views) do
      local player = by_link[view.client].players[id]
      check_picture(space.core, id, player and player.known or {}, options.quantum)
      stats.pictures = stats.pictures + 1
    end
  end

  for _ = 1, steps do
    while #people < 4 do born() end
    local what = random(400)
    go_on(random(people))
    if what <= 180 then act(random(people), random(acts))
    elseif what <= 320 then for _ = 1, random(6) do net:step() end
    elseif what <= 380 then server:tick()
    elseif what <= 386 then net:stall(random(people).address)
    elseif what <= 392 then net:resume(random(people).address)
    elseif what == 393 then
      local k = random(#people)
      net[options.silent and "lose" or "kill"](net, people[k].address)
      stats.events = stats.events + people[k].heard
      stats.deaths = stats.deaths + 1
      table.remove(people, k)
    elseif what == 394 then -- it is taken for dead, and begins anew
      local person = random(people)
      person.taken_for_dead = true
      if not options.first_seq and random(3) == 1 then server:drop(person.address) end
    elseif what <= 396 then server:probe_all()
    else quiet() end
  end
  quiet()
  stats.resyncs = select(2, server.post:counters())
  for _, person in ipairs(people) do stats.events = stats.events + person.heard end
  return stats
end

describe("the view of a subscriber", function()
  local cases = {
    { name = "over a window that is wide enough", window = 1000 },
    { name = "over a window of two messages", window = 2, quantum = 4 },
    { name = "in messages of 60 bytes", window = 3, max_message = 60 },
    { name = "while handlers ask the service", window = 4, handlers_ask = true },
    { name = "in three dimensions", window = 4, dimensions = 3 },
    { name = "while handlers wait", window = 4, handlers_wait = true },
    {
      name = "while handlers wait and fail", window = 1000, handlers_wait = true, handlers_fail = true, watched = true,
    },
    { name = "while messages are lost", window = 1000, loses = true },
    { name = "past the largest number of a message", window = 4, first_seq = 0xfffffff0 },
    { name = "while deaths are silent", window = 4, silent = true },
    { name = "past walls", window = 2, sight = true },
    { name = "past walls in three dimensions", window = 4, sight = true, dimensions = 3 },
  }
  for number, case in ipairs(cases) do
    for _, engine in ipairs(number == 1 and aoi.engines() or { aoi.engines()[1] }) do
      it(("always becomes the truth %s (%s)"):format(case.name, engine), function()
        case.engine, case.dimensions = engine, case.dimensions or 2
        world(SEED + number, STEPS, case)
      end)
    end
    -- What chance brings is asked of one history that is always the same.
    it("sees deaths and much else " .. case.name, function()
      case.engine, case.dimensions = aoi.engines()[1], case.dimensions or 2
      local stats = world(63, 6000, case)
      assert.is_true(stats.compared > 50 and stats.events > 300 and stats.deaths > 5)
      assert.is_true(stats.pictures > 0)
      if case.window <= 3 then assert.is_true(stats.resyncs > 0) end
    end)
  end
end)
