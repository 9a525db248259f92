-- process.lua: runs shell commands, for specs of programs.
local process = {}

function process.quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- A sanitizer's runtime is preloaded for Lua alone: other programs are not what is tested.
local preload = os.getenv("LD_PRELOAD")

-- The interpreter that runs this spec, by name, and as the beginning of a command that uses the same build.
function process.lua()
  local at = 0
  while arg[at - 1] do at = at - 1 end
  return arg[at], (preload and "LD_PRELOAD=" .. process.quote(preload) .. " " or "") .. process.quote(arg[at])
end

-- Runs a shell command; its output, standard error included, and its exit code.
function process.run(command)
  local pipe = assert(io.popen("unset LD_PRELOAD; { " .. command .. "\n} 2>&1; printf '\\n%d' $?", "r"))
  local output, code = pipe:read("*a"):match("^(.*)\n(%d+)$")
  pipe:close()
  return output, tonumber(code)
end

-- The same, for commands that must succeed.
function process.must(command)
  local output, code = process.run(command)
  if code ~= 0 then error(command .. "\nfailed with " .. code .. ":\n" .. output, 2) end
  return output
end

function process.has(command) return select(2, process.run("command -v " .. command .. " >/dev/null")) == 0 end

function process.lines(text)
  local list = {}
  for line in text:gmatch("[^\n]+") do list[#list + 1] = line end
  return list
end

-- A new folder that is removed by the function returned with it.
function process.folder()
  local path = process.must("mktemp -d"):match("[^\n]+")
  return path, function() process.must("rm -rf " .. process.quote(path)) end
end

function process.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

function process.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

return process
