-- aoi.command: the program `aoi`, which replays, explains, shows and sums up journals and recordings.
--
--   aoi replay FILE    aoi explain FILE --at TIME WATCHER NODE TARGET    aoi events FILE    aoi view FILE
--   aoi stat FILE      aoi audit JOURNAL MESSAGES
--
-- FILE is a journal (docs/journal.md) or a recording of movement in CSV (aoi.tools.recording). Exit status: 0; 1 where
-- a file cannot be read or a check fails; 2 for misuse.
local aoi = require "aoi"
local checks = require "aoi.checks"
local journal = require "aoi.journal"
local read_file = require "aoi.read_file"
local reserved = require "aoi.reserved"
local sorted_keys = require "aoi.sorted_keys"
local sources = require "aoi.viewer.sources"
local sync = require "aoi.sync"

local command = {}

local OK, FAILED, MISUSED = 0, 1, 2

-- Shows the progress of a command that runs longer than a second, as one line that is overwritten each second.
local function progress(quiet)
  local begin, last, shown = os.time(), os.time(), false
  local function report(done, all)
    local now = os.time()
    if quiet or now == last or now - begin < 2 then return end
    last, shown = now, true
    io.stderr:write(all and ("\r%3d %%"):format(100 * done / all) or ("\r%d"):format(done))
    io.stderr:flush()
  end
  local function stop()
    if shown then io.stderr:write("\r            \r") end
  end
  return report, stop
end

-- ---- files ---------------------------------------------------------------------------------------------------------

local function refuse(why, status) error({ why = why, status = status }, 0) end

local function read_journal(path, options)
  local player, why = journal.try(path, options or {})
  if not player then refuse(path .. ": " .. why) end
  return player
end

-- Both kinds of files are opened as a run: `space`; `time`; `step()` to the next tick; `go(time)`; `explain(watcher,
-- node, target)`, of nodes of sights past walls; `done` and `all` for the progress; `tally`: the number of events.
-- `count(name, watcher, target, node)` is called for each event; `tick()` is the time of its tick, and true behind the
-- last mark.
local function open_csv(args, count)
  local source, why = sources.open(args.file, { areas = args.radius[1] and args.radius })
  if not source then refuse(why) end
  local run = source:open(args.engine or aoi.engines()[1])
  local self = { space = run.space, all = source.ticks, done = 0 }
  function self.step()
    local time = run:step()
    if not time then return false end
    self.time, self.done = time, self.done + 1
    local e = run.events
    for i = 1, 4 * run.n, 4 do count(e[i] == aoi.ENTER and "enter" or "leave", e[i + 1], e[i + 2], e[i + 3]) end
    return true
  end
  function self.tick() return self.time end
  function self.explain(...) return run.space:explain(...) end
  function self.go(time)
    while (run:next_time() or math.huge) <= time do self.step() end
    return self.time
  end
  return self
end

local function open_journal(args, count)
  if args.radius[1] then refuse(args.file .. ": a journal has areas of its own: --radius is for recordings") end
  local handlers = {
    enter = function(...) count("enter", ...) end,
    leave = function(...) count("leave", ...) end,
  }
  local player = read_journal(args.file, { engine = args.engine, handlers = function() return handlers end })
  local self = { space = player.space, all = player.info.calls, done = 0 }
  function self.step() -- to the next mark, or to the end
    local time, more = player.time
    repeat
      more = player:step()
      if more then self.done = self.done + 1 end
    until not more or player.mark >= player.tick
    self.space, self.time = player.space, player.time
    return more and true or self.time ~= time
  end
  function self.tick() -- the mark that ends it; player.time is the last one that is passed
    local time = player.times[player.mark + 1]
    return time or player.time, not time
  end
  function self.explain(...) return player.cursor:explain(player.space, ...) or player.space:explain(...) end
  function self.go(time)
    player:seek(time)
    self.space, self.time = player.space, player.time
    return self.time
  end
  return self
end

-- Opens the file of a command with the options that `run_options` adds; `on_event`, as `count` above, may be nil.
local function open(args, on_event)
  local tally = { enter = 0, leave = 0 }
  local run = (sources.is_csv(args.file) and open_csv or open_journal)(args, function(name, ...)
    tally[name] = tally[name] + 1
    if on_event then on_event(name, ...) end
  end)
  run.tally = tally
  return run
end

-- ---- commands ------------------------------------------------------------------------------------------------------

function command.replay(args)
  local run = open(args)
  local report, stop = progress(args.quiet)
  local ticks, clock = 0, os.clock()
  while run.step() do
    ticks = ticks + 1
    report(run.done, run.all)
    if args.check then
      local ok, why = pcall(run.space.check, run.space)
      if not ok then
        stop()
        print(("%s: at %s: %s"):format(args.file, tostring(run.time), why))
        return FAILED
      end
    end
  end
  stop()
  local stats = run.space:stats()
  print(("%d ticks, up to %s: %d entities, %d nodes, %d enter, %d leave, in %.2f s%s"):format(ticks,
    tostring(run.time or "the end"), stats.entities, stats.nodes, run.tally.enter, run.tally.leave,
    os.clock() - clock, args.check and "; every tick checked against brute force" or ""))
  return OK
end

local function label_of(area) return area.label and (" '%s'"):format(area.label) or "" end

-- `labels` keeps those of removed nodes, since the leave events of a node come after its removal.
function command.events(args)
  if (args.from or -math.huge) > (args.to or math.huge) then
    refuse(("--from %s is later than --to %s"):format(tostring(args.from), tostring(args.to)), MISUSED)
  end
  local run, labels = nil, {}
  run = open(args, function(name, watcher, target, node)
    local key, area = ("%d:%d"):format(watcher, node), run.space:area(watcher, node)
    if area then labels[key] = label_of(area) end
    if (args.watcher or watcher) ~= watcher or (args.target or target) ~= target then return end
    local time, late = run.tick()
    if (time or -math.huge) < (args.from or -math.huge) or (time or -math.huge) > (args.to or math.huge) then return end
    print(("%s%s %s %d %d node %d%s"):format(tostring(time or "-"), late and "+" or "", name, watcher, target, node,
      labels[key] or ""))
  end)
  repeat local more = run.step() until not more or (run.time or -math.huge) > (args.to or math.huge)
  return OK
end

-- The fields of an area in a fixed order, as `circle, radius 5, mask 1`.
local function area_text(area)
  local words = { area.shape or "square" }
  for _, name in ipairs { "radius", "keep", "extents", "half_height", "facing", "angle", "margin", "offset",
    "mask", "layers" } do
    local value = area[name]
    if type(value) == "table" then value = table.concat(value, " x ") end
    if value ~= nil and not (name == "mask" and value == -1) then
      words[#words + 1] = ("%s %s"):format(name, type(value) == "number" and ("%.14g"):format(value) or value)
    end
  end
  local corners = #(area.points or {}) / 2
  for _, ring in ipairs(area.rings or {}) do corners = corners + #ring / 2 end
  if corners > 0 then words[#words + 1] = ("%d corners"):format(corners) end
  if area.rings then words[#words] = ("%s in %d rings"):format(words[#words], #area.rings) end
  return table.concat(words, ", ")
end

-- The targets that a node sees, by id, as text.
local function seen_by(run, watcher, node)
  local ids, seen = run.space:ids(), {}
  table.sort(ids)
  for _, id in ipairs(ids) do
    if run.explain(watcher, node, id).sees then seen[#seen + 1] = ("%d"):format(id) end
  end
  return seen
end

-- Prints the nodes of an entity, or the targets that one of them sees.
local function list_nodes(run, watcher, node)
  local space = run.space
  if not space:has(watcher) then refuse(("there is no entity %d then"):format(watcher)) end
  local nodes, n = space:nodes(watcher)
  table.sort(nodes)
  if node then
    if not space:area(watcher, node) then refuse(("entity %d has no node %d then"):format(watcher, node)) end
    local seen = seen_by(run, watcher, node)
    print(("node %d of entity %d (%s) sees %d: %s"):format(node, watcher, area_text(space:area(watcher, node)), #seen,
      table.concat(seen, " ")))
    return
  end
  print(("entity %d has %d nodes"):format(watcher, n))
  local state = sync.state(space, watcher)
  for _, name in ipairs((sorted_keys(state))) do
    local value = state[name]
    print(("  field %s: %s"):format(name, type(value) == "string" and ("%q"):format(value) or tostring(value)))
  end
  for _, id in ipairs(nodes) do
    local area = space:area(watcher, id)
    local layer = reserved.has(id) and " of a layer (trigger, team, neighbours, client)" or ""
    print(("  node %d%s%s: %s, sees %d"):format(id, label_of(area), layer, area_text(area), #seen_by(run, watcher, id)))
  end
end

function command.explain(args)
  local run = open(args)
  local time = run.go(args.at)
  local at = time and ("at " .. tostring(time)) or "at the beginning"
  if args.target then
    print(("%s: %s"):format(at, tostring(run.explain(args.watcher, args.node, args.target))))
    return OK
  end
  print(at .. ":")
  list_nodes(run, args.watcher, args.node)
  return OK
end

function command.view(args)
  local out = args.output or args.file:match("[^/\\]*$"):gsub("%.gz$", ""):gsub("%.[^.]*$", "") .. ".html"
  local report, stop = progress(args.quiet)
  local page = require "aoi.viewer.page"
  local done, why = page.write(args.file, out, { engine = args.engine, on_progress = report })
  stop()
  if not done then refuse(why) end
  print(("%s: %d ticks, %.1f MB%s"):format(out, done.ticks, done.bytes / 1e6, done.complete and "" or
    "; the end is left out: choose less with aoi.viewer.page"))
  return OK
end

-- Reads the messages that a host has logged, each as a line `PLACE CLIENT LENGTH`, LENGTH bytes and a line break. PLACE
-- is the length of the journal at that time.
local function messages_of(path)
  local text, why = read_file(path)
  if not text then refuse("cannot read the messages: " .. why) end
  local list, at = {}, 1
  while at <= #text do
    local place, client, length, from = text:match("^(%d+) (-?%d+) (%d+)\r?\n()", at)
    at = from and from + tonumber(length) or math.huge
    if at > #text or text:sub(at, at) ~= "\n" or not checks.is_integer(tonumber(client)) then
      refuse(("%s: message %d is damaged, or cut off"):format(path, #list + 1))
    end
    list[#list + 1] = { place = tonumber(place), client = tonumber(client), bytes = text:sub(from, at - 1) }
    at = at + 1
  end
  return list
end

-- Iterates over the calls and marks of a journal.
local function steps_of(player)
  return function() return player.cursor:step(player.space) end
end

-- The places in a journal where the ticks of clients that see past walls end, and its pins: place, client, target.
local function ticks_of(player)
  local ticks, pins, cursor = {}, {}, player.cursor
  for name, id, node in steps_of(player) do
    if name == "tick_sight" and id == 1 then ticks[#ticks + 1] = cursor:tell()
    elseif name == "pin" then pins[#pins + 1] = { place = cursor:tell(), client = id, target = node } end
  end
  return ticks, pins
end

-- Calls `on_record(what, id)` for each record of a message; `news` is the message as read.
local function each_record(message, news, on_record)
  local dims = 2 + message:byte(2) % 2 -- docs/sync-wire.md: bit 0 of its flags
  local width = { gone = 1, appeared = 2 + dims, moved = 1 + dims, touched = 2, fields = 2 }
  for _, what in ipairs { "gone", "appeared", "moved", "touched", "fields" } do
    local list = news[what]
    for i = 0, list and list.n - 1 or -1 do on_record(what, list[i * width[what] + 1]) end
  end
  for id in pairs(news.parts or {}) do on_record("part of a text", id) end
end

-- A message may contain targets that a view of its client sees in the tick that made it, pinned targets and the
-- client's own entity; and it may report the end of targets that earlier messages contained.
function command.audit(args)
  local messages = messages_of(args.messages)
  local ticks, pins = ticks_of(read_journal(args.file))
  local player = read_journal(args.file)
  local cursor = player.cursor
  local known, pinned, records, leaks, at, pin, time = {}, {}, 0, 0, 1, 1, nil
  local report, stop = progress(args.quiet)
  if not ticks[1] then refuse(args.file .. ": no clients that see past walls were served in it") end
  if messages[1] and messages[1].place < ticks[1] then
    refuse(args.messages .. ": has messages that were sent before the journal's first tick of clients")
  end
  local function add_pin(client, target)
    pinned[client] = pinned[client] or {}
    pinned[client][target] = true
  end
  local function check(message)
    local client = message.client
    while pins[pin] and pins[pin].place <= message.place do -- some of the callback of the tick that made the message
      add_pin(pins[pin].client, pins[pin].target)
      pin = pin + 1
    end
    local news = sync.read(message.bytes)
    if not news then
      refuse(("%s: message %d is none of aoi.sync"):format(args.messages, at))
    end
    local knows = not news.anew and known[client] or {}
    known[client] = knows
    each_record(message.bytes, news, function(what, id)
      local may = what == "gone" and knows[id] or id == client or pinned[client] and pinned[client][id]
        or cursor:shows(player.space, client, id)
      knows[id] = what ~= "gone" or nil
      records = records + 1
      if may then return end
      leaks = leaks + 1
      print(("leak: behind tick %s client %d was sent %d (%s), which no view of it saw"):format(
        tostring(time or "-"), client, id, what))
    end)
  end
  local function drop_pins()
    for client, targets in pairs(pinned) do
      for target in pairs(targets) do
        if not (player.space:has(client) and player.space:has(target)) then targets[target] = nil end
      end
    end
  end
  local tick = 0
  for name, id, node in steps_of(player) do
    if name == "mark" then time = id
    elseif name == "pin" then add_pin(id, node)
    elseif name == "unpin" and pinned[id] then pinned[id][node] = nil
    elseif name == "leave" or name == "leave_many" then drop_pins()
    elseif name == "remove_node" and reserved.is_first_view(node) then pinned[id] = nil
    elseif name == "tick_sight" and id == 1 then
      tick = tick + 1
      report(tick, #ticks)
      while messages[at] and messages[at].place < (ticks[tick + 1] or math.huge) do
        check(messages[at])
        at = at + 1
      end
    end
  end
  stop()
  print(("%d ticks, %d messages, %d records: %s"):format(#ticks, at - 1, records, leaks == 0
    and "nothing that no view of its client saw" or ("%d leaks"):format(leaks)))
  return leaks == 0 and OK or FAILED
end

local function stat_csv(path)
  local rec, why = require("aoi.tools.recording").read(path)
  if not rec then refuse(why) end
  print(("recording, %d dimensions"):format(rec.dimensions))
  print(("%d rows in %d steps, at most %d entities at once"):format(rec.rows, #rec, rec.most))
  if rec[1] then print(("from %s to %s"):format(tostring(rec[1].t), tostring(rec[#rec].t))) end
end

local function stat_journal(path)
  local player = read_journal(path)
  local info, stats = player.info, player.space:stats()
  print(("journal, %.1f KB%s"):format(info.bytes / 1024, info.whole and "" or ", cut off: good up to there"))
  print(("begins with %d entities and %d nodes"):format(stats.entities, stats.nodes))
  if info.marks > 0 then
    print(("%d marks from %s to %s"):format(info.marks, tostring(info.first), tostring(info.last)))
  end
  print(("%d calls, %d refused; %d events delivered"):format(info.calls, info.refused, info.events))
  for _, name in ipairs((sorted_keys(info.of_call))) do print(("  %-14s %d"):format(name, info.of_call[name])) end
end

function command.stat(args)
  if sources.is_csv(args.file) then stat_csv(args.file) else stat_journal(args.file) end
  return OK
end

-- ---- arguments -----------------------------------------------------------------------------------------------------

-- argparse takes each word that begins with a minus for an option: this character is put before negative numbers.
local ESCAPE = "\1"

local function escaped(argv)
  local list = {}
  for i, text in ipairs(argv) do list[i] = text:find "^%-%.?%d" and tonumber(text) and ESCAPE .. text or text end
  return list
end

local function unescape(text) return (text:gsub("^" .. ESCAPE, "")) end

-- Makes the function that converts the text of an argument or option; its error names it, unlike those of argparse.
local function converter(name, expected, convert)
  return function(text)
    text = unescape(text)
    local value = convert(text)
    if not value or value ~= value then return nil, ("%s: %s expected, got '%s'"):format(name, expected, text) end
    return value
  end
end

local function integer(name)
  return converter(name, "integer", function(text)
    local value = text:find "^[+-]?%d+$" and tonumber(text)
    return checks.is_integer(value) and value
  end)
end

local function number(name) return converter(name, "number", tonumber) end

local function radius(text)
  local value = tonumber(text)
  return value and value >= 0 and value
end

local function new_parser(argparse)
  local parser = argparse("aoi", "Replays, explains, shows and checks recorded spaces.",
    "FILE is a journal, as aoi.journal writes it, or a recording of movement in CSV (t,id,x,y[,z]; may be gzipped).\n"
    .. "Exit status: 0; 1 where a file cannot be read or a check fails; 2 for misuse.")
  parser:flag("--version", "Print the version of the library."):action(function()
    print("aoi " .. aoi.VERSION)
    os.exit(0)
  end)
  parser:command_target "command"
  parser:require_command(true)
  local function add(name, what)
    local c = parser:command(name, what)
    c:argument("file", "A journal, or a recording in CSV."):args(1):convert(unescape)
    return c
  end
  local function engine(c, what) c:option("--engine", what):choices(aoi.engines()) end
  local function quiet(c) c:flag("-q --quiet", "Show no progress.") end
  local function run_options(c)
    engine(c, "The engine to use; default: that of the journal.")
    c:option("--radius", "For a recording, which has no areas: gives each entity a square with this half-extent; may"
      .. " be repeated. Default: a circle with about ten neighbours."):count("*"):argname "<r>"
      :convert(converter("--radius", "number >= 0", radius))
    quiet(c)
  end
  local replay = add("replay", "Repeat all calls and print the number of events.")
  run_options(replay)
  replay:flag("--check", "Compare every tick with brute force, and verify all invariants.")
  local explain = add("explain", "Explain why a node did or did not see a target at a time, in a sentence.")
  explain:option("--at", "Selects the last tick that is not later."):args(1):count(1):argname "<time>"
    :convert(number "--at")
  explain:argument("watcher", "Id of the entity that carries the node."):convert(integer "watcher")
  explain:argument("node", "Id of the node; without it the nodes are listed."):args("?"):convert(integer "node")
  explain:argument("target", "Id of the seen entity; without it the targets of the node are listed.")
    :args("?"):convert(integer "target")
  run_options(explain)
  local events = add("events", "List the events, a line each: time, enter or leave, watcher, target, node.")
  events:option("--from", "Ticks from this time on."):convert(number "--from"):argname "<time>"
  events:option("--to", "Ticks up to this time."):convert(number "--to"):argname "<time>"
  events:argument("watcher", "Id of the entity with the node; all without it."):convert(integer "watcher"):args("?")
  events:argument("target", "Id of the seen entity; all without it."):convert(integer "target"):args("?")
  run_options(events)
  local view = add("view", "Write one page that shows it in a browser; no server is needed.")
  view:option("-o --output", "The page; default: FILE with .html in the current folder."):argname "<page.html>"
  engine(view, "The engine with the index that is shown first.")
  quiet(view)
  add("stat", "Print a summary of the file.")
  local audit = add("audit", "Check that clients received only entities that their views saw, past walls.")
  audit:argument("messages", "Messages to clients: a line PLACE CLIENT LENGTH, the bytes, a line break."):args(1)
    :convert(unescape)
  quiet(audit)
  return parser
end

--- Runs the command line; returns its exit status.
function command.run(argv)
  local found, argparse = pcall(require, "argparse")
  if not found then
    io.stderr:write "aoi: needs argparse: luarocks install argparse, or the package lua-argparse of Debian\n"
    return FAILED
  end
  local parser = new_parser(argparse)
  local ok, args = parser:pparse(escaped(argv))
  if not ok then
    io.stderr:write(parser:get_usage(), "\n\nError: ", (tostring(args):gsub(ESCAPE, "")), "\n")
    return MISUSED
  end
  local good, result = pcall(command[args.command], args)
  if good then return result end
  local damage = type(result) == "string" and result:match "the journal does not fit .*"
  if damage then result = { why = args.file .. ": " .. damage } end
  if type(result) ~= "table" or not result.why then error(result, 0) end
  io.stderr:write("aoi: ", tostring(result.why), "\n")
  return result.status or FAILED
end

return command
