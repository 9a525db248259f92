-- docs/stability.md: the formats' versions are those of the sources; the headers and modules that it names exist.
local process = require "spec.support.process"

local page = process.read "docs/stability.md"

describe("docs/stability.md", function()
  local VERSIONS = {
    { "snapshot", "src/snapshot/snapshot.h", "AOI_SNAPSHOT_VERSION = (%d+)" },
    { "state of triggers", "lua/aoi/trigger/saved.lua", "\nlocal VERSION = (%d+)" },
    { "journal", "src/journal/journal.h", "AOI_JOURNAL_VERSION = (%d+)" },
    { "messages to clients", "src/sync/message.h", "AOI_WIRE_VERSION = (%d+)" },
    { "blocks of a viewer", "src/view/observer.c", "= (%d+); /%* version" },
    { "messages between services", "src/skynet/wire.h", "WIRE_VERSION = (%d+)" },
  }

  for _, format in ipairs(VERSIONS) do
    local name, path, pattern = format[1], format[2], format[3]
    it("has the version of the format: " .. name, function()
      local said = page:match("\n| %[" .. name .. "%]%b() | (%d+) |")
      assert.equal(process.read(path):match(pattern), said)
    end)
  end

  it("names headers and modules that there are", function()
    local row = page:match "\n| Lua: ([^|]+)|" .. page:match "\n| C: ([^|]+)|"
    local n = 0
    for name in row:gmatch "`([%w_.]+)`" do
      n = n + 1
      local base = "lua/" .. name:gsub("%.", "/")
      local file = io.open("include/" .. name) or io.open(base .. ".lua") or io.open(base .. "/init.lua")
      assert(file, name):close()
    end
    assert.is_true(n >= 15)
  end)
end)
