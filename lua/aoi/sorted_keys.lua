--- Returns the keys of a table in a sorted list, and their number.
return function(t)
  local list, n = {}, 0
  for key in pairs(t) do
    n = n + 1
    list[n] = key
  end
  table.sort(list)
  return list, n
end
