#!/usr/bin/env bash
# Measure a card from a bare checkout: on a machine with a GPU that has no network, and whose Python has torch.
#
#     OUT=DIR WHEELS=DIR tools/gpu_machine.sh [MINUTES [OPTIONS of benchmarks/gpu_check.py]]
#
# Installs the wheels in WHEELS (default: .whl, if it is there) beside that Python, builds the extension in place unless
# one is there, and runs gpu_check within what is left of MINUTES (default: 9). Results go to OUT (default: out/gpu);
# the training run, which is large, to a temporary folder. PYTHON (default: python3) needs its headers, CMake, ninja,
# nanobind and a C++20 compiler. Nothing outside the checkout, OUT and temporary folders is changed, nor the card's settings.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-9}
shift $(($# > 0))
python=$(command -v "${PYTHON:-python3}")
out=${OUT:-out/gpu}
wheels=${WHEELS:-.whl}
temporary=${TMPDIR:-/tmp}/fukayomi-gpu
mkdir -p "$out" "$temporary"
export PYTHONPATH=$PWD/src PYTHONUNBUFFERED=1

if [ -d "$wheels" ]; then
  "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade --target "$temporary/site" "$wheels"/*.whl
  PYTHONPATH+=:$temporary/site
fi

"$python" - <<'CHECK'
import importlib.util, sys
needed = {
    "annotated-types": "annotated_types", "filelock": "filelock", "hypothesis": "hypothesis", "jinja2": "jinja2",
    "matplotlib": "matplotlib", "numpy": "numpy", "onnx": "onnx", "onnxruntime": "onnxruntime", "onnxscript": "onnxscript",
    "pydantic": "pydantic", "pydantic-core": "pydantic_core", "pytest": "pytest", "pytest-timeout": "pytest_timeout",
    "pyyaml": "yaml", "rich": "rich", "safetensors": "safetensors", "scipy": "scipy", "tensorboard": "tensorboard",
    "tomli-w": "tomli_w", "torch": "torch", "typer": "typer", "typing-inspection": "typing_inspection",
}
missing = [name for name, module in needed.items() if importlib.util.find_spec(module) is None]
if missing:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    sys.exit(f"this Python lacks {' '.join(missing)}. Where there is a network, with pip:\n"
             f"  pip download -c constraints.txt --no-deps --only-binary=:all: --python-version {version} "
             f"--platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 -d .whl {' '.join(missing)}")
CHECK

if ! "$python" -c 'import fukayomi._native' 2>/dev/null; then
  if ! "$python" -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; then
    echo "the headers of $python are missing (Python.h): bring src/fukayomi/_native.*.so, built for this Python" >&2
    exit 2
  fi
  cmake -S . -B "$temporary/build" -G Ninja -DFUKAYOMI_IN_PLACE=ON -DPython_EXECUTABLE="$python" >"$temporary/cmake.log" 2>&1 &&
    nice ninja -C "$temporary/build" >"$temporary/ninja.log" 2>&1 ||
    { tail -40 "$temporary"/*.log; exit 2; }
fi
echo "ready after $SECONDS s"

left=$("$python" -c "print(max(0.5, $minutes - $SECONDS / 60))")
"$python" benchmarks/gpu_check.py --minutes "$left" --out "$out" --work "$temporary/work" "$@" || failed=$?
cat "$out/gpu_check.md"
exit "${failed:-0}"
