-- Recorded movement: the reader accepts well-formed files and names file, line and reason of an error; replaying gives
-- the published numbers and checksums of events.
local aoi = require "aoi"
local core = require "aoi.core.helpers"
local recording = require "aoi.tools.recording"
local replay = require "aoi.tools.replay"
local process = require "spec.support.process"
local random_run = require "spec.support.random_run"
local rng = require "spec.support.rng"
local tree = require "spec.support.tree"

local quote = process.quote
local CROWD = "examples/data/hermes_ao300.csv.gz"
local seed = random_run.seed("replay")

-- A file with this text for the time of one test.
local function file(name, text)
  local folder, remove = process.folder()
  finally(remove)
  process.write(folder .. "/" .. name, text)
  return folder .. "/" .. name
end

describe("a recording", function()
  it("becomes steps of flat rows", function()
    local rec = assert(recording.parse("t,id,x,y\n0,3,1.5,-2\n0,12,.5,1e2\n0.25,12,-0,+7.\n", "a.csv"))
    assert.same({
      name = "a.csv", dimensions = 2, rows = 3, most = 2,
      { t = 0, n = 2, 3, 1.5, -2, 12, 0.5, 100 },
      { t = 0.25, n = 1, 12, 0, 7 },
    }, rec)
  end)

  it("may have a third coordinate, which may be left out", function()
    local text = "t,id,x,y,z\n1,1,2,3,4\n1,2,5,6,7\n"
    assert.same({ t = 1, n = 2, 1, 2, 3, 4, 2, 5, 6, 7 }, assert(recording.parse(text, "a"))[1])
    assert.same({ t = 1, n = 2, 1, 2, 3, 4, 2, 5, 6, 7 }, assert(recording.parse(text, "a", 3))[1])
    local flat = assert(recording.parse(text, "a", 2))
    assert.equal(2, flat.dimensions)
    assert.same({ t = 1, n = 2, 1, 2, 3, 2, 5, 6 }, flat[1])
  end)

  it("may have lines that end as elsewhere, and no newline at its end", function()
    local unix = assert(recording.parse("t,id,x,y\n1,1,2,3\n2,1,2,3\n", "a"))
    assert.same(unix, recording.parse("t,id,x,y\r\n1,1,2,3\r\n2,1,2,3\r\n", "a"))
    assert.same(unix, recording.parse("t,id,x,y\n1,1,2,3\n2,1,2,3", "a"))
  end)

  it("may be a header alone", function()
    assert.same({ name = "a", dimensions = 2, rows = 0, most = 0 }, recording.parse("t,id,x,y\n", "a"))
  end)

  it("keeps every id that this Lua can tell apart", function()
    local most = math.type and "9223372036854775807" or "9007199254740992"
    local rec = assert(recording.parse("t,id,x,y\n1,-" .. most .. ",2,3\n1," .. most .. ",2,3\n", "a"))
    assert.equal(tonumber(most), rec[1][4])
    assert.equal(-tonumber(most), rec[1][1])
  end)

  local head = "t,id,x,y\n1,5,2,3\n"
  local header = "header 't,id,x,y' or 't,id,x,y,z' expected, found "
  -- { what, text, message after the name }
  local malformed = {
    { "empty", "", "1: the file is empty, a header 't,id,x,y' or 't,id,x,y,z' expected" },
    { "no header", "1,5,2,3\n", "1: " .. header .. "'1,5,2,3'" },
    { "another header", "t,id,x\n", "1: " .. header .. "'t,id,x'" },
    { "an empty header", "\n\n", "1: " .. header .. "''" },
    { "a byte order mark", "\239\187\191t,id,x,y\n", "1: " .. header .. "'???t,id,x,y'" },
    { "a blank line", head .. "\n2,5,2,3\n", "3: a row of 4 fields expected, found ''" },
    { "a blank line at the end", head .. "\n", "3: a row of 4 fields expected, found ''" },
    { "too few fields", head .. "2,5,2\n", "3: a row of 4 fields expected, found '2,5,2'" },
    { "too many fields", head .. "2,5,2,3,4\n", "3: a row of 4 fields expected, found '2,5,2,3,4'" },
    { "a cut last line", head .. "2,5,2.", "3: a row of 4 fields expected, found '2,5,2.'" },
    { "too few for three dimensions", "t,id,x,y,z\n1,2,3,4\n", "2: a row of 5 fields expected, found '1,2,3,4'" },
    { "an empty field", head .. "2,5,,3\n", "3: x is not a number: ''" },
    { "words", head .. "now,5,2,3\n", "3: t is not a number: 'now'" },
    { "blanks", head .. "2,5, 2,3\n", "3: x is not a number: ' 2'" },
    { "nan", head .. "2,5,nan,3\n", "3: x is not a number: 'nan'" },
    { "infinity", head .. "2,5,2,-inf\n", "3: y is not a number: '-inf'" },
    { "hexadecimal", head .. "2,5,0x10,3\n", "3: x is not a number: '0x10'" },
    { "two points", head .. "2,5,1.2.3,3\n", "3: x is not a number: '1.2.3'" },
    { "a point alone", head .. "2,5,.,3\n", "3: x is not a number: '.'" },
    { "an exponent without digits", head .. "2,5,1e,3\n", "3: x is not a number: '1e'" },
    { "a huge coordinate", head .. "2,5,2,1e999\n", "3: y is too large: '1e999'" },
    { "a huge height", "t,id,x,y,z\n1,2,3,4,-1e309\n", "2: z is too large: '-1e309'" },
    { "a coordinate beyond 2^50", head .. "2,5,2,1125899906842625\n", "3: y is too large: '1125899906842625'" },
    { "a huge time", head .. "1e309,5,2,3\n", "3: t is too large: '1e309'" },
    { "a fractional id", head .. "2,5.5,2,3\n", "3: id is not an integer: '5.5'" },
    { "an id in floating point", head .. "2,1e3,2,3\n", "3: id is not an integer: '1e3'" },
    { "a huge id", head .. "2,9223372036854775808,2,3\n", "3: id is too large: '9223372036854775808'" },
    { "time that goes back", head .. "0.5,5,2,3\n", "3: t goes back: '0.5'" },
    { "ids out of order", head .. "1,4,2,3\n", "3: ids do not ascend: '4'" },
    { "an id twice", head .. "1,5,2,3\n", "3: this id stands twice in its step: '5'" },
    { "a zero byte", head .. "2,5,2\0,3\n", "3: x is not a number: '2?'" },
    { "zero bytes for a line", head .. "\0\0\0", "3: a row of 4 fields expected, found '???'" },
    { "a very long field", head .. "2,5," .. ("1"):rep(500) .. ",3\n",
      "3: x is too large: '" .. ("1"):rep(40) .. "...'" },
    { "a very long line", head .. (","):rep(1e6), "3: a row of 4 fields expected, found '" .. (","):rep(40) .. "...'" },
    { "quotes", head .. '"2","5","2","3"\n', "3: t is not a number: '\"2\"'" },
    { "a lone carriage return inside", head .. "2,5,2\r,3\n", "3: x is not a number: '2?'" },
  }
  for _, case in ipairs(malformed) do
    it("with " .. case[1] .. " is refused", function()
      local rec, why = recording.parse(case[2], "a.csv")
      assert.is_nil(rec)
      assert.equal("a.csv:" .. case[3], why)
    end)
  end

  it("without z is refused where three dimensions are asked for", function()
    assert.same({ nil, "a:1: there is no z in it" }, { recording.parse("t,id,x,y\n", "a", 3) })
  end)

  it("is read from files, gzipped or not, with any name", function()
    local text = "t,id,x,y\n1,1,2,3\n"
    local expected = recording.parse(text, "")
    for _, name in ipairs{ "a.csv", "it's a; $(name) .csv", "-c.csv" } do
      local path = file(name, text)
      local rec = assert(recording.read(path))
      expected.name = path
      assert.same(expected, rec)
      process.must("gzip <" .. quote(path) .. " >" .. quote(path .. ".gz"))
      rec = assert(recording.read(path .. ".gz"))
      expected.name = path .. ".gz"
      assert.same(expected, rec)
    end
  end)

  it("that is no gzip file, a cut one or a damaged one is refused as a whole", function()
    local path = file("a.csv.gz", "t,id,x,y\n1,1,2,3\n")
    assert.same({ nil, path .. ": not a gzip file" }, { recording.read(path) })
    local whole = process.read(CROWD)
    local damaged = path .. ": gzip cannot read it: damaged, or there is no gzip"
    process.write(path, whole:sub(1, 500000))
    assert.same({ nil, damaged }, { recording.read(path) })
    process.write(path, whole:sub(1, 5000) .. "oops" .. whole:sub(5005))
    assert.same({ nil, damaged }, { recording.read(path) })
    process.write(path, "\31\139")
    assert.same({ nil, damaged }, { recording.read(path) })
    process.write(path, "")
    assert.truthy(select(2, recording.read(path)):find(path .. ":1: the file is empty", 1, true))
  end)

  it("that cannot be opened is refused", function()
    local rec, why = recording.read("no/such/file.csv")
    assert.is_nil(rec)
    assert.truthy(why:find("^no/such/file%.csv: "))
    rec, why = recording.read("spec")
    assert.is_nil(rec)
    assert.truthy(why:find("^spec:"))
    rec = recording.read("a\0b")
    assert.is_nil(rec)
  end)

  -- Valid text with some bytes changed, cut, doubled or moved: either refused with a line, or a recording that
  -- keeps every promise of the format.
  it("of any bytes is refused or sound", function()
    local random = rng.new(seed)
    local pieces = {
      "", "\n", ",", "\r", "\0", "\255", "-", ".", "e", "9", "1e308", "99999999999999999999", "nan", "0x1",
      "t,id,x,y\n", "\n\n", ",,", " ",
    }
    local accepted, refused, steps = 0, 0, random_run.steps(3000)
    for _ = 1, steps do
      local columns = random(2)
      local text = { "t,id,x,y" .. (columns == 2 and ",z\n" or "\n") }
      for t = 0, random(3) do
        for id = 1, random(3) do
          text[#text + 1] = ("%g,%d,%g,%g"):format(t / 4, id, random() * 20 - 10, random() * 20 - 10)
            .. (columns == 2 and (",%g\n"):format(random()) or "\n")
        end
      end
      text = table.concat(text)
      for _ = 1, random(3) - 1 do
        local from = random(#text + 1)
        local to = from + random(4) - 2
        text = text:sub(1, from - 1) .. random(pieces) .. text:sub(to)
      end
      local rec, why = recording.parse(text, "x.csv")
      if rec then
        accepted = accepted + 1
        local stride, rows, last = rec.dimensions + 1, 0, nil
        for _, step in ipairs(rec) do
          assert(not last or step.t > last, text)
          last, rows = step.t, rows + step.n
          assert(step.n > 0 and #step == step.n * stride, text)
          for i, value in ipairs(step) do
            assert(value - value == 0, text)
            if i % stride == 1 then assert(value % 1 == 0 and (i == 1 or value > step[i - stride]), text) end
          end
        end
        assert(rows == rec.rows, text)
      else
        refused = refused + 1
        assert(why:find("^x%.csv:%d+: "), text)
      end
    end
    assert(steps < 500 or accepted > 0 and refused > 0) -- a third is left as it was
  end)
end)

describe("the checksum", function()
  it("is made of FNV-1a-64 hashes", function()
    local known = { [""] = "cbf29ce484222325", a = "af63dc4c8601ec8c", foobar = "85944171f73967e8" }
    for text, hash in pairs(known) do assert.equal(hash, ("%08x%08x"):format(core.fnv(text))) end
  end)

  -- Two people meet and part; the sums were made by an independent program in exact arithmetic.
  it("of a short recording is the published method's", function()
    local rec = assert(recording.parse("t,id,x,y\n0,1,0,0\n0,2,5,0\n1,1,0,0\n1,2,1,0\n2,2,1,0\n", "a"))
    assert.same({
      { radius = 1, enter = 2, leave = 2, checksum = "0x89338815e47b5b64" },
      { radius = 0.5, enter = 0, leave = 0, checksum = "0x0000000000000000" },
    }, replay.run(rec, { radii = { 1, 0.5 } }))
  end)
end)

-- What plain Lua finds by comparing everybody with everybody at every step.
local function by_hand(rec, radius)
  local stride = rec.dimensions + 1
  local seen, enter, leave = {}, 0, 0
  for _, step in ipairs(rec) do
    local now = {}
    for w = 1, step.n * stride, stride do
      for t = 1, step.n * stride, stride do
        local sees = w ~= t
        for axis = 1, rec.dimensions do
          local at, to = step[w + axis], step[t + axis]
          sees = sees and at - radius <= to and to <= at + radius
        end
        if sees then now[step[w] .. ">" .. step[t]] = true end
      end
    end
    for pair in pairs(now) do if not seen[pair] then enter = enter + 1 end end
    for pair in pairs(seen) do if not now[pair] then leave = leave + 1 end end
    seen = now
  end
  return enter, leave
end

-- Areas, and what their nodes hear: enters, leaves, checksum; of round ones and of those that keep it is what brute
-- force tells. The second recording lies beside the project, where it is at all.
local PUBLISHED = {
  [CROWD] = {
    size = { 959, 128783, 224 },
    { 1.00005, 20592, 20592, "0x90e56800f6ce321c" },
    { 2.00005, 45320, 45320, "0x132071a5a556de94" },
    { { shape = "circle", radius = 2 }, 35770, 35770, "0x4dcf48b3547debfc" },
    { { radius = 1.5, keep = 2 }, 23246, 23246, "0xb516952d60702752" },
    { { shape = "circle", radius = 1.5, margin = 0.25 }, 17618, 17618, "0xbfe7d4ffbfdd00d6" },
  },
  ["../shared/data/bf2_kashan.csv.gz"] = {
    size = { 2682, 287907, 138 },
    { 100, 35638, 34786, "0x31caee9f6cf57b34" },
    { 300, 65088, 62760, "0x5c4e7fe5b5b8e96c" },
    { { shape = "circle", radius = 200 }, 45414, 44198, "0x68dbcbb6ff5eabbc" },
    { { radius = 200, keep = 250 }, 48724, 47118, "0xf2f1c24ef1606aa8" },
    { { shape = "circle", radius = 200, margin = 30 }, 43858, 42588, "0x1c759f450f494416" },
  },
}

local taken = {}
for _, engine in ipairs(tree.engines) do taken[engine] = true end

for _, engine in ipairs(aoi.engines()) do
  describe("a replay on " .. engine, function()
    for dimensions = 2, 3 do
      it("in " .. dimensions .. "D finds what plain Lua finds", function()
        local random = rng.new(seed + dimensions)
        local text = { dimensions == 3 and "t,id,x,y,z" or "t,id,x,y" }
        for t = 1, 40 do
          for id = 1, 25 do
            -- On a grid of halves, so that ties are common; people come and go.
            if random() < 0.8 then
              text[#text + 1] = ("%d,%d,%g,%g"):format(t, id, random(20) / 2, random(20) / 2)
                .. (dimensions == 3 and (",%g"):format(random(6) / 2) or "")
            end
          end
        end
        local rec = assert(recording.parse(table.concat(text, "\n"), "random"))
        local radii = { 1.5, 0, 100, math.huge }
        local steps = 0
        local found = replay.run(rec, {
          engine = engine, radii = radii,
          on_step = function(step, of)
            steps = steps + 1
            assert(step == steps and of == #rec)
          end,
        })
        assert.equal(#rec, steps)
        local expected = {}
        for i, radius in ipairs(radii) do
          local enter, leave = by_hand(rec, radius)
          expected[i] = { radius = radius, enter = enter, leave = leave, checksum = found[i].checksum }
        end
        assert.same(expected, found)
        assert.truthy(found[1].enter > 100)
      end)
    end

    for path, published in pairs(PUBLISHED) do
      it("of " .. path .. " gives the published events", function()
        if not taken[engine] then return pending "others are enough" end
        if not io.open(path) then return pending "it is not there" end
        local rec, areas, expected = assert(recording.read(path, 2)), {}, {}
        assert.same(published.size, { #rec, rec.rows, rec.most })
        for i, row in ipairs(published) do
          areas[i] = row[1]
          expected[i] = { radius = row[1], enter = row[2], leave = row[3], checksum = row[4] }
        end
        assert.same(expected, replay.run(rec, { engine = engine, radii = areas }))
      end)
    end
  end)
end

describe("examples/replay.lua", function()
  local _, lua = process.lua()
  local function run(arguments) return process.run(lua .. " examples/replay.lua " .. arguments) end

  it("proves the recorded crowd", function()
    if not tree.usual then return pending "once is enough" end
    local output, code = run(CROWD .. " 1.00005 2.00005")
    local said = process.lines(output)
    assert.equal(CROWD .. ": 959 steps, 128783 rows, up to 224 entities at once, 2D", said[1])
    assert.truthy(said[2]:find("^list +" .. ("#"):rep(50) .. " [%d.]+ s$"))
    assert.truthy(said[3]:find("^brute +" .. ("#"):rep(50) .. " [%d.]+ s$"))
    assert.equal("R = 1.00005: 20592 enter, 20592 leave, checksum 0x90e56800f6ce321c, as by brute force", said[4])
    assert.equal("R = 2.00005: 45320 enter, 45320 leave, checksum 0x132071a5a556de94, as by brute force", said[5])
    assert.equal(5, #said)
    assert.equal(0, code)
  end)

  it("takes any recording and any engine", function()
    local path = file("a.csv", "t,id,x,y,z\n0,1,0,0,0\n0,2,3,0,9\n1,1,0,0,0\n1,2,9,0,9\n")
    for _, engine in ipairs(aoi.engines()) do
      local output, code = run(quote(path) .. " 3 inf --engine " .. engine)
      assert.equal(0, code)
      assert.truthy(output:find("\n" .. engine .. " ", 1, true))
      assert.truthy(output:find("\nR = 3: 0 enter, 0 leave, ", 1, true))
      assert.truthy(output:find("\nR = inf: 2 enter, 0 leave, ", 1, true))
      output, code = run("--engine=" .. engine .. " --dimensions 2 " .. quote(path) .. " 3")
      assert.equal(0, code)
      assert.truthy(output:find("\nR = 3: 2 enter, 2 leave, ", 1, true))
    end
  end)

  it("names file, line and reason of a malformed recording in one line", function()
    local path = file("bad.csv", "t,id,x,y\n0,1,0,0\n0,2,zero,0\n")
    local output, code = run(quote(path) .. " 3")
    assert.equal("replay: " .. path .. ":3: x is not a number: 'zero'\n", output)
    assert.equal(2, code)
  end)

  it("refuses arguments it cannot use", function()
    for arguments, reason in pairs{
      [""] = "a file and at least one radius are needed",
      [CROWD] = "a file and at least one radius are needed",
      [CROWD .. " one"] = "a radius is a number that is not negative, not 'one'",
      [CROWD .. " -1"] = "a radius is a number that is not negative, not '-1'",
      [CROWD .. " nan"] = "a radius is a number that is not negative, not 'nan'",
      [CROWD .. " 1 --engine fastest"] = "there is no engine 'fastest'",
      [CROWD .. " 1 --engine"] = "--engine needs a name",
      [CROWD .. " 1 --dimensions 4"] = "--dimensions is 2 or 3",
      [CROWD .. " 1 --quickly"] = "unknown option --quickly",
    } do
      local output, code = run(arguments)
      assert.equal("replay: " .. reason, process.lines(output)[1])
      assert.truthy(process.lines(output)[2]:find("^use: replay.lua FILE"))
      assert.equal(2, code)
    end
  end)
end)

describe("examples/thief.lua", function()
  it("tells the story in one line per event", function()
    local _, lua = process.lua()
    local output, code = process.run("cd examples && " .. lua .. " thief.lua")
    assert.equal(0, code, output)
    local said = process.lines(output)
    -- The order of leaves, and of enters, of one call is the engine's choice; whole floats have no point before Lua
    -- 5.3.
    local function step(i) return said[i] and said[i]:match "^step .- gone" end
    for i = 2, #said do
      if step(i) and step(i) == step(i - 1) and said[i] < said[i - 1] then
        said[i - 1], said[i] = said[i], said[i - 1]
      end
    end
    for i = 1, #said do said[i] = said[i]:gsub("%.0([,)])", "%1") end
    assert.same({
      "Anna stands guard at 0,0 and Bert at 12,6: alert within 8, attack within 2. Carl looks south from 16,10.",
      "A thief walks by along y = 1.",
      "step  2, thief at  -8, 1: Anna hears steps and looks around",
      "step  8, thief at  -2, 1: Anna draws the sword against the thief",
      "step 11, thief at   1, 1: the garden bell rings",
      "step 13, thief at   3, 1: Anna lowers the sword",
      "step 14, thief at   4, 1: Bert hears steps and looks around",
      "step 15, thief at   5, 1: the garden bell is silent",
      "step 19, thief at   9, 1: Anna shrugs and goes back to sleep",
      "step 21, thief at  11, 1: Carl sees him from the tower",
      "step 24, thief at  14, 1: Carl sees him no more",
      "step 27, thief at  17, 1: Carl sees him from the tower",
      "step 31, thief at  21, 1: Bert shrugs and goes back to sleep",
      "Node 3 of entity 4 sees entity 1: inside (sector, dx 5, dy -9, distance 10.295630140987, "
        .. "facing -1.5707963267949, kind 1, mask 1).",
      "Nobody followed him, so he climbs over the roofs and comes back for Anna's purse.",
      "step 32, thief at  -6, 1: Carl sees him no more",
      "step 32, thief at  -6, 1: Anna hears steps and looks around",
      "step 33, thief at  -1, 1: Anna does not miss a second time",
      "step 33, thief is gone  : Anna lowers the sword",
      "step 33, thief is gone  : Anna shrugs and goes back to sleep",
    }, said)
  end)
end)
