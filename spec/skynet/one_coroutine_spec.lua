-- One coroutine takes all messages of a sort while no handler waits in it; in a skynet that does not have what it is
-- resumed with, each message is skynet's own matter. Both against a dispatch_message of the spec's own.
if not string.pack then return pending "one coroutine for all events: needs string.pack of Lua 5.3" end

local OURS, OTHERS, PEER = 65, 10, 7

describe("one coroutine for all events", function()
  local kept, made, log, fork_queue

  before_each(function()
    kept = package.loaded.skynet
    package.loaded.skynet = { self = function() return 1 end }
    made, log, fork_queue = package.loaded["aoi.skynet.one_coroutine"], {}, {}
    package.loaded["aoi.skynet.one_coroutine"] = nil
  end)

  after_each(function() package.loaded.skynet, package.loaded["aoi.skynet.one_coroutine"] = kept, made end)

  local function coroutine_resume(co, ...) return coroutine.resume(co, ...) end

  local suspend = function(_, ok, command)
    if not ok then error(command, 0) end
    log[#log + 1] = command or "ends"
  end

  -- As skynet has it, as far as it is used: with these functions, and what was forked runs behind each message.
  local function dispatch(kind)
    log[#log + 1] = "skynet " .. kind
    if coroutine_resume and suspend and fork_queue[1] then fork_queue[1] = nil end
  end

  local coroutines, receivers

  local function take(message)
    coroutines[#coroutines + 1] = coroutine.running()
    log[#log + 1] = message
    if message == "waits" then coroutine.yield "waits" end
    if message == "raises" then error("a mistake", 0) end
    if message == "forks" then fork_queue[1] = true end
    return message ~= "left" or nil
  end

  local function replaced(dispatch_message)
    coroutines = {}
    receivers = { [PEER] = take }
    return require "aoi.skynet.one_coroutine"(dispatch_message, OURS, receivers,
      function(receive, message, _, left)
        log[#log + 1] = "finish " .. message .. " " .. tostring(left) .. (receive ~= take and " of another" or "")
      end,
      function(source) log[#log + 1] = "waits for " .. source end)
  end

  local function send(f, ...)
    for _, message in ipairs { ... } do f(OURS, message, 1, 0, PEER) end
  end

  it("takes one after the other, and another one goes on where a handler waits", function()
    local f = replaced(dispatch)
    send(f, "a", "left", "waits", "b")
    assert.same({ "a", "SUSPEND", "left", "finish left nil", "SUSPEND", "waits", "waits", "waits for 7",
                  "b", "SUSPEND" }, log)
    assert.equal(coroutines[1], coroutines[2])
    assert.equal(coroutines[1], coroutines[3])
    assert.not_equal(coroutines[1], coroutines[4])
    log = {}
    coroutine.resume(coroutines[3]) -- the one that has waited ends, as another is idle
    send(f, "c")
    assert.same({ "c", "SUSPEND" }, log)
    assert.equal("dead", coroutine.status(coroutines[3]))
    assert.equal(coroutines[4], coroutines[5])
  end)

  it("finishes what has been begun with what has received it, though another has its place meanwhile", function()
    local f = replaced(dispatch)
    local function first(message)
      take(message)
      return false
    end
    receivers[PEER] = first
    send(f, "waits")
    receivers[PEER] = take
    send(f, "left")
    coroutine.resume(coroutines[1])
    assert.same({ "waits", "waits", "waits for 7", "left", "finish left nil", "SUSPEND",
                  "finish waits false of another" }, log)
  end)

  -- suspend has its queues.
  local function with_queues()
    local wakeup_queue, error_queue, plain = {}, {}, suspend
    local function dispatch_error_queue() return table.remove(error_queue, 1) end
    local function dispatch_wakeup() return table.remove(wakeup_queue, 1) or dispatch_error_queue() end
    suspend = function(...)
      plain(...)
      log[#log + 1] = dispatch_wakeup()
    end
    finally(function() suspend = plain end)
    return wakeup_queue, error_queue
  end

  it("leaves out what skynet does behind a message where nothing waits for that", function()
    local wakeup_queue, error_queue = with_queues()
    local f = replaced(dispatch)
    send(f, "a")
    wakeup_queue[1] = "woken"
    send(f, "b")
    error_queue[1] = "failed"
    send(f, "c", "waits", "forks")
    assert.same({ "a", "b", "SUSPEND", "woken", "c", "SUSPEND", "failed", "waits", "waits", "waits for 7",
                  "forks", "SUSPEND", "skynet 65" }, log)
  end)

  it("sets the coroutine that skynet's functions take for the running one, whatever ran before", function()
    local running_thread
    local cresume, plain, seen = coroutine.resume, coroutine_resume, {}
    with_queues()
    function coroutine_resume(co, ...)
      running_thread = co
      return cresume(co, ...)
    end
    local f = replaced(function()
      if suspend and fork_queue[1] then table.remove(fork_queue) end
      coroutine_resume(coroutine.create(function() end))
    end)
    receivers[PEER] = function(message)
      seen[#seen + 1] = running_thread == coroutine.running()
      return take(message)
    end
    send(f, "a", "b", "waits", "c", "forks", "d")
    f(OTHERS, "a", 1, 0, PEER)
    send(f, "e", "f")
    coroutine_resume = plain
    assert.same({ true, true, true, true, true, true, true, true }, seen)
  end)

  it("leaves other messages, and those of other services, to skynet", function()
    local f, through = replaced(dispatch)
    send(f, "a")
    log = {}
    assert.is_false(through())
    f(OTHERS, "a", 1, 0, PEER)
    f(OURS, "a", 1, 0, PEER + 1)
    assert.same({ "skynet 10", "skynet 65" }, log)
    assert.is_true(through())
  end)

  it("lets skynet run what was forked, and raises as skynet does", function()
    local f = replaced(dispatch)
    send(f, "forks")
    assert.same({ "forks", "SUSPEND", "skynet 65" }, log)
    log = {}
    assert.has_error(function() send(f, "raises") end, "a mistake")
    send(f, "a")
    assert.same({ "raises", "waits for 7", "a", "SUSPEND" }, log)
  end)

  it("is left out where skynet does not have these functions", function()
    local function another(kind) log[#log + 1] = kind end
    local f, through = replaced(another)
    assert.equal(another, f)
    f(OTHERS, "a", 1, 0, PEER)
    assert.is_false(through())
    assert.is_nil((replaced(nil)))
  end)
end)
