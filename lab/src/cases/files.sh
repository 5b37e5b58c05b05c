# The same load on ext4, xfs and btrfs, known I/O by I/O from fio's own logs, with two captures
# running, at the file systems' entry points and at the calls, and two more of capture steps.
JOBS="any sequential synchronous vectored direct aio aio_sync ring ring_cached ordered mapped ranges spliced"
number=0
for kind in ext4 xfs btrfs; do
    modprobe $kind
    mkfs.$kind -q /dev/nvme${number}n1 >mkfs.$kind 2>&1
    mkdir /tmp/$kind
    mount -t $kind /dev/nvme${number}n1 /tmp/$kind
    for job in $JOBS; do
        dd if=/dev/zero of=/tmp/$kind/$job bs=64k count=32 2>/dev/null
    done
    : >/tmp/$kind/log
    number=$((number + 1))
done
# On ext4 also I/O that programs do not issue: overlayfs, and a loop device, which reads
# asynchronously and gets completions in its own way (busybox's shell has a losetup of its own,
# without --direct-io).
modprobe overlay
modprobe loop
mkdir /tmp/ext4/lower /tmp/ext4/upper /tmp/ext4/work /tmp/overlay
mount -t overlay -o lowerdir=/tmp/ext4/lower,upperdir=/tmp/ext4/upper,workdir=/tmp/ext4/work \
    none /tmp/overlay
cp /tmp/ext4/any /tmp/ext4/looped
ask loop /bin/losetup --direct-io=on /dev/loop0 /tmp/ext4/looped
sync
echo 3 >/proc/sys/vm/drop_caches
mount >mounts

# Captures the layer in one way: listen NAME WAY [OPTION...]
listen() {
    name=$1
    way=$2
    shift 2
    steadfast capture --device /dev/nvme0n1 --device /dev/nvme1n1 --device /dev/nvme2n1 \
        --layer filesystem --file-probes $way "$@" -o $name.parquet >$name.stdout 2>$name.stderr &
}
listen entry-points entry-points
entries=$!
listen calls calls
calls=$!
listen entry-steps entry-points --totals-every 100ms
entry_steps=$!
listen call-steps calls --totals-every 100ms
call_steps=$!
for name in entry-points calls entry-steps call-steps; do
    await 120 grep -q 'Ctrl-C ends it' $name.stderr
done

# Runs fio's jobs for one kind of file system: jobs KIND
jobs() {
    echo "[global]
thread
stonewall
norandommap
size=2m
invalidate=0"
    job any 503 "rw=randrw bsrange=500-7000 bs_unaligned"
    job sequential 211 "rw=write bs=4099 bs_unaligned fsync=10"
    job synchronous 53 "rw=write bs=4k sync=1 fsync=10"
    job vectored 97 "rw=randrw bs=1k ioengine=pvsync2"
    job direct 101 "rw=randrw bs=8k direct=1"
    job aio 307 "rw=randrw bs=4k direct=1 ioengine=libaio iodepth=8"
    job aio_sync 41 "rw=randwrite bs=4k direct=1 sync=1 ioengine=libaio iodepth=4"
    job ring 311 "rw=randrw bs=4k direct=1 ioengine=io_uring iodepth=8"
    job ring_cached 103 "rw=randrw bs=4k ioengine=io_uring iodepth=4"
    job ordered 131 "rw=read bs=4k direct=1 ioengine=io_uring iodepth=8 registerfiles=1"
    job mapped 59 "rw=randread bs=4k ioengine=mmap"
    job ranges 43 "rw=write bs=4k sync_file_range=write:5"
    job spliced 31 "rw=read bs=4k ioengine=splice"
}

# Writes one of them: job NAME I/OS OPTIONS
job() {
    echo "[$1]
filename=/tmp/$kind/$1
write_iolog=/out/$kind.$1.log
number_ios=$2"
    echo "$3" | tr ' ' '\n'
}

for kind in ext4 xfs btrfs; do
    jobs >jobs.$kind
    ask fio.$kind fio jobs.$kind
    dd if=/dev/zero of=/tmp/$kind/log bs=509 count=101 oflag=append conv=notrunc 2>/dev/null
    (cd /tmp/$kind && stat -c '%n %i' *) >inodes.$kind
done
dd if=/dev/zero of=/tmp/overlay/laid bs=1000 count=29 2>/dev/null
stat -c 'laid %i' /tmp/ext4/upper/laid >>inodes.ext4
ask looped dd if=/dev/loop0 of=/dev/null bs=4k count=37 iflag=direct
sleep 1
kill -INT $entries $calls $entry_steps $call_steps
wait $entries
echo $? >entry-points.code
wait $calls
echo $? >calls.code
wait $entry_steps
echo $? >entry-steps.code
wait $call_steps
echo $? >call-steps.code

/bin/losetup --detach /dev/loop0
umount /tmp/xfs
ask chosen steadfast capture --device /dev/nvme0n1 --layer filesystem --duration 1s -o a.parquet
ask unmounted steadfast capture --device /dev/nvme1n1 --layer filesystem --duration 1s -o b.parquet
ask refused steadfast capture --device /dev/nvme1n1 --layer filesystem --file-probes entry-points \
    --duration 1s -o c.parquet
