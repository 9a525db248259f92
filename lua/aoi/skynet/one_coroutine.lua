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
-- @param clients by address of the sender, of those whose messages are taken here: receive_events(message, size)
-- @param finish finish(client, message, size, ...): with what that has returned; takes what it has left. The client may
-- have ended while a handler waited, and another may have begun with the same sender
-- @param waits waits(source): a handler waits in the coroutine, or has raised where none may; called once
-- @return a second function: whether a message of another sort has come: skynet's messages do come through the first
return function(dispatch_message, ptype, clients, finish, waits)
  local inner = dispatch_message and upvalues(dispatch_message) or {}
  local resume, suspend, forks = inner.coroutine_resume, inner.suspend, inner.fork_queue
  if not (resume and suspend and forks) then return dispatch_message, function() return false end end
  local through = false
  local idle -- the coroutine that waits for the next message

  local function listen(client, message, size)
    local me = running()
    while true do
      finish(client, message, size, client.receive_events(message, size))
      if idle then return end
      idle = me
      client, message, size = yield "SUSPEND"
    end
  end

  return function(kind, message, size, session, source)
    local client = kind == ptype and clients[source]
    if not client then
      through = true
      return dispatch_message(kind, message, size, session, source)
    end
    local co = idle or coroutine.create(listen)
    idle = nil
    local ok, err = pcall(suspend, co, resume(co, client, message, size))
    if not idle then waits(source) end
    if forks[1] then dispatch_message(ptype, "", 0, 0, skynet.self()) end -- runs them behind this
    if not ok then error(err, 0) end
  end, function() return through end
end
