#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the programs that the tests drive and the bench compares with, where this is Debian or Ubuntu and we are root;
# otherwise says plainly which are missing.
set -euo pipefail

# program=package, for those whose names differ
wanted=(chromium=chromium vim=vim less=less htop=htop tmux=tmux zsh=zsh fish=fish mc=mc strace=strace ip=iproute2 dtach=dtach screen=screen)
missing=()
for pair in "${wanted[@]}"; do
  command -v "${pair%%=*}" >/dev/null 2>&1 || missing+=("${pair#*=}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "make test and make bench drive real programs; please install: ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}"
