-- Errors of the user's functions are passed to the on_error of the map or world, else to the log.

local failures = {}

local function as_it_is(err) return err end

--- An error of any type as text; its __tostring may raise.
function failures.text(err)
  local ok, text = pcall(tostring, err)
  return ok and text or ("(error object is a %s value)"):format(type(err))
end

--- The same without the position in this library, which is of no use for the caller. A name in it may contain ":1: ".
function failures.reason(err) return (failures.text(err):gsub("^[^\n'(]-:%d+: ", "", 1)) end

--- The results of a pcall of a function that returns true and results, or false and a reason; errors become reasons.
function failures.caught(ok, ...)
  if ok then return ... end
  return false, failures.reason((...))
end

--- Reports an error of a function that was called with these arguments.
-- @param self a client: `counters.errors`, `log`
-- @param owner a map or client, which may have an `error_handler`
function failures.report(self, owner, err, ...)
  self.counters.errors = self.counters.errors + 1
  local f = owner.error_handler
  if not f then return self.log(failures.text(err)) end
  local ok, again = pcall(f, err, ...)
  if not ok then self.log(failures.text(again)) end
end

--- Calls a function and reports its error, with a traceback if it is logged.
function failures.run(self, owner, f, ...)
  local ok, err = xpcall(f, owner.error_handler and as_it_is or debug.traceback, ...)
  if not ok then failures.report(self, owner, err, ...) end
end

local SPARING = 5 -- seconds

--- Returns warn(kind, text, ...): formats and logs a line, at most one of each kind in five seconds; the next line
-- contains the number of those left out.
function failures.rate_limited(log, now)
  local last, left_out = {}, {}
  return function(kind, text, ...)
    local time, n = now(), left_out[kind] or 0
    if last[kind] and time - last[kind] < SPARING then
      left_out[kind] = n + 1
      return
    end
    last[kind], left_out[kind] = time, nil
    log(text:format(...) .. (n > 0 and (" (and %d more like it since the last line)"):format(n) or ""))
  end
end

return failures
