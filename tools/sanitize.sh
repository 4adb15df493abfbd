#!/usr/bin/env bash
# Build the extension with AddressSanitizer and UndefinedBehaviorSanitizer and run the tests that reach the native core
# under them, and the programs of native/tests. With --all the tests are more, and the programs run with ThreadSanitizer too.
#
#     PYTHON=.venv/bin/python tools/sanitize.sh BUILD_FOLDER [--build-only | --all]
#
# The Python of the environment is left as it is: the sanitizers' libraries are preloaded. Leaks are not looked for, since
# the interpreter itself leaves memory to the end of the process.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
mode=${2:-}
python=${PYTHON:-.venv/bin/python}
cmake=("$python" -m cmake)
compiler=${CXX:-g++}

if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi

# Line numbers are all that a report needs; they and -O1 halve the time of the compiler. Instrumented code has warnings of its
# own, and the ordinary build has made errors of the others.
configure() { # FOLDER SANITIZERS [CMAKE_ARGUMENT...]
  mkdir -p "$build"
  "${cmake[@]}" -S . -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO='-O1 -g1 -DNDEBUG' \
    -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_MAKE_PROGRAM="$(realpath "$(dirname "$python")")/ninja" \
    -DPython_EXECUTABLE="$(realpath "$(dirname "$python")")/python" -DFUKAYOMI_SANITIZE="$2" -DFUKAYOMI_NATIVE_TESTS=ON -DFUKAYOMI_WERROR=OFF "${@:3}" \
    >"$1.configure.log"
}

configure "$build/address" address,undefined
"${cmake[@]}" --build "$build/address" -- --quiet
if [ "$mode" = --build-only ]; then exit; fi
site=$build/site
rm -rf "$site"
mkdir -p "$site"
cp -R src/fukayomi "$site/"
rm -f "$site"/fukayomi/_native*.so
"${cmake[@]}" --install "$build/address" --prefix "$site" >"$build/install.log"

export ASAN_OPTIONS=detect_leaks=0
export UBSAN_OPTIONS=print_stacktrace=1
"${cmake[@]}" -E chdir "$build/address" "$(realpath "$(dirname "$python")")/ctest" --output-on-failure --no-tests=ignore

# The tests that reach native code and import no other large extension. The readers of records are Python, and kills of
# commands are about files.
tests=(--ignore=tests/shogi/formats --ignore-glob='*_resume.py')
folders=(shogi native/encode native/search native/network native/sparse native/selfplay data/formats native/dedup)
if [ "$mode" = --all ]; then
  folders+=(data loop/ingest/test_validation.py)
else
  tests+=(-m 'not soak and not slow')
fi
for folder in "${folders[@]}"; do tests+=("tests/$folder"); done
preload="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)"
sanitized() {
  LD_PRELOAD=$preload PYTHONPATH=$(realpath "$site") PYTHONMALLOC=malloc "$python" "$@"
}
sanitized -c "import fukayomi._native as n; assert n.__file__.startswith('$(realpath "$site")'), n.__file__"
# Not captured by pytest, the report of a sanitizer outlives the process that it ends.
sanitized -m pytest -p no:cacheprovider --capture=sys -n 2 --max-worker-restart 0 --timeout 600 --durations 20 --dist worksteal "${tests[@]}"

[ "$mode" = --all ] || exit 0
configure "$build/thread" thread -DFUKAYOMI_EXTENSION=OFF
"${cmake[@]}" --build "$build/thread" -- --quiet
"${cmake[@]}" -E chdir "$build/thread" "$(realpath "$(dirname "$python")")/ctest" --output-on-failure
