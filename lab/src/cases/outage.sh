# The power of this guest is lost twice, so this script runs three times. What must last is on a
# drive of its own.
modprobe ext4
stty -F /dev/ttyS2 raw -echo
# Without it, no restarted machine is known to be the same.
mount -t tmpfs none /etc
echo 10007100071000710007100071000710 >/etc/machine-id

# Prints the namespace of a drive: disk SERIAL
disk() {
    for directory in /sys/block/nvme*; do
        grep -qs "$1" "$directory/device/serial" && echo "/dev/${directory##*/}"
    done
}

mkdir /tmp/kept
if ! mount "$(disk KEPT)" /tmp/kept; then
    mkfs.ext4 -q "$(disk KEPT)"
    mount "$(disk KEPT)" /tmp/kept
fi
boot=$(($(cat /tmp/kept/boot || echo 0) + 1))
echo $boot >/tmp/kept/boot
sync

# Prints the number of acknowledgments: acknowledged SERIAL
acknowledged() {
    wc -l <"/tmp/kept/run-$1/power-cut.log" || echo 0
}

# Succeeds once a drive has acknowledged twenty flushes since the start: flushed SERIAL
flushed() {
    [ "$(acknowledged "$1")" -ge $(($(cat "/tmp/before-$1") + 20)) ]
}

# Starts the run of a drive, or goes on with it: prove SERIAL [OPTION VALUE]
prove() {
    serial=$1
    shift
    acknowledged $serial >/tmp/before-$serial
    if [ -e "/tmp/kept/run-$serial" ]; then
        ask "resume-$serial" steadfast resume "/tmp/kept/run-$serial" &
    else
        ask "start-$serial" steadfast run power-cut --target "$(disk $serial)" \
            --yes-destroy $serial --set cycles=2 --set area=1 --set flush-every=8 \
            --set within=1s --set cut-limit=10min -o "/tmp/kept/run-$serial" "$@" &
    fi
}

prove HONEST --log-to /dev/ttyS2
prove IGNORES
if [ $boot -le 2 ]; then
    for serial in HONEST IGNORES; do
        await 300 flushed $serial
    done
    tell lose power
    sleep 600
fi
for serial in HONEST IGNORES; do
    await 300 grep -q '"entry":"ended"' "/tmp/kept/run-$serial/journal.jsonl"
done
# Their reports would take minutes.
killall -KILL steadfast
for serial in HONEST IGNORES; do
    cp -r "/tmp/kept/run-$serial" /out
    ask study-$serial steadfast study "/out/run-$serial" --json
done
