-- Writes a recording as one page that needs no server: `aoi view FILE`.
--
--   source (CSV or journal) --tick--> spaces, one for each engine --observers--> blocks --base64--> page
--
-- The space of the first engine is the one that is told; of the others only what their indexes are made of, in some of
-- the ticks.

local checks = require "aoi.checks"
local aoi = require "aoi"
local assets = require "aoi.viewer.assets"
local base64 = require "aoi.viewer.base64"
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
  quantum = "number",
}

local function check(options, level)
  checks.options(options, OPTIONS, 3, "write", level + 1)
  local known = {}
  for _, engine in ipairs(aoi.engines()) do known[engine] = true end
  for _, engine in ipairs { options.engine, (table.unpack or unpack)(options.engines or {}) } do
    if not known[engine] then
      error(("bad argument #3 to 'write' (no engine '%s')"):format(tostring(engine)), level + 1)
    end
  end
end

-- Data elements of a page, as they come.
local function writer(file)
  local waiting, size, total = {}, 0, 0
  local function flush()
    if size == 0 then return end
    assert(file:write('<script type="aoi-blocks">', base64(table.concat(waiting)), "</script>\n"))
    waiting, size = {}, 0
  end
  return {
    put = function(bytes)
      if not bytes then return end
      waiting[#waiting + 1], size, total = bytes, size + #bytes, total + #bytes
      if size >= PIECE then flush() end
    end,
    flush = flush,
    total = function() return total end,
  }
end

local function digits(id) return (math.type and math.type(id) == "integer" and "%d" or "%.0f"):format(id) end

-- What the nodes of a space see when the recording begins.
local function seen(space)
  local views = {}
  for _, id in ipairs((space:ids())) do
    for _, node in ipairs((space:nodes(id))) do
      local list, n = space:view(id, node)
      for i = 1, n do list[i] = digits(list[i]) end
      if n > 0 then views[#views + 1] = { digits(id), digits(node), list } end
    end
  end
  return #views > 0 and blocks.block("J", json.encode { what = "seen", views = views }) or nil
end

-- The structure of one engine, in as many ticks as its share of bytes allows.
local function sampler(engine, observer, main, ticks)
  local rate, due = STRUCTURE_BYTES / math.max(1, ticks), 0
  return function(tick, put)
    if tick < due then return end
    local block = observer:structure(-math.huge, -math.huge, math.huge, math.huge)
    due = tick + math.max(1, math.ceil(#block / rate))
    put(main and block or blocks.of_engine(engine, block))
  end
end

-- Brute force has no index, and needs seconds a tick for thousands.
local function engines_of(source, main, given)
  local list = { main }
  for _, engine in ipairs(given or aoi.engines()) do
    if given or engine ~= "brute" or source.most <= MOST_BRUTE then list[#list + 1] = engine end
  end
  return list
end

local function open_spaces(source, options)
  local runs, told = {}, {}
  for _, engine in ipairs(engines_of(source, options.engine or "list", options.engines)) do
    if not told[engine] then
      told[engine] = true
      local run = source:open(engine, options.cell)
      local quantum = #runs == 0 and options.quantum or nil
      run.observer = aoi.observe(run.space, { exact = true, quantum = quantum, events = MOST_EVENTS })
      run.sample = sampler(engine, run.observer, #runs == 0, source.ticks > 0 and source.ticks or 2000)
      runs[#runs + 1] = run
    end
  end
  return runs
end

-- A box that grows around what it is shown.
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

-- Plays all spaces, tick by tick; returns how many ticks were told, and whether all were.
local function play(source, runs, options, out)
  local from, to, every = options.from or -math.huge, options.to or math.huge, options.every or 0
  local limit, next_time, ticks, box = options.limit or MOST_BYTES, -math.huge, 0, box_of()
  local function ended(complete)
    out.put(box.block())
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
      out.put(runs[1].observer:changes())
      for _, run in ipairs(runs) do run.sample(ticks, out.put) end
      out.put(blocks.tick(time))
      if ticks % 16 == 0 then box.add(runs[1].space) end
      ticks, next_time = ticks + 1, time + every
    end
    if options.on_progress then options.on_progress(runs[1].at, source.ticks) end
    if out.total() > limit then return ended(false) end
  end
end

--- Writes the page of a recording, a CSV file or a journal.
--
-- | option | meaning | default |
-- |---|---|---|
-- | `engine` | plays the recording; its index is told first | list |
-- | `engines` | those whose indexes the page shows | all; `brute` up to 500 entities |
-- | `cell` | a hint to the engines | |
-- | `areas` | of a CSV recording, which has none: one node for each area, ids 1, 2 ... | circles around about ten |
-- | `dimensions` | 2: leaves the heights of a CSV recording out | those of the recording |
-- | `from`, `to`, `every` | seconds of the recording | all of it, each tick |
-- | `quantum` | of positions, which are exact with and without | |
-- | `limit` | bytes of data after which it ends | 192 MB |
-- | `title` | | the file's name |
-- | `on_progress(ticks, of)` | called after each tick; `of` is nil for journals | |
--
-- @param source_path the recording
-- @param out_path the page
-- @param options a table, or nil
-- @return a table: `ticks`, `bytes` of data, `complete` (false where `limit` cut it off); or nil and what is wrong with
--   a file
function page.write(source_path, out_path, options)
  options = options or {}
  if type(source_path) ~= "string" then error("bad argument #1 to 'write' (string expected)", 2) end
  if type(out_path) ~= "string" then error("bad argument #2 to 'write' (string expected)", 2) end
  if type(options) ~= "table" then error("bad argument #3 to 'write' (table expected)", 2) end
  check(options, 2)
  local source, why = sources.open(source_path, options)
  if not source then return nil, why end
  local file
  file, why = io.open(out_path, "wb")
  if not file then return nil, why end
  local head, tail = assets.page()
  file:write(head)
  local out = writer(file)
  out.put(blocks.block("J", json.encode {
    what = "head", title = options.title or source.title, engine = options.engine or "list", exact = true,
  }))
  local runs = open_spaces(source, options)
  local ticks, complete = play(source, runs, options, out)
  out.flush()
  local ok
  ok, why = file:write(tail)
  file:close()
  for _, run in ipairs(runs) do
    run.observer:close()
    run:close()
  end
  if not ok then return nil, out_path .. ": " .. tostring(why) end
  return { ticks = ticks, bytes = out.total(), complete = complete }
end

return page
