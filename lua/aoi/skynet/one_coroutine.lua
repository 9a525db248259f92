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
-- This file finds them; the replacement of dispatch_message itself is in C (src/skynet/wire_listener.c).

local skynet = require "skynet"
local wire = require "aoi.skynet.wire"

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
  local running = found.cresume and places.running_thread or 0 -- `resume` sets the one, and calls the other
  local through = false

  local function other(...)
    through = true
    return dispatch_message(...)
  end

  local function after(is_waiting, source, co, ...)
    local ok, err = pcall(suspend, co, ...)
    if is_waiting then waits(source) end
    if forks[1] then dispatch_message(ptype, "", 0, 0, skynet.self()) end -- runs them after this message
    if not ok then error(err, 0) end
  end

  return wire.listener(ptype, running, receivers, running > 0 and found.cresume or resume, resume, woken, failed, forks,
    other, after, finish), function() return through end
end
