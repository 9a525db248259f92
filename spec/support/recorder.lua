-- recorder.lua: a space with two handlers that record, and calls that return the events they caused, sorted: the
-- records of two engines compare equal whatever order they deliver in.
local aoi = require "aoi"

return function(options)
  local heard = {}
  local function hear(what)
    return function(watcher, target, node) heard[#heard + 1] = ("%s %d/%d %d"):format(what, watcher, node, target) end
  end
  local it = { space = aoi.new(options), enter = hear("enter"), leave = hear("leave") }
  function it.call(verb, ...)
    it.space[verb](it.space, ...)
    table.sort(heard)
    local events = table.concat(heard, ", ")
    for i = #heard, 1, -1 do heard[i] = nil end
    return events
  end
  return it
end
