-- skynet makes a coroutine for each message. For messages that come more often than anything else and mostly find a
-- handler or two, that costs more than to hear them: so one coroutine takes all of a sort, one by one, as long as no
-- handler waits in it; then another takes what comes.
--
--   dispatch_message --> of that sort? --> idle coroutine, or a new one --> receive --> idle again
--                    --> another       --> skynet's own
--
-- Nothing documented resumes a coroutine as skynet does, so that handlers may call whatever they may call elsewhere:
-- the functions are taken from the upvalues of skynet.dispatch_message, by name. Where one of them is not found, as in
-- a skynet that names them otherwise, or was started before this was loaded, each message has a coroutine of its own.
--
-- The memory of a service is cold when a message comes, so what counts is how much of it is touched: what receives the
-- message is found in one table, and what skynet does behind each message is left out where its queues are empty.

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

--- What takes the place of `dispatch_message`, which is skynet's; the same where that is not known.
-- @param ptype the type of the messages
-- @param receivers by address of the sender, of those whose messages are taken here: receive(message, size) returns
-- true, or something else where it has left something
-- @param finish finish(receive, message, size, ...): takes what it has left, with what it has returned. There may be
-- another one for the same sender by then, where a handler has waited
-- @param waits waits(source): a handler waits in the coroutine, or has raised where none may; called once
-- @return a second function: whether a message of another sort has come: skynet's messages do come through the first
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

  local function go_on(source, co, ...)
    local ok, err = pcall(suspend, co, ...)
    if not idle then waits(source) end
    if forks[1] then dispatch_message(ptype, "", 0, 0, skynet.self()) end -- runs them behind this
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
    go_on(source, co, ok, command)
  end, function() return through end
end
