-- byhand.lua: what one writes without a library: tables of cells as wide as the radius, everybody sees everybody.
--
--   cells[key] = { [id] = true, ... }     key: the column and the row of the cell
--
-- It knows one square radius, and no kinds, masks, shapes, queries, deferred ticks or errors. A handler must not change
-- it: events are told while a cell is walked through. One comparison decides for both directions, so that the last bit
-- of a coordinate may tell it from the rule. It is a subject of the benchmarks, not part of the library.
local floor = math.floor
local byhand = {}
byhand.__index = byhand

local COLUMN = 2 ^ 24

function byhand.new(radius, on_enter, on_leave)
  return setmetatable({ radius = radius, cells = {}, x = {}, y = {}, on_enter = on_enter, on_leave = on_leave }, byhand)
end

local function put(self, id, key)
  local cell = self.cells[key]
  if not cell then
    cell = {}
    self.cells[key] = cell
  end
  cell[id] = true
end

-- All in the nine cells around: who is left behind, who comes near.
local function look(self, key, id, ox, oy, nx, ny, leaves, enters)
  local cells, x, y, r, on_enter, on_leave = self.cells, self.x, self.y, self.radius, self.on_enter, self.on_leave
  for column = key - COLUMN, key + COLUMN, COLUMN do
    for at = column - 1, column + 1 do
      for other in next, cells[at] or {} do
        local px, py = x[other], y[other]
        local was = ox - r <= px and px <= ox + r and oy - r <= py and py <= oy + r
        local is = nx - r <= px and px <= nx + r and ny - r <= py and py <= ny + r
        if was ~= is and other ~= id then
          if is and enters then
            on_enter(id, other)
            on_enter(other, id)
          elseif was and leaves then
            on_leave(id, other)
            on_leave(other, id)
          end
        end
      end
    end
  end
end

local function key_of(self, x, y) return floor(x / self.radius) * COLUMN + floor(y / self.radius) end

function byhand:enter(id, x, y)
  local key = key_of(self, x, y)
  look(self, key, id, math.huge, math.huge, x, y, false, true)
  self.x[id], self.y[id] = x, y
  put(self, id, key)
end

function byhand:move(id, x, y)
  local ox, oy = self.x[id], self.y[id]
  local from, to = key_of(self, ox, oy), key_of(self, x, y)
  if from == to then
    look(self, from, id, ox, oy, x, y, true, true)
  else
    look(self, from, id, ox, oy, x, y, true, false)
    look(self, to, id, ox, oy, x, y, false, true)
    self.cells[from][id] = nil
    put(self, id, to)
  end
  self.x[id], self.y[id] = x, y
end

return byhand
