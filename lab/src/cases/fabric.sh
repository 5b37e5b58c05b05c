# The drive of another guest as a namespace over NVMe/TCP.
modprobe virtio_net
modprobe nvme_tcp
# A cut link ends a connection attempt within seconds.
echo 1 >/proc/sys/net/ipv4/tcp_syn_retries
network 10.0.0.2

# Connects the host to the namespace. The controller is given up soon after the link is cut.
connect() {
    nvme connect -t tcp -a 10.0.0.1 -s 4420 -n lab -k 5 -c 1 -l 1 \
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
# Prints writes and sectors written by the drive, as the other guest counts them.
written() {
    nc -w 20 10.0.0.1 5000 </dev/null
}
serves() {
    [ -n "$(written)" ]
}

await 120 serves
ask connect connect
await 20 is_there
remote >device
ask devices steadfast devices --json
ask unnamed steadfast measure "RND 4K W" --target "$(cat device)" --ios 48
ask misnamed steadfast measure "RND 4K W" --target "$(cat device)" --yes-destroy LABBACK1 --ios 48
written >before
ask write steadfast measure "RND 4K W" --target "$(cat device)" --yes-destroy LABTCP1 --ios 1009 --json
written >after

ask run steadfast run iops --verbose --profile quick --step-time 500ms --purge none \
    --target "$(cat device)" --yes-destroy LABTCP1 -o /out/run &
await 120 finished run 5
tell cut
wait $!
cp -r run halted
ask absent steadfast resume /out/run
tell mend
await 60 serves
connect
await 20 is_there
done=$(steps run)
ask resumed steadfast resume /out/run &
await 120 finished run $((done + 3))
killall -TERM steadfast
wait $!
