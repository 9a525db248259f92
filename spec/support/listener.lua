-- listener.lua: handlers that write what they hear.
--
--   local handlers, take = listener()
--   take()      what they have heard since the last time, sorted: "+1/7>2 -1/7>3", watcher, node and target
return function()
  local list = {}
  local function write(sign)
    return function(watcher, target, node) list[#list + 1] = ("%s%d/%d>%d"):format(sign, watcher, node, target) end
  end
  return { enter = write "+", leave = write "-" }, function()
    table.sort(list)
    local text = table.concat(list, " ")
    list = {}
    return text
  end
end
