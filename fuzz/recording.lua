-- recording.lua: any bytes are a recording that is read, or a reason with file and line; what was read is consistent.
local recording = require "aoi.tools.recording"
local rest, fail = rest, fail -- luacheck: ignore

return function()
  local text = rest()
  for _, dimensions in ipairs { false, 2, 3 } do
    local rec, why = recording.parse(text, "FILE", dimensions or nil)
    if not rec then
      if type(why) ~= "string" or not why:find("^FILE:%d+: [\32-\126]+$") then fail("no reason: " .. tostring(why)) end
      local line = tonumber(why:match(":(%d+):"))
      local _, lines = text:gsub("\n", "")
      if line < 1 or line > lines + 1 then fail("a line that is not there: " .. why) end
    else
      local rows, most, last_t = 0, 0, -math.huge
      local stride = rec.dimensions + 1
      if dimensions and rec.dimensions ~= dimensions then fail "other dimensions" end
      for _, step in ipairs(rec) do
        if not (step.t > last_t and step.t < math.huge) then fail "time does not go on" end
        if step.n < 1 or #step ~= step.n * stride then fail "a step of the wrong length" end
        local last_id = math.mininteger
        for k = 0, step.n - 1 do
          local id = step[k * stride + 1]
          if math.type(id) ~= "integer" or k > 0 and id <= last_id then fail "ids out of order" end
          for a = 2, stride do
            local v = step[k * stride + a]
            if math.type(v) ~= "float" or v - v ~= 0 then fail "a coordinate that is none" end
          end
          last_id = id
        end
        last_t, rows, most = step.t, rows + step.n, math.max(most, step.n)
      end
      if rows ~= rec.rows or most ~= rec.most then fail "rows are counted wrongly" end
    end
  end
end
