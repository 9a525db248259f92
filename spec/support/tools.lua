-- tools.lua: what some specs use beside the tools that `make` asks for. A test that lacks one is pending, and names it.
--
--   tools.need("node", "chromium")        in a test: what follows does not run where one of them is missing
--   tools.lacks("argparse")               the same as text, or nil where all are there
--
-- A tool is a command; a module of Lua, by the name of MODULES; a function of Lua, as "string.pack"; or "chromium", by
-- any of the names that it has.
local process = require "spec.support.process"

local tools = {}

local MODULES = {
  argparse = "argparse", LuaSocket = "socket", luaossl = "openssl.digest", dkjson = "dkjson", ["lua-cjson"] = "cjson",
}
local BROWSER = [[node -e 'process.exit(require("./spec/viewer/browser.js").command() ? 0 : 1)']]

local has = {}

local function look_for(name)
  if name:find "^string%." then return string[name:match "%.(.*)"] ~= nil end
  if name == "chromium" then return tools.has "node" and select(2, process.run(BROWSER)) == 0 end
  if not MODULES[name] then return process.has(name) end
  -- By a process of its own, as those that need it are.
  local _, lua = process.lua()
  return select(2, process.run(lua .. " -e 'require [[" .. MODULES[name] .. "]]'")) == 0
end

function tools.has(name)
  if has[name] == nil then has[name] = look_for(name) end
  return has[name]
end

function tools.lacks(...)
  local missing = {}
  for _, name in ipairs { ... } do
    if not tools.has(name) then missing[#missing + 1] = name end
  end
  return missing[1] and "needs " .. table.concat(missing, ", ") or nil
end

-- Busted gives `pending` to the functions of tests alone.
local pending
require("busted").subscribe({ "test", "start" }, function(test)
  pending = test.env and test.env.pending
  return nil, true -- others are told as well
end)

function tools.need(...)
  local missing = tools.lacks(...)
  if missing then pending(missing) end
end

return tools
