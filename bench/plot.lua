-- plot.lua: draws measured rows as SVG: cost against population, or against density, on logarithmic axes.
--
--   +- title ------------------------------------+
--   |  panel "in C"       panel "through Lua"    |
--   |   ns ^  ___/          ns ^   ___/   legend |
--   |      +------> n          +------> n        |
--   +- machine ----------------------------------+
local plot = {}

local COLOURS = {
  list = "#0072b2", grid = "#d55e00", tower = "#009e73", quadtree = "#cc79a7", brute = "#777777", textbook = "#e69f00",
}
local OTHERS = { "#56b4e9", "#8c564b", "#2f4f4f", "#9acd32" }

local WIDTH, HEIGHT = 880, 410
local PANEL = { width = 320, height = 270, top = 76 }
local LEFTS = { 62, 442 }

local function escaped(text)
  return (tostring(text):gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }))
end

local function text(out, x, y, content, more)
  out[#out + 1] = ('<text x="%.1f" y="%.1f" %s>%s</text>'):format(x, y, more or "", escaped(content))
end

local function log10(v) return math.log(v) / math.log(10) end

local function short(v)
  if v >= 1e6 then return ("%gM"):format(v / 1e6) end
  return v >= 1e3 and ("%gk"):format(v / 1e3) or ("%g"):format(v)
end

-- Ticks 1, 2, 5, 10, ... that enclose the values.
local function ticks(low, high)
  local all = {}
  for decade = math.floor(log10(low)), math.ceil(log10(high)) do
    for _, digit in ipairs { 1, 2, 5 } do all[#all + 1] = digit * 10 ^ decade end
  end
  local first, last = 1, #all
  while all[first + 1] and all[first + 1] <= low do first = first + 1 end
  while all[last - 1] and all[last - 1] >= high and last - 1 > first do last = last - 1 end
  local kept = {}
  for i = first, last do kept[#kept + 1] = all[i] end
  return kept
end

-- A function from values to a position between a and b.
local function scale(marks, a, b)
  local low, high = log10(marks[1]), log10(marks[#marks])
  return function(v) return a + (log10(v) - low) / (high - low) * (b - a) end
end

local function draw_panel(out, left, panel, chart, x_marks, y_marks)
  local top, bottom, right = PANEL.top, PANEL.top + PANEL.height, left + PANEL.width
  local X, Y = scale(x_marks, left, right), scale(y_marks, bottom, top)
  text(out, left, top - 8, panel.title, 'font-weight="bold"')
  for _, v in ipairs(y_marks) do
    out[#out + 1] = ('<path d="M%.1f %.1fH%.1f" stroke="#ddd"/>'):format(left, Y(v), right)
    text(out, left - 6, Y(v) + 4, short(v), 'text-anchor="end"')
  end
  for _, v in ipairs(x_marks) do
    out[#out + 1] = ('<path d="M%.1f %.1fV%.1f" stroke="#ddd"/>'):format(X(v), top, bottom)
    text(out, X(v), bottom + 16, short(v), 'text-anchor="middle"')
  end
  text(out, (left + right) / 2, bottom + 34, chart.x_label, 'text-anchor="middle"')
  for _, series in ipairs(panel.series) do
    local path = {}
    for i, point in ipairs(series.points) do
      local x, y = X(point[1]), Y(point[2])
      path[i] = ("%s%.1f %.1f"):format(i == 1 and "M" or "L", x, y)
      out[#out + 1] = ('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>'):format(x, y, series.colour)
    end
    out[#out + 1] = ('<path d="%s" fill="none" stroke="%s" stroke-width="2"/>')
      :format(table.concat(path), series.colour)
  end
end

--- chart: title, x_label, y_label, footer, panels = { { title, series = { { name, colour, points = { { x, y } } } } } }
function plot.svg(chart)
  local x_low, x_high, y_low, y_high = math.huge, 0, math.huge, 0
  local legend, listed = {}, {}
  for _, panel in ipairs(chart.panels) do
    for _, series in ipairs(panel.series) do
      if not listed[series.name] then legend[#legend + 1] = series end
      listed[series.name] = true
      for _, point in ipairs(series.points) do
        x_low, x_high = math.min(x_low, point[1]), math.max(x_high, point[1])
        y_low, y_high = math.min(y_low, point[2]), math.max(y_high, point[2])
      end
    end
  end
  local x_marks, y_marks = ticks(x_low, x_high), ticks(y_low, y_high)
  local out = {
    ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">')
      :format(WIDTH, HEIGHT),
    '<rect width="100%" height="100%" fill="white"/>',
  }
  text(out, 12, 24, chart.title, 'font-size="16" font-weight="bold"')
  text(out, 12, 42, chart.y_label, 'fill="#555"')
  for i, panel in ipairs(chart.panels) do draw_panel(out, LEFTS[i], panel, chart, x_marks, y_marks) end
  local right = LEFTS[#chart.panels] + PANEL.width
  for i, series in ipairs(legend) do
    local y = PANEL.top + i * 20
    out[#out + 1] = ('<path d="M%d %dh22" stroke="%s" stroke-width="3"/>'):format(right + 14, y - 4, series.colour)
    text(out, right + 42, y, series.name)
  end
  text(out, 12, HEIGHT - 10, chart.footer, 'font-size="10" fill="#555"')
  out[#out + 1] = "</svg>\n"
  return table.concat(out, "\n")
end

-- The chart of a scene, nil if its rows are too few for a curve. Either population or density varies.
local function chart_of(scene, rows)
  local values, count = { entities = {}, neighbours = {} }, { entities = 0, neighbours = 0 }
  for _, row in ipairs(rows) do
    for field, seen in pairs(values) do
      if not seen[row[field]] then count[field] = count[field] + 1 end
      seen[row[field]] = true
    end
  end
  local field = count.neighbours > count.entities and "neighbours" or "entities"
  if count[field] < 3 then return nil end
  local panels, by_layer = {}, {}
  for _, row in ipairs(rows) do
    local panel = by_layer[row.layer]
    if not panel then
      panel = { title = row.layer == "c" and "in C" or "through " .. row.lua, series = {}, by_name = {} }
      by_layer[row.layer] = panel
      panels[#panels + 1] = panel
    end
    local name = row.variant == "" and row.engine or row.engine .. " " .. row.variant
    local series = panel.by_name[name]
    if not series then
      series = { name = name, colour = COLOURS[name] or OTHERS[#panel.series % #OTHERS + 1], points = {} }
      panel.by_name[name] = series
      panel.series[#panel.series + 1] = series
    end
    series.points[#series.points + 1] = { row[field], row.ns_min }
  end
  local one = rows[1]
  return {
    title = scene.name .. ": " .. scene.title,
    x_label = field == "entities" and ("entities on the map, %g neighbours each"):format(one.neighbours)
      or ("neighbours of each of %d entities"):format(one.entities),
    y_label = "ns per operation, minimum of rounds",
    footer = ("%s, %s, %s, commit %s"):format(one.date, one.cpu, one.compiler, one.commit),
    panels = panels,
  }
end

--- All charts that the rows allow: a list of { name =, svg = }.
function plot.all(scene_list, rows)
  local charts = {}
  for _, scene in ipairs(scene_list) do
    local mine = {}
    for _, row in ipairs(rows) do
      if row.scene == scene.name then mine[#mine + 1] = row end
    end
    local chart = #mine > 0 and chart_of(scene, mine)
    if chart then charts[#charts + 1] = { name = scene.name, svg = plot.svg(chart) } end
  end
  return charts
end

return plot
