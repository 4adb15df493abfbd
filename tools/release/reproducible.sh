#!/usr/bin/env bash
# Build the wheel of the last commit twice, each time from nothing in a folder of another name, and compare: reproducible.sh PYTHON TOOLS
set -euo pipefail
python=$(command -v "$1") tools=$(realpath "$2")
commit=$(git rev-parse HEAD)  # whatever is committed meanwhile
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH CCACHE_DISABLE=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for name in one another-folder; do
  mkdir "$folder/$name"
  git archive "$commit" | tar -x -C "$folder/$name"
  (cd "$folder/$name" && tools/release/wheel.sh "$python" "$tools" dist >&2)
done
cd "$folder"
sha256sum ./*/dist/*.whl
cmp ./*/dist/*.whl && echo "the two wheels are the same"
