/* sync_binding.h - what the files of `aoi.sync` share: sync_methods.c, sync_fields.c, sync_read.c. */
#ifndef LAOI_SYNC_BINDING_H
#define LAOI_SYNC_BINDING_H

#include "lua/binding.h"

typedef laoi_child laoi_sync;

typedef struct sync_fields_arg { /* names are copied: what runs meanwhile may change the table */
    uint32_t count;
    aoi_field fields[AOI_MOST_FIELDS];
    char names[AOI_MOST_FIELDS][AOI_MOST_FIELD_NAME + 1];
} sync_fields_arg;

laoi_sync *laoi_sync_self(lua_State *L, int most); /* open, in a call of so many arguments at most */

/* ---- sync_fields.c ----------------------------------------------------------------------------------------------- */

void laoi_fields_option(lua_State *L, int i, sync_fields_arg *a); /* the value is on top, of the table at i */
int laoi_sync_put(lua_State *L);
int laoi_sync_get(lua_State *L);
int laoi_sync_state(lua_State *L);

/* ---- sync_explain.c ---------------------------------------------------------------------------------------------- */

int laoi_sync_explain(lua_State *L);

/* Pushes a value as Lua has it. */
void laoi_push_value(lua_State *L, int type, const aoi_value *v);

/* ---- sync_read.c ------------------------------------------------------------------------------------------------- */

int laoi_sync_read(lua_State *L);

#endif
