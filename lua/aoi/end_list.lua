--- Sets the item behind the nth to nil. A table that is filled again may hold rows of an earlier, longer list there:
-- rows that begin with a number are removed, so that # is n. Other values in the table stay.
-- @param row items in a row, 1 without it
return function(list, n, row)
  repeat
    local more = type(rawget(list, n + 1)) == "number"
    for i = n + 1, n + (more and row or 1) do rawset(list, i, nil) end
    n = n + (row or 1)
  until not more
end
