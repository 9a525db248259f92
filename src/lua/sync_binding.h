/* sync_binding.h - declarations for the files of `aoi.sync`, sync_*.c. */
#ifndef LAOI_SYNC_BINDING_H
#define LAOI_SYNC_BINDING_H

#include "lua/binding.h"

typedef laoi_child laoi_sync;

typedef struct sync_fields_arg { /* copies the names, as a finalizer may change the table */
    uint32_t count;
    aoi_field fields[AOI_MOST_FIELDS];
    char names[AOI_MOST_FIELDS][AOI_MOST_FIELD_NAME + 1];
} sync_fields_arg;

laoi_sync *laoi_sync_self(lua_State *L, int most); /* open, and at most `most` arguments */

/* ---- sync_fields.c ----------------------------------------------------------------------------------------------- */

void laoi_fields_option(lua_State *L, int i, sync_fields_arg *a); /* reads the value on top; i: for error messages */
int laoi_sync_put(lua_State *L);
int laoi_sync_get(lua_State *L);
int laoi_sync_state(lua_State *L);

/* ---- sync_explain.c ---------------------------------------------------------------------------------------------- */

int laoi_sync_explain(lua_State *L);

/* Pushes the value of a field as a Lua value. */
void laoi_push_value(lua_State *L, int type, const aoi_value *v);

/* ---- sync_read.c ------------------------------------------------------------------------------------------------- */

int laoi_sync_read(lua_State *L);

#endif
