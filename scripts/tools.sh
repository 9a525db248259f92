#!/bin/sh
# tools.sh GOAL... - sees to it that what these goals of the Makefile need is installed.
#
# Says nothing where all is there. Otherwise it installs what is missing, if apt-get may be used, and if not it says in
# one line what to run. The Makefile passes CC, CXX, LUA, LUA_INCDIR and VARIANT.
set -eu

LUA=${LUA:-lua5.4} VARIANT=${VARIANT:-} missing=
lua_name=${LUA##*/}
compiler=${CC:-cc}
compiler=${compiler%% *}
any() { for path in "$@"; do if [ -e "$path" ]; then return 0; fi; done; return 1; }

# need WHAT PACKAGE...: WHAT is a command, or the path of a file, perhaps with wildcards.
need() {
  case $1 in
    */*) if any $1; then return; fi ;;
    *) if command -v "$1" >/dev/null; then return; fi ;;
  esac
  shift
  for package in "$@"; do
    case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac
  done
}

need_compiler() {
  case $compiler in
    *clang*) need "$compiler" clang libc6-dev ;;
    aarch64-*) need "$compiler" gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
    *-mingw32-*) need "$compiler" gcc-mingw-w64-x86-64 ;;
    *) need "$compiler" gcc libc6-dev ;;
  esac
  # gcc-multilib is only a name for it, and one that Debian does not install beside compilers for other processors.
  if [ "$VARIANT" = m32 ]; then
    version=$($compiler -dumpversion 2>/dev/null) || version=
    need "/usr/lib/gcc/x86_64-linux-gnu/*/32/libgcc.a" "gcc${version:+-${version%%.*}}-multilib"
    need qemu-i386 qemu-user
  fi
}

need_headers() {
  case $lua_name in
    luajit*) need "$LUA_INCDIR/lua.h" libluajit-5.1-dev ;;
    lua5.1) need "$LUA_INCDIR/lua.h" liblua5.1-0-dev ;;
    *) need "$LUA_INCDIR/lua.h" "lib$lua_name-dev" ;;
  esac
}

need_lua() { need "$LUA" "$lua_name"; need gzip gzip; }

for goal in "$@"; do
  case $goal in
    check-aarch64)
      need_compiler
      need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
      need qemu-aarch64 qemu-user
      continue ;;
    check-windows)
      need_compiler
      need x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64
      need wine wine wine64
      need lua5.4 lua5.4
      need_headers
      continue ;;
    docs)
      need_compiler
      need_headers
      need_lua
      need cmark-gfm cmark-gfm
      need emcc emscripten
      continue ;;
    packages) # for the specs of what other build systems make
      need luarocks luarocks
      need cmake cmake
      continue ;;
    decoders) # for the specs of the readers of messages in other languages
      need node nodejs
      need mono mono-runtime
      need mcs mono-mcs libmono-system-core4.0-cil
      continue ;;
    clean | env | help | uninstall) continue ;;
  esac
  need_compiler
  case $goal in cspec | test | test-long) if [ -z "$VARIANT" ]; then need "${CXX:-c++}" g++; fi ;; esac
  case $goal in cspec | lib | soak) continue ;; *) need_headers ;; esac
  case $goal in
    demo) need_lua ;;
    bench)
      need_lua
      if ! "$LUA" -l argparse -e "" 2>/dev/null; then missing="$missing lua-argparse"; fi ;;
    test | test-long | spec | asan | coverage) need_lua; need busted lua-busted ;;
    lint)
      need "$LUA" "$lua_name"
      need luacheck lua-check
      need clang-format clang-format
      need clang clang
      need cppcheck cppcheck ;;
    fuzz)
      need clang clang
      need "/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer*.a" libclang-rt-dev ;;
    browser)
      need_lua
      need busted lua-busted
      need node nodejs
      need chromium chromium
      need /usr/share/lua/5.4/socket.lua lua-socket
      need /usr/share/lua/5.4/openssl.lua lua-luaossl
      need /usr/share/lua/5.4/dkjson.lua lua-dkjson ;;
  esac
done
if [ -z "$missing" ]; then exit 0; fi

sudo=
if [ "$(id -u)" != 0 ]; then sudo="sudo -n"; fi
get() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 "$@" >>build/apt.log 2>&1; }
install() { get install -y --no-install-recommends $missing; }

# Lists of packages may be missing or old: a failed attempt is made once more after an update.
if command -v apt-get >/dev/null && $sudo true 2>/dev/null; then
  echo "installing$missing"
  mkdir -p build
  : >build/apt.log
  if install || { get update; install; }; then exit 0; fi
  tail -n 5 build/apt.log >&2
fi
echo "missing:$missing; install with: sudo apt-get update && sudo apt-get install -y$missing" >&2
exit 1
