# Control groups of version 2 alone, as today's distributions mount them.
modprobe bfq
mount -t cgroup2 none /sys/fs/cgroup
groups=/sys/fs/cgroup
ask controllers cat $groups/cgroup.controllers
ask delegated-before cat $groups/cgroup.subtree_control

# The rules that the victim and the offender have now: rules NAME
rules() {
    for file in $groups/steadfast-*/*/io.*; do
        echo "$file $(tr '\n' ' ' <"$file")"
    done >"/out/$1"
}

limited() {
    grep -q wbps=4000000 $groups/steadfast-*/offender/io.max
}

# Both control groups have a process, and the limit is set.
loaded() {
    limited && [ -n "$(cat $groups/steadfast-*/victim/cgroup.procs)" ] &&
        [ -n "$(cat $groups/steadfast-*/offender/cgroup.procs)" ]
}

# A run: neighbors RUN OPTIONS...
neighbors() {
    run=$1
    shift
    ask "$run" steadfast run neighbors --profile quick --purge none --set rate=100 \
        --set limit=4MB/s --set "offenders=SEQ 128K W" --set cycles=1 "$@" \
        --target /dev/nvme0n1 --yes-destroy LABGROUP1 -o "/out/$run"
}

neighbors run --step-time 3s &
await 150 loaded
rules rules-meanwhile
await 200 grep -q '"entry":"ended"' /out/run/journal.jsonl
killall -KILL steadfast
wait $!
ls -d $groups/steadfast-* >/out/groups-after 2>/dev/null
find $groups -name io.max -exec cat {} + >/out/limits-after
ask delegated-after cat $groups/cgroup.subtree_control
cat $groups/io.cost.qos >/out/cost-after
cat /sys/block/nvme0n1/queue/scheduler >/out/scheduler-after

# Killed while its loads run, then restored.
neighbors killed --set controls=io.max --step-time 6s &
await 150 loaded
killall -KILL steadfast
wait $!
ls -d $groups/steadfast-* >/out/groups-of-killed
ask restore steadfast restore /out/killed
ls -d $groups/steadfast-* >/out/groups-restored 2>/dev/null
ask delegated-restored cat $groups/cgroup.subtree_control
