#!/bin/sh
# First process of a virtual machine with the guest: what a container's engine prepares, and the guest on port 5000.
# QEMU passes the token and the size of the screen as files of its configuration device, which root alone can read.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 PYTHONPATH=/opt/rlanything

mountpoint -q /proc || mount -t proc proc /proc
mountpoint -q /sys || mount -t sysfs sysfs /sys
mountpoint -q /dev || mount -t devtmpfs devtmpfs /dev
mountpoint -q /run || mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /dev/pts /dev/shm
mountpoint -q /dev/pts || mount -t devpts -o mode=0620,ptmxmode=0666 devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs -o mode=1777,size=2g tmpfs /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "+memory +pids" > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p /run/lock /run/user/1000
chown 1000:1000 /run/user/1000
hostname desktop

ip link set lo up
ip link set eth0 up  # the addresses are those of QEMU's user network
ip address add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
echo nameserver 10.0.2.3 > /etc/resolv.conf

modprobe qemu_fw_cfg
settings=/sys/firmware/qemu_fw_cfg/by_name/opt/rlanything
[ -r $settings/token/raw ] && RLANYTHING_TOKEN=$(cat $settings/token/raw) && export RLANYTHING_TOKEN
[ -r $settings/screen/raw ] && RLANYTHING_SCREEN=$(cat $settings/screen/raw) && export RLANYTHING_SCREEN

cd /home/user || exit
# This shell stays, to collect what other processes leave behind.
/usr/bin/python3 -BPs -m guest --sole-tenant --user 1000 --host 0.0.0.0 --processes 1024 --patience 500 > /dev/console 2>&1
echo "the guest ended with status $?" > /dev/console
echo o > /proc/sysrq-trigger
sleep 60
