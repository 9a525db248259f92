-- Writes recorded movement as one page for a browser, which needs no server and loads nothing: who sees whom, and why.
--
--   lua5.4 examples/view.lua FILE.csv[.gz] PAGE.html [RADIUS [MARGIN]]
--
-- Every entity carries a square of RADIUS, and a circle of twice that which holds on to what it saw up to MARGIN more.

-- The checkout comes last on the path, so that whatever the environment names wins.
local root = arg[0]:match("^(.*)examples[/\\]") or "../"
package.path = package.path .. ";" .. root .. "lua/?.lua;" .. root .. "lua/?/init.lua"
package.cpath = package.cpath .. ";" .. root .. "?.so"

local file, out, radius, margin = arg[1], arg[2], tonumber(arg[3] or 1), tonumber(arg[4] or 0.5)
if not (file and out and radius and margin) then
  io.stderr:write("use: view.lua FILE.csv[.gz] PAGE.html [RADIUS [MARGIN]]\n")
  os.exit(2)
end

local drawn = 0
local told, why = require("aoi.viewer.page").write(file, out, {
  areas = { radius, { shape = "circle", radius = 2 * radius, margin = margin } },
  cell = 2 * radius,
  quantum = 0.0001,
  on_progress = function(tick, ticks)
    while drawn < math.floor(tick * 50 / ticks) do
      io.write("#")
      io.flush()
      drawn = drawn + 1
    end
  end,
})
if not told then
  io.stderr:write("view: ", why, "\n")
  os.exit(1)
end
print((" %d ticks, %.1f MB: open %s in a browser"):format(told.ticks, told.bytes / 2 ^ 20, out))
