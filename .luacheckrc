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
files["spec"] = { std = "max+busted" }
files["*.rockspec"] = { std = "rockspec" }
files["config.ld"] = { std = "max+ldoc" }
