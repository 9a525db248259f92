--- The keys of a table, ascending, in a list; and how many.
return function(t)
  local list, n = {}, 0
  for key in pairs(t) do
    n = n + 1
    list[n] = key
  end
  table.sort(list)
  return list, n
end
