-- Labels of nodes: from `add_node` and triggers to explanations, snapshots, journals, the viewer and the program `aoi`.
local aoi = require "aoi"
local command = require "spec.support.command"
local journal = require "aoi.journal"
local trigger = require "aoi.trigger"
local tools = require "spec.support.tools"

local function with_label(label)
  local space = aoi.new()
  space:enter(7, 0, 0)
  space:enter(12, 3, 4)
  space:add_node(7, 1, { radius = 5, label = label }, function() end)
  return space
end

describe("the label of a node", function()
  it("is part of its area, and stays when an area without one takes its place", function()
    local space = with_label "alert"
    assert.equal("alert", space:area(7, 1).label)
    space:set_area(7, 1, { shape = "circle", radius = 2 })
    space:set_radius(7, 1, 9)
    space:set_mask(7, 1, 3)
    assert.equal("alert", space:area(7, 1).label)
    space:set_area(7, 1, { radius = 2, label = "hears" })
    assert.equal("hears", space:area(7, 1).label)
    space:add_node(7, 2, 3)
    assert.is_nil(space:area(7, 2).label)
    space:remove_node(7, 1)
    space:add_node(7, 3, 3) -- perhaps the same slot
    assert.is_nil(space:area(7, 3).label)
    space:set_area(7, 3, space:area(7, 3))
    space:check()
  end)

  it("stands in explanations", function()
    local space = with_label "alert"
    local told = space:explain(7, 1, 12)
    assert.equal("alert", told.label)
    assert.matches("^Node 1 'alert' of entity 7 sees entity 12: inside", tostring(told))
    assert.equal("alert", space:explain(7, 1, 99).label)
  end)

  it("has 1 to 255 bytes", function()
    local space = with_label(("x"):rep(255))
    for _, bad in ipairs { "", ("x"):rep(256), "a\0b", 5, true } do
      local ok, err = pcall(space.add_node, space, 7, 2, { radius = 1, label = bad })
      assert.is_false(ok)
      assert.matches("bad value for 'label': a string of 1 to 255 bytes other than 0 expected", err)
    end
    assert.is_nil(space:area(7, 2))
  end)

  it("is saved and loaded, to the byte", function()
    local space = with_label "alert"
    space:add_node(7, 2, { shape = "polygon", points = { 0, 0, 5, 0, 0, 5 }, label = "corner" })
    local copy = aoi.load(space:save(), function(_, node)
      if node == 1 then return function() end end
    end)
    assert.equal("alert", copy:area(7, 1).label)
    assert.equal("corner", copy:area(7, 2).label)
    assert.equal(space:save(), copy:save())
  end)

  it("is recorded and played, by every call that has an area, backwards too", function()
    local pieces = {}
    local space = with_label "before"
    local j = journal.record(space, function(bytes) pieces[#pieces + 1] = bytes end)
    j:mark(1)
    space:add_node(12, 1, { radius = 5, label = "added" })
    j:mark(2)
    space:set_area(12, 1, { radius = 6, label = "changed" })
    space:adopt(12, 2, { radius = 5, label = "adopted" }, { 7 })
    j:mark(3)
    j:stop()
    local player = journal.open(table.concat(pieces), { engine = "grid" })
    assert.equal("before", player.space:area(7, 1).label)
    player:seek(3)
    assert.equal("changed", player.space:area(12, 1).label)
    assert.equal("adopted", player.space:area(12, 2).label)
    player:seek(2)
    assert.equal("added", player.space:area(12, 1).label)
  end)

  it("is what an observer tells of the node, when it changes too", function()
    local space = with_label "alert"
    local observer = aoi.observe(space)
    assert.truthy(observer:changes():find("\7alert\0", 1, true))
    assert.is_nil(observer:changes())
    space:set_area(7, 1, { radius = 5, label = "alarm" })
    assert.truthy(observer:changes():find("\7alarm\0", 1, true))
  end)
end)

describe("a trigger", function()
  it("labels its nodes with its name", function()
    local space = with_label()
    local handlers = { alert = { radius = 5 }, gone = { radius = 2, outside = true }, [""] = { radius = 1 },
      ["a\0b" .. ("x"):rep(300)] = { radius = 1 } }
    local triggers = trigger.new(space, handlers)
    local t = triggers:add(7, "alert")
    assert.equal("alert", space:area(7, t.node).label)
    t:set_area(3)
    assert.equal("alert", space:area(7, t.node).label)
    assert.matches("^Trigger 'alert' of entity 7", tostring(t:explain(12)))
    assert.matches("^Node %-%d+ 'alert' of entity 7", tostring(space:explain(7, t.node, 12)))
    local outside = triggers:add(7, "gone")
    assert.equal("gone", space:area(7, outside.node).label)
    assert.is_nil(space:area(7, triggers:add(7, "").node).label)
    assert.equal("ab" .. ("x"):rep(253), space:area(7, triggers:add(7, "a\0b" .. ("x"):rep(300)).node).label)
    local sight = require("aoi.sight").new(space)
    local seen = triggers:add(12, "alert", { sight = sight })
    assert.equal("alert", space:area(12, seen.node).label)
  end)

  it("has its name after a restart", function()
    local space = with_label()
    local handlers = { alert = { radius = 5, linger = 3 } }
    local triggers = trigger.new(space, handlers)
    triggers:add(7, "alert")
    local copy = aoi.load(space:save())
    local again = trigger.new(copy, handlers)
    again:load(triggers:save())
    assert.equal("alert", copy:area(7, again:get(7, "alert").node).label)
  end)
end)

describe("the program aoi", function()
  if tools.lacks "argparse" then return pending(tools.lacks "argparse") end
  local function run(...)
    local status, out = command(...)
    assert.equal(0, status)
    return out
  end

  it("names the triggers of a journal", function()
    local path = os.tmpname()
    local space = aoi.new()
    local j = journal.record(space, path)
    local triggers = trigger.new(space, { alert = { radius = 5 }, alarm = { radius = 50 } })
    space:enter(7, 0, 0)
    space:enter(12, 20, 0)
    local t = triggers:add(7, "alert")
    triggers:add(7, "alarm")
    j:mark(1)
    space:move(12, 3, 0)
    j:mark(2)
    space:move(12, 8, 0)
    j:mark(3)
    t:remove()
    space:move(12, 90, 0)
    j:stop()
    local listed = run("explain", path, "--at", "2", "7")
    assert.matches("node %-%d+ 'alert' of a layer", listed)
    assert.matches("node %-%d+ 'alarm' of a layer", listed)
    assert.matches("Node %-%d+ 'alert' of entity 7 sees entity 12",
      run("explain", path, "--at", "2", "7", ("%d"):format(t.node), "12"))
    local events = run("events", path)
    assert.matches("^%S+ enter 7 12 node %-%d+ 'alarm'\n"
      .. "2%S* enter 7 12 node %-%d+ 'alert'\n3%S* leave 7 12 node %-%d+ 'alert'\n"
      .. "3%S*%+ leave 7 12 node %-%d+ 'alarm'$", events)
    assert.matches("^2%S* enter 7 12 node %-%d+ 'alert'$", run("events", path, "--from", "2", "--to", "2.5", "7", "12"))
    assert.equal("", run("events", path, "12"))
    os.remove(path)
    local both = aoi.new()
    triggers = trigger.new(both, { alert = { radius = 5 }, alarm = { radius = 5 } })
    both:enter(7, 0, 0)
    both:enter(12, 3, 0)
    local alert, alarm = triggers:add(7, "alert"), triggers:add(7, "alarm")
    j = journal.record(both, path)
    both:move(12, 4, 0)
    both:move(12, 9, 0)
    both:move(12, 4, 0)
    alert:remove() -- its event comes when the node has gone
    alarm:remove()
    j:stop()
    events = run("events", path)
    os.remove(path)
    for name, own in pairs { alert = alert, alarm = alarm } do
      local line = ("7 12 node %d '%s'"):format(own.node, name):gsub("%-", "%%-")
      assert.equal(3, select(2, events:gsub(line, "")))
    end
    assert.matches("%d leave %d+ %d+ node 1\n", run("events", "examples/data/hermes_ao300.csv.gz", "--to", "10", "-q"))
  end)
end)
