-- Replays recorded movement and proves the events: the totals and the checksum of the chosen engine must be
-- those of a brute-force run of the same recording.
--
--   lua5.4 examples/replay.lua FILE.csv[.gz] RADIUS... [--engine NAME] [--dimensions 2]
--
-- Every entity carries one node for each RADIUS (world units; `inf` sees everybody).
-- lua/aoi/tools/recording.lua describes the format. The exit code is 0 only if everything was proved.

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local function stop(message)
  io.stderr:write("replay: ", message, "\n")
  os.exit(2)
end

local built, aoi = pcall(require, "aoi")
if not built then stop("the library cannot be loaded, run `make` first: " .. tostring(aoi):match("[^\n]*")) end
local recording, replay = require "aoi.tools.recording", require "aoi.tools.replay"

local USE = "use: replay.lua FILE.csv[.gz] RADIUS... [--engine " .. table.concat(aoi.engines(), "|")
  .. "] [--dimensions 2|3]"

local function arguments(list)
  local file, engine, dimensions
  local radii = {}
  local at = 1
  while at <= #list do
    local word = list[at]
    local name, value = word:match("^%-%-(%a+)=?(.*)$")
    if name and value == "" then
      at = at + 1
      value = list[at]
    end
    if word == "-h" or name == "help" then
      print(USE)
      os.exit(0)
    elseif name == "engine" then
      engine = value or stop("--engine needs a name\n" .. USE)
    elseif name == "dimensions" then
      dimensions = (value == "2" or value == "3") and tonumber(value) or stop("--dimensions is 2 or 3\n" .. USE)
    elseif name then
      stop("unknown option " .. word .. "\n" .. USE)
    elseif not file then
      file = word
    else
      local radius = word == "inf" and math.huge or word:find("^[%d.]") and tonumber(word)
      if not radius then stop("a radius is a number that is not negative, not '" .. word .. "'\n" .. USE) end
      radii[#radii + 1] = radius
    end
    at = at + 1
  end
  if #radii == 0 then stop("a file and at least one radius are needed\n" .. USE) end
  engine = engine or "list"
  for _, known in ipairs(aoi.engines()) do
    if engine == known then return file, radii, engine, dimensions end
  end
  stop("there is no engine '" .. engine .. "'\n" .. USE)
end

-- Plays the recording on one engine and draws a bar while it runs.
local function play(rec, engine, radii)
  io.write(("%-9s"):format(engine))
  local started, drawn = os.clock(), 0
  local result = replay.run(rec, {
    engine = engine,
    radii = radii,
    on_step = function(step, steps)
      while drawn < math.floor(step * 50 / steps) do
        io.write("#")
        io.flush()
        drawn = drawn + 1
      end
    end,
  })
  print((" %.2f s"):format(os.clock() - started))
  return result
end

local file, radii, engine, dimensions = arguments(arg)
local rec, why = recording.read(file, dimensions)
if not rec then stop(why) end
print(("%s: %d steps, %d rows, up to %d entities at once, %dD"):format(
  file, #rec, rec.rows, rec.most, rec.dimensions))

local result = play(rec, engine, radii)
local truth = play(rec, "brute", radii)
local proved = true
for i, one in ipairs(result) do
  local same = one.enter == truth[i].enter and one.leave == truth[i].leave and one.checksum == truth[i].checksum
  proved = proved and same
  print(("R = %.14g: %d enter, %d leave, checksum %s, %s"):format(one.radius, one.enter, one.leave, one.checksum,
    same and "as by brute force"
      or ("BUT by brute force %d enter, %d leave, %s"):format(truth[i].enter, truth[i].leave, truth[i].checksum)))
end
os.exit(proved and 0 or 1)
