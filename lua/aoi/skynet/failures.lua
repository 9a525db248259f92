-- What is done with an error of the user's functions: it goes to the on_error of its map or world, else to the log.

local failures = {}

local function as_it_is(err) return err end

--- An error as text, whatever it is: its __tostring may raise, too.
function failures.text(err)
  local ok, text = pcall(tostring, err)
  return ok and text or ("(error object is a %s value)"):format(type(err))
end

--- The same for the caller of what has raised it: a position in a file of this library says nothing there.
function failures.reason(err) return (failures.text(err):gsub("^[^\n]-:%d+: ", "", 1)) end

--- Of a pcall of what returns true and its results, or false and a reason: that, also where it has raised.
function failures.caught(ok, ...)
  if ok then return ... end
  return false, failures.reason((...))
end

--- An error has been raised by a function that was called with these arguments.
-- @param self a client: `counters.errors`, `log`
-- @param owner what may have an `error_handler`: a map, or the client itself
function failures.report(self, owner, err, ...)
  self.counters.errors = self.counters.errors + 1
  local f = owner.error_handler
  if not f then
    self.log(failures.text(err))
    return
  end
  local ok, again = pcall(f, err, ...)
  if not ok then self.log(failures.text(again)) end
end

--- Calls a function; its error is reported, with a traceback where it goes to the log.
function failures.run(self, owner, f, ...)
  local ok, err = xpcall(f, owner.error_handler and as_it_is or debug.traceback, ...)
  if not ok then failures.report(self, owner, err, ...) end
end

local SPARING = 5 -- seconds

--- Returns warn(kind, text, ...): formats and logs a line, of each kind at most one in five seconds; the next one says
-- how many were left out.
function failures.sparing(log, now)
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
