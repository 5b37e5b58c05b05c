# The same load on two devices alone, beside our capture and beside blktrace, in
# turn. A line of /out/figures for each run: device, recorder, round; processor
# time of the recorder from its readiness to its end, in hundredths of a second;
# bytes that it left; I/Os in its record; processor time of making text of it;
# events that it says it lost.
modprobe null_blk nr_devices=1 gb=1
for device in nvme0n1 nullb0; do
    echo 2 >/sys/block/$device/queue/nomerges
done

# User and system time of a process so far: spent PID
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
                >capture.stdout 2>capture.stderr &
            recorder=$!
            await 60 grep -q 'Ctrl-C ends it' capture.stderr
            ;;
        blktrace)
            blktrace -d /dev/$2 -D /tmp/record -o trace >blktrace.stdout 2>&1 &
            recorder=$!
            await 60 [ -e /sys/kernel/debug/block/$2/trace0 ]
            ;;
    esac
    sleep 1
    ready=$(spent $recorder)
}

# I/Os of 4 KiB that are completed in the record: recorded RECORDER
recorded() {
    case $1 in
        capture)
            steadfast trace streams /tmp/record/trace.parquet --json | tr ',{}' '\n\n\n' |
                awk -F: '/"bytes"/ { size = $2 } /"count"/ { of[size] += $2 }
                    END { print of[4096] + 0 }'
            ;;
        blktrace) grep -c '^C 4096$' /tmp/record/text ;;
    esac
}

# What a recorder left, as a line of figures: leave DEVICE RECORDER ROUND
leave() {
    before=$(reaped)
    kill -INT $recorder
    wait $recorder
    used=$(($(reaped) - before - ready))
    bytes=$(cat /tmp/record/* | wc -c)
    before=$(reaped)
    [ $2 = blktrace ] && blkparse -i trace -D /tmp/record -q -f "%a %N\n" >/tmp/record/text
    later=$(($(reaped) - before))
    lost=$(sed -n 's/.*Total:.*dropped \([0-9]*\).*/\1/p' blktrace.stdout)
    echo "$* $used $bytes $(recorded $2) $later ${lost:-0}" >>figures
}

touch blktrace.stdout
for round in 1 2 3; do
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
