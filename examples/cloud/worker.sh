#!/bin/bash
# The start script of a virtual machine that plays for a fleet (docs/fleet.md#containers-kubernetes-and-clouds).
#
# Give it to a machine with Debian 12 or 13 as `--metadata-from-file startup-script=worker.sh` (Google Cloud) or as
# `--user-data file://worker.sh` (Amazon), after the three lines below are yours. It runs as root at every start there or at the
# first one here, installs Docker once, and starts one container that joins the cluster of HEAD. The right to read the store
# and to write games/ in it comes from the machine's role, not from keys in this file. Cheap machines that may be taken
# away at any moment (spot) serve well: a worker that dies loses its games in play alone.
set -euo pipefail
HEAD=10.0.0.2:6379
IMAGE=REGISTRY/fukayomi-worker:0.1.0
GAMES=/var/lib/fukayomi # finished games that are not delivered yet; the next container delivers them

if ! command -v docker >/dev/null; then
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends docker.io
fi
install -d -o 1000 -g 1000 "$GAMES"
docker rm -f fukayomi-worker >/dev/null 2>&1 || true
docker run --detach --name fukayomi-worker --restart unless-stopped --network host --shm-size 2g \
  --security-opt no-new-privileges --cap-drop ALL --volume "$GAMES:/home/fukayomi/.cache/fukayomi" \
  "$IMAGE" ray start --address "$HEAD" --block
