--- Client synchronisation: what each client must be sent, as bytes ready to be sent.
--- @module aoi.sync
---@meta aoi.sync

-- luacheck: ignore 212 241

--- Bytes ready to be sent; docs/sync-wire.md has the format, js/aoi-sync.js a decoder.
---@alias aoi.Message string

--- Up to `distance` world units away, updates in every `ticks`-th tick.
---@alias aoi.Tier number[]

--- By kind: a target counts for the first key, by rising bits, that its kind meets.
---@alias aoi.ByKind<T> table<integer, T|false>

--- Options that limit what a client is sent. `false` in `Sync:set` takes one away.
---@class aoi.ClientOptions
---@field limit? integer|false|aoi.ByKind<integer> how many it knows, besides pinned ones: by priority, then the
--- nearest; a known one stays until one of higher priority, or at least a tenth nearer, needs its place
---@field bytes? integer|false maximum message length: removals, then appearances, then updates, most urgent first
---@field tiers? aoi.Tier[]|false|aoi.ByKind<aoi.Tier[]> `{ { 20, 1 }, { 50, 4 } }`, by rising distance; beyond the last
--- as in the last
---@field self? boolean its picture has its own entity as well
---@field team? integer|false it is sent fields with `to = "team"` of entities of the same team; 0: none

--- `{ name, type }`, of up to 64 bytes; type is bool, u8, u16, u32, i8, i16, i32, f32, f64, angle8, angle16 (radians),
--- string or bytes (up to 65,535).
---@class aoi.Field
---@field own? boolean true is `to = "own"`
---@field to? "own"|"team" only to the entity's own client, if that has `self`; to that and the clients of its team

--- What `aoi.sync.new` takes: `quantum`, and what clients without options of their own have.
---@class aoi.SyncOptions: aoi.ClientOptions
---@field fields? aoi.Field[] up to 64: the state that entities have
---@field sight? aoi.Sight clients are not sent what its shut walls hide
---@field tick? integer how many ticks count as made (0): synchronisers that hand clients to each other agree in it
---@field riders? boolean an attached entity is known only with its carrier, and sent by its offset from that
---@field quantum? number world units: positions are sent as `quantum * floor(v / quantum + 0.5)`; without, as floats

--- What a message says: flat arrays, `n` rows each, to be applied in this order.
---@class aoi.News
---@field anew? true forget all that earlier messages have said, then apply this one
---@field gone integer[] id; `gone.reasons[i]`: 0 it is out of view, else what `Space:leave` was given
---@field appeared number[] in world units but for the first two: id, kind, x, y [, z]
---@field moved number[] in world units but for the first: id, x, y [, z]
---@field touched integer[] id, kind
---@field riding number[] in world units but for the first two: id, carrier, dx, dy [, dz]; carrier 0: it rides nothing
--- any more. In `appeared` x, y [, z] of what rides is its offset
---@field fields table[] id, `{ name = value, ... }`
---@field parts? table of long texts, what has been read so far: by id, by name

local sync = {}

--- A synchroniser of a space, which may have several. It ends with the space, or when nothing reaches it any more.
---@param space aoi.Space
---@param options? aoi.SyncOptions
---@return aoi.Sync
function sync.new(space, options) end

--- Decodes a message. Nothing is written if it is refused.
---@param message aoi.Message
---@param into? aoi.News a table to fill, whose arrays are used again
---@return aoi.News? news nil for any other bytes
---@return string? why
function sync.read(message, into) end

--- All fields of an entity: of every synchroniser of the space, and those that were loaded with it or played from a
--- journal.
---@param space aoi.Space
---@param id integer
---@return table<string, boolean|number|string>? state by name; nil if there is no such entity
function sync.state(space, id) end

--- Clients of one space. A tick is the delivery for their views, whatever the space's; their events go nowhere else.
---@class aoi.Sync
local Sync = {}

--- The entity becomes a client with that view, or with up to eight: it is sent what any of them sees. The client ends
--- when the entity leaves.
---@param id integer
---@param area number|aoi.Area|(number|aoi.Area)[] half-extent of a square in world units, or a table as for
--- `Space:add_node`, or a list of these
---@param options? aoi.ClientOptions
function Sync:add(id, area, options) end

--- It is a client no longer, and is sent nothing more.
---@param id integer
function Sync:remove(id) end

--- Changes the options that are named.
---@param id integer
---@param options aoi.ClientOptions
function Sync:set(id, options) end

--- A client's picture as bytes, for `adopt` of another synchroniser: what it knows and sees, what of that waits, since
--- when.
---@param id integer
---@return string picture
---@return integer[] ids of the entities in it, and of those that walls hide from its views; one may be there twice
---@return integer n
function Sync:picture(id) end

--- Call it right after `add` for a client that comes from another synchroniser, with its entity from another space: its
--- messages continue the picture that it has. Both synchronisers have the same fields, quantum and number of ticks,
--- so that they are what they would have been there.
---@param id integer
---@param picture string of `picture`; what is not in this space is sent as gone
---@param gone integer[] ids that have another life here: what is known of the former one is sent as gone
function Sync:adopt(id, picture, gone) end

--- Call it when the client has reconnected, or a message was dropped. The next tick sends it a message that is marked
--- `anew`, with all that it sees, even if that is nothing.
---@param id integer
function Sync:resend(id) end

--- Another area for one of the client's views: exactly the difference is sent.
---@param id integer
---@param i integer which view, from 1 on
---@param area number|aoi.Area half-extent of a square in world units, or a table as for `Space:add_node`
function Sync:set_view(id, i, area) end

--- The node that is the client's view, for `Space:set_area`, `Space:set_mask`, `Space:override` and others.
---@param id integer
---@param i? integer which view of several, from 1 on
---@return integer node_id
function Sync:node(id, i) end

--- Sets a target's priority, for all clients or one: it decides before the distance, and multiplies urgency. It ends
--- when the target, or the client, leaves.
---@param target integer
---@param priority? number > 0, without a unit; 1 is that of all others (world units do not come into it); of one client
--- nil: what it is for all
---@param client? integer for this one alone
function Sync:set_priority(target, priority, client) end

--- An entity's team, until it leaves: fields with `to = "team"` go to its own client and to clients of that team. The
--- others are sent what a field is until it is put, if they were sent more before.
---@param id integer
---@param team? integer 0 or nil: none
function Sync:set_team(id, team) end

--- Always known while both are in the space, whatever the distance, mask and limit: party members.
---@param id integer
---@param target integer
function Sync:pin(id, target) end

--- No longer. Nothing happens to a target that is not pinned, or is gone.
---@param id integer
---@param target integer
function Sync:unpin(id, target) end

--- Its state of yours has changed: the next tick flags it for every client that knows it. `Space:set_kind` does so by
--- itself.
---@param target integer
function Sync:touch(target) end

--- Its state from now on, until it leaves; sent to every client that knows it. Nothing happens where it is so already.
---@param id integer
---@param name string a field of `sync.new`
---@param value boolean|number|string as its type holds it
---@param ago? integer it was put so many ticks ago in another synchroniser, 1 or more: no news (0: since the last tick)
function Sync:put(id, name, value, ago) end

--- As it is sent: false, 0 or "" until it is put, an angle within [0, 2 pi) in its steps, an f32 rounded.
---@param id integer
---@param name string
---@return boolean|number|string value
function Sync:get(id, name) end

--- Whether the target is in the client's picture, as of its last message: false for the next entity by the id of one
--- that is in it.
---@param id integer
---@param target integer
---@return boolean
function Sync:knows(id, target) end

--- Why a client knows a target or not, as of its last message. `tostring` of it is a sentence.
---
--- | why | |
--- |---|---|
--- | `"no client"`, `"no target"` | it is no client, there is no such entity |
--- | `"self"` | the client's own entity, without the option `self` |
--- | `"goes"`, `"unseen"` | no view sees it; the first while the next message has yet to say so |
--- | `"known"` | it is in the picture |
--- | `"next tick"` | the next message has it |
--- | `"carrier"` | with riders: its carrier is not known |
--- | `"limit"`, `"bytes"` | others have the room, of the limit, or of the last message |
---@class aoi.SyncExplanation
---@field client integer
---@field target integer
---@field knows boolean
---@field why string the first that applies
---@field seen boolean by a view; past walls as of the last tick
---@field pinned boolean
---@field moved boolean where it is waits, for its tier or for room
---@field waits integer with `bytes`: ticks since its last update, or since it was first seen; else 0
---@field known integer how many the client knows
---@field limit? integer
---@field lacks string[] names of fields that the client has not been sent as they are
---@field views? aoi.Explanation[] where no view sees it: what each says

---@param id integer the client
---@param target integer
---@return aoi.SyncExplanation
function Sync:explain(id, target) end

--- The ids that a client knows.
---@param id integer
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Sync:known(id, buf) end

--- The clients that know a target: where to send a chat line or a skill's effect. Costs what reading a list costs.
---@param target integer
---@param buf? integer[] a table to fill
---@return integer[] list ids: `list[1..n]`; `list[n + 1]` is nil
---@return integer n
function Sync:knowers(target, buf) end

--- Calls `f` once for each client that has something to learn; call it once per tick. `f` may do anything. Its error is
--- raised from here; that message counts as sent, and the other clients are served by the next tick.
---@param f fun(id: integer, message: aoi.Message)
---@return integer messages
---@return integer bytes
function Sync:tick(f) end

--- Ends all clients now. Closing twice is harmless.
function Sync:close() end

return sync
