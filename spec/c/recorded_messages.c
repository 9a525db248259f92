/* The recorded messages of spec/messages, read through the C API: what they say, and the pictures, as the files have it; their
 * README.md has the format.  Texts that come in parts are joined here, as a host would. */
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "aoi.h"
#include "expect.h"

enum { MOST_LINE = 1 << 18, MOST_KNOWN = 64, MOST_VALUES = 16 };

typedef struct text {
    char chars[MOST_LINE];
    size_t size;
} text;

typedef struct value {
    char name[AOI_MOST_FIELD_NAME];
    uint32_t name_size, size, at; /* at: bytes of a text that have come */
    int type;
    double number;
    unsigned char *bytes, *part;
} value;

typedef struct known {
    bool is;
    int64_t id;
    uint64_t kind;
    double pos[3];
    value values[MOST_VALUES];
    int count;
} known;

static known picture[MOST_KNOWN], one; /* one: the values of a record */
static text said, line;

/* ---- spelling ---------------------------------------------------------------------------------------------------- */

static void put(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    t->size += (size_t)vsnprintf(t->chars + t->size, sizeof t->chars - t->size, format, args);
    va_end(args);
}

static void put_hex(text *t, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) put(t, "%02x", ((const unsigned char *)bytes)[i]);
}

static void put_double(text *t, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put(t, "%016" PRIx64, bits);
}

static void put_place(text *t, const double *pos, int dims) {
    for (int a = 0; a < dims; a++) {
        put(t, ",");
        put_double(t, pos[a]);
    }
}

static int by_name(const void *a, const void *b) {
    const value *x = a, *y = b;
    size_t n = x->name_size < y->name_size ? x->name_size : y->name_size;
    int order = memcmp(x->name, y->name, n);
    return order ? order : (x->name_size > y->name_size) - (x->name_size < y->name_size);
}

static void put_values(text *t, known *k) {
    qsort(k->values, (size_t)k->count, sizeof *k->values, by_name);
    for (int i = 0; i < k->count; i++) {
        const value *v = k->values + i;
        if (v->type >= AOI_STRING && !v->bytes) continue;
        put(t, ",");
        put_hex(t, v->name, v->name_size);
        put(t, "=");
        if (v->type >= AOI_STRING) {
            put(t, "\"");
            put_hex(t, v->bytes, v->size);
        } else if (v->type == AOI_BOOL) put(t, v->number != 0 ? "true" : "false");
        else put_double(t, v->number);
    }
}

/* ---- a picture, as a host keeps it ------------------------------------------------------------------------------- */

static void forget(known *k) {
    for (int i = 0; i < k->count; i++) {
        free(k->values[i].bytes);
        free(k->values[i].part);
    }
    *k = (known){0};
}

static known *find(int64_t id, bool add) {
    known *unused = NULL;
    for (int i = 0; i < MOST_KNOWN; i++) {
        if (picture[i].is && picture[i].id == id) return picture + i;
        if (!picture[i].is && !unused) unused = picture + i;
    }
    if (!add || !unused) return NULL;
    *unused = (known){.is = true, .id = id};
    return unused;
}

static value *named(known *k, const aoi_news_value *n) {
    for (int i = 0; i < k->count; i++)
        if (k->values[i].name_size == n->name_size && !memcmp(k->values[i].name, n->name, n->name_size))
            return k->values + i;
    value *v = k->values + k->count++;
    *v = (value){.name_size = n->name_size};
    memcpy(v->name, n->name, n->name_size);
    return v;
}

static unsigned char *copy_of(const void *bytes, size_t n) {
    unsigned char *copy = malloc(n + 1);
    if (!copy) abort();
    if (n) memcpy(copy, bytes, n);
    return copy;
}

/* A text, or a part of one; true if it is complete with it: then it is the value. */
static bool join(value *v, const aoi_news_value *n) {
    if (!n->offset) {
        free(v->part);
        v->part = copy_of(NULL, 0);
        v->at = 0;
    }
    if (!v->part || v->at != n->offset) {
        free(v->part);
        v->part = NULL;
        return false;
    }
    v->part = realloc(v->part, n->total + 1);
    if (n->value.size) memcpy(v->part + v->at, n->value.bytes, n->value.size);
    v->at += n->value.size;
    if (v->at < n->total) return false;
    free(v->bytes);
    v->bytes = v->part;
    v->size = v->at;
    v->part = NULL;
    return true;
}

/* The values of a record: into the picture, and, those that are complete, into `one`. */
static void read_values(aoi_reader *r, int64_t id) {
    aoi_news_value n;
    known *k = find(id, false), lone = {0};
    forget(&one);
    while (aoi_read_value(r, &n)) {
        value *v = named(k ? k : &lone, &n);
        bool whole = true;
        v->type = n.type;
        v->number = n.value.number;
        if (n.type >= AOI_STRING) whole = join(v, &n);
        if (!whole) continue;
        value *w = named(&one, &n);
        w->type = n.type;
        w->number = n.value.number;
        if (n.type < AOI_STRING) continue;
        free(w->bytes);
        w->bytes = copy_of(v->bytes, v->size);
        w->size = v->size;
    }
    forget(&lone);
}

static int by_id(const void *a, const void *b) {
    const known *x = a, *y = b;
    if (x->is != y->is) return x->is ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void say_picture(int dims) {
    qsort(picture, MOST_KNOWN, sizeof *picture, by_id);
    for (known *k = picture; k < picture + MOST_KNOWN && k->is; k++) {
        put(&said, "%s%" PRId64 ",%" PRId64, said.size ? ";" : "", k->id, (int64_t)k->kind);
        put_place(&said, k->pos, dims);
        put_values(&said, k);
    }
}

/* ---- a message --------------------------------------------------------------------------------------------------- */

static void apply(aoi_reader *r, const aoi_news *n, int pass) {
    known *k = find(n->id, pass == AOI_APPEARED);
    if (pass == AOI_GONE && k) forget(k);
    if (pass == AOI_APPEARED && k) {
        forget(k);
        *k = (known){.is = true, .id = n->id, .kind = n->kind};
    }
    if (pass == AOI_TOUCHED && k) k->kind = n->kind;
    if ((pass == AOI_APPEARED || pass == AOI_MOVED) && k) memcpy(k->pos, n->pos, sizeof n->pos);
    if (pass == AOI_STATE) read_values(r, n->id);
}

static void say(const aoi_news *n, int pass, int dims) {
    const char *mark = pass == AOI_GONE       ? "g"
                       : pass == AOI_APPEARED ? "a"
                       : pass == AOI_MOVED    ? "m"
                       : pass == AOI_TOUCHED  ? "t"
                                              : "f";
    size_t begin = said.size;
    put(&said, "%s%s,%" PRId64, said.size ? ";" : "", mark, n->id);
    if (pass == AOI_APPEARED || pass == AOI_TOUCHED) put(&said, ",%" PRId64, (int64_t)n->kind);
    if (pass == AOI_APPEARED || pass == AOI_MOVED) put_place(&said, n->pos, dims);
    if (pass == AOI_GONE && n->reason) put(&said, ",%d", n->reason);
    size_t head = said.size;
    if (pass == AOI_STATE) put_values(&said, &one);
    if (pass == AOI_STATE && said.size == head) said.size = begin; /* nothing is complete */
}

/* What is said, kind by kind, as it is to be applied; 0: it is refused. */
static int read_message(const unsigned char *bytes, size_t size) {
    static const int order[] = {AOI_GONE, AOI_APPEARED, AOI_MOVED, AOI_TOUCHED, AOI_STATE};
    aoi_reader r;
    aoi_news n;
    if (aoi_read_begin(&r, bytes, size)) return 0;
    while (aoi_read_next(&r, &n)) continue;
    if (r.fault) return 0;
    if (r.anew) put(&said, "anew");
    for (int i = 0; r.anew && i < MOST_KNOWN; i++) forget(picture + i);
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        (void)aoi_read_begin(&r, bytes, size);
        while (aoi_read_next(&r, &n)) {
            if (!(n.what & order[k])) continue;
            apply(&r, &n, order[k]);
            say(&n, order[k], r.dimensions);
        }
    }
    return r.dimensions;
}

static size_t from_hex(const char *hex, unsigned char *out) {
    size_t n = 0;
    for (unsigned byte; sscanf(hex + 2 * n, "%2x", &byte) == 1; n++) out[n] = (unsigned char)byte;
    return n;
}

static void read_line(int *dims, bool *each) {
    static unsigned char bytes[MOST_LINE / 2];
    char *space = strchr(line.chars, ' ');
    if (!strcmp(line.chars, "each")) *each = true;
    if (!space || *line.chars == '#') return;
    *space = 0;
    for (int i = 0; *each && i < MOST_KNOWN; i++) forget(picture + i);
    said.size = 0;
    said.chars[0] = 0;
    if (*line.chars == '=') say_picture(*dims);
    else {
        int read = read_message(bytes, from_hex(line.chars, bytes));
        if (read) *dims = read;
        else put(&said, "-");
    }
    if (!said.size) put(&said, "nothing");
    said.chars[said.size] = 0;
    if (!EXPECT(!strcmp(said.chars, space + 1)))
        fprintf(stderr, "  %s\n  expected %s\n  got      %s\n", line.chars, space + 1, said.chars);
}

static int read_file(const char *path) {
    int dims = 2, lines = 0;
    bool each = false;
    FILE *file = fopen(path, "rb");
    if (!EXPECT(file != NULL)) return 0;
    for (; fgets(line.chars, sizeof line.chars, file); lines++) {
        line.chars[strcspn(line.chars, "\r\n")] = 0;
        read_line(&dims, &each);
    }
    (void)fclose(file);
    for (int i = 0; i < MOST_KNOWN; i++) forget(picture + i);
    return lines;
}

int main(void) {
    int files = 0, lines = 0;
    DIR *dir = opendir("spec/messages");
    if (!EXPECT(dir != NULL)) return expect_report("recorded_messages");
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        char path[400];
        size_t n = strlen(d->d_name);
        if (n < 4 || strcmp(d->d_name + n - 4, ".txt") != 0) continue;
        (void)snprintf(path, sizeof path, "spec/messages/%s", d->d_name);
        lines += read_file(path);
        files++;
    }
    closedir(dir);
    forget(&one);
    EXPECT(files >= 7 && lines > 500);
    return expect_report("recorded_messages");
}
