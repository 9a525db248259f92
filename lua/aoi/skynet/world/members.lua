-- The processes of a world and their failures; part of the exchange (exchange.lua), which passes itself as `self`.
-- Every process has a line to each other one, and detects the end of another process by the failure of that line.
--
--   line fails --> missing: this process takes nothing more from the other, passes on the last orders, sends "gone"
--              --(all processes with a working line send it)--> dropped: the barrier waits for that process no more
--
-- So the remaining processes have the same orders, and a process that they report gone finds none to close an epoch
-- with: the barrier is the fence. Of two processes that cannot reach each other while both reach a third one, the later
-- is dropped, as the third accepts the report of the earlier. The remaining ones go on if they are more than half, or
-- half with the first of all; else they wait until the missing ones answer under another boot: those have died, then.
--
--   exchange.processes[index]    { name, boot, since = the first epoch in which it takes part }
--   exchange.lines[index]        its line, with votes: set of the processes that have reported it gone; proven: it has
--                                been started again; done: the last epoch whose mail it has sent completely; outgoing:
--                                parts of the coming epoch for it
--   exchange.missing[index]      why its line has failed
--   exchange.dropped_boots[boot]        set of the boots of dropped processes
--   exchange.dropped             indices of dropped processes that no change lists yet

local Line = require "aoi.skynet.world.line"

local members = {}

function members.begin(self)
  self.lines, self.batches, self.missing, self.dropped_boots, self.dropped, self.last_index = {}, {}, {}, {}, {}, 0
end

function members.add(self, index, process)
  process = { name = process.name, boot = process.boot, since = process.since or 0 }
  self.processes[index], self.last_index = process, math.max(self.last_index, index)
  if index == self.here then return end
  self.batches[index] = {}
  self.lines[index] = Line.new {
    votes = {}, done = math.max(self.epoch, process.since - 1), outgoing = {},
    boot = self.processes[self.here].boot, peer = process.boot, now = self.now, patience = self.patience,
    silence = self.silence,
    call = function(batch, done) self.call(index, batch, done) end,
    take = function(item) self:take(index, item) end,
    fail = function(reason, answer) members.lose(self, index, reason, answer) end,
  }
  for other in pairs(self.missing) do self.lines[index]:put { "gone", other, self.lines[other].proven } end
end

--- The index of a name in a list of processes, or a table by index; nil: there is none.
function members.index_of(processes, name)
  for index, process in pairs(processes) do
    if process.name == name then return index end
  end
end

--- To all other processes.
function members.send_all(self, ...)
  for _, line in pairs(self.lines) do line:send { ... } end
end

--- The leader (director.lua): the first process that takes part.
function members.leader(self)
  local first
  for index, process in pairs(self.processes) do
    if process.since <= self.epoch and (not first or index < first) then first = index end
  end
  return first
end

-- The others have dropped this process: it was to leave, or they could not reach it.
local function end_here(self)
  for _, one in ipairs(self.pending) do
    for _, index in ipairs(one.change.gone or {}) do
      self.leaving = self.leaving or index == self.here
    end
  end
  if self.leaving then return end
  self:finish("the others have taken this process for dead", true)
end

--- To be called often: a process that leaves ends here when its last items have arrived.
function members.leave(self)
  if not self.leaving or self.closed then return end
  for _, line in pairs(self.lines) do
    if not line:is_empty() then return end
  end
  self:finish("this process has left it", true)
end

-- Whether the processes with working lines may go on without the missing ones.
local function is_majority(self)
  local all, living, first = 0, 0, members.leader(self)
  for index, process in pairs(self.processes) do
    if process.since <= self.epoch + 1 and not (index ~= self.here and self.lines[index].proven) then
      all, living = all + 1, living + (self.missing[index] and 0 or 1)
    end
  end
  return 2 * living > all or 2 * living == all and not self.missing[first]
end

local function have_all_voted(self, index)
  for other in pairs(self.processes) do
    if not self.missing[other] and not self.lines[index].votes[other] then return false end
  end
  return true
end

--- The barrier waits for that process no more. announced: a change lists it, so all processes drop it.
function members.drop(self, index, announced)
  local process = self.processes[index]
  if not process then return end
  if self.lines[index] then self.lines[index]:close() end
  self.processes[index], self.lines[index], self.missing[index] = nil, nil, nil
  self.dropped_boots[process.boot] = true
  if not announced then self.dropped[#self.dropped + 1] = index end
  self:on_drop(index)
end

local function check(self)
  local due = {}
  for index in pairs(self.missing) do
    if is_majority(self) and have_all_voted(self, index) then due[#due + 1] = index end
  end
  for _, index in ipairs(due) do members.drop(self, index) end
  if due[1] then self:go_on() end
end

-- The last orders go first: all processes that go on have the same ones.
local function report_gone(self, index)
  for other, line in pairs(self.lines) do
    if not self.missing[other] then
      for _, order in ipairs(self.orders) do line:put { "order", table.unpack(order) } end
      line:send { "gone", index, self.lines[index].proven }
    end
  end
end

--- The line of that process has failed. answer: of the call that caused it, or nil.
function members.lose(self, index, reason, answer)
  if self.closed or self.missing[index] then return end
  if answer and answer.dropped then return end_here(self) end
  if answer and answer.early then return self:finish("the others do not know this process", true) end
  self.say(("process '%s' is gone: %s"):format(self.processes[index].name, reason))
  local line = self.lines[index]
  self.missing[index], line.votes[self.here], line.proven = reason, true, answer and answer.again
  report_gone(self, index)
  check(self)
end

--- A process reports that another one (`index`) is gone; proven: it has been started again; answers: the report is a
-- reply to one of this process. Of two that do not reach each other the later goes, so that all agree on one.
function members.vote(self, process, index, proven, answers)
  if not self.processes[index] then -- dropped here already
    if answers or not self.lines[process] then return end
    return self.lines[process]:send { "gone", index, nil, true }
  end
  local line = self.lines[index]
  if not line then return end -- this process itself: the others drop it
  line.votes[process], line.proven = true, line.proven or proven
  if (proven or process < index) and not self.missing[index] then
    line:close()
    local why = proven and "it has been started again" or "process '%s' does not reach it"
    return members.lose(self, index, why:format(self.processes[process].name), { again = proven })
  end
  check(self)
end

--- To be called now and then: calls missing processes. An answer may report that this process has been dropped, or that
-- the other one has been started again.
function members.ask_missing(self)
  for index in pairs(self.missing) do
    local line = self.lines[index]
    self.call(index, { boot = line.boot, to = line.peer, number = 0, items = {} }, function(ok, answer)
      if self.closed or not ok or not self.missing[index] then return end
      if answer.dropped then return end_here(self) end
      if not answer.again or line.proven then return end
      line.proven = true
      report_gone(self, index)
      check(self)
    end)
  end
end

--- A batch of another process, by its index. Returns the reply to that call.
function members.receive(self, index, batch)
  if self.dropped_boots[batch.boot] then return { boot = false, dropped = true, reason = "they go on without it" } end
  local line = self.lines[index]
  if not line then return { early = true } end
  return line:receive(batch)
end

return members
