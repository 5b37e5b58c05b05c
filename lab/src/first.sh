#!/bin/busybox sh
# The initial root: finds the root disk and switches to it.
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
# Some are built into some kernels.
for module in virtio_pci virtio_blk crc32c_generic ext4 nvme; do
    /bin/busybox modprobe $module
done
/bin/busybox mount -o ro /dev/vda /root || exec /bin/busybox poweroff -f
for place in dev sys proc; do
    /bin/busybox mount -o move /$place /root/$place
done
exec /bin/busybox switch_root /root /bin/sh /lab/begin
