-- world_client.lua: a client of a world without skynet: what is sent to it, it is given as `receive`.
--
--   local member = world_client { number = 1, name =, shards =, dimensions =, ask =, send =, ... }     as of
--                                                                                                      member.lua,
--                                 ack = f(seq, flags), fork = f, logged = list
--   member:take_mail(mail)        what a shard has for it at the end of an epoch
local Client = require "aoi.skynet.client"
local Member = require "aoi.skynet.world.member"
local wire = require "aoi.skynet.wire"

return function(options)
  options.name = options.name or "earth"
  options.logged = options.logged or {}
  local client = Client.new {
    send = function(message)
      local _, flags, seq = wire.head(message)
      if options.ack then options.ack(seq, flags) end
      return true
    end,
    call = function() return nil, "there is no service" end,
    log = function(text) table.insert(options.logged, text) end,
    fork = options.fork, watched = options.watched,
  }
  local member = Member.new(client, options)
  function member.receive(_, message) return client:receive(message) end
  function member:take_mail(mail)
    if mail.routes then assert(self:receive(wire.say(wire.ROUTES, self.number, mail.routes))) end
    if mail.events then
      options.seq = (options.seq or 0) + 1
      assert(self:receive(wire.events(options.seq, false, mail.events:sub(9))))
    end
  end
  return member
end
