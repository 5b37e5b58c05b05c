# The same load on two devices, alone, with our capture and with blktrace, in turn. Every run adds a
# line to /out/figures: device, recorder, round; processor time of the recorder from its readiness
# to its end, in hundredths of a second; the part of it after the end of the load; bytes written;
# I/Os in the record; processor time of converting blktrace's record to text; events reported as
# lost. /out/idle has the time that a recorder uses in ten seconds without an I/O.
modprobe null_blk nr_devices=1 gb=1
for device in nvme0n1 nullb0; do
    echo 2 >/sys/block/$device/queue/nomerges
done

# User and system time of a process so far, in ticks: spent PID
spent() {
    set -- $(sed 's/.*) //' "/proc/$1/stat")
    echo $((${12} + ${13}))
}

# The same of all children that have ended.
reaped() {
    set -- $(sed 's/.*) //' /proc/$$/stat)
    echo $((${14} + ${15}))
}

# Starts a recorder and waits until it is ready: record RECORDER DEVICE
record() {
    case $1 in
        capture)
            steadfast capture --source ebpf --device /dev/$2 -o /tmp/record/trace.parquet \
                >said 2>&1 &
            recorder=$!
            await 60 grep -q 'Ctrl-C ends it' said
            ;;
        blktrace)
            blktrace -d /dev/$2 -D /tmp/record -o trace >said 2>&1 &
            recorder=$!
            await 60 [ -e /sys/kernel/debug/block/$2/trace0 ]
            ;;
    esac
    sleep 1
    ready=$(spent $recorder)
}

# Completed I/Os in the record: recorded RECORDER
recorded() {
    case $1 in
        capture)
            steadfast trace streams /tmp/record/trace.parquet --json |
                sed -n '/"total"/,/"count"/s/.*"count": \([0-9]*\),/\1/p'
            ;;
        blktrace) grep -c C /tmp/record/text ;;
    esac
}

# Ends a recorder and writes its line of figures: leave DEVICE RECORDER ROUND
leave() {
    loaded=$(spent $recorder)
    before=$(reaped)
    kill -INT $recorder
    wait $recorder
    ended=$(($(reaped) - before))
    bytes=$(cat /tmp/record/* | wc -c)
    before=$(reaped)
    [ $2 = blktrace ] && blkparse -i trace -D /tmp/record -q -f "%a\n" >/tmp/record/text
    later=$(($(reaped) - before))
    lost=$(sed -n 's/.*dropped \([0-9]*\)).*/\1/p; s/.*; \([0-9]*\) lost.*/\1/p' said)
    echo "$* $((ended - ready)) $((ended - loaded)) $bytes $(recorded $2) $later $lost" >>figures
}

for beside in capture blktrace; do
    mkdir /tmp/record
    record $beside nvme0n1
    sleep 10
    echo "$beside $(($(spent $recorder) - ready))" >>idle
    kill -INT $recorder
    wait $recorder
    rm -r /tmp/record
done
for round in 1 2 3 4 5; do
    for device in nvme0n1 nullb0; do
        for beside in nothing capture blktrace; do
            mkdir /tmp/record
            [ $beside = nothing ] || record $beside $device
            ask $device.$beside.$round fio --name=x --filename=/dev/$device --direct=1 --bs=4k \
                --ioengine=libaio --iodepth=8 --rw=randrw --rwmixread=67 --norandommap \
                --time_based --runtime=8 --output-format=json
            [ $beside = nothing ] || leave $device $beside $round
            rm -r /tmp/record
        done
    done
done
