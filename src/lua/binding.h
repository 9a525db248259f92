/* binding.h - the Lua binding from inside:
 *
 *   module.c            the module, the methods of a space
 *   args.c              arguments in, errors out, in the words of the standard library
 *   queries.c           the methods that only ask
 *   shapes_args.c       areas and explanations
 *   classes.c           types of objects: those that stand on a space, and others
 *   snapshot_methods.c  save and load
 *   journal_methods.c   what records and plays
 *   sync_*.c            aoi.sync
 *   sight_methods.c     aoi.sight
 *   observe_methods.c   aoi.observe
 *   history_methods.c   aoi.history
 *   helpers.c           what the layers in Lua need of C
 *   wire_*.c            messages of the AOI service: wire.h
 *   world_*.c           a world of many spaces: world.h
 *   handlers.c          which functions a node calls
 *   deliver.c           events to handlers
 *
 *   userdata aoi.space  { core, refs, uses ... } --core-->  aoi_space, memory from the host's lua_Alloc
 *        | user value
 *        v
 *   { [ref] = a handler or a table of handlers, ref > 0; [handler] = ref;
 *     [0] = on_error, [-1] = weak set of the coroutines that are delivering, [-2] = the drain loop (before 5.2 only),
 *     [-5] = what records it,
 *     with on_error: [-3] = the function that notes where an error was raised, [-4] = what it has noted, or false }
 *
 * Nothing is referenced from the registry, so a handler that captures its own space dies with it. */
#ifndef LAOI_H
#define LAOI_H

#include "aoi_sight.h"
#include "core/space.h"
#include "lua/compat.h"

enum {
    LAOI_ON_ERROR = 0,
    LAOI_COROUTINES = -1,
    LAOI_LOOP = -2,
    LAOI_TRACER = -3,
    LAOI_TRACEBACK = -4,
    LAOI_JOURNAL = -5
};
enum { LAOI_META = 1, LAOI_NAME = 2 }; /* upvalues of every method: the metatable, the method's name */

typedef struct laoi_repeated { /* a pair whose events are counted in a long delivery: see deliver.c */
    int64_t watcher, target, node_id;
    uint32_t events, absent, patience; /* of it; others since its last one; how many of those are borne */
} laoi_repeated;

typedef struct laoi_space {
    const void *mark; /* tells a space from other userdata: quicker than to fetch and compare metatables */
    aoi_space *core;  /* NULL: closed */
    int solid;        /* deliveries under way that cannot yield */
    int suspendable;  /* deliveries under way that can, at most: one whose coroutine died is still counted */
    int dims;
    uint32_t calls; /* of methods, to notice those that a finalizer made meanwhile */
    bool deferred, has_on_error;
    bool flushing; /* a deferred space: a delivery that is under way takes the space's own events, too */
    bool sink_due; /* bytes of its journal are to be handed on */
    bool playing;  /* a player makes a call on it, and asks for handlers in the middle: nothing else may use it */
    lua_Alloc alloc;
    void *ud;
    struct {
        uint32_t count, next; /* nodes that have it; the next unused number */
    } * uses;                 /* by ref */
    uint32_t use_cap, ref_top, unused_ref;
    uint32_t orphan[2]; /* refs that a node is about to have */
    laoi_repeated repeated;
} laoi_space;

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Raises "bad argument #i to 'method' (...)"; `i` counts self, the message does not when it is called as a method. */
int laoi_argerror(lua_State *L, int i, const char *format, ...);
/* call_as(f, name, less, ...): calls f(...) as pcall does; its errors about arguments are those of a function `name` that has
 * so many arguments less.  f is a function of the binding, and calls no handlers.  Without a name it may call them, and an
 * error about an argument is the bare reason, with the number of the argument behind it, self included. */
int laoi_call_as(lua_State *L);
int laoi_typeerror(lua_State *L, int i, const char *expected);
int laoi_nomemory(lua_State *L);
const char *laoi_spell(lua_State *L, int64_t id); /* an id for a message; in full, whatever this Lua's numbers are */

void laoi_mark(laoi_space *b);                        /* a new one */
laoi_space *laoi_self(lua_State *L);                  /* open, or an error */
laoi_space *laoi_maybe(lua_State *L);                 /* open or closed */
laoi_space *laoi_space_argument(lua_State *L, int i); /* the same as laoi_self for argument i */

/* Self of a method of another type, whose metatable is the method's first upvalue; a type error that says `name` else. */
void *laoi_object(lua_State *L, const char *name);

void laoi_refuse_played(lua_State *L, const laoi_space *b); /* an error while a player makes a call on it */
laoi_space *laoi_self_of(lua_State *L, int most);           /* open, and no more than `most` arguments, self included */

/* An error for a module at i, which has that function: aoi:new{} hands it over. */
void laoi_refuse_module(lua_State *L, int i, const char *has, const char *expected);
/* Raises an error if there is an argument from i on; nil counts as none.  The other one says how many dimensions there
 * are: where a third coordinate is too many. */
void laoi_no_more(lua_State *L, int i);
void laoi_no_more_in(lua_State *L, const laoi_space *b, int i);

/* For messages; each pushes what it returns. */
const char *laoi_key_name(lua_State *L, int i);                     /* of a table */
const char *laoi_value(lua_State *L, int i);                        /* 'text', 5, true, table */
const char *laoi_choices(lua_State *L, const char *(*name)(int k)); /* "'a', 'b' or 'c'", up to the first NULL */

int laoi_word(lua_State *L, const char *(*name)(int k)); /* the place of the word on top among those names, or -1 */
int64_t laoi_integer(lua_State *L, int i);
double laoi_finite(lua_State *L, int i);
double laoi_number(lua_State *L, int i);
/* The sight at i if it is an open one of that space, or NULL. */
aoi_sight *laoi_sight_argument(lua_State *L, int i, const laoi_space *b);
/* The same as option `name` of the table at i, or an error.  Nothing is collected after it has been found open. */
aoi_sight *laoi_sight_option(lua_State *L, int i, const char *name, const laoi_space *b);
int laoi_position(lua_State *L, const laoi_space *b, int i, double *pos); /* returns the index after it */
double laoi_radius(lua_State *L, int i);
/* A message at i, a string or as skynet gives it, a pointer and a length; NULL: it is neither. */
const unsigned char *laoi_message(lua_State *L, int i, size_t *size);
aoi_entity laoi_entity(lua_State *L, const laoi_space *b, int i);
aoi_node laoi_node(lua_State *L, const laoi_space *b, int i, aoi_entity *owner); /* i: the entity; i + 1: the node id */
typedef struct laoi_area_arg { /* an area, the corners of a polygon, its label */
    aoi_area area;
    double points[2 * AOI_MOST_CORNERS];
    char label[AOI_MOST_LABEL + 1];
    bool masked; /* a mask was given: without one `near` finds kind 0, too */
    bool none;   /* of `near`: a mask of 0, which to the core is any kind, finds nothing */
} laoi_area_arg;

/* A number, the radius of a square, or a table; without fault. */
void laoi_area(lua_State *L, const laoi_space *b, int i, laoi_area_arg *out);
/* Set an item of the list at i, or a field of the table on top. */
static inline void laoi_set_item(lua_State *L, int i, laoi_index at, int64_t v) {
    laoi_pushinteger(L, v);
    lua_rawseti(L, i > 0 ? i : i - 1, at);
}
void laoi_set_integer(lua_State *L, const char *name, int64_t v);
void laoi_set_number(lua_State *L, const char *name, double v);
void laoi_set_string(lua_State *L, const char *name, const char *v);
void laoi_set_flag(lua_State *L, const char *name, bool v);
void laoi_push_area(lua_State *L, const laoi_space *b, const aoi_area *a); /* a table that laoi_area would take */
void laoi_push_explanation(lua_State *L, const laoi_space *b, const aoi_explanation *e, const int64_t *ids);
/* Calls `read` for each key of the table at i, if there is one, with its value on top: false means an unknown one. */
typedef bool laoi_read_option(lua_State *L, int i, const char *name, void *ud);
void laoi_read_options(lua_State *L, int i, laoi_read_option *read, void *ud);
void laoi_options(lua_State *L, int i, aoi_options *o);
/* n rows `id, x, y [, z]` of the table at i into the space's row buffer, if there is one, else ids are skipped */
aoi_row *laoi_rows(lua_State *L, laoi_space *b, int i, size_t *n);
/* Rows `x, y [, z]` of the table at i into the space's buffer. */
double *laoi_places(lua_State *L, laoi_space *b, int i, size_t *n);
/* The same rows staged as moves, with the result of the first bad one. */
int laoi_stage_rows(lua_State *L, laoi_space *b, int i, size_t n, size_t *bad, int64_t *bad_id);
/* The rows of a flat array: how many there are at i, by the count at i + 1 if it is given; and the first n of them. */
size_t laoi_row_count(lua_State *L, int dims, int i);
void laoi_read_rows(lua_State *L, int dims, int i, size_t n, aoi_row *out);
/* The table to fill at i, or a new one; it is on top of the stack then. */
void laoi_buffer(lua_State *L, int i, size_t n);
/* Ends the list at i with a nil behind its nth item.  Further rows that an earlier, longer list has left there, a number
 * first, go too, so that # is right; what else the table holds stays. */
void laoi_end_list(lua_State *L, int i, laoi_index n, int row);
/* Fills the table on top of the stack with n rows, an id, or an id and a node each; pushes n; returns 2. */
int laoi_fill_list(lua_State *L, const int64_t *ids, const int64_t *nodes, size_t n);

/* ---- handlers; t: the index of the space's table ---------------------------------------------------------------- */

/* Before a node is added: all that can fail.  Returns the node's user data: both refs.  Then, once it is known whether
 * the node was added: what cannot fail. */
uint64_t laoi_prepare_handlers(lua_State *L, laoi_space *b, int t, int on_enter, int on_leave);
void laoi_settle_handlers(lua_State *L, laoi_space *b, int t, bool added);
/* Which of the fields `enter` and `leave` of a table of handlers cannot be called, and its type; NULL: none.  Whether there
 * is any. */
const char *laoi_bad_handler(lua_State *L, int i, bool *any, const char **got);
bool laoi_check_handlers(lua_State *L, int enter); /* handlers or nil, from argument `enter` on; whether there is any */
void laoi_forget_freed(lua_State *L, laoi_space *b, int t); /* handlers of nodes that are gone with their last event */

/* The ref of the handler for a kind of event, by the node's user data: its key in the table, 0: none. */
static inline uint32_t laoi_handler(int kind, uint64_t user_data) {
    return (uint32_t)(kind == AOI_ENTER ? user_data >> 32 : user_data);
}
void laoi_free_handlers(laoi_space *b);

/* ---- the module -------------------------------------------------------------------------------------------------- */

/* An account of its own with the state's allocator. */
aoi_memory laoi_memory(lua_State *L);

/* What objects that stand on a space begin with: classes.c. */
typedef struct laoi_child {
    void *core; /* NULL: closed; else valid while the space is open */
    laoi_space *space;
} laoi_child;
enum { LAOI_CLASS = 3 }; /* upvalue of a constructor, behind the space's metatable and its own name: the class */
typedef struct laoi_class {
    const char *name, *word, *constructor; /* "aoi.Sync", "sync", "new" */
    lua_CFunction make;
    void (*end)(void *core); /* only while the space is open, unless it outlives that */
    bool outlives;
    lua_CFunction close;                 /* NULL: the usual one */
    const luaL_Reg *methods, *functions; /* functions: beside the constructor, NULL: none */
} laoi_class;
extern const laoi_class laoi_sync_class, laoi_sight_class, laoi_history_class, laoi_observer_class;
void laoi_open_class(lua_State *L, int space_meta, const laoi_class *c); /* its constructor into the table on top */
/* In a constructor: the object, all 0 but for its space and not of its class yet, at 3, behind the space and what it takes.
 * Then it gets its class; returns the space, still open: making tables may run a finalizer. */
void *laoi_new_on_space(lua_State *L, laoi_space *b, size_t size);
laoi_space *laoi_give_class(lua_State *L);
bool laoi_is_open(const laoi_child *c);
void *laoi_child_maybe(lua_State *L, const laoi_class *c);          /* self, open or closed */
void *laoi_child_self(lua_State *L, const laoi_class *c, int most); /* open, and so many arguments at most */
int laoi_close_child(lua_State *L, const laoi_class *c);
/* A type of its own: `make` under the name `maker` in the table on top, and the methods of what it makes. */
void laoi_set_type(lua_State *L, const char *type, const char *maker, lua_CFunction make, const luaL_Reg *methods,
                   lua_CFunction gc);
/* In its `make`: an object on top of the stack, all 0, with a table of its own for user value. */
void *laoi_new_object(lua_State *L, size_t size);
int laoi_done(lua_State *L, int result); /* of a call of the core: nothing, or an error */

/* Into the table on top, each with the metatable and its own name for upvalues. */
void laoi_set_functions(lua_State *L, int meta, const luaL_Reg *f);
void laoi_open_helpers(lua_State *L); /* pushes the module aoi.core.helpers; helpers.c */
void laoi_open_wire(lua_State *L);    /* pushes what is in wire.h: the module aoi.core.wire */
void laoi_open_world(lua_State *L);   /* pushes the module aoi.core.world; world_router.c */

/* Pushes a space that is closed until it adopts a core, whose memory must be that of `alloc` and `ud`. */
laoi_space *laoi_new_space(lua_State *L, int meta); /* meta: index of the metatable of spaces */
void laoi_adopt_core(laoi_space *b, aoi_space *core);

/* ---- snapshots; snapshot_methods.c --------------------------------------------------------------------------------- */

int laoi_save(lua_State *L);
int laoi_load(lua_State *L);

typedef struct laoi_bytes { /* that are collected, in the host's memory */
    lua_Alloc alloc;
    void *ud;
    char *bytes;
    size_t size, room;
} laoi_bytes;

laoi_bytes *laoi_new_bytes(lua_State *L); /* pushes a userdata that owns them */
void laoi_free_bytes(laoi_bytes *c);
bool laoi_collect(void *ud, const void *bytes, size_t size); /* an aoi_write to laoi_bytes */

typedef struct laoi_loading { /* a space that is loaded, or played: what its nodes get for handlers */
    lua_State *L;
    laoi_space *b;
    int handlers, table; /* stack: the host's function, or nil; the space's table */
    bool keeps_silence;  /* nodes make events as they did, whatever hears them */
    bool failed;         /* an error is on top of the stack */
    bool heard;          /* the last node that was asked for */
    int64_t watcher, node_id;
    uint64_t user_data;
} laoi_loading;

bool laoi_give_handlers(void *ud, aoi_loaded_node *n); /* for aoi_load_options; ud: laoi_loading */

/* ---- journals; journal_methods.c ----------------------------------------------------------------------------------- */

void laoi_open_journal(lua_State *L, int space_meta);  /* pushes the table aoi.core.journal */
void laoi_hand_on(lua_State *L, laoi_space *b, int i); /* what is collected, to the sink of the space at i */

/* ---- methods that only ask; queries.c ------------------------------------------------------------------------------ */

/* The arguments of `near` from i on; returns the index of the table to fill.  Its mask is 0 where none was given. */
int laoi_near_arguments(lua_State *L, const laoi_space *b, int i, double *pos, laoi_area_arg *a);
typedef struct laoi_list { /* what the core answers: rows of an id, or of an id and a node */
    const int64_t *ids, *nodes;
    size_t n;
} laoi_list;
/* The table at i, or a new one, filled with that; returns it and the count, or asks the method again where a finalizer has
 * used the space meanwhile. */
int laoi_answer(lua_State *L, laoi_space *b, lua_CFunction method, int i, int result, const laoi_list *a);

/* What a node keeps is known once all moves are judged; aoi_sees and aoi_explain cannot say that memory was refused. */
void laoi_judge_moves(lua_State *L, laoi_space *b);
int laoi_push_position(lua_State *L, const laoi_space *b, bool known, const double *pos); /* or nil; returns how many */

extern const luaL_Reg laoi_queries[];
extern const char *const laoi_hows[]; /* names of overrides, by AOI_HIDE ... */

/* Pushes a function that, called with an error, notes a traceback in the table at t, and returns the error. */
void laoi_push_tracer(lua_State *L, int t);

/* ---- delivery ------------------------------------------------------------------------------------------------------- */

/* Hands waiting events to their handlers, unless this call comes from a handler: then the outermost call does it.
 * `counts`: return how many, else nothing.  To be returned from the method; runs nothing where nothing waits. */
int laoi_deliver(lua_State *L, laoi_space *b, bool counts);
/* The same for what waits in layers alone (aoi_layers_take); returns how many. */
int laoi_deliver_layers(lua_State *L, laoi_space *b);

#endif
