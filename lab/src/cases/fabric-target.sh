# Serves its drive to another guest over NVMe/TCP until it is ended.
modprobe virtio_net
modprobe configfs
modprobe nvmet_tcp
mount -t configfs none /sys/kernel/config
network 10.0.0.1
subsystem=/sys/kernel/config/nvmet/subsystems/lab
mkdir $subsystem
echo 1 >$subsystem/attr_allow_any_host
echo LABTCP1 >$subsystem/attr_serial
mkdir $subsystem/namespaces/1
echo /dev/nvme0n1 >$subsystem/namespaces/1/device_path
echo 1 >$subsystem/namespaces/1/enable
port=/sys/kernel/config/nvmet/ports/1
mkdir $port
echo tcp >$port/addr_trtype
echo ipv4 >$port/addr_adrfam
echo 10.0.0.1 >$port/addr_traddr
echo 4420 >$port/addr_trsvcid
ln -s $subsystem $port/subsystems/lab

# Answers every connection with writes and sectors written.
cat >/tmp/written <<'END'
#!/bin/sh
awk '{print $5, $7}' /sys/block/nvme0n1/stat
END
chmod +x /tmp/written
nc -ll -p 5000 -e /tmp/written
