-- Chat by distance: whisper, say, yell. The list is asked for when somebody speaks; no node is needed.
local aoi = require "aoi"

local PLAYER = 1
local REACH = { whisper = 3, say = 15, yell = 100 }
local names = { "Ann", "Bob", "Cid", "Dot" }
local space = aoi.new()
for id, x in ipairs { 0, 2, 12, 90 } do space:enter(id, x, 0, PLAYER) end

local function speak(speaker, how, text)
  local x, y = space:position(speaker)
  local heard, n = space:near(x, y, { shape = "circle", radius = REACH[how] }, PLAYER)
  local list = {}
  for i = 1, n do
    if heard[i] ~= speaker then list[#list + 1] = names[heard[i]] end
  end
  table.sort(list)
  print(("%s %ss %q to %s"):format(names[speaker], how, text, table.concat(list, ", ")))
end

speak(1, "whisper", "psst")
speak(1, "say", "hello")
speak(1, "yell", "help")

--> Ann whispers "psst" to Bob
--> Ann says "hello" to Bob, Cid
--> Ann yells "help" to Bob, Cid, Dot
