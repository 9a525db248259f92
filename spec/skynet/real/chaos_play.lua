-- play(there, nodes, side, options): what happens under chaos, and when all stand still to be compared. there(node,
-- name, ...) does that in that process (chaos.lua).
local skynet = require "skynet"
require "skynet.manager"
local compare = require "chaos_compare"

return function(there, nodes, side, o)
  local random, counts, total, DO = math.random, {}, 0, {}
  local killed, ended, unsettled = {}, skynet.now(), false -- by shard, times; when an exchange or a service was killed
  local halted, lives = false, 0 -- lives: of the second process

  local function any() return nodes[random(#nodes)] end
  local function place() return random() * side, random() * side end

  -- What all processes answer, in one list.
  local function on_all(...)
    local list, arguments = {}, table.pack(...)
    o.at_once(#nodes, function(i)
      local ok, answer = pcall(there, nodes[i], table.unpack(arguments, 1, arguments.n))
      if not ok then return skynet.error(answer) end
      if type(answer) == "table" then table.move(answer, 1, #answer, #list + 1, list) else list[#list + 1] = answer end
    end)
    return list
  end

  -- What may happen to any client.
  local function to_any(name, ...)
    local arguments = table.pack(...)
    return function() there(any(), name, random(o.players), table.unpack(arguments)) end
  end
  DO.kill, DO.exit = to_any "kill", to_any("kill", true)
  DO.flood, DO.busy = to_any("call", "flood"), to_any("call", "busy")
  DO.slow, DO.reload = to_any("call", "slow", true), to_any("call", "reload")

  function DO.take_over()
    local from, to, i, k = any(), any(), random(o.players), random(o.players)
    if from == to and i == k then return end
    local ok, id, e = there(from, "call", i, "offer")
    if not ok or not id then return end
    local done, taken = there(to, "call", k, "take", id, e)
    there(from, "call", i, "withdraw", id, done and taken)
  end

  -- One that dies more than eight times in a minute ends the world.
  function DO.shard(shard)
    shard = shard or random(o.shards)
    local now, times = skynet.now(), killed[shard] or {}
    if #times >= 5 and now - times[#times - 4] < 7000 then return end
    killed[shard] = times
    for _, node in ipairs(nodes) do
      if there(node, "shard", shard) then
        times[#times + 1] = now
        return
      end
    end
  end
  function DO.assign()
    local x, y = place()
    there(any(), "change", "assign", x, y, x + random() * 100, y + random() * 100, random(o.shards))
  end
  function DO.host()
    unsettled = true
    local shard = random(o.shards)
    there(any(), "change", "host", shard, any())
    skynet.sleep(random(10, 60))
    DO.shard(shard)
  end
  function DO.relay() on_all "relay" end

  local function rarely(f)
    return function()
      if skynet.now() - ended < 1500 then return false end
      ended, unsettled = skynet.now(), true
      f()
    end
  end
  local function begin(node)
    repeat
      skynet.sleep(20)
      local ok, is_open = pcall(there, node, "is_open")
    until ok and is_open
    there(node, "begin", lives, halted)
  end
  DO.exchange = rarely(function() there(any(), "exchange") end)
  DO.service = rarely(function() on_all "service" end)
  DO.process = rarely(function() -- it, or what is left of it when it is drained, is started again at once (run.sh)
    pcall(there, nodes[2], "die", o.kind == "world" and random(2) == 1)
    lives = lives + 1
    begin(nodes[2])
  end)

  local words = "kill kill kill exit flood flood busy slow slow reload take_over take_over take_over "
    .. (o.kind == "world" and "shard shard shard assign assign exchange " or "service ")
    .. (#nodes == 1 and "" or o.kind == "world" and "process host" or "process relay")
  local names = {}
  for name in words:gmatch "%S+" do names[#names + 1] = name end

  local function something()
    local name = names[random(#names)]
    skynet.fork(function()
      local ok, err = pcall(DO[name])
      if not ok then skynet.error(("%s: %s"):format(name, err)) end
      if err ~= false then counts[name] = (counts[name] or 0) + 1 end
    end)
  end

  local function verdict(phase)
    halted = true
    on_all "halt"
    if unsettled then
      skynet.sleep(300)
      on_all("each", "again")
    end
    local at = skynet.now()
    local differences, n, pictures, reports
    repeat
      skynet.sleep(50)
      reports = on_all("each", "report")
      differences, n, pictures = compare(reports)
    until #differences == 0 or skynet.now() - at > 100 * o.latest
    for i = 1, math.min(20, #differences) do skynet.error("DIFFERENT: " .. differences[i]) end
    local wrong = #differences
    for _, n_wrong in ipairs(on_all "wrong") do wrong = wrong + n_wrong end
    local text = "phase %d: %d services, %d nodes, %d pictures, right after %.1f s: %d differences"
    skynet.error(text:format(phase, #reports, n, pictures, (skynet.now() - at) / 100, wrong))
    total, unsettled, halted = total + wrong, false, false
    on_all "walk"
  end

  for _, node in ipairs(nodes) do begin(node) end
  local stop, phase = skynet.now() + 100 * o.seconds, 0
  while skynet.now() < stop do
    local rest = skynet.now() + 100 * random(5, 12)
    while skynet.now() < rest do
      something()
      skynet.sleep(random(10, 60))
    end
    phase = phase + 1
    verdict(phase)
  end
  local list = {}
  for name, n in pairs(counts) do list[#list + 1] = name .. "=" .. n end
  table.sort(list)
  skynet.error(("chaos of seed %d: %d differences; %s"):format(o.seed, total, table.concat(list, " ")))
  skynet.sleep(50)
  skynet.abort()
end
