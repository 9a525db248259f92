-- Writes a recording as one page that needs no server: `aoi view FILE`.
--
--   source (CSV, journal, program) --tick--> spaces, one for each engine --observers--> blocks --base64--> page
--                                                      `--aoi.sync--> messages of one client --'
--
-- A page shows the space of the first engine, and for the others the structure of the index, in some of the ticks. It
-- has one or more chapters, each with its own source.

local checks = require "aoi.checks"
local aoi = require "aoi"
local assets = require "aoi.viewer.assets"
local base64 = require("aoi.core.helpers").base64
local blocks = require "aoi.viewer.blocks"
local json = require "aoi.viewer.json"
local sources = require "aoi.viewer.sources"

local page = {}

local PIECE = 3 * 2 ^ 18                -- bytes of blocks in one element of the page
local STRUCTURE_BYTES = 2 ^ 19          -- of each engine
local MOST_BYTES = 192 * 2 ^ 20
local MOST_EVENTS = 2 ^ 31
local MOST_BRUTE = 500                  -- entities

local OPTIONS = {
  engine = "string", engines = "table", areas = "table", title = "string", from = "number", to = "number",
  every = "number", cell = "number", on_progress = "function", limit = "number", dimensions = "number",
  quantum = "number", client = "table", story = "table",
}

local function check(options, n, level)
  options = checks.options(options, OPTIONS, n, "write", level + 1)
  checks.engine(options.engine, n, "write", level + 1)
  for _, engine in ipairs(options.engines or {}) do checks.engine(engine, n, "write", level + 1) end
  local client = options.client
  if client and (type(client.id) ~= "number" or client.area == nil) then
    checks.fail(n, "write", "bad value for option 'client': { id = ..., area = ... } expected", level + 1)
  end
  return options
end

local function is_source(it) return type(it) == "string" or type(it) == "table" and it.open ~= nil end

-- Checks the arguments of `write`. Returns a list of chapters: { source, options } each.
local function chapters_of(source, options)
  if is_source(source) then
    return { { source, check(options, 3, 3) } }
  end
  if type(source) ~= "table" or type(source[1]) ~= "table" then
    checks.fail(1, "write", "a path, a program or a list of chapters expected, got " ..
      (type(source) == "table" and next(source) == nil and "an empty table" or type(source)), 3)
  end
  if options ~= nil then checks.fail(3, "write", "no options beside chapters: each has its own", 3) end
  local chapters = {}
  for i, given in ipairs(source) do
    local own = {}
    for name, value in pairs(given) do own[name] = name ~= "source" and value or nil end
    check(own, 1, 3)
    if not is_source(given.source) then
      checks.fail(1, "write", ("chapter %d: 'source' is neither a path nor a program"):format(i), 3)
    end
    chapters[i] = { given.source, own }
  end
  return chapters
end

-- Writes blocks into data elements of a page, PIECE bytes each. `total`: the bytes of blocks; `fault`: the reason if a
-- write has failed.
local function writer(file)
  local out, waiting, size = { total = 0 }, {}, 0
  function out.write(text)
    local ok, why = file:write(text)
    if not ok then out.fault = out.fault or why end
  end
  function out.flush()
    if size == 0 then return end
    out.write('<script type="aoi-blocks">' .. base64(table.concat(waiting)) .. "</script>\n")
    waiting, size = {}, 0
  end
  function out.put(bytes)
    if not bytes then return end
    waiting[#waiting + 1], size, out.total = bytes, size + #bytes, out.total + #bytes
    if size >= PIECE then out.flush() end
  end
  return out
end

-- A block with the views of all nodes at the beginning of the recording.
local function seen(space)
  local views = {}
  for _, id in ipairs((space:ids())) do
    for _, node in ipairs((space:nodes(id))) do
      local list, n = space:view(id, node)
      for i = 1, n do list[i] = json.id(list[i]) end
      if n > 0 then views[#views + 1] = { json.id(id), json.id(node), list } end
    end
  end
  return #views > 0 and blocks.block("J", json.encode { what = "seen", views = views }) or nil
end

-- A function that returns the messages of one client in each tick, packed by `aoi.sync`, as blocks of type C.
local function client_of(run, options)
  if not options then return function() return nil end end
  local sync = require("aoi.sync").new(run.space, { quantum = options.quantum or 0.01, sight = run.sight })
  local is_client = false
  return function()
    local here, was = run.space:has(options.id), is_client
    if here and not was then sync:add(options.id, options.area) end
    is_client = here
    local news = was and not here and blocks.block("C", "") or nil -- it has left: its picture is empty
    sync:tick(function(_, message) news = blocks.block("C", message) end)
    return news
  end
end

-- A function that writes the structure of one engine's index, in as many ticks as STRUCTURE_BYTES allow.
local function sampler(engine, observer, main, ticks)
  local rate, due = STRUCTURE_BYTES / math.max(1, ticks), 0
  return function(tick, put)
    if tick < due then return end
    local block = observer:structure(-math.huge, -math.huge, math.huge, math.huge)
    due = tick + math.max(1, math.ceil(#block / rate))
    put(main and block or blocks.of_engine(engine, block))
  end
end

-- Without `given` all engines, except brute force for many entities: it has no index and needs seconds per tick.
local function engines_of(source, main, given)
  local list, listed = { main }, { [main] = true }
  for _, engine in ipairs(given or aoi.engines()) do
    if not listed[engine] and (given or engine ~= "brute" or (source.most or 0) <= MOST_BRUTE) then
      list[#list + 1], listed[engine] = engine, true
    end
  end
  return list
end

local function open_spaces(source, options)
  local runs = {}
  for i, engine in ipairs(engines_of(source, options.engine or "list", options.engines)) do
    local run = source:open(engine, options.cell)
    local quantum = i == 1 and options.quantum or nil
    run.observer = aoi.observe(run.space, { exact = true, quantum = quantum, events = MOST_EVENTS })
    run.sample = sampler(engine, run.observer, i == 1, (source.ticks or 0) > 0 and source.ticks or 2000)
    runs[i] = run
  end
  return runs
end

-- The bounding box of all entities in the spaces that were added.
local function box_of()
  local x0, y0, x1, y1 = math.huge, math.huge, -math.huge, -math.huge
  local ids = {}
  return {
    add = function(space)
      space:ids(ids)
      for _, id in ipairs(ids) do
        local x, y = space:position(id)
        x0, x1, y0, y1 = math.min(x0, x), math.max(x1, x), math.min(y0, y), math.max(y1, y)
      end
    end,
    block = function()
      return x0 <= x1 and blocks.block("J", json.encode { what = "bounds", box = { x0, y0, x1, y1 } }) or nil
    end,
  }
end

-- Plays all spaces, tick by tick; returns the number of ticks written, and whether these are all.
local function play(source, runs, options, out)
  local from, to, every = options.from or -math.huge, options.to or math.huge, options.every or 0
  local limit, next_time, ticks, box = options.limit or MOST_BYTES, -math.huge, 0, box_of()
  local client_news = client_of(runs[1], options.client)
  local function ended(complete)
    out.put(box.block())
    local story = options.story or runs[1].story
    if story then out.put(blocks.block("J", json.encode { what = "story", story = story })) end
    return ticks, complete
  end
  while true do
    local time
    for i, run in ipairs(runs) do
      local now = run:step()
      if i == 1 then time = now end
    end
    if not time or time > to then return ended(true) end
    if time >= from and time >= next_time then
      if ticks == 0 and runs[1].begins_full then out.put(seen(runs[1].space)) end
      local news = client_news() -- called before the observer, which shows the client's view, but written after it
      out.put(runs[1].observer:changes())
      out.put(news)
      for _, run in ipairs(runs) do run.sample(ticks, out.put) end
      out.put(blocks.tick(time))
      if ticks % 16 == 0 then box.add(runs[1].space) end
      ticks, next_time = ticks + 1, time + every
    end
    if options.on_progress then options.on_progress(runs[1].at, source.ticks) end
    if out.total > limit or out.fault then return ended(false) end
  end
end

local function write_chapter(source, options, out)
  out.put(blocks.block("J", json.encode {
    what = "head", title = options.title or source.title, engine = options.engine or "list", exact = true,
    client = options.client and json.id(options.client.id) or nil,
  }))
  local runs = open_spaces(source, options)
  local ticks, complete = play(source, runs, options, out)
  out.flush()
  for _, run in ipairs(runs) do
    run.observer:close()
    run:close()
  end
  return ticks, complete
end

--- Writes a page of a CSV recording, a journal or a program, or of several of these as chapters.
--
-- | option | meaning | default |
-- |---|---|---|
-- | `engine` | plays the recording; its index is shown first | list |
-- | `engines` | the engines with an index on the page | all; `brute` up to 500 entities |
-- | `cell` | a hint to the engines | |
-- | `areas` | of a CSV recording, which has none: one node for each area, ids 1, 2 ... | circles around about ten |
-- | `dimensions` | 2: ignores the heights of a CSV recording | those of the recording |
-- | `from`, `to`, `every` | seconds of the recording | the whole recording, each tick |
-- | `quantum` | of positions, which are exact with and without | |
-- | `limit` | bytes of data after which the page ends | 192 MB |
-- | `title` | | the file's name |
-- | `client` | `{ id =, area = [, quantum =] }`: adds the messages for a client with that view | |
-- | `story` | additional texts: see below | |
-- | `on_progress(ticks, of)` | called after each tick; `of` is nil for journals | |
--
-- A program is a table: `open(self, engine [, cell])` returns a run, a table with `space`, `step(self)` (one tick;
-- returns its time in seconds, nil at the end), `close(self)`, and optionally `sight` (the walls for the client) and
-- `story`.
--
-- A story is a table of lists, all optional: `names` (by id, as text), `kinds` (names of the bits), `areas` (true: they
-- are shown at first), `captions` (`{ time =, text = [, watch = [, target =]] }`), `says` (`{ time =, id =, text =,
-- lasts = }`). A page with a story starts to play by itself.
--
-- @param source the recording's path, a program, or a list of chapters: options with a field `source`
-- @param out_path the page
-- @param options a table, or nil; not beside chapters
-- @return a table: `ticks`, `bytes` of data, `complete` (false if `limit` was reached); or nil and the reason if a file
--   cannot be read or written
function page.write(source, out_path, options)
  local chapters = chapters_of(source, options)
  if type(out_path) ~= "string" then
    error("bad argument #2 to 'write' (the path of the page expected, got " .. type(out_path) .. ")", 2)
  end
  for _, chapter in ipairs(chapters) do
    if type(chapter[1]) == "string" then
      local opened, why = sources.open(chapter[1], chapter[2])
      if not opened then return nil, why end
      chapter[1] = opened
    end
  end
  local file, why = io.open(out_path, "wb")
  if not file then return nil, why end
  local head, tail = assets.page()
  local out, ticks, complete = writer(file), 0, true
  out.write(head)
  for _, chapter in ipairs(chapters) do
    local n, all = write_chapter(chapter[1], chapter[2], out)
    ticks, complete = ticks + n, complete and all
  end
  out.write(tail)
  local _, fault = file:close() -- the last bytes are written here
  fault = out.fault or fault
  if fault then return nil, out_path .. ": " .. tostring(fault) end
  return { ticks = ticks, bytes = out.total, complete = complete }
end

return page
