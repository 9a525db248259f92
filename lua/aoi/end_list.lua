-- What lists have beside numbers: the words of `space:overrides`.
local WORDS = { hide = true, show = true, match = true }

--- Sets the item behind the nth to nil. A table that is filled again may hold items of an earlier, longer list there:
-- they are removed, so that # is n. Other values in the table stay.
return function(list, n)
  repeat
    n = n + 1
    local was = rawget(list, n)
    rawset(list, n, nil)
  until type(was) ~= "number" and not WORDS[was or 0]
end
