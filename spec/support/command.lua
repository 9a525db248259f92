-- The program `aoi`, run within the specs: its exit status, what went to stdout and to stderr.
return function(...)
  local out, err, stderr, show = {}, {}, io.stderr, print
  io.stderr = { -- luacheck: ignore 122
    write = function(_, ...) err[#err + 1] = table.concat { ... } end,
    flush = function() end,
  }
  _G.print = function(text) out[#out + 1] = text end
  local ok, status = pcall(require("aoi.command").run, { ... })
  io.stderr, _G.print = stderr, show -- luacheck: ignore 122
  if not ok then error(status, 0) end
  return status, table.concat(out, "\n"), table.concat(err)
end
