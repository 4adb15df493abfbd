#!/usr/bin/env bash
# Install a wheel where no compiler can be found, and let it play: tools/release/installs.sh PYTHON WHEEL
set -euo pipefail
python=$(command -v "$1") wheel=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$python" -m venv "$folder/venv"
alone() { env -i HOME="$folder" PATH="$folder/venv/bin" "$@"; }  # XDG_CACHE_HOME too: nothing is measured yet
for compiler in cc c++ gcc g++ clang++ cmake; do
  ! alone "$folder/venv/bin/python" -c "import shutil, sys; sys.exit(shutil.which('$compiler') is None)" || { echo "$compiler is there" >&2; exit 1; }
done
alone "$folder/venv/bin/python" -m pip --disable-pip-version-check install -q --only-binary :all: -c constraints.txt "$wheel"
alone "$folder/venv/bin/python" tools/release/plays.py
