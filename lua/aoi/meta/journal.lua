--- Journals: every call that changes a space, recorded and played again. docs/journal.md is the guide.
--- @module aoi.journal
---@meta aoi.journal

-- luacheck: ignore 212 241

--- What `journal.record` takes.
---@class aoi.RecordOptions
---@field ring? integer bytes to keep in memory instead of a sink, 4,096 or more: the last ones

--- What `journal.read` takes.
---@class aoi.PlayOptions
---@field engine? aoi.Engine to play on; without it the recorded one
---@field handlers? fun(id: integer, node_id: integer): function|aoi.Handlers?, function? as for `aoi.load`

--- What is in a journal.
---@class aoi.JournalInfo
---@field bytes integer that are good: a journal that was cut off is good up to its last whole record
---@field whole boolean it was stopped, not cut off
---@field inexact boolean a flush was refused memory half way: events and kept pairs may differ from there on
---@field calls integer
---@field refused integer calls that the core refused
---@field events integer that were delivered
---@field marks integer
---@field first? any time of the first mark
---@field last? any time of the last mark
---@field of_call table<string, integer> calls by name

local journal = {}

--- From now on every call that changes the space is written, in order. One journal a space. The sink gets a snapshot
--- first. A function is called with strings of any length, when a method of the space begins, at marks, at the end;
--- it must not yield, and its error ends the journal and is raised.
---@param space aoi.Space
---@param sink? string|function path, or `function(bytes)`; nil with the option `ring`
---@param options? aoi.RecordOptions
---@return aoi.Journal
function journal.record(space, sink, options) end

--- Reads a journal. Other bytes are an error that says what is wrong.
---@param path string
---@param options? aoi.PlayOptions
---@return aoi.Player
function journal.read(path, options) end

--- The same, but such a file is no error.
---@param path string
---@param options? aoi.PlayOptions
---@return aoi.Player? player
---@return string? reason why there is none
function journal.try(path, options) end

--- The same for the bytes themselves.
---@param bytes string
---@param options? aoi.PlayOptions
---@return aoi.Player
function journal.open(bytes, options) end

--- What records a space, until it is stopped, the space closes, or nothing reaches either.
---@class aoi.Journal
local Journal = {}

--- A tick: a time to find again. All that was recorded before it goes to the sink: a crash loses what comes later.
---@param time number seconds, ticks or any other finite number that does not go back
function Journal:mark(time) end

--- Ends it. What could not be written is an error here. Stopping twice is harmless.
function Journal:stop() end

--- What a ring has, as a whole journal.
---@return string bytes
function Journal:dump() end

--- How many bytes there are so far; of a ring, that it has.
---@return integer
function Journal:bytes() end

--- Plays a journal: makes its calls again.
---@class aoi.Player
---@field space aoi.Space as it was; a new one whenever it goes back. Look at it, and change nothing
---@field time? any of the last mark that was passed
---@field times any[] of all marks
---@field calls integer made so far
---@field info aoi.JournalInfo
local Player = {}

--- Makes the next call, and delivers what was delivered then, to the handlers of `options.handlers`. A call that was
--- refused is returned and not made again. Marks behind it are passed: `time` says which.
---@return string|false name of the call, false at the end
---@return integer? id
---@return integer? node_id
---@return integer? rows of a batch
---@return string? refused why
function Player:step() end

--- Goes to the last mark that is not later than that time; to the beginning, where there is none. Forwards the handlers
--- are called for all events on the way, backwards for none.
---@param time number seconds, ticks, or whatever the marks are
---@return any time of that mark
function Player:seek(time) end
