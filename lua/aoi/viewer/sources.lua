-- Sources of a page, which are CSV recordings (aoi.tools.recording) or journals (aoi.journal).
--
--   source:open(engine) -> run      run.space, run:step() -> the time of the next tick or nil, run:close()

local aoi = require "aoi"
local recording = require "aoi.tools.recording"
local replay = require "aoi.tools.replay"

local sources = {}

-- A round radius (1, 2 or 5 times a power of ten) with about ten neighbours on average in the step with most entities.
local function usual_radius(rec)
  local full = rec[1]
  for _, step in ipairs(rec) do
    if step.n > full.n then full = step end
  end
  local stride, x0, x1, y0, y1 = rec.dimensions + 1, math.huge, -math.huge, math.huge, -math.huge
  for at = 1, full.n * stride, stride do
    x0, x1 = math.min(x0, full[at + 1]), math.max(x1, full[at + 1])
    y0, y1 = math.min(y0, full[at + 2]), math.max(y1, full[at + 2])
  end
  local size = (x1 - x0) * (y1 - y0)
  local r = math.sqrt(10 * math.max(size, 1e-12) / (math.pi * full.n))
  local power = 10 ^ math.floor(math.log(r) / math.log(10))
  for _, k in ipairs { 1, 2, 5, 10 } do
    if r <= k * power then return k * power end
  end
  return r
end

-- ---- CSV -----------------------------------------------------------------------------------------------------------

local function open_csv(path, options)
  local rec, why = recording.read(path, options.dimensions)
  if not rec then return nil, why end
  if #rec == 0 then return nil, path .. ": there is no row in it" end
  local areas = options.areas or { { shape = "circle", radius = usual_radius(rec) } }
  return {
    title = path:match("[^/\\]*$"), ticks = #rec, most = rec.most,
    open = function(_, engine, cell) return replay.open(rec, engine, cell, areas) end,
  }
end

-- ---- journals ------------------------------------------------------------------------------------------------------

local CALLS = 100 -- calls in a tick of a journal without marks

local JournalRun = {}
JournalRun.__index = JournalRun

-- Plays to the end of the next tick with calls; those after the last mark are a tick of their own, and so are, as one,
-- ticks without calls at the end. A journal without marks has a tick every CALLS calls; its time is their number.
function JournalRun:step()
  if self.ended then return nil end
  local player, first = self.player, self.player.calls
  local marked = #player.times > 0
  repeat
    self.ended = not player:step()
  until self.ended or (marked and player.mark >= player.tick) or (not marked and player.calls - first >= CALLS)
  local called = player.calls > first
  if not called and player.time == self.time then return nil end
  self.at = self.at + 1
  if not marked then return player.calls end
  self.time = player.time -- of ticks without calls at the end
  if called then self.time = player.times[player.tick] or player.time + 1e-3 end -- after the last mark
  return self.time
end

function JournalRun:close() self.player.space:close() end

local function open_journal(path)
  local journal = require "aoi.journal"
  local nothing = {}
  local function handlers() return nothing end -- since nodes without handlers make no events
  local function open(engine) return journal.try(path, { engine = engine, handlers = handlers }) end
  local first, why = open(aoi.engines()[1])
  if not first then return nil, path .. ": " .. why end
  local most, ticks = first.space:count(), #first.times
  first.space:close()
  return {
    title = path:match("[^/\\]*$"), most = most, ticks = ticks,
    open = function(_, engine)
      local player = assert(open(engine))
      return setmetatable({ player = player, space = player.space, at = 0, begins_full = true }, JournalRun)
    end,
  }
end

--- Whether a file is a recording in CSV, by its first bytes or its name; then the error where it cannot be opened.
function sources.is_csv(path)
  local file, why = io.open(path, "rb")
  local begin = file and file:read(3) or ""
  if file then file:close() end
  return begin:sub(1, 2) == "\31\139" or begin == "t,i" or path:find("%.csv$") or path:find("%.csv%.gz$"), why
end

--- Opens a recording or a journal; returns nil and the reason if the file is neither or cannot be read.
function sources.open(path, options)
  local is_csv, why = sources.is_csv(path)
  if why then return nil, why end
  return (is_csv and open_csv or open_journal)(path, options)
end

return sources
