-- aoi.journal: records every call that changes a space, and plays a record again.
--
--   record   space --every call--> core --pieces--> file | function | ring
--   read     bytes --> cursor (C: position, next call) --> player: one space, which the next call changes
--
-- A player keeps snapshots (frames) at some of the marks that it passes, at most MOST_FRAMES. Seeking back loads the
-- last frame before the wanted mark and replays the calls from there.
local checks = require "aoi.checks"
local core = require "aoi.core"
local read_file = require "aoi.read_file"

local journal = core.journal -- with `record` and `cursor`, which are written in C

local MARK_BYTES = 9 -- size of a mark's record
local MOST_FRAMES, MOST_FRAME_BYTES, FRAME_CALLS = 48, 64 * 2 ^ 20, 20000

local Player = {}
Player.__index = Player

-- Index of the last mark that is not later than a limit; 0 if all are later. Ascending: the marks' times, or places.
local function mark_at(ascending, limit)
  local from, to = 0, #ascending
  while from < to do
    local mid = math.ceil((from + to) / 2)
    if ascending[mid] <= limit then from = mid else to = mid - 1 end
  end
  return from
end

-- Removes every second frame when there are too many; from then on frames are made half as often.
local function thin_frames(self)
  local kept, bytes = {}, 0
  for i, frame in ipairs(self.frames) do
    if i % 2 == 1 then
      kept[#kept + 1] = frame
      bytes = bytes + #frame.bytes
    end
  end
  self.frames, self.frame_bytes, self.frame_calls = kept, bytes, self.frame_calls * 2
end

local function keep_frame(self)
  local last = self.frames[#self.frames]
  if self.calls - (last and last.calls or 0) < self.frame_calls or (last and last.mark >= self.mark) then return end
  local frame = { bytes = self.space:save(), place = self.cursor:tell(), mark = self.mark, calls = self.calls }
  self.frames[#self.frames + 1] = frame
  self.frame_bytes = self.frame_bytes + #frame.bytes
  if #self.frames > MOST_FRAMES or self.frame_bytes > MOST_FRAME_BYTES then thin_frames(self) end
end

local function pass_mark(self)
  self.mark = self.mark + 1
  self.time = self.times[self.mark]
  keep_frame(self)
end

--- Makes the next call on `player.space`, calls the handlers for its events, and passes the marks behind it.
function Player:step(...)
  checks.self(self, Player, "step", "player:step()")
  if select("#", ...) > 0 then checks.fail(1, "step", "nothing expected: a step is one call") end
  local cursor = self.cursor
  local name, id, node, rows, refused
  repeat
    cursor:deliver(self.space)
    name, id, node, rows, refused = cursor:step(self.space)
    if name == "mark" then pass_mark(self) end
  until name ~= "mark"
  if not name then return false end
  self.calls = self.calls + 1
  self.tick = self.mark + 1 -- index of the mark that ends the tick of this call
  cursor:deliver(self.space)
  while self.places[self.mark + 1] == cursor:tell() + MARK_BYTES do
    cursor:step(self.space)
    pass_mark(self)
    cursor:deliver(self.space)
  end
  return name, id, node, rows, refused
end

-- Replays up to a later mark. `cursor:step` discards the events that have not been delivered.
local function forward(self, mark, delivers)
  local cursor = self.cursor
  while self.mark < mark do
    if delivers then cursor:deliver(self.space) end
    local name = cursor:step(self.space)
    if name == "mark" then pass_mark(self)
    elseif name then self.calls = self.calls + 1
    else return end
  end
end

local function replace_space(self, space)
  self.space:close()
  self.space = space
end

local function rewind(self, mark)
  local cursor, frame = self.cursor, nil
  for _, each in ipairs(self.frames) do
    if each.mark <= mark then frame = each end
  end
  if frame then
    replace_space(self, assert(cursor:load(frame.bytes)))
    cursor:go(frame.place)
    self.mark, self.calls = frame.mark, frame.calls
  else
    replace_space(self, assert(cursor:start(self.places[mark] or 0)))
    self.mark, self.calls = mark_at(self.places, cursor:tell()), 0
  end
  self.time = self.times[self.mark]
  forward(self, mark, false)
end

--- Goes to the last mark that is not later than `time`, or to the beginning if there is none.
function Player:seek(time, none)
  checks.self(self, Player, "seek", "player:seek(time)")
  checks.nothing(none, 2, "seek")
  if type(time) ~= "number" or time ~= time then
    error(("bad argument #1 to 'seek' (number expected, got %s)"):format(time ~= time and "nan" or type(time)), 2)
  end
  local mark = mark_at(self.times, time)
  if mark > self.mark then forward(self, mark, true)
  elseif mark < self.mark or self.cursor:tell() ~= (self.places[mark] or self.begin) then rewind(self, mark) end
  return self.time
end

local TYPES = { engine = "string", handlers = "function" }

-- Returns nil and the reason if the bytes are no journal; an error raised by `handlers` is raised unchanged.
local function player_of(bytes, options)
  local cursor, why = journal.cursor(bytes, options.handlers, options.engine)
  if not cursor then return nil, why end
  local times, places = cursor:marks()
  local space
  space, why = cursor:start()
  if not space then return nil, why end
  return setmetatable({
    cursor = cursor, space = space, times = times, places = places, info = cursor:info(), begin = cursor:tell(),
    mark = 0, calls = 0, frames = {}, frame_bytes = 0, frame_calls = FRAME_CALLS,
  }, Player)
end

-- Checks the arguments of the function `name` for its caller, and returns open(source, options).
local function checked(name, open, source, options, none)
  checks.type(source, "string", 1, name, 3)
  checks.nothing(none, 3, name, 3)
  options = checks.options(options, TYPES, 2, name, 3)
  checks.engine(options.engine, 2, name, 3)
  return open(source, options)
end

local function must(player, why)
  if not player then error(why, 3) end
  return player
end

local function player_in(path, options)
  local bytes, why = read_file(path)
  if not bytes then return nil, "cannot read the journal: " .. why end
  return player_of(bytes, options)
end

-- None of these has a tail call: an error is for the caller, whose place it has.

--- As `read`, for a journal that is given as a string.
function journal.open(bytes, options, none)
  return (must(checked("open", player_of, bytes, options, none)))
end

--- As `read`, but returns nil and the reason if the file is no journal or cannot be read.
function journal.try(path, options, none)
  local player, why = checked("try", player_in, path, options, none)
  return player, why
end

--- Reads a journal from a file. Returns a player; `player.space` has the state at the beginning of the journal.
function journal.read(path, options, none)
  return (must(checked("read", player_in, path, options, none)))
end

return journal
