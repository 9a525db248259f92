-- machine.lua: what figures are worth nothing without: when, on what and of which version they were measured.
local native = require("bench.subjects").native

local function first_line(command)
  local pipe = io.popen and io.popen(command .. " 2>/dev/null")
  local line = pipe and pipe:read("*l")
  if pipe then pipe:close() end
  return line and line:match("^%s*(.-)%s*$")
end

local function cpu()
  local file = io.open("/proc/cpuinfo")
  local text = file and file:read("*a") or ""
  if file then file:close() end
  local name = text:match("model name%s*:%s*([^\n]+)") or first_line("sysctl -n machdep.cpu.brand_string")
    or first_line("uname -m") or "unknown"
  return (name:gsub("%s+", " "))
end

local function commit()
  local name = first_line("git rev-parse --short=10 HEAD")
  if not name or name == "" then return "unknown" end
  local changed = first_line("git status --porcelain -- src lua bench")
  return changed and changed ~= "" and name .. "+changes" or name
end

-- The same for every row of a run.
return function()
  return {
    date = os.date("%Y-%m-%d"),
    commit = commit(),
    cpu = cpu(),
    compiler = native and native.compiler or "unknown",
    lua = type(jit) == "table" and jit.version or _VERSION,
  }
end
