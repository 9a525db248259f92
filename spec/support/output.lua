-- output.lua: what busted prints where spec/run.sh runs a folder: of a test that has failed what it says and how it is
-- run again, of those that lack a tool how many, and at the end how many have passed. run.sh adds these lines up.
local process = require "spec.support.process"
local random_run = require "spec.support.random_run"

return function(options)
  local busted = require "busted"
  local handler = require "busted.outputHandlers.base"()

  local function failed(it)
    local place = it.element.trace or it.trace or {}
    local path = place.short_src or it.name
    local message = type(it.message) == "string" and it.message or require("pl.pretty").write(it.message)
    print(("%s\n%s\nFAILED %s:%s: %s"):format(it.name, message, path, place.currentline or 0, it.name:gsub("%s+", " ")))
    local command, seed = os.getenv("AOI_AGAIN") or "make spec", os.getenv("AOI_SEED") or 0
    print(("  again: %s %s ARGS=%s"):format(command, random_run.again(seed), process.quote(path)))
    if options.verbose and it.trace then print(it.trace.traceback) end
  end

  handler.suiteEnd = function()
    for _, list in ipairs { handler.failures, handler.errors } do
      for _, it in ipairs(list) do failed(it) end
    end
    for _, it in ipairs(handler.pendings) do
      if type(it.message) == "string" and it.message:find "^needs " then print("left out: " .. it.message) end
    end
    print(("%d passed, %d failed"):format(handler.successesCount, handler.failuresCount + handler.errorsCount))
    return nil, true
  end

  busted.subscribe({ "suite", "end" }, handler.suiteEnd)
  return handler
end
