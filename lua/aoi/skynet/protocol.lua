-- Protocols of skynet; the config may change their type numbers. "aoi" carries the wire format, "aoi_view" the requests
-- of the viewer.

local skynet = require "skynet"

local TYPES = { aoi = 65, aoi_view = 66 } -- config: aoi_ptype, aoi_view_ptype

-- dispatch(session, source, message) receives the results of `unpack`, by default a string. name: "aoi" by default.
-- Returns the type's number.
return function(dispatch, unpack, name, pack)
  name = name or "aoi"
  local id = tonumber(skynet.getenv(name .. "_ptype")) or TYPES[name]
  skynet.register_protocol {
    name = name, id = id, pack = pack, unpack = unpack or skynet.tostring, dispatch = dispatch,
  }
  return id
end
