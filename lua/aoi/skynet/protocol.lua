-- The skynet protocol that carries the wire format: one number for its type, which the config may change.

local skynet = require "skynet"

local TYPE = 65 -- config: aoi_ptype

-- dispatch(session, source, message) takes what arrives, as a string. Returns the type's number.
return function(dispatch)
  local id = tonumber(skynet.getenv("aoi_ptype")) or TYPE
  skynet.register_protocol {
    name = "aoi",
    id = id,
    unpack = skynet.tostring,
    dispatch = dispatch,
  }
  return id
end
