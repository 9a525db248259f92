-- play(there, nodes, side, options): what happens under chaos, and when all stand still to be compared. there(node,
-- name, ...) does that in that process (chaos.lua).
local skynet = require "skynet"
require "skynet.manager"
local compare = require "chaos_compare"

return function(there, nodes, side, o)
  local random, counts, total = math.random, {}, 0
  local all = o.players + o.gates
  local killed, ended, unsettled = {}, skynet.now(), false -- by shard, times; when an exchange or a service was killed
  local halted, lives = false, 0 -- lives: of the second process

  local function on_all(name, ...)
    local lists, left = {}, #nodes
    local arguments = table.pack(...)
    for _, node in ipairs(nodes) do
      skynet.fork(function()
        local ok, list = pcall(there, node, name, table.unpack(arguments))
        if not ok then skynet.error(list) end
        for _, value in ipairs(ok and type(list) == "table" and list or { ok and list or nil }) do
          lists[#lists + 1] = value
        end
        left = left - 1
      end)
    end
    while left > 0 do skynet.sleep(2) end
    return lists
  end

  local DO = {}
  local function someone() return nodes[random(#nodes)], random(all) end

  function DO.kill()
    local node, i = someone()
    there(node, "kill", i)
  end
  function DO.exit()
    local node, i = someone()
    there(node, "kill", i, true)
  end
  function DO.gate() there(nodes[random(#nodes)], "kill", o.players + random(o.gates)) end
  function DO.flood() there(nodes[random(#nodes)], "call", random(o.players), "flood") end
  function DO.busy()
    local node, i = someone()
    there(node, "call", i, "busy")
  end
  function DO.slow()
    local node, i = someone()
    there(node, "call", i, "slow", true)
  end
  function DO.take_over()
    local from, to, i, k = nodes[random(#nodes)], nodes[random(#nodes)], random(o.players), random(o.players)
    if from == to and i == k then return end
    local ok, id, e = there(from, "call", i, "offer")
    if not ok or not id then return end
    local done, taken = there(to, "call", k, "take", id, e)
    there(from, "call", i, "withdraw", id, done and taken)
  end
  -- One that dies more than eight times in a minute ends the world.
  function DO.shard(shard)
    shard = shard or random(o.shards)
    local now = skynet.now()
    local times = killed[shard] or {}
    if #times >= 5 and now - times[#times - 4] < 7000 then return end
    killed[shard] = times
    for _, node in ipairs(nodes) do
      if there(node, "shard", shard) then
        times[#times + 1] = now
        return
      end
    end
  end
  local function rarely(f)
    return function()
      if skynet.now() - ended < 1500 then return false end
      ended, unsettled = skynet.now(), true
      f()
    end
  end
  DO.exchange = rarely(function() there(nodes[random(#nodes)], "exchange") end)
  DO.service = rarely(function() there(nodes[1], "kill_service") end)
  function DO.relay() there(nodes[2], "relay") end
  function DO.assign()
    local x, y = random() * side, random() * side
    there(nodes[random(#nodes)], "change", "assign", x, y, x + random() * 100, y + random() * 100, random(o.shards))
  end
  function DO.host()
    unsettled = true
    local shard = random(o.shards)
    there(nodes[random(#nodes)], "change", "host", shard, nodes[random(#nodes)])
    skynet.sleep(random(10, 60))
    DO.shard(shard)
  end

  local names = { "kill", "kill", "gate", "exit", "flood", "flood", "busy", "slow", "slow", "take_over", "take_over",
                  "take_over" }
  local more = o.kind == "world" and { "shard", "shard", "shard", "assign", "assign", "exchange" } or { "service" }
  if #nodes > 1 then table.move({ "process", o.kind == "world" and "host" or "relay" }, 1, 2, #more + 1, more) end
  table.move(more, 1, #more, #names + 1, names)

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
    local at, wrong = skynet.now(), 0
    local differences, n, pictures, reports
    repeat
      skynet.sleep(50)
      reports = on_all("each", "report")
      differences, n, pictures = compare(reports)
    until #differences == 0 or skynet.now() - at > 100 * o.latest
    for i = 1, math.min(20, #differences) do skynet.error("DIFFERENT: " .. differences[i]) end
    for _, n_wrong in ipairs(on_all "wrong") do wrong = wrong + n_wrong end
    local text = "phase %d: %d services, %d nodes, %d pictures, right after %.1f s: %d differences"
    wrong = wrong + #differences
    total, unsettled = total + wrong, false
    skynet.error(text:format(phase, #reports, n, pictures, (skynet.now() - at) / 100, wrong))
    halted = false
    on_all "walk"
  end

  local function begin(node)
    repeat
      skynet.sleep(20)
      local ok, is_open = pcall(there, node, "is_open")
    until ok and is_open
    there(node, "begin", lives, halted)
  end
  -- It is started again at once (run.sh).
  DO.process = rarely(function()
    pcall(there, nodes[2], "die")
    lives = lives + 1
    begin(nodes[2])
  end)

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
  local words = {}
  for name, n in pairs(counts) do words[#words + 1] = name .. "=" .. n end
  table.sort(words)
  skynet.error(("chaos of seed %d: %d differences; %s"):format(o.seed, total, table.concat(words, " ")))
  skynet.sleep(50)
  skynet.abort()
end
