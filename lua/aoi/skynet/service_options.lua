-- Options of the AOI service, given to `aoi.start` or as arguments of skynet.newservice.

local SECONDS = require("aoi.skynet.argument").MOST_SECONDS

local options = {}

local NONE, SOME = "a number from 0 on", "a positive number"

local KNOWN = {
  interval = "a whole number of 1/100 s from 0 on", window = "a whole number from 1 on", max_message = SOME,
  heartbeat = SOME, silence = NONE, viewer = "a port",
}
local MOST = { interval = 100 * SECONDS, heartbeat = SECONDS, silence = SECONDS }
local WHOLE = { interval = 0, window = 1, viewer = 1 }

--- Converts a value, a number or its text, to a number; nil and the error if it is not valid.
function options.check(name, value)
  local expected, number = KNOWN[name], tonumber(value)
  if not expected then return nil, ("unknown option '%s'"):format(tostring(name)) end
  local good = number and number < math.huge
  if good and WHOLE[name] then
    number = math.tointeger(number)
    good = number and number >= WHOLE[name] and (name ~= "viewer" or number <= 65535)
  elseif good then
    good = number > 0 or number == 0 and expected == NONE
  end
  if good and MOST[name] and number > MOST[name] then expected, good = ("at most %d"):format(MOST[name]), false end
  if good then return number end
  return nil, ("bad value for option '%s' (%s expected, got %s)"):format(name, expected, tostring(value))
end

return options
