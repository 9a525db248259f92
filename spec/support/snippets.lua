-- The code in Markdown pages, to be run: what a page shows is what a reader will type.
--
--   ```lua ... ```        shown and run. All of a page are one chunk, in order, so that one may use another's locals.
--   <!-- lua ... -->      run, not shown: what a page takes for granted. `<!-- lua fresh ... -->` begins a new chunk.
--   --> text              in a shown snippet: the next line that is printed. Every printed line must stand there, in a
--                         chunk that has any.
local snippets = {}

--- Pages whose snippets need more than a Lua; each names the specs that run them.
snippets.ELSEWHERE = {
  ["docs/skynet.md"] = "spec/skynet", ["docs/skynet.zh-CN.md"] = "spec/skynet",
  ["docs/world.md"] = "spec/world", ["docs/world.zh-CN.md"] = "spec/world", ["docs/viewer.md"] = "spec/viewer",
  ["docs/viewer.zh-CN.md"] = "spec/viewer",
}

--- The chunks of a page: { lines, expected, shown }. Lines keep their numbers, so that an error names those of the
-- page; `shown` has the first and last line of each snippet, its fences.
function snippets.read(path)
  local chunks, chunk, mode, number = {}, nil, nil, 0
  local function begin()
    chunk = { lines = {}, expected = {}, shown = {} }
    chunks[#chunks + 1] = chunk
    for i = 1, number do chunk.lines[i] = "" end
  end
  for line in io.lines(path) do
    number = number + 1
    local code = ""
    if mode == nil then
      if line:find "^```lua%s*$" then
        mode = "shown"
      elseif line:find "^<!%-%- lua" then
        mode = "hidden"
        if line:find "fresh" then chunk = nil end
      elseif line:find "^```" then
        mode = "other"
      end
      if (mode == "shown" or mode == "hidden") and not chunk then begin() end
      if mode == "shown" then table.insert(chunk.shown, { first = number }) end
    elseif mode == "hidden" and line:find "^%-%->" or mode ~= "hidden" and line:find "^```%s*$" then
      if mode == "shown" then chunk.shown[#chunk.shown].last = number end
      mode = nil
    elseif mode ~= "other" then
      code = line
      if mode == "shown" then table.insert(chunk.expected, line:match "%-%-> (.*)$") end
    end
    if chunk then chunk.lines[number] = code end
  end
  assert(mode == nil, path .. ": a snippet without an end")
  return chunks
end

--- Runs a chunk; returns the lines that it printed, and those that the page says.
function snippets.run(chunk, path)
  local printed = {}
  local env = setmetatable({
    print = function(...)
      local list = {}
      for i = 1, select("#", ...) do list[i] = tostring((select(i, ...))) end
      for line in (table.concat(list, "\t") .. "\n"):gmatch "(.-)\n" do printed[#printed + 1] = line end
    end,
  }, { __index = _G })
  env._G = env
  local f
  if setfenv then -- Lua 5.1
    f = setfenv(assert(loadstring(table.concat(chunk.lines, "\n"), "@" .. path)), env)
  else
    f = assert(load(table.concat(chunk.lines, "\n"), "@" .. path, "t", env))
  end
  f()
  return printed, chunk.expected
end

return snippets
