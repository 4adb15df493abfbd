#!/usr/bin/env bash
# Build the extension with AddressSanitizer and UndefinedBehaviorSanitizer and run the tests that reach the native core
# under them; then build native/tests with them, and once more with ThreadSanitizer, and run those programs.
#
#     PYTHON=.venv/bin/python tools/sanitize.sh BUILD_FOLDER [PYTEST_ARGUMENT...]
#     PYTHON=.venv/bin/python tools/sanitize.sh BUILD_FOLDER --build-only
#
# The Python of the environment is left as it is: the sanitizers' libraries are preloaded. Leaks are not looked for, since
# the interpreter itself leaves memory to the end of the process.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
python=${PYTHON:-.venv/bin/python}
cmake=("$python" -m cmake)
compiler=${CXX:-g++}

configure() { # FOLDER SANITIZERS
  mkdir -p "$build"
  "${cmake[@]}" -S . -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_MAKE_PROGRAM="$(realpath "$(dirname "$python")")/ninja" \
    -DPython_EXECUTABLE="$(realpath "$(dirname "$python")")/python" -DFUKAYOMI_SANITIZE="$2" -DFUKAYOMI_NATIVE_TESTS=ON \
    >"$1.configure.log"
}

configure "$build/address" address,undefined
"${cmake[@]}" --build "$build/address" -- --quiet
configure "$build/thread" thread
mapfile -t programs < <(basename -s .cpp native/tests/*.cpp)  # these need no extension module
"${cmake[@]}" --build "$build/thread" --target "${programs[@]}" -- --quiet
if [ "${1:-}" = --build-only ]; then exit; fi
site=$build/site
rm -rf "$site"
mkdir -p "$site"
cp -R src/fukayomi "$site/"
rm -f "$site"/fukayomi/_native*.so
"${cmake[@]}" --install "$build/address" --prefix "$site" >"$build/install.log"

export ASAN_OPTIONS=detect_leaks=0
export UBSAN_OPTIONS=print_stacktrace=1
"${cmake[@]}" -E chdir "$build/address" "$(realpath "$(dirname "$python")")/ctest" --output-on-failure --no-tests=ignore

# The tests that reach native code and import no other large extension: rules, encoding, codecs, the search. The readers of
# records are Python, and reach no native code but the rules; kills of commands are about files.
tests=(--ignore=tests/shogi/formats --ignore-glob='*_resume.py')
for folder in shogi native/encode native/search native/network native/sparse native/selfplay data loop/ingest/test_validation.py; do
  [ -e "tests/$folder" ] && tests+=("tests/$folder")
done
preload="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so)"
sanitized() {
  LD_PRELOAD=$preload PYTHONPATH=$(realpath "$site") PYTHONMALLOC=malloc "$python" "$@"
}
sanitized -c "import fukayomi._native as n; assert n.__file__.startswith('$(realpath "$site")'), n.__file__"
# Not captured by pytest, the report of a sanitizer outlives the process that it ends.
sanitized -m pytest -p no:cacheprovider --capture=sys -n 2 --max-worker-restart 0 --timeout 600 --durations 20 "${tests[@]}" "$@"

"${cmake[@]}" -E chdir "$build/thread" "$(realpath "$(dirname "$python")")/ctest" --output-on-failure
