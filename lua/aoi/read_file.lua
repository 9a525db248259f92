--- Returns the bytes of a file; or nil and "PATH: reason".
return function(path)
  local file, why = io.open(path, "rb")
  if not file then return nil, why end
  local bytes, fault = file:read "*a" -- of a folder: nil
  file:close()
  if not bytes then return nil, ("%s: %s"):format(path, fault or "no bytes") end
  return bytes
end
