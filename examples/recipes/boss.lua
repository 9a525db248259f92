-- A boss with phases: each phase is a set of handlers, and the boss has the triggers of one of them. `disable` before
-- `remove`, so that those inside hear that they are out.
local aoi = require "aoi"

local space = aoi.new()
local handlers = {
  claws = { radius = 6, interval = 1 },
  breath = { shape = "sector", radius = 20, facing = 0, angle = math.pi / 3, after = 1 },
  rage = { shape = "circle", radius = 30, interval = 2 },
}
function handlers.claws.stay(_, player) print("claws hit " .. player) end
function handlers.breath.dwell(_, player) print("fire burns " .. player) end
function handlers.rage.enter(_, player) print("rage begins for " .. player) end
function handlers.rage.leave(_, player) print("rage ends for " .. player) end

local triggers = require("aoi.trigger").new(space, handlers)
local BOSS, phase = 1, nil

local function enter_phase(name)
  if phase then
    phase:disable()
    phase:remove()
  end
  print("phase " .. name)
  phase = triggers:add(BOSS, name)
end

space:enter(BOSS, 0, 0)
space:enter(7, 5, 0)
space:enter(8, 15, 1)
enter_phase "claws"
triggers:update(1)
enter_phase "breath"
triggers:update(2)
enter_phase "rage"
space:leave(8)
enter_phase "claws"

--> phase claws
--> claws hit 7
--> phase breath
--> fire burns 7
--> fire burns 8
--> phase rage
--> rage begins for 7
--> rage begins for 8
--> rage ends for 8
--> rage ends for 7
--> phase claws
