# Builds aoi/core.so, runs its demo and its tests. `make help` lists what there is to make.
#
#   build/core[-VARIANT]/     objects of the C core and its C specs: they know nothing of Lua
#   build/LUA[-VARIANT]/      objects of the binding and aoi/core.so for that Lua
#   aoi/core.so               a copy of the one for lua5.4, where everybody looks first
#
# So one tree holds the builds for every Lua and every variant (asan, coverage, m32) side by side.

LUA     ?= lua5.4
VARIANT ?=
CFLAGS  ?= -O3
PREFIX  ?= /usr/local
WERROR  ?=
# The length of random histories in `make test-long` and where the sanitizers watch.
LONG_STEPS ?= 20000
ASAN_STEPS ?= 20000

LUA_NAME   := $(notdir $(LUA))
# The version in the names of folders that Lua itself searches: LuaJIT speaks 5.1.
LUA_ABI    := $(if $(filter luajit%,$(LUA_NAME)),5.1,$(patsubst lua%,%,$(LUA_NAME)))
# Where Debian and others put the headers; the first guess stands where none is installed yet.
INC_GUESS  := $(if $(filter luajit%,$(LUA_NAME)),luajit-2.1,$(LUA_NAME))
LUA_INCDIR ?= $(firstword $(patsubst %/lua.h,%,$(wildcard $(foreach d,$(INC_GUESS) $(subst lua,lua-,$(INC_GUESS)),\
                /usr/include/$(d)/lua.h /usr/local/include/$(d)/lua.h))) /usr/include/$(INC_GUESS))

# ---- flags -------------------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -pedantic
# No contraction: every engine and every machine must round alike, bit for bit.
BASE     := -std=c11 -fPIC -ffp-contract=off -fvisibility=hidden $(WARNINGS) $(if $(WERROR),-Werror)

VARIANT_CFLAGS_asan     := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
# nodelete keeps the library mapped at exit, so that leak reports name file and line.
VARIANT_LDFLAGS_asan    := -fsanitize=address,undefined -Wl,-z,nodelete
VARIANT_CFLAGS_coverage := -O0 -g --coverage
VARIANT_LDFLAGS_coverage := --coverage
# SSE2, because the x87 unit keeps more bits than a double has and would disagree at exact edges.
VARIANT_CFLAGS_m32      := -m32 -msse2 -mfpmath=sse
VARIANT_LDFLAGS_m32     := -m32
VARIANT_CFLAGS_fuzz     := -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
                           -fno-sanitize-coverage=trace-cmp -fno-sanitize-recover=all

# Core and binding are optimised as one program where the compiler can (GCC), some 6 % off a move; asked for when the
# first recipe needs it, since the compiler may just have been installed. Specs link the same objects as they are.
LTO = $(eval LTO := $(if $(VARIANT),,$(shell $(CC) --version 2>/dev/null | grep -q 'Free Software' && \
        echo 'int x;' | $(CC) -flto=auto -xc -c -o /dev/null - 2>/dev/null && echo -flto=auto)))$(LTO)

COMPILE := $(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(VARIANT_CFLAGS_$(VARIANT)) -Iinclude -Isrc
LINK    := $(CC) $(CFLAGS) $(LDFLAGS) $(VARIANT_LDFLAGS_$(VARIANT))

# ---- files -------------------------------------------------------------------------------------------------

SUFFIX   := $(if $(VARIANT),-$(VARIANT))
CORE_DIR := build/core$(SUFFIX)
BIND_DIR := build/$(LUA_NAME)$(SUFFIX)
TREE     := $(if $(filter lua5.4,$(LUA_NAME)$(SUFFIX)),.,$(BIND_DIR))
BUILT_SO := $(BIND_DIR)/aoi/core.so
CORE_SO  := $(patsubst ./%,%,$(TREE)/aoi/core.so)

SOURCES   := $(sort $(wildcard src/*/*.c src/*/*/*.c))
BIND_OBJS := $(patsubst src/%.c,$(BIND_DIR)/%.o,$(filter src/lua/%,$(SOURCES)))
CORE_OBJS := $(patsubst src/%.c,$(CORE_DIR)/%.o,$(filter-out src/lua/%,$(SOURCES)))
BENCH_SO  := $(BIND_DIR)/bench/native.so
FAULTY_SO := $(BIND_DIR)/spec/faulty.so
CSPECS    := $(patsubst spec/c/%.c,$(CORE_DIR)/spec/%,$(sort $(wildcard spec/c/*.c)))
FUZZERS   := $(patsubst fuzz/%.c,%,$(sort $(wildcard fuzz/*.c)))
LUA_FILES := $(patsubst lua/%,%,$(shell find lua -name '*.lua' | sort))
C_FILES   := $(wildcard include/*.h src/*/*.[ch] src/*/*/*.[ch] spec/c/*.[ch] spec/support/*.c spec/soak/*.c bench/c/*.[ch] fuzz/*.[ch])

# What a Lua program needs to find the built tree, whichever Lua and variant it is.
LUA_DIRS := $(CURDIR)/lua/?.lua;$(CURDIR)/lua/?/init.lua
LIB_DIRS := $(patsubst %/.,%,$(CURDIR)/$(TREE))/?.so
# bench.native is never anywhere but in build/.
LUA_ENV  := LUA_PATH='$(LUA_DIRS);;' LUA_CPATH='$(LIB_DIRS);$(CURDIR)/$(BIND_DIR)/?.so;;'
ifeq ($(VARIANT),asan)
LUA_ENV += LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)"
endif

ifeq ($(V),)
say = @echo "  $(1)";
endif

.PHONY: all env demo example-skynet test spec cspec lint asan fuzz soak coverage docs bench install uninstall clean help
.PHONY: test-long tools FORCE
.DELETE_ON_ERROR:

all: $(CORE_SO)

# ---- what must be installed --------------------------------------------------------------------------------

LUA_PKG     := $(LUA_NAME)
DEV_PKG_luajit := libluajit-5.1-dev
DEV_PKG_lua5.1 := liblua5.1-0-dev
LUA_DEV_PKG := $(or $(DEV_PKG_$(LUA_NAME)),lib$(LUA_NAME)-dev)
CC_PKG      := $(if $(findstring clang,$(CC)),clang,gcc,libc6-dev)

FUZZ_RT     := $(wildcard /usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer*.a)

# WHAT:PACKAGE[,PACKAGE] with WHAT a command or an absolute path: all that the goals need, so that it is named at once.
GOALS   := $(or $(MAKECMDGOALS),all)
TOOLS   := $(firstword $(CC)):$(CC_PKG) $(if $(filter m32,$(VARIANT)),/usr/include/asm:gcc-multilib) \
           $(if $(filter-out cspec,$(GOALS)),$(LUA_INCDIR)/lua.h:$(LUA_DEV_PKG)) \
           $(if $(filter demo bench test test-long spec asan coverage,$(GOALS)),$(LUA):$(LUA_PKG) gzip:gzip) \
           $(if $(filter bench,$(GOALS)),$(if $(shell $(LUA) -l argparse -e "print(1)" 2>/dev/null),,/no/argparse:lua-argparse)) \
           $(if $(filter test test-long spec asan coverage,$(GOALS)),busted:lua-busted) \
           $(if $(filter lint,$(GOALS)),luacheck:lua-check clang-format:clang-format clang:clang cppcheck:cppcheck) \
           $(if $(filter fuzz,$(GOALS)),clang:clang $(if $(FUZZ_RT),,/no/libfuzzer:libclang-rt-dev)) \
           $(if $(filter docs,$(GOALS)),ldoc:lua-ldoc)

# Says nothing where all is there. Otherwise it installs what is missing, if apt-get may be used, and if not it says in
# one line what to run. Lists of packages may be missing or old: a failed attempt is made once more after an update.
tools:
	@missing=; for tool in $(TOOLS); do what=$${tool%%:*}; \
	  case $$what in /*) test -e $$what;; *) command -v $$what >/dev/null;; esac \
	    || missing="$$missing $$(echo $${tool#*:} | tr , ' ')"; \
	done; \
	test -n "$$missing" || exit 0; \
	sudo=; test "$$(id -u)" = 0 || sudo="sudo -n"; \
	may() { command -v apt-get && $$sudo true; }; \
	get() { $$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$$@" >>build/apt.log 2>&1; }; \
	if may >/dev/null 2>&1; then \
	  echo "installing$$missing"; mkdir -p build; : >build/apt.log; \
	  get install -y --no-install-recommends $$missing && exit 0; \
	  get update; get install -y --no-install-recommends $$missing && exit 0; \
	  tail -n 5 build/apt.log >&2; \
	fi; \
	echo "missing:$$missing; install with: sudo apt-get update && sudo apt-get install -y$$missing" >&2; exit 1

# ---- build -------------------------------------------------------------------------------------------------

$(BUILT_SO): $(CORE_OBJS) $(BIND_OBJS)
	@mkdir -p $(@D)
	$(call say,LD $@) $(LINK) $(LTO) -shared -o $@ $^ -lm

# Compared each time, because LuaRocks leaves a build of its own here; moved, because programs may have it mapped.
ifneq ($(CORE_SO),$(BUILT_SO))
$(CORE_SO): $(BUILT_SO) FORCE
	@mkdir -p $(@D)
	@cmp -s $< $@ || { cp $< $@.new && mv $@.new $@; }
endif

$(CORE_OBJS): $(CORE_DIR)/%.o: src/%.c $(CORE_DIR)/flags | tools
	@mkdir -p $(@D)
	$(call say,CC $@) $(COMPILE) $(LTO:%=% -ffat-lto-objects) -MMD -MP -c -o $@ $<

$(BIND_OBJS): $(BIND_DIR)/%.o: src/%.c $(BIND_DIR)/flags | tools
	@mkdir -p $(@D)
	$(call say,CC $@) $(COMPILE) $(LTO:%=% -ffat-lto-objects) -isystem $(LUA_INCDIR) -MMD -MP -c -o $@ $<

# Plays the benchmark's scenes with the core alone.
$(BENCH_SO): bench/c/native.c $(CORE_OBJS) $(BIND_DIR)/flags | tools
	@mkdir -p $(@D)
	$(call say,CC $@) $(COMPILE) $(LTO) -isystem $(LUA_INCDIR) -MMD -MP -shared -o $@ $< $(CORE_OBJS) \
	  $(VARIANT_LDFLAGS_$(VARIANT)) $(LDFLAGS) -lm

$(FAULTY_SO): spec/support/faulty.c $(BIND_DIR)/flags | tools
	@mkdir -p $(@D)
	$(call say,CC $@) $(COMPILE) -isystem $(LUA_INCDIR) -MMD -MP -shared -o $@ $< $(VARIANT_LDFLAGS_$(VARIANT)) $(LDFLAGS)

$(filter-out %/engine_contract,$(CSPECS)): $(CORE_DIR)/spec/%: spec/c/%.c $(CORE_OBJS) $(CORE_DIR)/flags | tools
	@mkdir -p $(@D)
	$(call say,CC $@) $(COMPILE) -Ispec/c -MMD -MP -o $@ $< $(CORE_OBJS) $(VARIANT_LDFLAGS_$(VARIANT)) $(LDFLAGS) -lm

# The contract of engines is tested without a space: it is the space.
$(CORE_DIR)/spec/engine_contract: spec/c/engine_contract.c $(CORE_OBJS) $(CORE_DIR)/flags | tools
	@mkdir -p $(@D)
	$(call say,CC $@) $(COMPILE) -Ispec/c -MMD -MP -o $@ $< $(CORE_DIR)/core/engines.o \
	  $(filter $(CORE_DIR)/base/% $(CORE_DIR)/engines/%,$(CORE_OBJS)) $(VARIANT_LDFLAGS_$(VARIANT)) $(LDFLAGS) -lm

$(CORE_DIR)/soak/soak: spec/soak/soak.c $(CORE_OBJS) $(CORE_DIR)/flags | tools
	@mkdir -p $(@D)
	$(call say,CC $@) $(COMPILE) -MMD -MP -o $@ $< $(CORE_OBJS) $(VARIANT_LDFLAGS_$(VARIANT)) $(LDFLAGS) -lm

# Only in the variant fuzz. The fuzzers of the Lua API and of Lua code have a Lua in them.
$(FUZZERS:%=$(CORE_DIR)/%): $(CORE_DIR)/%: fuzz/%.c $(CORE_OBJS) $(BIND_OBJS) | tools
	@mkdir -p $(@D)
	$(call say,CC $@) $(COMPILE) -isystem $(LUA_INCDIR) -MMD -MP -fsanitize=fuzzer -o $@ $< $(CORE_OBJS) $(BIND_OBJS) \
	  $(LDFLAGS) -l$(LUA_NAME) -lm

# Remembers the command, so that another compiler or other flags rebuild what they should.
$(BIND_DIR)/flags: HEADERS := $(LUA_INCDIR)
$(CORE_DIR)/flags $(BIND_DIR)/flags: FORCE | tools
	@mkdir -p $(@D)
	@echo '$(COMPILE) $(LTO) $(LINK) $(HEADERS)' | cmp -s - $@ || echo '$(COMPILE) $(LTO) $(LINK) $(HEADERS)' >$@

-include $(CORE_OBJS:.o=.d) $(BIND_OBJS:.o=.d) $(CSPECS:=.d) $(BENCH_SO:.so=.d) $(FAULTY_SO:.so=.d) \
         $(FUZZERS:%=$(CORE_DIR)/%.d) $(CORE_DIR)/soak/soak.d

# ---- use ---------------------------------------------------------------------------------------------------

# eval "$(make -s env)" lets any program of that Lua require the built tree.
env:
	@echo 'export LUA_PATH="$(LUA_DIRS);$${LUA_PATH:-;}"'
	@echo 'export LUA_CPATH="$(LIB_DIRS);$${LUA_CPATH:-;}"'

demo: $(CORE_SO) | tools
	@echo "A recorded crowd (Forschungszentrum Juelich, IAS-7, Pedestrian Dynamics Data Archive: examples/data/README.md)"
	@$(LUA_ENV) $(LUA) examples/replay.lua examples/data/hermes_ao300.csv.gz 1.00005 2.00005
	@echo
	@$(LUA_ENV) $(LUA) examples/thief.lua

# skynet brings its own Lua, so the core is built once more, against that one's headers.
example-skynet:
ifeq ($(SKYNET),)
	@echo "set SKYNET to the directory of a built skynet: SKYNET=/path/to/skynet make example-skynet"
else
	@$(MAKE) --no-print-directory all LUA=skynet LUA_INCDIR=$(abspath $(SKYNET))/3rd/lua
	@SKYNET=$(abspath $(SKYNET)) $(SKYNET)/skynet examples/skynet/config
endif

bench: $(CORE_SO) $(BENCH_SO) | tools
	@$(LUA_ENV) $(LUA) bench/run.lua $(ARGS)

LUADIR ?= $(PREFIX)/share/lua/$(LUA_ABI)
LIBDIR ?= $(PREFIX)/lib/lua/$(LUA_ABI)

install: $(CORE_SO)
	install -d $(DESTDIR)$(LIBDIR)/aoi
	install -m 755 $(CORE_SO) $(DESTDIR)$(LIBDIR)/aoi/core.so
	for f in $(LUA_FILES); do install -D -m 644 lua/$$f $(DESTDIR)$(LUADIR)/$$f || exit 1; done

uninstall:
	rm -rf $(DESTDIR)$(LIBDIR)/aoi $(DESTDIR)$(LUADIR)/aoi

# ---- check -------------------------------------------------------------------------------------------------

test: cspec spec

# The same with long random histories.
test-long:
	@AOI_STEPS=$${AOI_STEPS:-$(LONG_STEPS)} $(MAKE) --no-print-directory test

# The Lua specs; ARGS goes to busted, AOI_SEED replays a random history, AOI_STEPS makes it longer.
spec: $(CORE_SO) $(BENCH_SO) $(FAULTY_SO) | tools
	@spec/run.sh lua env $(LUA_ENV) AOI_TREE=$(TREE) AOI_FAULTY=$(CURDIR)/$(FAULTY_SO) \
	  $(LUA) "$$(command -v busted)" --cpath='$(TREE)/?.so' $(ARGS)

# The C specs: each file in spec/c is a program that is linked with the core, without Lua, and exits with 0.
ifneq ($(M32),)
cspec:
	@$(MAKE) --no-print-directory cspec VARIANT=m32 M32=
else
cspec: $(CSPECS)
	@spec/run.sh c $(CSPECS)
endif

LINT_LUA := $(wildcard lua spec examples bench *.rockspec .busted .luacheckrc config.ld)

# All of them, even where the first complains.
lint: | tools
	@status=0; lint() { echo "  $$1"; "$$@" || status=1; }; \
	lint luacheck -q $(LINT_LUA); \
	lint clang-format --dry-run -Werror $(C_FILES); \
	lint clang $(BASE) -Werror -Iinclude -Isrc -Ispec/c -isystem $(LUA_INCDIR) -fsyntax-only $(filter %.c,$(C_FILES)); \
	lint cppcheck -q --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	  -Iinclude -Isrc --suppress=missingIncludeSystem src; \
	exit $$status

asan:
	@AOI_STEPS=$${AOI_STEPS:-$(ASAN_STEPS)} $(MAKE) --no-print-directory cspec spec VARIANT=asan

# A million entities and minutes of churn on each engine: SOAK_TIME seconds in all, SOAK_ENTITIES; ARGS names engines.
soak: $(CORE_DIR)/soak/soak
	@./$< $(ARGS)

# Clang's libFuzzer, FUZZ_TIME seconds for each of FUZZ, from the corpus in fuzz/corpus/NAME, with FUZZ_ARGS for libFuzzer
# (-seed=1); what is new is kept in build/fuzz/NAME, findings in build/fuzz/NAME-crash-... (run build/core-fuzz/NAME with
# such a file to see it again).
FUZZ      ?= $(FUZZERS)
FUZZ_TIME ?= 60
FUZZ_ARGS ?=

fuzz: | tools
	@$(MAKE) --no-print-directory $(FUZZERS:%=build/core-fuzz/%) VARIANT=fuzz CC=clang LUA=lua5.4
	@for name in $(FUZZ); do \
	  mkdir -p build/fuzz/$$name; \
	  ./build/core-fuzz/$$name -max_total_time=$(FUZZ_TIME) -timeout=20 -rss_limit_mb=3000 -max_len=1500 $(FUZZ_ARGS) \
	    -print_final_stats=1 -artifact_prefix=build/fuzz/$$name- build/fuzz/$$name fuzz/corpus/$$name \
	    >build/fuzz/$$name.log 2>&1 || { tail -n 40 build/fuzz/$$name.log; exit 1; }; \
	  awk -v name=$$name '/ cov: / { for (i = 1; i < NF; i++) if ($$i == "cov:") cov = $$(i + 1) } \
	    /number_of_executed_units/ { runs = $$2 } \
	    END { printf "%-10s %9d runs, %d places covered, no finding\n", name, runs, cov }' build/fuzz/$$name.log; \
	done

# Line coverage of src/ by all specs, of lua/ by those that are about it: a hook for each line is slow.
coverage:
	@rm -f build/core-coverage/*.gcda build/$(LUA_NAME)-coverage/*.gcda
	@$(MAKE) --no-print-directory cspec spec VARIANT=coverage
	@for f in $(SOURCES); do case $$f in src/lua/*) d=$(LUA_NAME);; *) d=core;; esac; \
	  gcov -n -o build/$$d-coverage $$f 2>/dev/null | awk -v f=$$f \
	    '/^File/ { mine = index($$0, f) } mine && sub(/^Lines executed:/, "") { print f, $$1, $$3; exit }'; \
	done | awk '{ p = $$2; sub(/%/, "", p); hit += p * $$3 / 100; all += $$3; printf "%8s of %5d  %s\n", $$2, $$3, $$1 } \
	  END { if (all) printf "%7.2f%% of %5d  src\n", 100 * hit / all, all }'
	@AOI_LINES=$(patsubst lua%,luac%,$(LUA_NAME)) AOI_STEPS=300 $(MAKE) --no-print-directory spec VARIANT=coverage \
	  ARGS="spec/lua spec/skynet --filter-out=crowd --filter-out=garbage" \
	  | grep '% of'

docs: | tools
	ldoc -q .

clean:
	rm -rf build aoi

help:
	@echo "make              build aoi/core.so (LUA=lua5.1, luajit, ...: build/LUA/aoi/core.so)"
	@echo "make demo         replay a recorded crowd, then a short story of guards and a thief"
	@echo "make example-skynet  the AOI service and three small services in SKYNET=/path/to/skynet"
	@echo "make test         all tests, C and Lua (LUA=...; ARGS=... for busted; AOI_SEED, AOI_STEPS; JOBS at a time)"
	@echo "make test-long    the same with long random histories"
	@echo "make spec, cspec  the Lua specs, the C specs alone (cspec M32=1: in 32 bits)"
	@echo "make lint         luacheck, clang-format, clang warnings, cppcheck"
	@echo "make asan         all tests under the address and undefined behaviour sanitizers"
	@echo "make fuzz         fuzzers of the C API, the Lua API and what reads bytes (FUZZ='c_api wire' FUZZ_TIME=60)"
	@echo "make soak         a million entities and minutes of churn on each engine (SOAK_TIME=600 SOAK_ENTITIES=1000000)"
	@echo "make coverage     line coverage of src/ and lua/ by all tests"
	@echo "make bench        benchmarks (ARGS=...)"
	@echo "make docs         API reference into build/docs"
	@echo "make env          the exports that let any $(LUA) program require this tree"
	@echo "make install      into PREFIX=$(PREFIX), below DESTDIR; also uninstall"
	@echo "make clean"
