-- Blocks of the viewer (docs/viewer-wire.md) that pages and servers add to those of an observer.

require "aoi" -- loads aoi.core.helpers
local core = require "aoi.core.helpers"

local blocks = {}

local char, floor = string.char, math.floor

--- Makes a block; `type` is a letter.
function blocks.block(type, content)
  local n = #content
  return type .. char(n % 256, floor(n / 256) % 256, floor(n / 65536) % 256, floor(n / 16777216) % 256) .. content
end

--- The eight bytes of a number as an IEEE double, little-endian.
blocks.double = core.double

--- The block that ends a tick.
function blocks.tick(time) return blocks.block("T", blocks.double(time)) end

--- Converts a block of structure that an observer wrote to one that names the engine.
function blocks.of_engine(name, structure)
  return blocks.block("P", char(#name) .. name .. structure:sub(6))
end

return blocks
