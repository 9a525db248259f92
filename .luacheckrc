-- The style of all Lua files: a block of one short statement stands on the line of its `if`, `for` or `function`; calls
-- have parentheses, but for `require "name"` and `f { ... }`; `---` above what other files call, `--` within a file.
std = "max"
max_line_length = 120
cache = false
exclude_files = { "build/*", "aoi/*" }

-- The library runs on every Lua: only what all versions share, and what it may probe for.
files["lua"] = {
  std = "min",
  read_globals = {
    "unpack",
    table = { fields = { "unpack" } },
    math = { fields = { "type", "tointeger" } },
    coroutine = { fields = { "isyieldable" } },
  },
}
files["lua/aoi/skynet"] = { std = "max" } -- skynet brings Lua 5.4 or later
files["examples/recipes/love"] = { std = "max", globals = { "love" } }
files["spec"] = { std = "max+busted" }
files["*.rockspec"] = { std = "rockspec" }
