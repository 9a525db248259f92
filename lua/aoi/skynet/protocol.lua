-- The skynet protocol that carries the wire format: one number for its type, which the config may change.

local skynet = require "skynet"

local TYPE = 65 -- config: aoi_ptype

-- dispatch(session, source, message) takes what arrives, as what `unpack` makes of it, by default a string. Returns the
-- type's number.
return function(dispatch, unpack)
  local id = tonumber(skynet.getenv("aoi_ptype")) or TYPE
  skynet.register_protocol {
    name = "aoi",
    id = id,
    unpack = unpack or skynet.tostring,
    dispatch = dispatch,
  }
  return id
end
