--- Ends a list with a nil behind its nth item. Further rows that an earlier, longer one has left there go, too, so that
-- # is right: those that begin with a number. What else the table holds stays.
-- @param row how many items are a row, 1 without it
return function(list, n, row)
  repeat
    local more = type(rawget(list, n + 1)) == "number"
    for i = n + 1, n + (more and row or 1) do rawset(list, i, nil) end
    n = n + (row or 1)
  until not more
end
