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

# Succeeds once a run has ended or is gone: over SERIAL PROCESS
over() {
    grep -q '"entry":"ended"' "/out/run-$1/journal.jsonl" || ! kill -0 "$2"
}

# What is written after the wait must leave the guest in time.
patience=$(($(given limit) - 900))

# Cuts the power of a drive again and again: prove SERIAL
prove() {
    steadfast run power-cut --target "$(disk "$1")" --yes-destroy "$1" \
        --cut-command "/tmp/relay $1" --set cycles="$(given cycles)" --set area=1 \
        --set flush-every=8 --set within=1s -o "/out/run-$1" >"/out/$1.stdout" 2>"/out/$1.stderr" &
    run=$!
    await $patience over "$1" $run
    tell "$1: $(grep -c '"power-cut-judged"' "/out/run-$1/journal.jsonl") cycles"
    # Its report would take a minute.
    kill -KILL $run
    wait $run
    ask "study-$1" steadfast study "/out/run-$1" --json
}

for serial in HONEST DROPS IGNORES TEARS REORDERS MISPLACES; do
    prove $serial &
done
# Not for the end of the guest's time limit, which is a process as well.
for serial in HONEST DROPS IGNORES TEARS REORDERS MISPLACES; do
    await $patience [ -e "/out/study-$serial.code" ]
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
