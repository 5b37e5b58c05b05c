# A loop device over one that takes 50 ms for each command and has a volatile cache: only null_blk's
# settings below configfs have one, and without it the kernel sends no flush.
modprobe configfs
modprobe null_blk nr_devices=0
mount -t configfs none /sys/kernel/config
settings=/sys/kernel/config/nullb/nullb0
mkdir $settings
echo 64 >$settings/size
echo 1 >$settings/memory_backed
echo 16 >$settings/cache_size
echo 2 >$settings/irqmode
echo 50000000 >$settings/completion_nsec
echo 1 >$settings/power
await 30 [ -b /dev/nullb0 ]
echo 2 >/sys/block/nullb0/queue/nomerges
cat /sys/block/nullb0/queue/write_cache >write-cache
modprobe loop
/bin/losetup --direct-io=on /dev/loop0 /dev/nullb0
echo 2 >/sys/block/loop0/queue/nomerges

# Runs a command and keeps the flushes that the kernel counted meanwhile: count NAME COMMAND...
count() {
    before=$(flushes)
    ask "$@"
    sleep 1
    echo $(($(flushes) - before)) >"/out/$1.flushes"
}

flushes() {
    set -- $(grep ' nullb0 ' /proc/diskstats)
    echo "${19}"
}

ours() {
    name=$1 pattern=$2
    shift 2
    count "$name" steadfast measure "$pattern" --target /dev/loop0 --ramp 1s --time 4s \
        --yes-destroy loop0 --json "$@"
}

theirs() {
    name=$1
    shift
    count "$name" fio --name=x --filename=/dev/loop0 --direct=1 --bs=4k --norandommap --thread \
        --ramp_time=1 --runtime=4 --time_based --output-format=json "$@"
}

for round in 1 2 3 4; do
    ours commits.$round "RND 4K W FLUSH/1" --demand T1Q1
    theirs fio-commits.$round --ioengine=psync --rw=randwrite --fdatasync=1
    for rate in 10 20; do
        ours $rate.$round "RND 4K R" --demand T1Q64 --rate $rate
        theirs fio-$rate.$round --ioengine=io_uring --iodepth=64 --rw=randread --rate_iops=$rate \
            --rate_process=poisson
    done
done
