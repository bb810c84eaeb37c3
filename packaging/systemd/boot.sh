#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# boot.sh FOLDER: boot a real systemd as process 1 of new namespaces, on a throw-away copy of this host.
#
# The root is an overlay whose upper layer is a tmpfs: what happens inside changes nothing outside and is
# gone with the last process. The control group comes from the unified hierarchy, a new one below which
# systemd sees nothing else; its path is written to FOLDER/cgroup, and whoever ends the boot removes it.
# There is no network but lo, and nothing to install: systemd, dbus and util-linux must be here already.
#
# The process that is started becomes `unshare`; its only child is the systemd. Killing either ends all.
set -euo pipefail

if [ "${1-}" != --inside ]; then
	folder=$(realpath "$1")
	hierarchy=/sys/fs/cgroup
	[ -e $hierarchy/cgroup.procs ] || hierarchy=/sys/fs/cgroup/unified # a host with both versions
	cgroup=$hierarchy/spawn-boot-$$
	mkdir "$cgroup"
	echo "$cgroup" > "$folder/cgroup"
	echo $$ > "$cgroup/cgroup.procs"
	exec unshare --mount --pid --fork --uts --ipc --net --cgroup --kill-child -- "$(realpath "$0")" --inside "$folder"
fi

# From here on we are process 1, and what we mount is ours alone.
folder=$2
root=$folder/root
mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$root"
mount -t overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" overlay "$root"

mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
	touch "$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
touch "$root/dev/console"

# A target of our own instead of the host's default one, and none of what is about hardware, disks or the
# host's network.
units=$root/etc/systemd/system
mkdir -p "$units"
cat > "$units/spawn-boot.target" <<-UNIT
	[Unit]
	Requires=basic.target dbus.socket
	After=basic.target dbus.socket
	AllowIsolate=yes
UNIT
for unit in apparmor nftables systemd-{binfmt,firstboot,journal-flush,logind,machine-id-commit,modules-load,network-generator,random-seed,remount-fs,sysctl,tmpfiles-setup-dev,udev-trigger,udevd,update-utmp}; do
	ln -sf /dev/null "$units/$unit.service"
done
for unit in dev-{hugepages,mqueue}.mount proc-sys-fs-binfmt_misc.automount sys-{fs-fuse-connections,kernel-config,kernel-debug,kernel-tracing}.mount systemd-udevd-{control,kernel}.socket; do
	ln -sf /dev/null "$units/$unit"
done
: > "$root/etc/fstab"
tr -d - < /proc/sys/kernel/random/uuid > "$root/etc/machine-id"

mkdir -p "$root/.host"
cd "$root"
pivot_root . .host
umount -l /.host
exec env -i container=spawn-boot PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --unit=spawn-boot.target --show-status=0 < /dev/null > /dev/null 2>&1
