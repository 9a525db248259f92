-- A line: the ordered channel from this process to another one. members.lua keeps one per process. Each item put on it
-- arrives there once and in order, over calls that may fail before or after they have been served. One call is under
-- way at a time, and its return is the acknowledgement; items that wait meanwhile go with the next one. If a call fails
-- its batch is sent again under the same number, by which the receiver recognizes it.
--
--   put -> queue -> batch { boot, to, number, items } --call--> take(item), in order
--
-- A receiver that has yet to learn that the sender takes part answers { early = true }, and gets the batch again.
--
-- `boot` identifies one life of a world in one process. A batch names the boot of its sender and, in `to`, of its
-- receiver; a batch from or for another life is refused.

local failures = require "aoi.skynet.failures"

local REPEATS = 0.2    -- seconds between a failed call and the next one
local EARLY_FACTOR = 3 -- `early` lasts so many times `patience`: the process that admitted this one may have died
local QUIET = 0.5      -- seconds after which a batch is sent in any case, as only a call detects a death

local Line = {}
Line.__index = Line

--- options: boot: of this side; peer: the boot of the other side; call(batch, done), which calls done(ok, answer) once,
-- later; take(item) takes an item that has arrived; fail(reason, answer) is called once, when the line has failed, with
-- the answer that caused it, if any; now() in seconds; patience: seconds for which failing calls are repeated; silence:
-- seconds without a return after which a call counts as failed for good, 0: never.
function Line.new(options)
  local self = setmetatable({ queue = {}, number = 0, taken = 0, dead = false, calls = 0 }, Line)
  for name, value in pairs(options) do self[name] = value end
  return self
end

local function fail_line(self, reason, answer)
  if self.dead then return end
  self:close()
  self.fail(reason, answer)
end

local function send_batch(self)
  self.flying, self.sent_at, self.calls = true, self.now(), self.calls + 1
  self.call(self.batch, function(ok, answer)
    self.flying = false
    if self.dead then return end
    if ok and answer.boot == self.peer then
      self.failing, self.batch, self.early = nil, nil, nil
      self:push()
    elseif ok and answer.early then
      self.failing, self.early, self.reason = self.failing or self.now(), answer, "it does not know this process"
    elseif ok and not answer.doubted then
      fail_line(self, answer.reason, answer)
    else
      self.failing, self.early = self.failing or self.now(), nil
      self.reason = failures.reason(ok and answer.reason or answer)
    end
  end)
end

--- Sends the items that wait, if no call is under way.
function Line:push()
  if self.flying or self.dead or self.failing then return end
  if not self.batch then
    if #self.queue == 0 then return end
    self.number = self.number + 1
    self.batch = { boot = self.boot, to = self.peer, number = self.number, items = self.queue }
    self.queue = {}
  end
  send_batch(self)
end

--- To be called often: repeats failed calls, and fails the line after `patience` or `silence`.
function Line:poll()
  if self.dead then return end
  local now = self.now()
  if self.flying then
    if self.silence > 0 and now - self.sent_at > self.silence then
      fail_line(self, ("it has not answered for %g s"):format(self.silence))
    end
  elseif self.failing then
    local patience = self.early and EARLY_FACTOR * self.patience or self.patience
    if now - self.failing > patience then
      return fail_line(self, ("calls to it have failed for %g s (%s)"):format(patience, self.reason), self.early)
    end
    if now - self.sent_at >= REPEATS then send_batch(self) end
  elseif now - (self.sent_at or 0) > math.min(QUIET, self.patience / 4) then
    self:send { "alive" }
  end
end

--- The item goes with the next batch.
function Line:put(item) self.queue[#self.queue + 1] = item end

--- The item goes at once, with all that wait, if no call is under way.
function Line:send(item)
  self:put(item)
  self:push()
end

--- The answer to a batch for another life than `boot`, which may have no line yet; nil: the batch is for this life.
function Line.refusal(batch, boot)
  if batch.to ~= boot then return { boot = false, again = true, reason = "it has been started again" } end
end

--- A batch of the other side. Returns the answer to its call. A process that has given the other side up, and waits for
-- the agreement of all, answers `doubted`: the other side repeats its calls until it learns which of them is dropped.
function Line:receive(batch)
  if batch.boot ~= self.peer then return { boot = false, reason = "it knows another life of this process" } end
  if self.dead then return { boot = false, doubted = true, reason = "it has given this process up" } end
  if batch.number == self.taken + 1 then
    self.taken = batch.number
    for _, item in ipairs(batch.items) do self.take(item) end
  end
  return { boot = self.boot }
end

--- Whether all items have arrived, or never will.
function Line:is_empty() return self.dead or not self.batch and #self.queue == 0 end

--- Makes no more calls, and reports nothing.
function Line:close()
  self.dead = true
  self.queue, self.batch = {}, nil
end

return Line
