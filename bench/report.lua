-- report.lua: the table for people and the columns for machines.
local report = {}

report.COLUMNS = {
  "date", "commit", "cpu", "compiler", "lua",
  "scene", "variant", "entities", "neighbours", "layer", "engine", "verb",
  "ns_min", "ns_median", "ratio", "rounds", "operations", "events", "events_per_op", "candidates_per_op",
  "steps_per_op", "bytes_per_entity", "lua_bytes_per_entity", "fill_ns", "fill_events",
}

report.LEGEND = [[
min, med   ns per operation, minimum and median of the rounds; ratio: minimum against that of the first line
ev         events per operation, of questions: ids in the answer
cand, step pairs examined and entries walked, per operation (space:stats())
B, Lua B   bytes per entity held by the core, and by Lua for handlers
fill       ns to enter an entity with its nodes]]

local function short(v)
  if not v then return "-" end
  return (v < 10 and "%.2f" or v < 1000 and "%.1f" or "%.0f"):format(v)
end

local HEAD = ("%-22s|%9s%9s%7s |%9s%9s%7s |%8s%8s%8s%7s%7s%9s"):format("", "C: min", "med", "ratio",
  "Lua: min", "med", "ratio", "ev", "cand", "step", "B", "Lua B", "fill")

--- The rows of one point as text: C and Lua side by side.
function report.point(scene, rows)
  local out = { ("%s: %s; %d entities, %g neighbours"):format(scene.name, scene.title, rows[1].entities,
    rows[1].neighbours), HEAD }
  local lines, by_name = {}, {}
  for _, row in ipairs(rows) do
    local name = row.variant == "" and row.engine or row.engine .. " " .. row.variant
    if not by_name[name] then
      by_name[name] = { name = name }
      lines[#lines + 1] = by_name[name]
    end
    by_name[name][row.layer] = row
  end
  for _, line in ipairs(lines) do
    local c, l = line.c or {}, line.lua or {}
    local any = line.c or line.lua
    out[#out + 1] = ("%-22s|%9s%9s%7s |%9s%9s%7s |%8s%8s%8s%7s%7s%9s"):format(line.name,
      short(c.ns_min), short(c.ns_median), short(c.ratio), short(l.ns_min), short(l.ns_median), short(l.ratio),
      short(any.events_per_op), short(any.candidates_per_op), short(any.steps_per_op),
      ("%.0f"):format(any.bytes_per_entity), line.lua and ("%.0f"):format(l.lua_bytes_per_entity) or "-",
      ("%.0f"):format(any.fill_ns))
  end
  return table.concat(out, "\n") .. "\n"
end

-- Text in quotes is never a number: a commit may be 4326e75917.
local function quoted(value)
  if type(value) == "number" then return ("%.10g"):format(value) end
  local text = tostring(value == nil and "" or value)
  if tonumber(text) or text:find '[,"\r\n]' then return '"' .. text:gsub('"', '""') .. '"' end
  return text
end

--- Rows as comma-separated values (RFC 4180) with the names of the columns on top.
function report.csv(rows)
  local lines = { table.concat(report.COLUMNS, ",") }
  for _, row in ipairs(rows) do
    local fields = {}
    for i, name in ipairs(report.COLUMNS) do fields[i] = quoted(row[name]) end
    lines[#lines + 1] = table.concat(fields, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

return report
