-- luacheck: globals __nowaiting world_a world_b
-- Without __nowaiting a call to a process that is not known yet waits for ever.
__nowaiting = true
world_a = "127.0.0.1:25281"
world_b = "127.0.0.1:25282"
