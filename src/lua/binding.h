/* binding.h - the internal interface of the Lua binding:
 *
 *   module.c            the module, the methods of a space
 *   args.c              reads arguments, raises errors in the words of the standard library
 *   options.c           reads tables of options
 *   queries.c           the methods that only read
 *   shapes_args.c       areas and explanations
 *   classes.c           types of objects: those that belong to a space, and others
 *   snapshot_methods.c  save and load
 *   journal_methods.c   recording and playing
 *   sync_*.c            aoi.sync
 *   sight_methods.c     aoi.sight
 *   observe_methods.c   aoi.observe
 *   history_methods.c   aoi.history
 *   helpers.c           functions for the modules in Lua
 *   handlers.c          the handlers of nodes
 *   deliver.c           calls handlers for events
 *
 *   userdata aoi.space  { core, refs, uses ... } --core-->  aoi_space, memory from the host's lua_Alloc
 *        | user value
 *        v
 *   { [ref] = a handler or a table of handlers, ref > 0; [handler] = ref;
 *     [0] = on_error, [-1] = weak set of the coroutines that are delivering, [-2] = the drain loop (before 5.2 only),
 *     [-5] = its journal,
 *     with on_error: [-3] = the function that stores the traceback of an error, [-4] = the traceback, or false }
 *
 * The registry does not refer to any of these, so a handler that captures its own space is collected with it. */
#ifndef LAOI_H
#define LAOI_H

#include "aoi_sight.h"
#include "aoi_sync.h"
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

typedef struct laoi_repeated { /* the pair of which a long delivery counts the events: see deliver.c */
    int64_t watcher, target, node_id;
    uint32_t events, absent, window; /* of the pair; other events since its last one; the limit of absent */
} laoi_repeated;

typedef struct laoi_space {
    const void *mark;  /* identifies a space among userdata: faster than to compare metatables */
    aoi_space *core;   /* NULL: closed */
    int unsuspendable; /* active deliveries that cannot yield */
    int suspendable;   /* upper bound of the active deliveries that can yield: includes those of dead coroutines */
    int dims;
    uint32_t calls; /* count of method calls: detects calls by finalizers */
    bool deferred, has_on_error;
    bool flush_due; /* the active delivery takes the own events of the space from now on, although it is deferred */
    bool sink_due;  /* collected bytes of its journal must be passed to the sink */
    bool playing;   /* a player is in a call of the core, and may call the host's function: refuse other calls */
    lua_Alloc alloc;
    void *ud;
    struct {
        uint32_t count, next; /* nodes with this handler; next: the next unused ref */
    } * uses;                 /* by ref */
    uint32_t use_cap, ref_top, unused_ref;
    uint32_t prepared[2]; /* refs of a node that is being added */
    laoi_repeated repeated;
} laoi_space;

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Raises "bad argument #i to 'method' (...)"; `i` counts self, the message does not if it is called as a method. */
int laoi_argerror(lua_State *L, int i, const char *format, ...);
/* call_as(f, name, less, ...): calls f(...) as pcall does.  Errors about arguments use `name`, and argument numbers are
 * reduced by `less`.  f must be a function of the binding that calls no handlers.  Without a name f may call handlers,
 * and an error about an argument is the bare reason, followed by the number of the argument, self included. */
int laoi_call_as(lua_State *L);
int laoi_typeerror(lua_State *L, int i, const char *expected);
int laoi_nomemory(lua_State *L);
const char *laoi_spell(lua_State *L, int64_t id); /* pushes an id as exact decimal text, in every version of Lua */

/* Whatever makes a table, a string or a userdata may run a finalizer, which may do anything, close the space included, and
 * so may reading a table of the host.  Therefore a method reads its arguments and makes all it needs first, and calls
 * laoi_self, or what it has for another object, once more before it uses the core. */
void laoi_mark(laoi_space *b);                        /* sets the mark of a new space */
laoi_space *laoi_self(lua_State *L);                  /* open, or an error */
laoi_space *laoi_maybe(lua_State *L);                 /* open or closed */
laoi_space *laoi_space_argument(lua_State *L, int i); /* as laoi_self, for argument i */

/* Self of a method of another type, with the metatable in the first upvalue; or a type error with that name. */
void *laoi_object(lua_State *L, const char *name);

void laoi_refuse_played(lua_State *L, const laoi_space *b); /* an error while a player makes a call on it */
laoi_space *laoi_self_of(lua_State *L, int most);           /* open, and no more than `most` arguments, self included */

/* Raises an error if argument i is the module, recognised by its function `has`: aoi:new{} passes it. */
void laoi_refuse_module(lua_State *L, int i, const char *has, const char *expected);
/* Raises an error for an argument other than nil from i on.  The message of laoi_no_more_in mentions the dimensions,
 * for methods where a z may be the surplus argument. */
void laoi_no_more(lua_State *L, int i);
void laoi_no_more_in(lua_State *L, const laoi_space *b, int i);

/* Text for messages; each function pushes its result. */
const char *laoi_key_name(lua_State *L, int i);                                     /* a key of a table */
const char *laoi_value(lua_State *L, int i);                                        /* 'text', 5, true, table */
const char *laoi_got(lua_State *L, int i);                                          /* string 'text', number, table */
const char *laoi_choices(lua_State *L, const char *const *names);                   /* "'a', 'b' or 'c'", up to NULL */
const char *laoi_nearest(lua_State *L, const char *word, const char *const *names); /* "; did you mean 'a'?", or "" */

/* Tables of options; options.c.  A value that is read is on top of the stack; i: the argument that errors are about. */
enum { LAOI_MOST_NAMES = 64 }; /* in a table of options, and among the words of a choice */

typedef struct laoi_option {
    const char *name; /* NULL behind the last */
    /* What `read` stores; a bool; a whole number of `least` or more, as a uint32_t; bits or an id, as a uint64_t; doubles:
     * one that is positive and finite, a coordinate, a radius. */
    enum { LAOI_READ, LAOI_FLAG, LAOI_WHOLE, LAOI_BITS, LAOI_POSITIVE, LAOI_COORDINATE, LAOI_RADIUS } type;
    size_t at;            /* where in `to` */
    uint32_t least, most; /* LAOI_WHOLE: 0 or 1; 0: UINT32_MAX */
    const char *why;      /* LAOI_WHOLE: words other than "a whole number of 1 or more expected", or NULL */
    void (*read)(lua_State *L, int i, const char *name, void *to); /* LAOI_READ */
} laoi_option;

/* Reads the optional table at i into `to`.  Errors come before the values of later keys are read, in no known order. */
void laoi_read_options(lua_State *L, int i, const laoi_option *options, void *to);
/* An error about the key below the top: "unknown `what` 'wide' of a `of`: 'extents' or 'mask' expected"; of may be "". */
int laoi_unknown(lua_State *L, int i, const char *what, const char *of, const char *const *names);
int laoi_bad_option(lua_State *L, int i, const char *name, const char *why);
uint32_t laoi_whole_option(lua_State *L, int i, const laoi_option *o); /* the value, of LAOI_WHOLE */
/* The index of the string on top among the names that name(0), name(1) ... return up to NULL; or -1, or an error. */
int laoi_word(lua_State *L, const char *(*name)(int k));
int laoi_choice(lua_State *L, int i, const char *what, const char *(*name)(int k));

int64_t laoi_integer(lua_State *L, int i);
double laoi_finite(lua_State *L, int i);
double laoi_coordinate(lua_State *L, int i); /* at most AOI_FARTHEST */
double laoi_number(lua_State *L, int i);
/* The open sight of the space at i, or NULL. */
aoi_sight *laoi_sight_argument(lua_State *L, int i, const laoi_space *b);
/* The same for option `name` of the table at i, or an error.  The sight stays open until Lua may collect garbage. */
aoi_sight *laoi_sight_option(lua_State *L, int i, const char *name, const laoi_space *b);
/* Pushes why a node of the sight sees a target or not; the ids of watcher, node and target are at i. */
int laoi_sight_explain(lua_State *L, laoi_space *b, aoi_sight *g, int i);
int laoi_position(lua_State *L, const laoi_space *b, int i, double *pos); /* returns the index after it */
double laoi_radius(lua_State *L, int i);
/* The message at i, a string or, from skynet, a pointer and a length; NULL: neither. */
const unsigned char *laoi_message(lua_State *L, int i, size_t *size);
aoi_entity laoi_entity(lua_State *L, const laoi_space *b, int i);
aoi_node laoi_node(lua_State *L, const laoi_space *b, int i, aoi_entity *owner); /* i: the entity; i + 1: the node id */
enum { LAOI_FEW_CORNERS = 64 };
typedef struct laoi_area_arg { /* an area, the corners of a polygon if they are few, its label */
    aoi_area area;
    double points[2 * LAOI_FEW_CORNERS];
    int ends[LAOI_FEW_CORNERS / 3];
    char label[AOI_MOST_LABEL + 1];
    bool masked; /* a mask was given: without one `near` finds kind 0, too */
    bool none;   /* for `near`: the mask is 0 and finds nothing; the core takes 0 for all kinds */
} laoi_area_arg;

/* Reads an area, a number (the radius of a square) or a table, and raises an error if it is invalid.  A polygon of many
 * corners has them in a userdata, which takes the place of the table on the stack. */
void laoi_area(lua_State *L, const laoi_space *b, int i, laoi_area_arg *out);
/* The same for a node of the space, whose area may be `outside`. */
void laoi_node_area(lua_State *L, const laoi_space *b, int i, laoi_area_arg *out);
/* Room for corners and rings of *out, as it says how many: in it, or in a userdata, which is pushed; true: pushed. */
bool laoi_outline_room(lua_State *L, laoi_area_arg *out, double **points, int **ends);
/* Set an item, or n items from `at` on, of the list at i, or a field of the table on top. */
static inline void laoi_set_item(lua_State *L, int i, laoi_index at, int64_t v) {
    laoi_pushinteger(L, v);
    lua_rawseti(L, i > 0 ? i : i - 1, at);
}
static inline void laoi_set_numbers(lua_State *L, int i, laoi_index at, const double *v, int n) {
    for (int k = 0; k < n; k++) {
        lua_pushnumber(L, v[k]);
        lua_rawseti(L, i > 0 ? i : i - 1, at + k);
    }
}
void laoi_set_integer(lua_State *L, const char *name, int64_t v);
void laoi_set_number(lua_State *L, const char *name, double v);
void laoi_set_string(lua_State *L, const char *name, const char *v);
void laoi_set_flag(lua_State *L, const char *name, bool v);
void laoi_push_area(lua_State *L, const laoi_space *b, const aoi_area *a); /* as a table that laoi_area accepts */
/* Gives the table on top, an explanation, the __tostring of lua/aoi/explanation.lua. */
void laoi_give_text(lua_State *L);
#define LAOI_EXPLANATION "aoi.Explanation" /* its metatable: in the registry, and `explained` of the helpers */
void laoi_push_explanation(lua_State *L, const laoi_space *b, const aoi_explanation *e, const int64_t *ids);
void laoi_push_sight_explanation(lua_State *L, const laoi_space *b, const aoi_sight_explanation *e, const int64_t *ids);
void laoi_options(lua_State *L, int i, aoi_options *o);
/* Reads the rows `id, x, y [, z]` of the array at i into the space's row buffer; *n: their number. */
aoi_row *laoi_rows(lua_State *L, laoi_space *b, int i, size_t *n);
/* What enters: a kind, or a table { kind =, layers =, extent =, fields = }. */
typedef struct laoi_whole {
    uint64_t kind, layers;
    double extent;
    bool whole; /* a table was given */
    int fields; /* where its fields are on the stack; 0: none */
} laoi_whole;
/* Behind the last argument; pushes the fields, if there are any. */
void laoi_whole_argument(lua_State *L, const laoi_space *b, int i, laoi_whole *w);
/* Puts what the table at t names in all synchronisers of the space that have such fields; without an entity only checks
 * it.  Errors are about argument i. */
int laoi_put_fields(lua_State *L, const laoi_space *b, int i, int t, const aoi_entity *e);
typedef struct laoi_checked_row {
    aoi_row row;
    uint32_t unread; /* not 0: the values of the array are no row, and this item of `unread` is its number */
    int result;      /* of its move, while it is not `unread` */
} laoi_checked_row;
enum { LAOI_UNREAD = 3 };
/* Reads n rows of the array at i; appends row, id, reason of each that is none to the list at `unread`.  Returns their
 * number. */
size_t laoi_check_rows(lua_State *L, int dims, int i, size_t n, laoi_checked_row *out, int unread);
/* Whether a call skips bad rows: `bad` follows the optional n at i, or stands there and makes room for it. */
bool laoi_skips_rows(lua_State *L, int i);
/* Reads rows `x, y [, z]` into the space's coordinate buffer. */
double *laoi_places(lua_State *L, laoi_space *b, int i, size_t *n);
/* Stages n rows `id, x, y [, z]` as moves; returns the result of the first bad row. */
int laoi_stage_rows(lua_State *L, laoi_space *b, int i, size_t n, size_t *bad, int64_t *bad_id);
/* The number of rows of the flat array at i, or the count at i + 1 if given; and a reader of n rows from `first` on. */
size_t laoi_row_count(lua_State *L, int dims, int i);
void laoi_read_rows(lua_State *L, int dims, int i, size_t first, size_t n, aoi_row *out);
/* Pushes the table to fill, given at i, or a new one with room for n items. */
void laoi_buffer(lua_State *L, int i, size_t n);
/* Ends the list at i with a nil behind item n.  Removes further items of an earlier, longer list, so that # is right;
 * keeps other contents of the table. */
void laoi_end_list(lua_State *L, int i, laoi_index n);
int laoi_end_list_of(lua_State *L); /* end_list(list, n), for the modules in Lua */
/* The same for a list of n rows on top, the result of a method: pushes n; returns 2. */
int laoi_return_list(lua_State *L, laoi_index last, size_t n);
/* Pushes n integers; returns n. */
int laoi_push_integers(lua_State *L, const int64_t *v, int n);
#define LAOI_INTEGERS(L, ...)                                                                                          \
    laoi_push_integers((L), (const int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
/* Fills the table on top with n rows, an id, or an id and a node each; pushes n; returns 2. */
int laoi_fill_list(lua_State *L, const int64_t *ids, const int64_t *nodes, size_t n);

/* ---- handlers; t: the index of the space's table ---------------------------------------------------------------- */

/* laoi_prepare_handlers does all that can fail, before a node is added; returns the node's user data: both refs.
 * laoi_settle_handlers cannot fail, and follows with the result. */
uint64_t laoi_prepare_handlers(lua_State *L, laoi_space *b, int t, int on_enter, int on_leave);
void laoi_settle_handlers(lua_State *L, laoi_space *b, int t, bool added);
/* The handler in the table at i that cannot be called, or NULL; *got: the type of its
 * value.  Sets *any if the table has one of the fields. */
const char *laoi_bad_handler(lua_State *L, int i, bool *any, const char **got);
/* Whether it is a table of handlers with `cross`, its own or inherited from tables; no metamethod is called. */
bool laoi_has_cross(lua_State *L, int i);
bool laoi_check_handlers(lua_State *L, int enter); /* arguments from `enter` on; returns whether there is any handler */
void laoi_forget_freed(lua_State *L, laoi_space *b, int t); /* drops handlers of nodes freed after their last event */

/* The ref of a node's handler for a kind of event, from the node's user data; 0: none.  Its field in a table. */
static inline uint32_t laoi_handler(int kind, uint64_t user_data) {
    return (uint32_t)(kind == AOI_LEAVE ? user_data : user_data >> 32);
}
static inline const char *laoi_handler_name(int kind) {
    return kind == AOI_ENTER ? "enter" : kind == AOI_LEAVE ? "leave" : "cross";
}
void laoi_free_handlers(laoi_space *b);

/* ---- the module -------------------------------------------------------------------------------------------------- */

/* A new memory account with the allocator of the state. */
aoi_memory laoi_memory(lua_State *L);

/* The head of each object that belongs to a space: classes.c. */
typedef struct laoi_child {
    void *core; /* NULL: closed; else valid while the space is open */
    laoi_space *space;
} laoi_child;
enum { LAOI_CLASS = 3 }; /* further upvalue: the metatable in a constructor, the laoi_class in other functions */
typedef struct laoi_class {
    const char *name, *word, *constructor; /* "aoi.Sync", "sync", "new" */
    lua_CFunction make;
    void (*end)(void *core); /* frees the core; only called while the space is open, unless `outlives` */
    bool outlives;
    lua_CFunction close;                 /* NULL: laoi_close_child */
    const luaL_Reg *methods, *functions; /* functions: of the module, next to the constructor; or NULL */
} laoi_class;
extern const laoi_class laoi_sync_class, laoi_sight_class, laoi_history_class, laoi_observer_class;
void laoi_open_class(lua_State *L, int space_meta, const laoi_class *c); /* sets the constructor in the table on top */
/* For constructors.  laoi_new_on_space pushes an object at index 3, zeroed except for its space, without its metatable;
 * laoi_give_class sets the metatable, and raises an error if a finalizer has closed the space meanwhile. */
void *laoi_new_on_space(lua_State *L, laoi_space *b, size_t size);
laoi_space *laoi_give_class(lua_State *L);
bool laoi_is_open(const laoi_child *c);
void *laoi_child_maybe(lua_State *L, const laoi_class *c);          /* self, open or closed */
void *laoi_child_self(lua_State *L, const laoi_class *c, int most); /* open, and at most `most` arguments */
int laoi_close_child(lua_State *L, const laoi_class *c);
/* Makes a type that does not belong to a space: sets `make` under the name `maker` in the table on top. */
void laoi_set_type(lua_State *L, const char *type, const char *maker, lua_CFunction make, const luaL_Reg *methods,
                   lua_CFunction gc);
/* For `make`: pushes a zeroed object with a new table as user value. */
void *laoi_new_object(lua_State *L, size_t size);
int laoi_done(lua_State *L, int result); /* for a result of the core: returns 0, or raises an error */

/* Sets functions in the table on top; upvalues of each: the metatable, its own name. */
void laoi_set_functions(lua_State *L, int meta, const luaL_Reg *f);
void laoi_open_helpers(lua_State *L);                 /* pushes the module aoi.core.helpers; helpers.c */
LAOI_EXPORT int luaopen_aoi_core_wire(lua_State *L);  /* messages of the AOI service: src/skynet/wire.h */
LAOI_EXPORT int luaopen_aoi_core_world(lua_State *L); /* a world of many spaces: src/skynet/world.h */

/* Pushes a space, closed until it adopts a core, which must use `alloc` and `ud`. */
laoi_space *laoi_new_space(lua_State *L, int meta); /* meta: index of the metatable of spaces */
void laoi_adopt_core(laoi_space *b, aoi_space *core);

/* ---- snapshots; snapshot_methods.c --------------------------------------------------------------------------------- */

int laoi_save(lua_State *L);
int laoi_load(lua_State *L);

typedef struct laoi_bytes { /* a growing buffer in the host's memory */
    lua_Alloc alloc;
    void *ud;
    char *bytes;
    size_t size, room;
} laoi_bytes;

laoi_bytes *laoi_new_bytes(lua_State *L); /* pushes a userdata that owns the buffer */
void laoi_free_bytes(laoi_bytes *c);
bool laoi_collect(void *ud, const void *bytes, size_t size); /* an aoi_write to laoi_bytes */
int laoi_push_bytes(lua_State *L); /* push_bytes(light userdata: laoi_bytes) -> string, for protected calls */

typedef struct laoi_loading { /* how the nodes of a space that is loaded or played get their handlers */
    lua_State *L;
    laoi_space *b;
    int handlers, table;   /* stack indices: the host's function, or nil; the space's table */
    bool keeps_silent;     /* keep the recorded `silent` of nodes, whether they have handlers or not */
    bool failed;           /* an error is on top of the stack */
    bool handled, crosses; /* the last node has a handler, and `cross` */
    int64_t watcher, node_id;
    uint64_t user_data;
} laoi_loading;

bool laoi_give_handlers(void *ud, aoi_loaded_node *n); /* for aoi_load_options; ud: laoi_loading */
/* Push a new space with the metatable at `meta`, and its table, for a load with *o; give the space the core, or return
 * AOI_EVALUE with the fault of the bytes, or raise an error. */
void laoi_begin_loading(lua_State *L, int meta, laoi_loading *g, aoi_load_options *o);
int laoi_end_loading(lua_State *L, const laoi_loading *g, int result, aoi_space *core, const char **fault);

/* What is wrong with the ids, kinds, masks and layers of a space that was loaded or played, or of one entity and a node
 * of it: before Lua 5.3 a number does not hold all; or NULL.  The first looks at all entities and nodes there. */
const char *laoi_integers_fault(const aoi_space *s);
const char *laoi_integers_fault_at(const aoi_space *s, int64_t id, int64_t node_id);

/* ---- journals; journal_methods.c ----------------------------------------------------------------------------------- */

void laoi_open_journal(lua_State *L, int space_meta); /* pushes the table aoi.core.journal */
void laoi_hand_on(lua_State *L, laoi_space *b); /* passes collected bytes to the sink; pops the table of the space */

/* ---- methods that only read; queries.c ----------------------------------------------------------------------------- */

/* Reads the arguments of `near` from i on; returns the index of the table to fill.  The mask is 0 if not given. */
int laoi_near_arguments(lua_State *L, const laoi_space *b, int i, double *pos, laoi_area_arg *a);
typedef struct laoi_list { /* an answer of the core: rows of an id, or of an id and a node */
    const int64_t *ids, *nodes;
    size_t n;
} laoi_list;
/* Pushes the answer in the table at i, or a new one, and its count.  Runs the method again if making the table ran a
 * finalizer that used the space. */
int laoi_answer(lua_State *L, laoi_space *b, lua_CFunction method, int i, int result, const laoi_list *a);

/* Settles all moves, or raises a memory error, before aoi_sees and aoi_explain, which cannot return one. */
void laoi_settle_moves(lua_State *L, laoi_space *b);
/* Push a value, or nil if it is not known; return the number of results. */
int laoi_push_position(lua_State *L, const laoi_space *b, bool known, const double *pos);
int laoi_push_known(lua_State *L, bool known, int64_t v);

extern const luaL_Reg laoi_queries[];
extern const luaL_Reg laoi_batches[];                      /* batches.c */
int laoi_changed(lua_State *L, laoi_space *b, int result); /* ends a method: raises the core's error, or delivers */
const char *laoi_override_name(int k);                     /* of AOI_HIDE + k; NULL behind the last */

/* Pushes a message handler that stores a traceback in the table at t and returns the error. */
void laoi_push_tracer(lua_State *L, int t);

/* ---- delivery ------------------------------------------------------------------------------------------------------- */

/* Calls the handlers of pending events, unless a handler made this call: then the outermost delivery does.  The method
 * must return the result: the number of events if `counts`, else nothing. */
int laoi_deliver(lua_State *L, laoi_space *b, bool counts);
/* The same for events pending in plugins only (aoi_plugins_take), with the number of events. */
int laoi_deliver_plugins(lua_State *L, laoi_space *b);
/* as_one(space, f, ...): calls f(...), whose calls deliver nothing, as those of a handler; then delivers. */
int laoi_as_one(lua_State *L);

#endif
