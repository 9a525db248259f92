-- lines.lua: what services have sent each other and has not arrived: in order between two, in any order between others;
-- random, but the same for the same seed.
--
--   local lines = lines.new(random)
--   lines:put(from, to, item)
--   local item, line = lines:take(is_held)     the first one of some line whose `to` is not held; nil: there is none
--   lines[from .. ">" .. to]                   { from =, to =, first =, last =, [first] = item ... }; held: not now
--   lines.resume(co, ...)                      what a coroutine raises is raised, with its traceback
local lines = {}
local Lines = {}
Lines.__index = Lines

function lines.new(random) return setmetatable({ random = random, order = {} }, Lines) end

function Lines:put(from, to, item)
  local key = from .. ">" .. to
  local line = self[key]
  if not line then
    line = { from = from, to = to, first = 1, last = 0 }
    self[key], self.order[#self.order + 1] = line, line
  end
  line.last = line.last + 1
  line[line.last] = item
end

function Lines:take(is_held)
  local ready = {}
  for _, line in ipairs(self.order) do
    if line.first <= line.last and not line.held and not is_held(line.to) then ready[#ready + 1] = line end
  end
  if #ready == 0 then return nil end
  local line = self.random(ready)
  local item = line[line.first]
  line[line.first] = nil
  line.first = line.first + 1
  return item, line
end

function lines.resume(co, ...)
  local ok, err = coroutine.resume(co, ...)
  if not ok then error(debug.traceback(co, err), 0) end
end

return lines
