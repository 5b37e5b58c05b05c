# A relay at the second serial port. It takes the drive's serial number.
cat >/tmp/relay <<'END'
#!/bin/sh
echo "$@" >/dev/ttyS1
END
chmod +x /tmp/relay
stty -F /dev/ttyS1 raw -echo

# Prints the namespace of a drive: disk SERIAL
disk() {
    for directory in /sys/block/nvme*; do
        grep -qs "$1" "$directory/device/serial" && echo "/dev/${directory##*/}"
    done
}

for serial in HONEST DROPS IGNORES TEARS REORDERS MISPLACES; do
    ask $serial steadfast run power-cut --target "$(disk $serial)" --yes-destroy $serial \
        --cut-command "/tmp/relay $serial" --set cycles=3 --set area=1 \
        --set flush-every=8 --set within=2s -o /out/run-$serial &
    conclude 180 run-$serial
    wait $!
    ask study-$serial steadfast study /out/run-$serial --json
done

# Stopped while the drive answers nothing: the cycle is checked when the run is resumed.
flushed() {
    [ "$(wc -l </out/run-STOPPED/power-cut.log)" -ge 20 ]
}
ask STOPPED steadfast run power-cut --target "$(disk HONEST)" --yes-destroy HONEST \
    --set cycles=1 --set area=1 --set flush-every=8 --set within=1s -o /out/run-STOPPED &
await 120 flushed
/tmp/relay HONEST silent
sleep 1
killall -INT steadfast
wait $!
sleep 4
ask RESUMED steadfast resume /out/run-STOPPED &
conclude 180 run-STOPPED
wait $!
ask study-STOPPED steadfast study /out/run-STOPPED --json
