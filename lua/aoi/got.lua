--- Returns what stands where something else is expected, as text for an error.
return function(value)
  if type(value) == "string" then return ("string '%s'"):format(value:sub(1, 20)) end
  return value == nil and "no value" or type(value)
end
