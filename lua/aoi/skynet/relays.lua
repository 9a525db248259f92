-- Starts one relay for each AOI service of another node, at the first use: skynet.uniqueservice "aoi/skynet/relays".

local skynet = require "skynet"

local relays = {} -- "node@name" -> address, or false while it starts

skynet.start(function()
  skynet.dispatch("lua", function(_, _, command, node, name)
    assert(command == "open", "unknown command")
    local key = node .. "@" .. name
    while relays[key] == false do skynet.sleep(1) end
    -- A relay that was killed is started again.
    if not relays[key] or not pcall(skynet.call, relays[key], "debug", "PING") then
      relays[key] = false
      local ok, address = pcall(skynet.newservice, "aoi/skynet/relay", node, name)
      relays[key] = ok and address or nil
    end
    skynet.ret(skynet.pack(relays[key]))
  end)
end)
