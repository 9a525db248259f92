-- sees.lua: handlers of a node, which know what it sees: enter and leave of a target must alternate.
--
--   local handlers, seen = sees()      seen[target] = true
return function()
  local seen = {}
  return {
    enter = function(_, target)
      assert(not seen[target], "a second enter")
      seen[target] = true
    end,
    leave = function(_, target)
      assert(seen[target], "a leave of what is not seen")
      seen[target] = nil
    end,
  }, seen
end
