-- A number for an event; their sum does not depend on the order.
return function(kind, watcher, target, node)
  local h = watcher * 0x9E3779B97F4A7C15 ~ target * 0xC2B2AE3D27D4EB4F ~ (node * 4 + kind) * 0x165667B19E3779F9
  h = (h ~ h >> 29) * 0xBF58476D1CE4E5B9
  return h ~ h >> 32
end
