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
-- A coroutine that is idle, while skynet's queues are empty, is all that a message needs.

local skynet = require "skynet"

local NEVER_EMPTY = { true } -- for a queue that is not found

-- Values and places of upvalues by name.
local function upvalues(f)
  local found, places, i = {}, {}, 1
  repeat
    local name, value = debug.getupvalue(f, i)
    if name then found[name], places[name] = value, i end
    i = i + 1
  until not name
  return found, places
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
  local found, places = upvalues(resume)
  local running = found.cresume and places.running_thread -- `resume` sets the one, and calls the other
  local resume_plainly, yield, set_upvalue = running and found.cresume or resume, coroutine.yield, debug.setupvalue
  local through = false
  local co, is_idle, is_running -- the coroutine; it awaits a message; skynet takes it for the running one

  local function listen(receive, message, size)
    local this = co
    while true do
      local done, a, b = receive(message, size)
      if not done then finish(receive, message, size, done, a, b) end
      if co ~= this then return end -- another one has replaced it meanwhile
      is_idle = true
      receive, message, size = yield "SUSPEND"
    end
  end

  local function suspended(source, ...)
    local is_waiting = not is_idle
    local ok, err = pcall(suspend, co, ...)
    if is_waiting then waits(source) end
    if forks[1] then dispatch_message(ptype, "", 0, 0, skynet.self()) end -- runs them after this message
    if not ok then error(err, 0) end
  end

  return function(kind, message, size, session, source)
    local receive = kind == ptype and receivers[source]
    if not receive then
      through, is_running = true, false
      return dispatch_message(kind, message, size, session, source)
    end
    if not is_idle then co, is_running = coroutine.create(listen), false end
    if running and not is_running then set_upvalue(resume, running, co) end
    is_idle, is_running = false, false
    local ok, command = resume_plainly(co, receive, message, size)
    is_running = is_idle and not (woken[1] or failed[1] or forks[1])
    if not is_running then return suspended(source, ok, command) end
  end, function() return through end
end
