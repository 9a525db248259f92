-- A line to another process: whatever is put on it arrives there once and in order, over calls that may fail before or
-- after they have been served. One call is under way at a time; its return is the acknowledgement. What waits meanwhile
-- goes with the next one; a batch whose call failed is sent again with its number, by which the other side knows it.
--
--   put -> queue -> batch { boot, number, items } --call--> take -> items, in order
--
-- A receiver that has yet to hear that the sender takes part answers { early = true }, and gets the batch again.
--
-- `boot` stands for one life of a world in one process: a batch names that of its sender and, in `to`, that of its
-- receiver, and one from or to another life is refused.

local failures = require "aoi.skynet.failures"

local REPEATS = 0.2 -- seconds between a call that failed and the next one
local EARLY = 3     -- times as long calls may be `early`: who knows of this process may be dead, which takes `patience`
local QUIET = 0.5   -- seconds after which something is sent, as only a call tells that the other side lives

local Line = {}
Line.__index = Line

--- options: boot, of this side; peer, the boot of the other; call(batch, done), which calls done(ok, answer) once,
-- later; take(item) takes what arrives; fail(reason, answer) is called once, when the line is of no use any more,
-- with the answer that said so, if it was one; now() in
-- seconds; patience: for so many seconds calls that fail are repeated; silence: a call that does not return for so many
-- seconds counts as the end, 0: it never does.
function Line.new(options)
  local self = setmetatable({ queue = {}, number = 0, taken = 0, dead = false, calls = 0 }, Line)
  for name, value in pairs(options) do self[name] = value end
  return self
end

local function die(self, reason, answer)
  if self.dead then return end
  self:close()
  self.fail(reason, answer)
end

local function call_peer(self)
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
      die(self, answer.reason, answer)
    else
      self.failing, self.early = self.failing or self.now(), nil
      self.reason = failures.reason(ok and answer.reason or answer)
    end
  end)
end

--- Sends what waits, if the line is free.
function Line:push()
  if self.flying or self.dead or self.failing then return end
  if not self.batch then
    if #self.queue == 0 then return end
    self.number = self.number + 1
    self.batch = { boot = self.boot, to = self.peer, number = self.number, items = self.queue }
    self.queue = {}
  end
  call_peer(self)
end

--- To be called often: repeats what has failed, and ends what has failed for too long.
function Line:poll()
  if self.dead then return end
  local now = self.now()
  if self.flying then
    if self.silence > 0 and now - self.sent_at > self.silence then
      die(self, ("it has not answered for %g s"):format(self.silence))
    end
  elseif self.failing then
    local patience = self.early and EARLY * self.patience or self.patience
    if now - self.failing > patience then
      return die(self, ("calls to it have failed for %g s (%s)"):format(patience, self.reason), self.early)
    end
    if now - self.sent_at >= REPEATS then call_peer(self) end
  elseif now - (self.sent_at or 0) > math.min(QUIET, self.patience / 4) then
    self:send { "alive" }
  end
end

--- The item waits for the next batch.
function Line:put(item) self.queue[#self.queue + 1] = item end

--- It goes at once, with all that waits, if the line is free.
function Line:send(item)
  self:put(item)
  self:push()
end

--- The answer to a batch for another life than that of `boot`, which may not even have a line yet; nil: it is for that.
function Line.refusal(batch, boot)
  if batch.to ~= boot then return { boot = false, again = true, reason = "it has been started again" } end
end

--- A batch of the other side. Returns the answer to its call. One that has given the other side up and waits until all
-- agree is still there: the other side goes on asking, as it hears soon whether it is the one that has to go.
function Line:receive(batch)
  if batch.boot ~= self.peer then return { boot = false, reason = "it knows another life of this process" } end
  if self.dead then return { boot = false, doubted = true, reason = "it has given this process up" } end
  if batch.number == self.taken + 1 then
    self.taken = batch.number
    for _, item in ipairs(batch.items) do self.take(item) end
  end
  return { boot = self.boot }
end

--- Whether all that was put on it has arrived, or never will.
function Line:is_empty() return self.dead or not self.batch and #self.queue == 0 end

--- No more calls; nothing is reported.
function Line:close()
  self.dead = true
  self.queue, self.batch = {}, nil
end

return Line
