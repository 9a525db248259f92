-- "The guard turns to whoever comes within 12 metres, attacks who stays for two seconds, and gives up when he is gone.
-- At the gate a bell rings, at most every ten seconds." Times are simulated: the caller says what time it is.

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local aoi = require "aoi"
local trigger = require "aoi.trigger"

local PLAYER, GUARD = 1, 2 -- kinds are bits; a trigger sees the kinds in its mask
local names = { "Ann", "Bob", [100] = "the guard" }

local space = aoi.new()
local handlers = {}
local triggers = trigger.new(space, handlers)

local function say(text) print(("%5.1f s  %s"):format(triggers.time, text)) end

-- One table for each name: what a designer tunes, and what happens. Both may be replaced while the server runs.
handlers.alert = { radius = 12, mask = PLAYER, after = 2 }

function handlers.alert.enter(guard, player) say(names[guard] .. " turns to " .. names[player]) end

function handlers.alert.dwell(guard, player) say(names[guard] .. " attacks " .. names[player]) end

function handlers.alert.leave(guard, player) say(names[guard] .. " gives " .. names[player] .. " up") end

function handlers.alert.last(guard) say(names[guard] .. " goes back to his post") end

handlers.bell = { x = 30, y = 0, radius = 4, mask = PLAYER, cooldown = 10 }

function handlers.bell.enter(_, player) say("the bell rings for " .. names[player]) end

-- The map: a guard, a gate, and two players.
space:enter(100, 0, 0, GUARD)
triggers:add(100, "alert")
triggers:region("bell")
space:enter(1, -20, 3, PLAYER)
space:enter(2, 40, 0, PLAYER)

-- Ann runs past the guard. Bob comes through the gate, stops near him, and walks on after the attack. At last Ann
-- comes back through a portal, and her connection breaks.
local function step(tick)
  local now = tick / 10
  triggers:update(now) -- first what is due, then what happens in this tick
  if now <= 5 then space:move(1, -20 + now * 13, 3) end
  if now <= 4 then
    space:move(2, 40 - now * 8, 0)
  elseif now > 7 and now <= 12 then
    space:move(2, 8 + (now - 7) * 5, 0)
  end
  if now == 13 then space:move(1, 4, 4) end
  if now == 15.5 then
    say("Ann is disconnected")
    space:leave(1)
  end
end

for tick = 1, 160 do step(tick) end
