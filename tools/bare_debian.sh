#!/usr/bin/env bash
# The README's first command, from an unpacked source distribution, in a Debian that has nothing but its base.
#
#     .venv/bin/python -c 'from scikit_build_core.build import build_sdist; build_sdist("dist")'
#     tools/bare_debian.sh SUITE dist/fukayomi-VERSION.tar.gz [COMMAND]
#
# Makes a root with debootstrap (SUITE: bookworm, trixie), installs the packages that docs/install.md names, unpacks the
# source distribution and runs COMMAND in it as a user without rights (default: make demo). Needs root, Debian and the package debootstrap. MIRROR names another mirror; ROOT
# the folder (default: /var/tmp/fukayomi-SUITE), which is kept: a second run takes it as it is. Certificates and
# settings of apt and pip of this machine, if there are any, are used there too.
set -euo pipefail
suite=${1:?name a suite of Debian: bookworm or trixie}
sdist=${2:?name a source distribution}
command=${3:-make demo}
root=${ROOT:-/var/tmp/fukayomi-$suite}
packages=(ca-certificates g++ make git python3-dev python3-venv)

if [ ! -e "$root/etc/debian_version" ]; then
  debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"}
fi
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/player LANG=C.UTF-8 "$@"; }
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
cp /etc/resolv.conf "$root/etc/"
[ ! -e /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
inside DEBIAN_FRONTEND=noninteractive sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"' apt "${packages[@]}"
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"

inside id player >/dev/null 2>&1 || inside useradd --create-home player
rm -rf "$root/home/player/checkout"
mkdir "$root/home/player/checkout"
tar -xzf "$sdist" -C "$root/home/player/checkout" --strip-components=1 --no-same-owner
chroot "$root" chown -R player /home/player
chroot "$root" sh -c 'cat /etc/debian_version; python3 --version; g++ --version | head -1'
inside setpriv --reuid=player --regid=player --init-groups sh -c "cd ~/checkout && $command"
