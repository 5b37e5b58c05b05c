# One load per line; blktrace and our own capture run at the same time and stop on request.
echo 2 >/sys/block/nvme0n1/queue/nomerges
blktrace -d /dev/nvme0n1 -D /out -o known >/out/blktrace.stdout 2>&1 &
tracer=$!
await 20 [ -e /sys/kernel/debug/block/nvme0n1/trace0 ]
steadfast capture --device /dev/nvme0n1 -o captured.parquet >capture.stdout 2>capture.stderr &
capture=$!
await 20 grep -q 'Ctrl-C ends it' capture.stderr
ask mixed fio --name=mixed --filename=/dev/nvme0n1 --ioengine=libaio --direct=1 --rw=randrw \
    --rwmixread=70 --bs=4k --iodepth=8 --number_ios=2003 --norandommap --output-format=json
ask sequential fio --name=sequential --filename=/dev/nvme0n1 --ioengine=libaio --direct=1 \
    --rw=write --bs=64k --iodepth=4 --number_ios=211 --output-format=json
ask discard blkdiscard -o 0 -l 1048576 /dev/nvme0n1
sleep 1
kill -INT $capture $tracer
wait $capture
echo $? >capture.code
wait $tracer
ask events blkparse -i known -D /out -f "%a %d %N %S\n" -q
ask summary blkparse -i known -D /out -q -s -f ""
ask layers steadfast capture --device /dev/nvme0n1 --layer block,filesystem --duration 2s \
    -o layers.parquet
ask captured steadfast trace streams captured.parquet --json
ask import steadfast trace import known.blktrace.0 known.blktrace.1 -o known.parquet --json
ask imported steadfast trace streams known.parquet --json
blkparse -i known -D /out -q >known.blkparse
ask text steadfast trace import known.blkparse -o text.parquet --json
ask texts steadfast trace streams text.parquet --json
cp events.stdout known.events
cp summary.stdout known.summary
cat mixed.stdout sequential.stdout >known.fio.json
