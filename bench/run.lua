-- run.lua: `make bench`. Measures the engines in named scenes, in C and through Lua.
--
--   make bench ARGS="--help"
--   make bench ARGS="walk crowd --engine list --engine grid"
--   make bench ARGS="--out bench/results/my-machine"

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)bench[/\\]") or "../"
package.path = package.path .. ";" .. root .. "?.lua;" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local function stop(message)
  io.stderr:write("bench: ", message, "\n")
  os.exit(2)
end

local has_argparse, argparse = pcall(require, "argparse")
if not has_argparse then stop("argparse is missing (Debian: lua-argparse; LuaRocks: argparse)") end
local built, aoi = pcall(require, "aoi")
if not built then stop("the library cannot be loaded, run `make` first: " .. tostring(aoi):match("[^\n]*")) end

local scenes = require "bench.scenes"
local subjects = require "bench.subjects"
local measure = require "bench.measure"
local report = require "bench.report"

local function number_above(least)
  return function(word)
    local value = tonumber(word)
    if value and value >= least then return value end
    return nil, ("'%s' is not a number from %g on"):format(word, least)
  end
end

local function options()
  local names = {}
  for i, scene in ipairs(scenes.list) do names[i] = scene.name end
  local parser = argparse("bench", "Measures the engines, all in turn, in named scenes, in C and through Lua.")
  parser:argument("scene", "Scenes to play: " .. table.concat(names, ", ") .. "; all if none is named.")
    :args("*"):choices(names)
  parser:option("--engine", "An engine; may be given several times."):count("*"):choices(aoi.engines())
  parser:option("--layer", "Only in C, or only through Lua."):choices { "c", "lua" }
  parser:option("--max", "Populations above this shrink to it."):convert(number_above(2))
  parser:option("--seconds", "Time for each subject at each point."):convert(number_above(0))
  parser:option("--seed", "Another movement."):convert(number_above(0))
  parser:option("--out", "Folder for results.csv; `gnuplot -c bench/plot.gp FOLDER/results.csv FOLDER` draws it.")
  parser:flag("--quick", "Small populations, few rounds.")
  parser:flag("--csv", "CSV on the standard output instead of the table.")
  parser:flag("--list", "Name the scenes and what happens in them.")
  return parser:parse()
end

local function write_file(path, content)
  local file, why = io.open(path, "wb")
  if not file then stop(why) end
  file:write(content)
  file:close()
end

local function describe(machine)
  return ("%s, %s, %s, %s, commit %s\n\n%s\n\n"):format(machine.date, machine.cpu, machine.compiler, machine.lua,
    machine.commit, report.LEGEND)
end

local function main()
  local o = options()
  if o.list then
    for _, scene in ipairs(scenes.list) do print(("%-10s %s"):format(scene.name, scene.title)) end
    return 0
  end
  if o.out then os.execute(('mkdir -p "%s"'):format(o.out)) end

  local layers = o.layer and { o.layer } or { "c", "lua" }
  if not subjects.native then
    if o.layer == "c" then stop("bench.native is not built: use `make bench`") end
    layers = { "lua" }
    io.stderr:write("bench: bench.native is not built, so nothing is played in C: use `make bench`\n")
  end
  local limits = {}
  for field, value in pairs(o.quick and measure.QUICK or measure.DEFAULTS) do limits[field] = value end
  limits.most = o.max or limits.most
  limits.seconds = o.seconds or limits.seconds
  limits.seed = o.seed or limits.seed
  local engines = #o.engine > 0 and o.engine or aoi.engines()
  local chosen = {}
  for i, name in ipairs(o.scene) do chosen[i] = scenes.named[name] end
  if #chosen == 0 then chosen = scenes.list end

  local machine = require("bench.machine")()
  local rows, failed = {}, false
  if not o.csv then io.write(describe(machine)) end
  for _, scene in ipairs(chosen) do
    for _, point in ipairs(measure.points(scene, limits.most)) do
      local measured, wrong = measure.point(scene, point, engines, layers, limits)
      for _, row in ipairs(measured) do
        for field, value in pairs(machine) do row[field] = value end
        rows[#rows + 1] = row
      end
      if #measured > 0 and not o.csv then io.write(report.point(scene, measured), "\n"):flush() end
      if wrong then
        failed = true
        io.stderr:write("bench: ", scene.name, ": ", wrong, "\n")
      end
    end
  end
  if o.csv then io.write(report.csv(rows)) end
  if o.out then write_file(o.out .. "/results.csv", report.csv(rows)) end
  return failed and 1 or 0
end

os.exit(main())
