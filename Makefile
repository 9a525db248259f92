# Builds aoi/core.so, runs its demo and its tests. `make help` lists what there is to make.
#
#   build/core[-VARIANT]/     the C core without Lua: libaoi.a, libaoi.so, the C specs
#   build/LUA[-VARIANT]/      aoi/core.so for that Lua: the core and its binding, optimised as one program
#   aoi/core.so               a copy of the one for lua5.4, where everybody looks first
#
# So one tree holds the builds for every Lua and every variant (asan, coverage, m32 ...) side by side.

LUA       ?= lua5.4
VARIANT   ?=
CFLAGS    ?= -O3
MODULE_O  ?= -O3
PREFIX    ?= /usr/local
LUADIR    ?= $(PREFIX)/share/lua/$(LUA_ABI)
LIBDIR    ?= $(PREFIX)/lib/lua/$(LUA_ABI)
FUZZ      ?= $(FUZZERS)
GOALS     ?= $(or $(MAKECMDGOALS),all)
JOBS      ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
# A job for each processor, unless -j says how many; a make within another one shares its jobs.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif

LUA_NAME  := $(notdir $(LUA))
# The version in the names of folders that Lua itself searches: LuaJIT speaks 5.1.
LUA_ABI   := $(if $(filter luajit%,$(LUA_NAME)),5.1,$(patsubst lua%,%,$(LUA_NAME)))
# Where Debian and others put the headers; the first guess stands where none is installed yet.
INC_GUESS := $(if $(filter luajit%,$(LUA_NAME)),luajit-2.1,$(LUA_NAME))
LUA_INCDIR ?= $(firstword $(patsubst %/lua.h,%,$(wildcard $(foreach d,$(INC_GUESS) $(subst lua,lua-,$(INC_GUESS)),\
                /usr/include/$(d)/lua.h /usr/local/include/$(d)/lua.h))) /usr/include/$(INC_GUESS))

# ---- flags -------------------------------------------------------------------------------------------------

# -Wshadow is for each file by itself (scripts/lint.sh): in one unit with others a local name may hide one of theirs.
WARNINGS := -Wall -Wextra -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -pedantic
# No contraction: every engine and every machine must round alike, bit for bit.
BASE     := -std=c11 -fPIC -ffp-contract=off -fvisibility=hidden $(WARNINGS) $(if $(WERROR),-Werror)

include scripts/variants.mk

COMPILE  = $(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(VARIANT_CFLAGS_$(VARIANT)) -Iinclude -Isrc -MMD -MP -MF $@.d -MT $@
LINK     = $(VARIANT_LDFLAGS_$(VARIANT)) $(LDFLAGS) -lm

# ---- files -------------------------------------------------------------------------------------------------

SUFFIX    := $(if $(VARIANT),-$(VARIANT))
CORE_DIR  := build/core$(SUFFIX)
BIND_DIR  := build/$(LUA_NAME)$(SUFFIX)
TREE      := $(if $(filter lua5.4,$(LUA_NAME)$(SUFFIX)),.,$(BIND_DIR))
BUILT_SO  := $(BIND_DIR)/aoi/core.so
CORE_SO   := $(patsubst ./%,%,$(TREE)/aoi/core.so)

LIB_A     := $(CORE_DIR)/libaoi.a
# With assertions: a sanitized core has them anyway.
CHECKED_A := $(if $(filter asan,$(VARIANT)),$(LIB_A),$(CORE_DIR)/libaoi-checked.a)
BENCH_SO  := $(BIND_DIR)/bench/native.so
BENCH_SPEC_SO := $(BIND_DIR)/spec/bench/native.so
FAULTY_SO := $(BIND_DIR)/spec/faulty.so
SOAK      := $(CORE_DIR)/soak
CSPECS    := $(patsubst %,$(CORE_DIR)/spec/%$(EXE),$(filter-out $(SKIP),$(patsubst spec/c/%.c,%,$(sort $(wildcard spec/c/*.c)))))
# The header in C++ only where the compiler is the one of this machine.
CXXSPECS  := $(if $(VARIANT),,$(patsubst spec/c/%.cpp,$(CORE_DIR)/spec/%,$(sort $(wildcard spec/c/*.cpp))))
FUZZERS   := $(patsubst fuzz/%.c,%,$(sort $(wildcard fuzz/*.c)))

# What a Lua program needs to find the built tree, whichever Lua and variant it is. bench.native is in build/ alone.
LUA_DIRS := $(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua
LIB_DIRS := $(patsubst %/.,%,$(CURDIR)/$(TREE))/?.so
lua_env   = LUA_PATH='$(LUA_DIRS);;' LUA_CPATH='$(LIB_DIRS);$(CURDIR)/$(BIND_DIR)/$(1)?.so;;' $(PRELOAD_$(VARIANT))
LUA_ENV   = $(call lua_env)
SUBMAKE  := $(MAKE) --no-print-directory
say       = $(if $(V),,@echo "  $(1) $@"; mkdir -p $(@D);)

.PHONY: all lib env demo example-skynet example-world test test-long spec cspec lint asan fuzz soak coverage docs bench install
.PHONY: nightly browser pictures uninstall dist clean help tools check-aarch64 check-windows FORCE
.DELETE_ON_ERROR:

all: $(CORE_SO) lib
lib: $(LIB_A) $(LIB_SO)

# ---- build -------------------------------------------------------------------------------------------------

tools:
	@CC='$(CC)' CXX='$(CXX)' LUA='$(LUA)' LUA_INCDIR='$(LUA_INCDIR)' VARIANT='$(VARIANT)' sh scripts/tools.sh $(GOALS)

$(CORE_DIR)/aoi.o: src/aoi.c $(CORE_DIR)/flags
	$(call say,CC) $(COMPILE) -DAOI_BUILD_SHARED -c -o $@ $<
$(BIND_DIR)/core.o: src/lua/core.c $(BIND_DIR)/flags
	$(call say,CC) $(subst -O3,$(MODULE_O),$(COMPILE)) -isystem $(LUA_INCDIR) -c -o $@ $<
# The same with assertions, for the C specs.
$(CORE_DIR)/checked.o: src/aoi.c $(CORE_DIR)/flags
	$(call say,CC) $(subst -O3,-O1,$(COMPILE)) -DAOI_BUILD_SHARED -DAOI_ASSERT -c -o $@ $<
$(CORE_DIR)/libaoi-checked.a: $(CORE_DIR)/checked.o
	$(call say,AR) rm -f $@; $(AR) rcs $@ $^
$(LIB_A): $(CORE_DIR)/aoi.o
	$(call say,AR) rm -f $@; $(AR) rcs $@ $^
$(LIB_SO): $(CORE_DIR)/aoi.o
	$(call say,LD) $(CC) $(CFLAGS) $(LINK_SO) -o $@ $^ $(LINK)
$(BUILT_SO): $(BIND_DIR)/core.o
	$(call say,LD) $(CC) $(CFLAGS) $(LINK_LUA) -o $@ $^ $(LINK)

# Compared each time, because LuaRocks leaves a build of its own here; moved, because programs may have it mapped.
ifneq ($(CORE_SO),$(BUILT_SO))
$(CORE_SO): $(BUILT_SO) FORCE
	@mkdir -p $(@D); cmp -s $< $@ || { cp $< $@.new && mv $@.new $@; }
endif

# From the archive, so that a program that includes what it needs of the core is linked without it. These need not be
# fast: some include all of the core, which takes five times as long to compile with -O3.
$(CSPECS): $(CORE_DIR)/spec/%$(EXE): spec/c/%.c $(CHECKED_A)
	$(call say,CC) $(subst -O3,-O0,$(COMPILE)) -DAOI_ASSERT -Ispec/c -o $@ $< $(CHECKED_A) $(LINK)
$(CXXSPECS): $(CORE_DIR)/spec/%: spec/c/%.cpp $(CHECKED_A)
	$(call say,CXX) $(CXX) -std=c++11 -Wall -Wextra -pedantic -Werror -Iinclude -MMD -MP -MF $@.d -MT $@ -o $@ $< $(CHECKED_A) $(LINK)
$(CORE_DIR)/bench/%: bench/c/%.c $(LIB_A)
	$(call say,CC) $(COMPILE) -o $@ $< $(LIB_A) $(LINK)
$(SOAK): spec/soak/soak.c $(LIB_A)
	$(call say,CC) $(COMPILE) -o $@ $< $(LIB_A) $(LINK)
# For the specs of the benchmark with the core that has assertions, which is built by then.
$(BENCH_SO): $(LIB_A)
$(BENCH_SPEC_SO): $(CHECKED_A)
$(BENCH_SO) $(BENCH_SPEC_SO): bench/c/native.c $(BIND_DIR)/flags
	$(call say,CC) $(COMPILE) -isystem $(LUA_INCDIR) $(LINK_LUA) -o $@ $< $(filter %.a,$^) $(LINK)
$(FAULTY_SO): spec/support/faulty.c $(BIND_DIR)/flags
	$(call say,CC) $(COMPILE) -isystem $(LUA_INCDIR) $(LINK_LUA) -o $@ $< $(LINK)

# Only in the variant fuzz. All but these have a Lua in them.
CORE_FUZZERS := c_api journal sight snapshot sync_read
$(FUZZERS:%=$(CORE_DIR)/%): $(CORE_DIR)/%: fuzz/%.c $(LIB_A) $(BIND_DIR)/core.o
	$(call say,CC) $(COMPILE) -isystem $(LUA_INCDIR) -fsanitize=fuzzer -o $@ $< \
	  $(if $(filter $(CORE_FUZZERS),$*),$(LIB_A),$(BIND_DIR)/core.o -l$(LUA_NAME)) $(LINK)

# Remembers the command, so that another compiler or other flags rebuild what they should.
$(CORE_DIR)/flags: COMMAND = $(COMPILE) $(LINK)
$(BIND_DIR)/flags: COMMAND = $(subst -O3,$(MODULE_O),$(COMPILE)) $(LINK) $(LUA_INCDIR)
$(CORE_DIR)/flags $(BIND_DIR)/flags: FORCE | tools
	@mkdir -p $(@D); echo '$(COMMAND)' | cmp -s - $@ || echo '$(COMMAND)' >$@

-include $(wildcard $(CORE_DIR)/*.d $(CORE_DIR)/*/*.d $(BIND_DIR)/*.d $(BIND_DIR)/*/*.d)

# ---- use ---------------------------------------------------------------------------------------------------

# eval "$(make -s env)" lets any program of that Lua require the built tree.
env:
	@echo 'export LUA_PATH="$(LUA_DIRS);$${LUA_PATH:-;}"'
	@echo 'export LUA_CPATH="$(LIB_DIRS);$${LUA_CPATH:-;}"'

demo: $(CORE_SO)
	@echo "A recorded crowd (Forschungszentrum Juelich, IAS-7, Pedestrian Dynamics Data Archive: examples/data/README.md)"
	@$(LUA_ENV) $(LUA) examples/replay.lua examples/data/hermes_ao300.csv.gz 1.00005 2.00005
	@echo "A night in a museum, and that crowd, as a page:"
	@$(LUA_ENV) $(LUA) examples/demo.lua examples/data/hermes_ao300.csv.gz build/demo.html

example-skynet example-world:
	@MAKE='$(MAKE)' SKYNET='$(SKYNET)' sh scripts/example.sh $(@:example-%=%)

bench: $(CORE_SO) $(BENCH_SO)
	@$(LUA_ENV) $(LUA) bench/run.lua $(ARGS)

install: all
install uninstall:
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LUADIR='$(LUADIR)' LIBDIR='$(LIBDIR)' VERSION='$(VERSION)' LUA='$(LUA_NAME)' \
	  CORE_SO='$(CORE_SO)' LIBRARIES='$(LIB_A) $(LIB_SO)' LINKS='$(LIB_LINKS:%=%=$(notdir $(LIB_SO)))' sh scripts/install.sh $@

docs: tools build/playground/aoi.js
	@$(LUA) scripts/docs.lua build/docs

# The library for browsers; without it the site has no buttons to run what it shows.
build/playground/aoi.js: $(CORE_SO) js/playground/host.c scripts/playground.sh
	$(call say,EMCC) sh scripts/playground.sh $(@D) || echo "  no playground: emscripten, or the sources of Lua (LUA_SOURCE), are missing"

# What a release consists of: sources, and binaries.
dist: tools
	@MAKE='$(MAKE)' LUA='$(LUA)' LUA_NAME='$(LUA_NAME)' VERSION='$(VERSION)' sh scripts/dist.sh build/dist

clean:
	rm -rf build aoi

# ---- check -------------------------------------------------------------------------------------------------

# What a newcomer waits for: random histories are shorter than usual. .ci/run has them longer.
test: export AOI_LENGTH ?= 0.1
# The same with random histories that are so many times as long.
test-long:
	@AOI_LENGTH=$${AOI_LENGTH:-7} $(SUBMAKE) test
asan:
	@AOI_LENGTH=$${AOI_LENGTH:-2} $(SUBMAKE) test VARIANT=asan

# The Lua specs; ARGS goes to busted, AOI_SEED replays a random history, AOI_LENGTH=5 makes it so much longer.
# The C specs: each file in spec/c is a program that is linked with the core, without Lua, and exits with 0.
LUA_SPECS  = lua env $(call lua_env,spec/) AOI_TREE=$(TREE) AOI_FAULTY=$(CURDIR)/$(FAULTY_SO) \
  AOI_AGAIN='make spec$(if $(filter-out lua5.4,$(LUA)), LUA=$(LUA))$(VARIANT:%= VARIANT=%)' $(LUA) "$$(command -v busted)" --cpath='$(TREE)/?.so' $(ARGS)
C_SPECS    = $(CSPECS) $(CXXSPECS)
test spec: $(CORE_SO) $(BENCH_SPEC_SO) $(FAULTY_SO)
test: $(C_SPECS)
	@RUN='$(RUN_$(VARIANT))' spec/run.sh $(C_SPECS) $(LUA_SPECS)
spec:
	@spec/run.sh $(LUA_SPECS)
ifneq ($(M32),)
cspec:
	@$(SUBMAKE) cspec VARIANT=m32 M32=
else
cspec: $(C_SPECS)
	@RUN='$(RUN_$(VARIANT))' spec/run.sh $(C_SPECS)
endif

check-windows: $(CORE_SO)
check-aarch64 check-windows: tools
	@$(SUBMAKE) cspec lib VARIANT=$(@:check-%=%) LUA=$(LUA)
	@sh scripts/$@.sh

lint: tools
	@LUA='$(LUA)' CC_FLAGS='$(BASE) -Wshadow -Iinclude -Isrc -Ispec/c -isystem $(LUA_INCDIR)' sh scripts/lint.sh

# The viewer's pages in a real browser; `make test` does the same where node and chromium are installed.
browser: $(CORE_SO)
	@$(SUBMAKE) tools GOALS=browser
	@$(SUBMAKE) spec ARGS=spec/viewer

# The pictures of the documents, from the recorded crowd and the demo.
pictures: $(CORE_SO)
	@$(SUBMAKE) tools GOALS=browser
	@$(LUA_ENV) $(LUA) examples/view.lua examples/data/hermes_ao300.csv.gz build/crowd.html
	@$(LUA_ENV) $(LUA) examples/demo.lua examples/data/hermes_ao300.csv.gz build/demo.html
	@node scripts/pictures.js build/crowd.html build/demo.html docs/pictures

soak: $(SOAK)
	@./$< $(ARGS)

nightly:
	@MAKE='$(MAKE)' bash scripts/nightly.sh

fuzz: tools
	@$(SUBMAKE) $(FUZZERS:%=build/core-fuzz/%) VARIANT=fuzz CC=clang LUA=lua5.4 GOALS=fuzz
	@FUZZ_TIME='$(FUZZ_TIME)' FUZZ_ARGS='$(FUZZ_ARGS)' sh scripts/fuzz.sh $(FUZZ)

coverage:
	@MAKE='$(MAKE)' LUA='$(LUA_NAME)' sh scripts/coverage.sh

help:
	@cat scripts/help.txt
