-- skynet makes a coroutine for each message. For messages that come more often than anything else and mostly find a
-- handler or two, that costs more than to hear them: so one coroutine takes all of a sort, one by one, as long as no
-- handler waits in it; then another takes what comes.
--
--   dispatch_message --> of that sort? --> idle coroutine, or a new one --> take, finish --> idle again
--                    --> another       --> skynet's own
--
-- Nothing documented resumes a coroutine as skynet does, so that handlers may call whatever they may call elsewhere:
-- the functions are taken from the upvalues of skynet.dispatch_message, by name. Where one of them is not found, as in
-- a skynet that names them otherwise, or was started before this was loaded, each message has a coroutine of its own.

local skynet = require "skynet"

local pcall, running, yield = pcall, coroutine.running, coroutine.yield

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
-- @param takers by address of the sender: take(message, size), of those that are taken here
-- @param finish finish(source, message, size, ...): with what take has returned; takes what it has left
-- @param waits waits(source): a handler waits in the coroutine, or has raised where none may; called once
-- @return a second function: whether a message of another sort has come: skynet's messages do come through the first
return function(dispatch_message, ptype, takers, finish, waits)
  local inner = dispatch_message and upvalues(dispatch_message) or {}
  local resume, suspend, forks = inner.coroutine_resume, inner.suspend, inner.fork_queue
  if not (resume and suspend and forks) then return dispatch_message, function() return false end end
  local through = false
  local idle -- the coroutine that waits for the next message

  local function listen(take, source, message, size)
    local me = running()
    while true do
      finish(source, message, size, take(message, size))
      if idle then return end
      idle = me
      take, source, message, size = yield "SUSPEND"
    end
  end

  return function(kind, message, size, session, source)
    local take = kind == ptype and takers[source]
    if not take then
      through = true
      return dispatch_message(kind, message, size, session, source)
    end
    local co = idle or coroutine.create(listen)
    idle = nil
    local ok, err = pcall(suspend, co, resume(co, take, source, message, size))
    if not idle then waits(source) end
    if forks[1] then dispatch_message(ptype, "", 0, 0, skynet.self()) end -- runs them behind this
    if not ok then error(err, 0) end
  end, function() return through end
end
