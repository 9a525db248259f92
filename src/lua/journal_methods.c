/* journal_methods.c - the C part of `aoi.journal`: the recorder of a space, and a cursor that plays a journal.
 * lua/aoi/meta/journal.lua has the contract, lua/aoi/journal.lua the player.
 *
 *   space's table [LAOI_JOURNAL] --> userdata aoi.Journal { core, file or collected bytes } --user value--> the sink
 *
 * The core passes bytes on in the middle of calls.  For a file they are written at once; for a function they are
 * collected, and passed on where Lua may run: when a method begins, at a mark, at the end. */
#include "core/state_hook.h"
#include "lua/binding.h"
#include "sight/sight.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define JOURNAL_NAME "aoi.Journal"
#define CURSOR_NAME "aoi.Cursor"

enum { SINK_PIECE = 1 << 16 }; /* bytes that are collected before a method passes them on */

typedef struct laoi_journal {
    aoi_journal *core;  /* NULL: stopped */
    laoi_space *space;  /* the recorded space, for `sink_due`; valid while the core records it */
    FILE *file;         /* NULL: bytes are collected */
    int error;          /* errno of a failed write */
    bool ring, handing; /* handing: a string is being made of `piece` */
    laoi_bytes out, piece;
} laoi_journal;

/* ---- recording ---------------------------------------------------------------------------------------------------- */

static bool write_file(void *ud, const void *bytes, size_t size) {
    laoi_journal *j = ud;
    errno = 0;
    if (fwrite(bytes, 1, size, j->file) == size) return true;
    j->error = errno;
    return false;
}

static bool collect_piece(void *ud, const void *bytes, size_t size) {
    laoi_journal *j = ud;
    if (!laoi_collect(&j->out, bytes, size)) {
        j->error = ENOMEM;
        return false;
    }
    if (j->out.size >= SINK_PIECE && j->space) j->space->sink_due = true;
    return true;
}

/* Stops recording and ignores errors. */
static void end_recording(laoi_journal *j) {
    aoi_journal *core = j->core;
    j->core = NULL;
    if (core) (void)aoi_journal_stop(core);
    if (j->file) (void)fclose(j->file);
    j->file = NULL;
}

/* Passes the collected bytes to the sink of the journal at index i.  An error of the sink stops the journal.
 *
 * Making the string may be refused memory: then the piece is kept for the next call.  It may also run a finalizer that
 * uses the space or stops the journal: bytes collected meanwhile follow the piece. */
static void hand_on(lua_State *L, laoi_journal *j, int i) {
    const laoi_bytes empty = {.alloc = j->out.alloc, .ud = j->out.ud};
    if (j->handing) return;
    laoi_gettable(L, i);
    lua_rawgeti(L, -1, 1);
    lua_pushcfunction(L, laoi_push_bytes); /* a closure before 5.2, which may run a finalizer */
    lua_pushlightuserdata(L, &j->piece);
    const bool kept = j->piece.size > 0;
    if (!kept) j->piece = j->out, j->out = empty;
    if (!j->piece.size) {
        lua_pop(L, 4);
        return;
    }
    j->handing = true;
    bool failed = lua_pcall(L, 1, 1, 0) != 0;
    j->handing = false;
    if (failed) lua_error(L);
    laoi_free_bytes(&j->piece);
    if (lua_pcall(L, 1, 0, 0) != 0) {
        end_recording(j);
        lua_error(L);
    }
    lua_pop(L, 1);
    if (kept || !j->core) hand_on(L, j, i);
}

void laoi_hand_on(lua_State *L, laoi_space *b) {
    b->sink_due = false;
    lua_rawgeti(L, -1, LAOI_JOURNAL);
    laoi_journal *j = lua_touserdata(L, -1);
    if (j) hand_on(L, j, lua_gettop(L));
    lua_pop(L, 2);
}

static int cannot_write(lua_State *L, const laoi_journal *j, bool file) {
    if (!file) return laoi_nomemory(L);
    return luaL_error(L, "cannot write the journal: %s", strerror(j->error));
}

/* journal:stop(): stops recording and passes the remaining bytes to the sink. */
static int journal_stop(lua_State *L) {
    laoi_journal *j = laoi_object(L, JOURNAL_NAME);
    aoi_journal *core = j->core;
    laoi_no_more(L, 2);
    lua_settop(L, 1);
    j->core = NULL;
    j->space = NULL;
    int result = core ? aoi_journal_stop(core) : AOI_OK;
    const bool file = j->file, failed = file && fclose(j->file) != 0 && result == AOI_OK;
    if (failed) j->error = errno, result = AOI_EVALUE;
    j->file = NULL;
    if (result != AOI_OK) return cannot_write(L, j, file);
    if (!j->ring) hand_on(L, j, 1);
    return 0;
}

static int journal_gc(lua_State *L) {
    laoi_journal *j = laoi_object(L, JOURNAL_NAME);
    end_recording(j);
    laoi_free_bytes(&j->out);
    laoi_free_bytes(&j->piece);
    return 0;
}

static laoi_journal *open_journal(lua_State *L) {
    laoi_journal *j = laoi_object(L, JOURNAL_NAME);
    if (!j->core) luaL_error(L, "attempt to use a stopped journal");
    return j;
}

static int journal_mark(lua_State *L) {
    laoi_journal *j = open_journal(L);
    double time = laoi_finite(L, 2);
    laoi_no_more(L, 3);
    int result = aoi_journal_mark(j->core, time);
    if (result == AOI_EGONE) return luaL_error(L, "attempt to use a closed space");
    if (result == AOI_EVALUE && !j->error) return laoi_argerror(L, 2, "the time of a mark must not go back");
    if (result != AOI_OK) return cannot_write(L, j, j->file && result != AOI_ENOMEM);
    if (!j->ring) hand_on(L, j, 1);
    return 0;
}

/* journal:dump(): the bytes of a ring. */
static int journal_dump(lua_State *L) {
    laoi_journal *j = open_journal(L);
    laoi_no_more(L, 2);
    if (!j->ring) return luaL_error(L, "only a ring has its bytes in memory: give record the option 'ring'");
    laoi_bytes *all = laoi_new_bytes(L);
    j = open_journal(L);
    if (aoi_journal_dump(j->core, laoi_collect, all) != AOI_OK) return laoi_nomemory(L);
    lua_pushlstring(L, all->bytes, all->size);
    laoi_free_bytes(all);
    return 1;
}

static int journal_bytes(lua_State *L) {
    laoi_journal *j = open_journal(L);
    laoi_no_more(L, 2);
    return LAOI_INTEGERS(L, (int64_t)aoi_journal_bytes(j->core));
}

enum { LEAST_RING = 4096 }; /* a smaller number is probably meant in other units */

static void read_ring(lua_State *L, int i, const char *name, void *to) {
    const double ring = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
    if (!(ring >= LEAST_RING) || ring > (double)(SIZE_MAX / 2))
        laoi_argerror(L, i, "bad value for option '%s': bytes expected, %d or more", name, LEAST_RING);
    *(size_t *)to = (size_t)ring;
}

static const laoi_option record_options[] = {{"ring", .read = read_ring}, {.name = NULL}};

enum { RECORDED = 1, SINK, RECORD_OPTIONS, RECORDER, RECORDED_TABLE };

/* record(space, sink, { ring = bytes }) */
static int journal_record(lua_State *L) {
    laoi_self(L);
    laoi_no_more(L, RECORD_OPTIONS + 1);
    lua_settop(L, RECORD_OPTIONS);
    size_t ring = 0;
    laoi_read_options(L, RECORD_OPTIONS, record_options, &ring);
    bool path = lua_type(L, SINK) == LUA_TSTRING;
    if (ring && !lua_isnil(L, SINK))
        return laoi_argerror(L, SINK, "a ring has no sink: journal:dump() returns its bytes");
    if (!ring && !path && !lua_isfunction(L, SINK)) return laoi_typeerror(L, SINK, "path or function");
    laoi_journal *j = laoi_new_object(L, sizeof *j);
    j->out.alloc = lua_getallocf(L, &j->out.ud);
    j->piece = j->out;
    laoi_gettable(L, RECORDER);
    lua_pushvalue(L, SINK);
    lua_rawseti(L, -2, 1);
    lua_settop(L, RECORDER);
    laoi_space *b = laoi_self(L);
    if (b->core->journal) return laoi_argerror(L, RECORDED, "the space is recorded already");
    if (path && !(j->file = fopen(lua_tostring(L, SINK), "wb")))
        return laoi_argerror(L, SINK, "cannot open '%s': %s", lua_tostring(L, SINK), strerror(errno));
    laoi_gettable(L, RECORDED);
    lua_rawgeti(L, RECORDED_TABLE, LAOI_JOURNAL);
    lua_pushvalue(L, RECORDER);
    lua_rawseti(L, RECORDED_TABLE, LAOI_JOURNAL);   /* first, as it may fail */
    if (j->file) setvbuf(j->file, NULL, _IONBF, 0); /* pieces are large, or must be on disk at once */
    j->ring = ring > 0;
    j->space = b;
    aoi_journal_options o = {.write = ring ? NULL : j->file ? write_file : collect_piece, .ud = j, .ring = ring};
    int result = aoi_journal_start(b->core, &o, &j->core);
    if (result != AOI_OK) {
        lua_rawseti(L, RECORDED_TABLE, LAOI_JOURNAL); /* the former value: a stopped journal, or nil */
        return cannot_write(L, j, j->file && result != AOI_ENOMEM);
    }
    if (!j->ring) hand_on(L, j, RECORDER);
    lua_settop(L, RECORDER);
    return 1;
}

/* ---- playing ------------------------------------------------------------------------------------------------------ */

/* A cursor's user value: { bytes, handlers }. */
typedef struct laoi_cursor {
    aoi_player *core;
    const char *engine;
    bool busy; /* a call of the core is calling the host's function */
} laoi_cursor;

enum { CURSOR = 1, PLAYED };

/* Self, or an error while a call further down the stack uses it. */
static laoi_cursor *idle_cursor(lua_State *L) {
    laoi_cursor *c = laoi_object(L, CURSOR_NAME);
    if (c->busy) luaL_error(L, "attempt to use a player while it is being used");
    return c;
}

static laoi_cursor *cursor_self(lua_State *L) {
    laoi_cursor *c = idle_cursor(L);
    if (!c->core) luaL_error(L, "attempt to use a closed cursor");
    return c;
}

static int cursor_gc(lua_State *L) {
    laoi_cursor *c = idle_cursor(L);
    aoi_play_close(c->core);
    c->core = NULL;
    return 0;
}

static int no_journal(lua_State *L, const char *fault) {
    lua_pushnil(L);
    lua_pushfstring(L, "not a journal: %s", fault);
    return 2;
}

/* cursor(bytes, handlers, engine); nil and the reason if the bytes are not a journal, as `start` and `load`. */
static int new_cursor(lua_State *L) {
    enum { BYTES_ = 1, HANDLERS_, ENGINE_, MADE };
    size_t size;
    const char *fault = NULL;
    const char *bytes = luaL_checklstring(L, BYTES_, &size);
    lua_settop(L, ENGINE_);
    const int engine = laoi_word(L, aoi_engine_name);
    if (engine < 0 && !lua_isnil(L, ENGINE_)) return luaL_error(L, "no engine '%s'", luaL_checkstring(L, ENGINE_));
    laoi_cursor *c = laoi_new_object(L, sizeof *c);
    c->engine = engine < 0 ? NULL : aoi_engine_name(engine);
    laoi_gettable(L, MADE);
    lua_pushvalue(L, BYTES_);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, HANDLERS_);
    lua_rawseti(L, -2, 2);
    lua_settop(L, MADE);
    aoi_load_options o = {0};
    o.alloc = lua_getallocf(L, &o.alloc_ud);
    int result = aoi_play_open(bytes, size, &o, &c->core, &fault);
    if (result == AOI_OK) return 1;
    return result == AOI_ENOMEM ? laoi_nomemory(L) : no_journal(L, fault);
}

static int cursor_info(lua_State *L) {
    aoi_play_info i;
    aoi_play_read_info(cursor_self(L)->core, &i);
    lua_createtable(L, 0, 10);
    laoi_set_integer(L, "bytes", (int64_t)i.bytes);
    laoi_set_integer(L, "calls", (int64_t)i.calls);
    laoi_set_integer(L, "refused", (int64_t)i.refused);
    laoi_set_integer(L, "events", (int64_t)i.events);
    laoi_set_integer(L, "marks", (int64_t)i.marks);
    laoi_set_flag(L, "whole", i.whole);
    laoi_set_flag(L, "inexact", i.inexact);
    if (i.marks) {
        laoi_set_number(L, "first", i.first);
        laoi_set_number(L, "last", i.last);
    }
    lua_newtable(L);
    for (int call = AOI_CALL_ENTER; call < AOI_CALLS_END; call++) {
        if (i.of_call[call]) laoi_set_integer(L, aoi_call_name(call), (int64_t)i.of_call[call]);
    }
    lua_setfield(L, -2, "of_call");
    return 1;
}

/* cursor:marks(): two arrays, the times and places of all marks. */
static int cursor_marks(lua_State *L) {
    laoi_cursor *c = cursor_self(L);
    double time;
    uint64_t place;
    lua_newtable(L);
    lua_newtable(L);
    for (size_t i = 0; aoi_play_mark(c->core, i, &time, &place); i++) {
        lua_pushnumber(L, time);
        lua_rawseti(L, -3, (laoi_index)i + 1);
        laoi_pushinteger(L, (int64_t)place);
        lua_rawseti(L, -2, (laoi_index)i + 1);
    }
    return 2;
}

static int cursor_tell(lua_State *L) {
    return LAOI_INTEGERS(L, (int64_t)aoi_play_tell(cursor_self(L)->core));
}

static int cursor_go(lua_State *L) {
    laoi_cursor *c = cursor_self(L);
    if (aoi_play_goto(c->core, (uint64_t)laoi_integer(L, 2)) != AOI_OK) laoi_argerror(L, 2, "no place of a mark");
    return 0;
}

/* Pushes a new space, loaded from the snapshot, or from the journal at that place. */
static int start_space(lua_State *L, laoi_cursor *c, const char *snapshot, size_t size, uint64_t place) {
    const char *fault = NULL;
    aoi_space *core = NULL;
    laoi_gettable(L, CURSOR);
    lua_rawgeti(L, -1, 2);
    laoi_loading g = {.handlers = lua_gettop(L), .keeps_silent = true};
    aoi_load_options o = {.engine = c->engine};
    lua_getfield(L, lua_upvalueindex(LAOI_META), "space");
    laoi_begin_loading(L, lua_gettop(L), &g, &o);
    c->busy = true;
    const int result =
        snapshot ? aoi_load(snapshot, size, &o, &core, &fault) : aoi_play_start(c->core, place, &o, &core, &fault);
    c->busy = false;
    if (laoi_end_loading(L, &g, result, core, &fault) != AOI_OK) return no_journal(L, fault);
    lua_pop(L, 1);
    return 1;
}

/* cursor:start(place): a space in the state of the last snapshot before that place. */
static int cursor_start(lua_State *L) {
    laoi_cursor *c = cursor_self(L);
    int64_t place = lua_isnoneornil(L, 2) ? 0 : laoi_integer(L, 2);
    lua_settop(L, CURSOR);
    return start_space(L, c, NULL, 0, (uint64_t)place);
}

/* cursor:load(snapshot): a space that was saved while the journal was played. */
static int cursor_load(lua_State *L) {
    size_t size;
    laoi_cursor *c = cursor_self(L);
    const char *snapshot = luaL_checklstring(L, 2, &size);
    return start_space(L, c, snapshot, size, 0);
}

static int does_not_fit(lua_State *L, int result) {
    if (result == AOI_ENOMEM) return laoi_nomemory(L);
    return luaL_error(L, "the journal does not fit the space: it is damaged, or the space has been changed");
}

/* cursor:step(space): plays one call -> name, id, node id, rows, the error or nil; "mark", time; nothing at the end. */
static int cursor_step(lua_State *L) {
    laoi_cursor *c = cursor_self(L);
    aoi_step step;
    lua_settop(L, PLAYED);
    laoi_space *b = laoi_space_argument(L, PLAYED);
    laoi_gettable(L, CURSOR);
    lua_rawgeti(L, -1, 2);
    laoi_gettable(L, PLAYED);
    luaL_checkstack(L, 8, NULL);
    laoi_loading g = {.L = L, .b = b, .handlers = lua_gettop(L) - 1, .table = lua_gettop(L), .keeps_silent = true};
    laoi_forget_freed(L, b, g.table);
    aoi_load_options o = {.node = laoi_give_handlers, .node_ud = &g};
    c->busy = b->playing = true;
    int result = aoi_play_step(c->core, b->core, &o, &step);
    c->busy = b->playing = false;
    if (g.failed) return lua_error(L);
    if (result != AOI_OK) return does_not_fit(L, result);
    const bool many =
        step.call == AOI_CALL_ENTER_MANY || step.call == AOI_CALL_ADD_NODE_MANY || step.call == AOI_CALL_OPEN_SIGHT;
    const char *fault = many ? laoi_integers_fault(b->core) : laoi_integers_fault_at(b->core, step.id, step.node_id);
    if (fault) return luaL_error(L, "the journal does not fit this Lua: %s", fault);
    if (step.call == AOI_STEP_END) return 0;
    if (step.call == AOI_STEP_MARK) {
        lua_pushliteral(L, "mark");
        lua_pushnumber(L, step.time);
        return 2;
    }
    lua_pushstring(L, aoi_call_name(step.call));
    laoi_pushinteger(L, step.id);
    laoi_pushinteger(L, step.node_id);
    laoi_pushinteger(L, (int64_t)step.count);
    if (step.result == AOI_OK) lua_pushnil(L);
    else lua_pushstring(L, aoi_result_text(step.result));
    return 5;
}

/* cursor:shows(space, client, target): whether a view of the client in a sight contains the target. */
static int cursor_shows(lua_State *L) {
    (void)cursor_self(L);
    aoi_space *s = laoi_space_argument(L, PLAYED)->core;
    const aoi_entity client = aoi_find(s, laoi_integer(L, PLAYED + 1)),
                     target = aoi_find(s, laoi_integer(L, PLAYED + 2));
    lua_pushboolean(L, aoi_sights_show(s, client, target));
    return 1;
}

/* cursor:explain(space, watcher, node, target): that of the sight that has the node; nil: none has. */
static int cursor_explain(lua_State *L) {
    (void)cursor_self(L);
    laoi_space *b = laoi_space_argument(L, PLAYED);
    const aoi_entity watcher = aoi_find(b->core, laoi_integer(L, PLAYED + 1));
    aoi_sight *g = aoi_sight_of_node(b->core, aoi_find_node(b->core, watcher, laoi_integer(L, PLAYED + 2)));
    return g ? laoi_sight_explain(L, b, g, PLAYED + 1) : 0;
}

/* cursor:deliver(space): calls handlers for the events that were taken between the last call and the next one. */
static int cursor_deliver(lua_State *L) {
    enum { SPACE_TABLE = 3 };
    laoi_cursor *c = cursor_self(L);
    aoi_event e;
    lua_settop(L, PLAYED);
    laoi_space *b = laoi_space_argument(L, PLAYED);
    laoi_gettable(L, PLAYED);
    for (;;) {
        if (!b->core) return luaL_error(L, "attempt to use a closed space");
        int result = aoi_play_next(c->core, b->core, &e);
        if (result != AOI_OK) return does_not_fit(L, result);
        if (!e.kind) return 0;
        uint32_t ref = laoi_handler(e.kind, e.user_data);
        int type = ref ? laoi_rawgeti(L, SPACE_TABLE, (laoi_index)ref) : LUA_TNIL;
        if (type == LUA_TTABLE) lua_getfield(L, -1, laoi_handler_name(e.kind));
        laoi_forget_freed(L, b, SPACE_TABLE);
        if (ref && lua_toboolean(L, -1) && (e.kind != AOI_CROSS || type == LUA_TTABLE)) {
            laoi_pushinteger(L, e.watcher);
            laoi_pushinteger(L, e.target);
            laoi_pushinteger(L, e.node_id);
            const bool crosses = e.kind == AOI_CROSS, reasons = !crosses && e.reason != AOI_NO_REASON;
            if (crosses) lua_pushnumber(L, e.t);
            if (reasons) lua_pushinteger(L, e.reason);
            lua_call(L, 3 + crosses + reasons, 0);
        }
        lua_settop(L, SPACE_TABLE);
    }
}

/* ---- the module --------------------------------------------------------------------------------------------------- */

void laoi_open_journal(lua_State *L, int space_meta) {
    static const luaL_Reg journal_methods[] = {
        {"mark", journal_mark}, {"stop", journal_stop}, {"dump", journal_dump}, {"bytes", journal_bytes}, {NULL, NULL}};
    static const luaL_Reg cursor_methods[] = {
        {"info", cursor_info},   {"marks", cursor_marks},     {"tell", cursor_tell}, {"go", cursor_go},
        {"start", cursor_start}, {"load", cursor_load},       {"step", cursor_step}, {"deliver", cursor_deliver},
        {"shows", cursor_shows}, {"explain", cursor_explain}, {NULL, NULL}};
    lua_createtable(L, 0, 2);
    laoi_set_type(L, JOURNAL_NAME, "record", journal_record, journal_methods, journal_gc);
    laoi_set_type(L, CURSOR_NAME, "cursor", new_cursor, cursor_methods, cursor_gc);
    lua_getfield(L, -1, "cursor");
    (void)lua_getupvalue(L, -1, LAOI_META);
    lua_pushvalue(L, space_meta);
    lua_setfield(L, -2, "space"); /* the metatable of the spaces that a cursor starts */
    lua_pop(L, 2);
}
