-- skynet makes a coroutine for each message. For the most frequent messages, which mostly call one or two handlers,
-- that costs more than their delivery: so one coroutine processes all messages of a type one by one; while a handler
-- waits in it, another one processes the next messages.
--
--   dispatch_message --> of that type? --> idle coroutine, or a new one --> receive --> idle again
--                    --> another       --> skynet's own
--
-- Handlers may call any skynet function only in a coroutine that is resumed as skynet does it, for which there is no
-- documented function: the functions are taken from the upvalues of skynet.dispatch_message, by name. If one is not
-- found, as in a skynet with other names, or one started before this was loaded, each message has its own coroutine.
--
-- The memory of a service is cold when a message arrives, so the cost is the number of cache lines that are read: the
-- receiver is found in one table, and skynet's work after each message is skipped if its queues are empty.

local skynet = require "skynet"

local pcall, running, yield = pcall, coroutine.running, coroutine.yield

local NEVER_EMPTY = { true } -- for a queue that is not found

local function upvalues(f)
  local found, i = {}, 1
  repeat
    local name, value = debug.getupvalue(f, i)
    if name then found[name] = value end
    i = i + 1
  until not name
  return found
end

--- Returns a replacement of skynet's `dispatch_message`, or the same function if its upvalues are not known.
-- @param ptype the type of the messages
-- @param receivers address of the sender -> receive(message, size), which returns true if it has processed the message
-- @param finish finish(receive, message, size, ...): completes a message with the other results of receive. If a
-- handler has waited, `receivers` may have another function for the sender by then
-- @param waits waits(source): called once if a handler waits in the coroutine, or an error has left it
-- @return a second function: whether a message of another type has arrived, so that skynet uses the replacement
return function(dispatch_message, ptype, receivers, finish, waits)
  local inner = dispatch_message and upvalues(dispatch_message) or {}
  local resume, suspend, forks = inner.coroutine_resume, inner.suspend, inner.fork_queue
  if not (resume and suspend and forks) then return dispatch_message, function() return false end end
  local behind = upvalues(upvalues(suspend).dispatch_wakeup or suspend)
  local woken = behind.wakeup_queue or NEVER_EMPTY
  local failed = upvalues(behind.dispatch_error_queue or suspend).error_queue or NEVER_EMPTY
  local through = false
  local idle -- the coroutine that waits for the next message

  local function listen(receive, message, size)
    local me = running()
    while true do
      local done, turn, caught = receive(message, size)
      if done ~= true then finish(receive, message, size, done, turn, caught) end
      if idle then return end
      idle = me
      receive, message, size = yield "SUSPEND"
    end
  end

  local function finish_message(source, co, ...)
    local ok, err = pcall(suspend, co, ...)
    if not idle then waits(source) end
    if forks[1] then dispatch_message(ptype, "", 0, 0, skynet.self()) end -- runs them after this message
    if not ok then error(err, 0) end
  end

  return function(kind, message, size, session, source)
    local receive = kind == ptype and receivers[source]
    if not receive then
      through = true
      return dispatch_message(kind, message, size, session, source)
    end
    local co = idle or coroutine.create(listen)
    idle = nil
    local ok, command = resume(co, receive, message, size)
    if idle and not (woken[1] or failed[1] or forks[1]) then return end
    finish_message(source, co, ok, command)
  end, function() return through end
end
