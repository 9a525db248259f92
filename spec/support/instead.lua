-- instead.lua: instead(object, methods) is the object with these methods in place of its own.
return function(object, methods)
  return setmetatable(methods, { __index = function(_, name)
    return function(_, ...) return object[name](object, ...) end
  end })
end
