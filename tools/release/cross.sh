#!/usr/bin/env bash
# Build the wheel for 64-bit ARM, or the extension for Windows, with Debian's compilers, for Python 3.11, and try it by emulation: the search
# must do what it does everywhere, to the last visit (tests/native/search/signature.txt), and the engine must answer a GUI.
#
#   tools/release/cross.sh aarch64 ROOT             ROOT has Python 3.11 for 64-bit ARM: debootstrap --foreign --arch=arm64
#                                                   --include=python3.11, and its packages unpacked by dpkg-deb -x
#   tools/release/cross.sh windows PYTHON HEADERS   PYTHON is python.org's embeddable package of 3.11, unpacked; HEADERS is the folder
#                                                   Include of its sources, with PC/pyconfig.h
#
# The Python of this computer (PYTHON, default .venv/bin/python) must be 3.11, too, with nanobind. Packages: qemu-user and
# g++-aarch64-linux-gnu, or wine64 and g++-mingw-w64-x86-64-posix.
set -euo pipefail
cd "$(dirname "$0")/../.."
system=$1
python=$(realpath -s "${PYTHON:-.venv/bin/python}")
build=build/cross-$system
site=$build/site
older=()
mkdir -p "$build"
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi

case $system in
  aarch64)
    root=$(realpath "$2") platforms=(manylinux_2_28_aarch64 manylinux_2_17_aarch64 manylinux2014_aarch64)
    rm -f "$build"/*.whl
    _PYTHON_HOST_PLATFORM=linux-aarch64 SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so \
      "$python" -m pip wheel -qq --no-deps --no-build-isolation --wheel-dir "$build" . \
      --config-settings=cmake.define.CMAKE_SYSTEM_NAME=Linux --config-settings=cmake.define.CMAKE_SYSTEM_PROCESSOR=aarch64 \
      --config-settings=cmake.define.CMAKE_CXX_COMPILER=aarch64-linux-gnu-g++
    lay() { "$python" -m zipfile -e "$build"/fukayomi-*_aarch64.whl "$site"; }
    there() { PYTHONPATH=$site qemu-aarch64 -L "$root" "$root/usr/bin/python3.11" "$@"; }
    ;;
  windows)
    headers=$(realpath "$3") platforms=(win_amd64)
    rm -rf "$build/python"
    cp -R "$2" "$build/python"
    echo ../site >>"$build/python/python311._pth"
    {
      printf 'LIBRARY python311.dll\nEXPORTS\n'
      x86_64-w64-mingw32-objdump -p "$2/python311.dll" |
        awk '/^\[Ordinal\/Name Pointer\] Table/ { table = 1; next } NF == 0 { table = 0 } table { print $NF }'
    } >"$build/python311.def"
    x86_64-w64-mingw32-dlltool -d "$build/python311.def" -l "$build/libpython311.dll.a"
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$python" \
      -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=AMD64 -DCMAKE_CXX_COMPILER=x86_64-w64-mingw32-g++-posix \
      -DCMAKE_MODULE_LINKER_FLAGS=-static -DPython_INCLUDE_DIR="$headers" -DPython_LIBRARY="$(realpath "$build")/libpython311.dll.a" \
      -DNB_SUFFIX=.cp311-win_amd64.pyd >"$build/configure.log"
    cmake --build "$build" -- --quiet
    lay() {
      mkdir "$site/fukayomi"
      git ls-files src/fukayomi | tar -c -T - | tar -x --strip-components 2 -C "$site/fukayomi"
      cmake --install "$build" --prefix "$site" >"$build/install.log"
    }
    export WINEDEBUG=-all WINEPREFIX
    WINEPREFIX=$(realpath "$build")/wine
    older=(numpy==1.26.4 pydantic==2.7.0 pydantic-core==2.18.1)  # later ones call what Debian 12's Wine lacks
    there() { /usr/lib/wine/wine64 "$build/python/python.exe" "$@" 2> >(cat >&2) | tr -d '\r'; }  # whose three streams must be pipes
    ;;
  *)
    echo "unknown system $system (aarch64 or windows)" >&2
    exit 2
    ;;
esac

rm -rf "$site"
mapfile -t needed < <("$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")')
pip() { "$python" -m pip install -qq --target "$site" "${platforms[@]/#/--platform=}" --python-version 3.11 --only-binary :all: "$@"; }
pip -c constraints.txt "${needed[@]}"
if [ ${#older[@]} -gt 0 ]; then
  rm -rf "$site"/{numpy,pydantic}*
  pip --no-deps "${older[@]}"
fi
lay

: | there -m fukayomi --version
: | there -m fukayomi bench --signature | diff tests/native/search/signature.txt -
echo "the search is the same, to the last visit"
# With our own kernels: in Debian 12's qemu ONNX Runtime ends Python as soon as it is imported.
printf '%s\n' usi 'setoption name DNN_Provider value native' isready 'position startpos moves 7g7f' 'go nodes 50' quit |
  there -m fukayomi usi | grep -E '^(id name|usiok|readyok|bestmove)'
