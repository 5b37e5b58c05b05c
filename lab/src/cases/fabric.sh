# The first drive as a namespace over NVMe/TCP, served and used by this kernel.
modprobe configfs
modprobe nvmet_tcp
modprobe nvme_tcp
mount -t configfs none /sys/kernel/config
ip link set lo up
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
echo 127.0.0.1 >$port/addr_traddr
echo 4420 >$port/addr_trsvcid
ln -s $subsystem $port/subsystems/lab

# Connects the host to the namespace.
connect() {
    nvme connect -t tcp -a 127.0.0.1 -s 4420 -n lab \
        -q nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555 \
        -I 11111111-2222-3333-4444-555555555555
}
# Prints the namespace over TCP.
remote() {
    for directory in /sys/block/nvme*n*; do
        grep -qs LABTCP1 "$directory/device/serial" "$directory"/device/nvme*/serial &&
            [ "$(cat "$directory/hidden")" = 0 ] && echo "/dev/${directory##*/}"
    done
}
is_there() {
    [ -b "$(remote)" ]
}

ask connect connect
await 20 is_there
remote >device
ask devices steadfast devices --json
ask unnamed steadfast measure "RND 4K W" --target "$(cat device)" --ios 48
ask misnamed steadfast measure "RND 4K W" --target "$(cat device)" --yes-destroy LABBACK1 --ios 48
awk '{print $5, $7}' /sys/block/nvme0n1/stat >before
ask write steadfast measure "RND 4K W" --target "$(cat device)" --yes-destroy LABTCP1 --ios 1009 --json
awk '{print $5, $7}' /sys/block/nvme0n1/stat >after

ask run steadfast run iops --verbose --profile quick --step-time 500ms --purge none \
    --target "$(cat device)" --yes-destroy LABTCP1 -o /out/run &
await 120 finished run 5
nvme disconnect -n lab
wait $!
cp -r run halted
ask absent steadfast resume /out/run
connect
await 20 is_there
done=$(steps run)
ask resumed steadfast resume /out/run &
await 120 finished run $((done + 3))
killall -TERM steadfast
wait $!
