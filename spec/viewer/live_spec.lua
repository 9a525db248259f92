-- The live page's server: the handshake, who is let in, what is sent, and the page itself in a real browser.
local aoi = require "aoi"
local base64 = require("aoi.core.helpers").base64
local gate = require "aoi.viewer.gate"
local json = require "aoi.viewer.json"
local observed = require "spec.support.observed"
local process = require "spec.support.process"
local Session = require "aoi.viewer.session"
local tools = require "spec.support.tools"
local unpack = table.unpack or unpack
local has_socket, socket = pcall(require, "socket")

describe("what is sent", function()
  it("has base64", function()
    for text, expected in pairs { [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foobar = "Zm9vYmFy" } do
      assert.equal(expected, base64(text))
    end
    assert.equal(("/wAR"):rep(1000), base64(("\255\0\17"):rep(1000)))
  end)

  it("has JSON", function()
    local value = { a = { 1, -2.5, "x<\"\\\n" }, b = true, c = {}, d = { e = "y" }, f = 1e300 }
    assert.equal([[{"a":[1,-2.5,"x\u003c\"\\\n"],"b":true,"c":[],"d":{"e":"y"},"f":1.0000000000000001e+300}]],
      json.encode(value))
  end)
end)

describe("the gate", function()
  local function judge(options, target, headers, method)
    return (gate.judge(options, method or "GET", target, headers))
  end

  it("lets the page and its stream in, and nothing else", function()
    local own = { host = "127.0.0.1:8642" }
    local stream = { host = "localhost:8642", origin = "http://localhost:8642" }
    assert.equal("page", judge({}, "/", own))
    assert.equal("page", judge({}, "/?x=1", { host = "[::1]:8642" }))
    assert.equal("stream", judge({}, "/stream?key=a", stream))
    assert.equal("stream", judge({}, "/stream?key=a", own))
    assert.equal("look", judge({}, "/look?key=a", own))
    assert.equal(400, judge({}, "/stream", own))
    assert.equal(404, judge({}, "/etc/passwd", own))
    assert.equal(405, judge({}, "/", own, "POST"))
    assert.equal(403, judge({}, "/", { host = "evil.example:8642" }))
    assert.equal(403, judge({}, "/", {}))
    stream.origin = "http://evil.example"
    assert.equal(403, judge({}, "/stream?key=a", stream))
    assert.equal(403, judge({}, "/look?key=a", stream))
    stream.origin = "https://localhost:8642"
    assert.equal("stream", judge({}, "/stream?key=a", stream))
    local _, query = gate.judge({}, "GET", "/look?key=a&structure=-1%2C2e3,3,4", own)
    assert.same({ key = "a", structure = "-1,2e3,3,4" }, query)
  end)

  it("asks for the token", function()
    local open = { address = "0.0.0.0", token = "abcdefgh" }
    local headers = { host = "game.example:8642" }
    assert.equal(403, judge(open, "/", headers))
    assert.equal(403, judge(open, "/?token=abcdefgx", headers))
    assert.equal(403, judge(open, "/?token=abcdefghi", headers))
    assert.equal("page", judge(open, "/?token=abcdefgh", headers))
    assert.equal("page", judge(open, "/?a=b&token=%61bcdefgh", headers))
  end)
end)

describe("a session", function()
  it("tells the space, and what the page has chosen", function()
    tools.need "string.pack"
    local space = aoi.new()
    for id = 1, 5 do
      space:enter(id, id, 0)
      space:add_node(id, 1, 2)
    end
    local session, picture = Session.new(space, { title = "x" }), observed.new()
    local function frame(now)
      local said, bytes = {}, session:frame(now)
      observed.apply(picture, bytes, said)
      return bytes, said
    end
    local _, said = frame(0)
    assert.equal("x", said[1].title)
    assert.same({ 3, 0, kind = 1 }, picture.entities[3])
    assert.is_nil(session:frame(0.1))
    assert.is_string(session:frame(1.2), "a sign of life")
    session:receive { watcher = "3", target = "5", structure = "-9,-9,9,9" }
    _, said = frame(1.3)
    assert.same({ { node = "1", view = said[1].nodes[1].view, text = tostring(space:explain(3, 1, 5)), sees = true,
      why = "inside" } }, said[1].nodes)
    table.sort(said[1].nodes[1].view)
    assert.same({ "1", "2", "4", "5" }, said[1].nodes[1].view)
    assert.equal(8, #said[1].viewers)
    assert.is_true(#picture.structure > 0)
    picture.structure = nil
    frame(1.4)
    assert.is_nil(picture.structure, "not in each frame")
    for _, odd in ipairs { {}, { watcher = "" }, { watcher = "99999999999999999999" }, { structure = "1,2" },
      { structure = "a,1,2,3" }, { watcher = "4", structure = "1,2,3,1e999" },
      { watcher = "x", structure = "..,1,2,3" } } do
      session:receive(odd)
      assert.is_true(pcall(session.frame, session, 2))
    end
    space:close()
    assert.is_false(pcall(session.frame, session, 3))
    session:close()
  end)
end)

describe("a server", function()
  local server, space

  before_each(function()
    if not has_socket then return end
    space = aoi.new()
    space:enter(1, 2, 3)
    server = assert(require("aoi.viewer").serve(space, { port = 0, interval = 0 }))
  end)

  after_each(function()
    if server then server:close() end
  end)

  local function connect()
    local client = assert(socket.connect("127.0.0.1", server.port))
    client:settimeout(0)
    return client
  end

  -- What comes until `stop` is in it, or the other end closes.
  local function hear(client, stop, heard)
    heard = heard or ""
    for _ = 1, 2000 do
      server:poll()
      local bytes, why, part = client:receive(4096)
      heard = heard .. (bytes or part or "")
      if (stop and heard:find(stop, 1, true)) or why == "closed" then return heard end
      socket.sleep(0.001)
    end
    error("nothing came but " .. heard:sub(1, 200))
  end

  local function ask(text)
    local client = connect()
    client:send(text)
    return hear(client)
  end

  local function get(target) return "GET " .. target .. " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" end

  it("is on the loopback and serves the page", function()
    tools.need "LuaSocket"
    assert.equal("http://127.0.0.1:" .. server.port .. "/", server.url)
    local answer = ask "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    assert.matches("^HTTP/1.1 200 OK\r\n", answer)
    assert.matches("content%-type: text/html", answer)
    assert.equal(gate.page(), answer:match("\r\n\r\n(.*)$"))
    assert.matches("^HTTP/1.1 404 ", ask "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert.matches("^HTTP/1.1 403 ", ask "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert.matches("^HTTP/1.1 400 ", ask "what is this\r\n\r\n")
    assert.matches("^HTTP/1.1 400 ", ask(("x"):rep(9000)))
  end)

  it("streams what a page looks at, and ends when the space closes", function()
    tools.need "LuaSocket"
    local client, other = connect(), connect()
    client:send(get "/stream?key=one")
    local heard = hear(client, "\n\n")
    assert.matches("^HTTP/1.1 200 OK\r\n.*content%-type: text/event%-stream.*\r\n\r\ndata:[%w+/]+=*\n\n$", heard)
    assert.is_nil(heard:find("content-length", 1, true), "it has no end")
    assert.equal(1, server:poll())
    other:send(get "/stream?key=two")
    hear(other, "\n\n")
    assert.equal(2, server:poll())
    assert.matches("^HTTP/1.1 204 No Content\r\n", ask(get "/look?key=one&watcher=1"))
    assert.equal(1, server.clients[1].session.wants.watcher)
    assert.is_nil(server.clients[2].session.wants.watcher)
    other:send "nonsense that nobody waits for"
    other:close()
    for _ = 1, 10 do server:poll() end
    assert.equal(1, server:poll())
    space:close()
    hear(client)
    assert.equal(0, server:poll())
  end)

  -- What fails for one page is told to that page: a status with the error, or the end of its stream.
  for _, case in ipairs {
    { "the space is closed", "/stream?key=b", "attempt to use a closed space", function() space:close() end },
    { "a session cannot begin", "/stream?key=b", "no memory",
      function() return Session, "new", function() error "no memory" end end },
    { "a file of the page is missing", "/", "not installed",
      function() return gate, "page", function() error "not installed" end end },
    { "a frame cannot be made", "/", "<!doctype html>",
      function() return Session, "frame", function() error "no memory" end end },
    { "a selection cannot be taken", "/look?key=a", "no memory",
      function() return Session, "receive", function() error "no memory" end end },
    { "a frame cannot be sent", "/", "<!doctype html>",
      function() return gate, "event", function() error "no memory" end end },
    { "a socket raises", "/look?key=a", "204 No Content", function()
      return server.clients[1], "socket", setmetatable({ close = function() end }, { __index = error })
    end },
  } do
    it("does not raise into the host's loop where " .. case[1], function()
      if not has_socket then return pending "LuaSocket is not installed" end
      local stream = connect()
      stream:send(get "/stream?key=a")
      hear(stream, "\n\n")
      local place, name, other = case[4]()
      local kept = place and place[name]
      if place then place[name] = other end
      local ok, heard = pcall(ask, get(case[2]))
      if place == Session or place == gate then place[name] = kept end
      assert.is_true(ok, heard)
      assert.truthy(heard:lower():find(case[3]:lower(), 1, true), heard)
      if place then -- and it goes on
        local later = connect()
        later:send(get "/stream?key=c")
        hear(later, "\n\n")
      end
      assert.is_true(server:poll() <= 2)
    end)
  end

  it("does not wait for a page that does not read", function()
    tools.need "LuaSocket"
    for id = 2, 3000 do space:enter(id, id, 0) end
    local client = connect()
    client:send(get "/stream?key=a")
    for round = 1, 400 do
      for id = 2, 3000 do space:move(id, id, round) end
      server:poll()
    end
    assert.equal(1, server:poll())
    client:close()
    for _ = 1, 10 do server:poll() end
    assert.equal(0, server:poll())
    assert.is_true(space:check())
  end)

  it("says what is wrong", function()
    tools.need "LuaSocket"
    local serve = require("aoi.viewer").serve
    local function fails(text, ...)
      local ok, err = pcall(serve, ...)
      assert.is_false(ok)
      assert.matches(text, err, 1, true)
    end
    fails("unknown option 'prot'", space, { prot = 1 })
    fails("'port': number expected, got string", space, { port = "8642" })
    fails("'port': 0 to 65535 expected", space, { port = 70000 })
    fails("'interval': seconds", space, { interval = -1 })
    fails("address '0.0.0.0' is open to others: option 'token' is needed", space, { address = "0.0.0.0" })
    fails("'token': 8 or more letters", space, { address = "0.0.0.0", token = "short" })
    fails("aoi.space expected", "space")
    local none, why = serve(space, { port = server.port })
    assert.is_nil(none)
    assert.matches("^127.0.0.1:" .. server.port .. ": address already in use$", why)
    server:close()
    server:close()
    assert.error_matches(function() server:poll() end, "attempt to use a closed server")
    space:close()
    fails("attempt to use a closed space", space)
  end)
end)

describe("in a browser", function()
  for title, case in pairs {
    ["the live page is good"] = { "live_check.js" },
    ["examples/browser is good"] = { "example_check.js", "luaossl", "dkjson" },
  } do
    it(title, function()
      tools.need("node", "chromium", "string.pack", "timeout", "LuaSocket", unpack(case, 2))
      local _, lua = process.lua()
      local paths = ("LUA_PATH=%s LUA_CPATH=%s "):format(process.quote(package.path), process.quote(package.cpath))
      local command = "timeout 120 node spec/viewer/" .. case[1] .. " %s %s"
      local output, code = process.run(command:format(process.quote(paths .. lua), os.getenv("AOI_PICTURES") or ""))
      assert.equal(0, code, output)
    end)
  end
end)
