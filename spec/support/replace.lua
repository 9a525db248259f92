-- replace.lua: a deliberate mistake in a module.
--
--   local put_back = replace(recovery, "change", function(change) return function(...) ... end end)
--
-- Puts make(t[name]) in place of t[name]. Returns what puts the former value back.
return function(t, name, make)
  local old = t[name]
  t[name] = make(old)
  return function() t[name] = old end
end
