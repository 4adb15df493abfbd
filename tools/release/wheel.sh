#!/usr/bin/env bash
# Build a wheel of this checkout, the same bytes each time: tools/release/wheel.sh PYTHON TOOLS OUT
#
# PYTHON is the Python that the wheel is for: 3.11, or 3.12 for all later ones. TOOLS is the folder with auditwheel and abi3audit, which say
# on Linux what glibc the wheel asks for, and whether it keeps to the stable ABI.
set -euo pipefail
python=$1 tools=$2 out=$3

# The date of all files in the wheel: that of the commit, or scikit-build-core's own outside a repository.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
mkdir -p "$out"

"$python" -m venv "$built/venv"
"$built/venv/bin/python" -m pip wheel -qq --no-deps --wheel-dir "$built" .
if [ "$(uname)" != Linux ]; then
  mv "$built"/*.whl "$out"
  exit
fi
case $(ls "$built"/*.whl) in *-abi3-*) "$tools/abi3audit" --strict "$built"/*.whl ;; esac
PATH="$(realpath "$tools"):$PATH" "$tools/auditwheel" repair --wheel-dir "$out" "$built"/*.whl
