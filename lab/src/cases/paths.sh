modprobe sd_mod
modprobe vmw_pvscsi
await 20 [ -b /dev/sda ]
ask devices steadfast devices --json
ls /sys/block >nodes
# The namespace with two paths, by its own name, and by the name of one path.
disk() {
    for directory in /sys/block/nvme*n*; do
        grep -qs "$1" "$directory/device/serial" "$directory"/device/nvme*/serial &&
            [ "$(cat "$directory/hidden")" = 0 ] && echo "/dev/${directory##*/}"
    done
}
disk LABPATH1 | head -n 1 >path-device
disk LABZNS1 | head -n 1 >zoned-device
run() {
    name=$1
    shift
    ask $name steadfast run iops --profile quick --step-time 100ms --max-rounds 1 -o /out/$name-run "$@"
}
run unnamed --target "$(cat path-device)"
run zoned --target "$(cat zoned-device)" --yes-destroy LABZNS1
run protected --target /dev/sda --yes-destroy LABWP1
ask write steadfast measure "SEQ 128K W" --target "$(cat path-device)" --yes-destroy LABPATH1 \
    --demand T1Q4 --time 1s --json
