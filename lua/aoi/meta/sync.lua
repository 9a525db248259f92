--- Client synchronisation: what each client must be sent, as bytes ready to be sent.
--- @module aoi.sync
---@meta aoi.sync

-- luacheck: ignore 212 241

--- Bytes ready to be sent; docs/sync-wire.md has the format, js/aoi-sync.js a decoder.
---@alias aoi.Message string

--- Up to `distance` world units away, updates in every `ticks`-th tick.
---@alias aoi.Tier number[]

--- What a client is sent when not everything. `false` in `Sync:set` takes an option away.
---@class aoi.ClientOptions
---@field limit? integer|false known at a time: pinned ones besides, then by priority, then the nearest; a known one
--- stays until one of higher priority, or at least a tenth nearer, needs the room
---@field bytes? integer|false longest message: what is gone, then what appears, then updates, most urgent first
---@field tiers? aoi.Tier[]|false `{ { 20, 1 }, { 50, 4 } }`, by rising distance; beyond the last as in the last
---@field self? boolean its picture has its own entity as well

--- `{ name, type }`, of up to 64 bytes; type is bool, u8, u16, u32, i8, i16, i32, f32, f64, angle8, angle16 (radians),
--- string or bytes (up to 65,535). `own = true`: only to the entity's own client, if that has `self`.
---@class aoi.Field
---@field own? boolean

--- What `aoi.sync.new` takes: `quantum`, and what clients without options of their own have.
---@class aoi.SyncOptions: aoi.ClientOptions
---@field fields? aoi.Field[] up to 64: the state that entities have
---@field sight? aoi.Sight nothing that its shut walls hide is in a picture
---@field tick? integer how many ticks count as made (0): synchronisers that hand clients to each other agree in it
---@field quantum? number world units: positions are sent as `quantum * floor(v / quantum + 0.5)`; without, as floats

--- What a message says: flat arrays, `n` rows each, to be applied in this order.
---@class aoi.News
---@field anew? true the picture begins anew: forget all that earlier messages have said, then apply this one
---@field gone integer[] id; `gone.reasons[i]`: 0 it is out of view, else what `Space:leave` was given
---@field appeared number[] in world units but for the first two: id, kind, x, y [, z]
---@field moved number[] in world units but for the first: id, x, y [, z]
---@field touched integer[] id, kind
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

--- The entity becomes a client with that view, or with several, up to eight: its picture has what any of them sees.
--- It ends
--- with the entity's life.
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

--- A client that has just been added comes from another synchroniser, as its entity from another space: its messages go
--- on with the picture that it has. With the bytes of `picture`, of a synchroniser with the same fields and quantum and
--- as many ticks, they are what they would have been there; ids alone have their positions sent again.
---@param id integer
---@param known string|integer[] its picture, or what it knows; what is not in this space is sent as gone
---@param gone integer[] ids that have another life here: what is known of the former one is sent as gone
function Sync:adopt(id, known, gone) end

--- The client knows nothing (it has reconnected, or a message was dropped): the next tick sends it a message that
--- begins anew with everything, be there anything or not.
---@param id integer
function Sync:resend(id) end

--- Another area for one of the client's views: exactly the difference is news.
---@param id integer
---@param i integer which view, from 1 on
---@param area number|aoi.Area half-extent of a square in world units, or a table as for `Space:add_node`
function Sync:set_view(id, i, area) end

--- The node that is the client's view, for `Space:set_area`, `Space:set_mask`, `Space:override` and others.
---@param id integer
---@param i? integer which view of several, from 1 on
---@return integer node_id
function Sync:node(id, i) end

--- Of a target, for all clients: its rank before all distance, and its urgency. Ends with its life.
---@param target integer
---@param priority number > 0, without a unit; 1 is that of all others (world units do not come into it)
function Sync:set_priority(target, priority) end

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
--- | `"limit"`, `"bytes"` | others have the room, of the limit, or of the last message |
---@class aoi.SyncExplanation
---@field client integer
---@field target integer
---@field knows boolean
---@field why string the first that applies
---@field seen boolean by a view; past walls as of the last tick
---@field pinned boolean
---@field moved boolean where it is waits, for its tier or for room
---@field waits integer ticks since its last update, or since it is seen, of clients with `bytes`; else 0
---@field known integer how many the client knows
---@field limit? integer
---@field lacks string[] names of fields that the client has not been sent as they are
---@field views? aoi.Explanation[] where no view sees it: what each says
---@field text string

---@param id integer the client
---@param target integer
---@return aoi.SyncExplanation
function Sync:explain(id, target) end

--- The client's picture.
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

--- One tick: calls `f` once for each client with news. It may do anything; an error is raised from here, its message
--- counts as sent, and the others' messages come with the next tick.
---@param f fun(id: integer, message: aoi.Message)
---@return integer messages
---@return integer bytes
function Sync:tick(f) end

--- Ends all clients now. Closing twice is harmless.
function Sync:close() end

return sync
