#!/usr/bin/env bash
# Write the source distribution of the last commit, without what else lies in the checkout: tools/release/sdist.sh TOOLS OUT
set -euo pipefail
tools=$(realpath "$1") out=$2
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git archive HEAD | tar -x -C "$folder"
"$tools/python" -m build --sdist --outdir "$out" "$folder"
