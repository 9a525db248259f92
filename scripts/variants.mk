# What differs by variant and by system; the Makefile includes it.

# ---- variants: make VARIANT=... ------------------------------------------------------------------------------

SANITIZE                 := -g -fno-omit-frame-pointer -fno-sanitize-recover=all
VARIANT_CFLAGS_asan      := -O1 -DAOI_ASSERT $(SANITIZE) -fsanitize=address,undefined
# nodelete keeps the library mapped at exit, so that leak reports name file and line.
VARIANT_LDFLAGS_asan     := -fsanitize=address,undefined -Wl,-z,nodelete
# The runtime must come first into a Lua that is not built with it.
PRELOAD_asan              = LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)"
VARIANT_CFLAGS_coverage  := -O0 -g --coverage
VARIANT_LDFLAGS_coverage := --coverage
# SSE2, because the x87 unit keeps more bits than a double has and would disagree at exact edges.
# The folder has asm/ where nothing but the compiler's own 32 bits are installed.
VARIANT_CFLAGS_m32       := -m32 -D_FILE_OFFSET_BITS=64 -msse2 -mfpmath=sse -idirafter /usr/include/x86_64-linux-gnu
VARIANT_LDFLAGS_m32      := -m32
RUN_m32                  := sh scripts/m32.sh
VARIANT_CFLAGS_fuzz      := -O1 $(SANITIZE) -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-coverage=trace-cmp
# Other platforms: their compiler, and what runs their programs here.
CC_aarch64               := aarch64-linux-gnu-gcc
RUN_aarch64              := qemu-aarch64 -L /usr/aarch64-linux-gnu
CC_windows               := x86_64-w64-mingw32-gcc
RUN_windows              := sh scripts/wine.sh
VARIANT_CFLAGS_windows   := -Wno-float-conversion # mingw's isinf and isfinite ask for it
CC                       := $(or $(CC_$(VARIANT)),$(CC))

# ---- systems -------------------------------------------------------------------------------------------------

SYSTEM    := $(if $(filter windows,$(VARIANT)),Windows,$(shell uname -s))
VERSION   := $(or $(shell sed -n 's/^.define AOI_VERSION  *"\([0-9.]*\)".*/\1/p' include/aoi.h),0.0.0)
MAJOR     := $(firstword $(subst ., ,$(VERSION)))
# The shared library, the names that lead to it, how it and a Lua module are linked.
ifeq ($(SYSTEM),Darwin)
LIB_SO     = $(CORE_DIR)/libaoi.$(VERSION).dylib
LIB_LINKS := libaoi.dylib libaoi.$(MAJOR).dylib
LINK_SO   := -dynamiclib -install_name $(PREFIX)/lib/libaoi.$(MAJOR).dylib
LINK_LUA  := -bundle -undefined dynamic_lookup
else ifeq ($(SYSTEM),Windows)
LIB_SO     = $(CORE_DIR)/aoi.dll
LINK_SO   := -shared -Wl,--out-implib,$(CORE_DIR)/libaoi.dll.a
EXE       := .exe
else
LIB_SO     = $(CORE_DIR)/libaoi.so.$(VERSION)
LIB_LINKS := libaoi.so libaoi.so.$(MAJOR)
LINK_SO   := -shared -Wl,-soname,libaoi.so.$(MAJOR)
LINK_LUA  := -shared
endif
