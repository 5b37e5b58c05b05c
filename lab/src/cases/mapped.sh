# Device-mapper targets that delay, drop, damage and fail I/Os, over the first 64 MiB of a drive.
modprobe dm_mod
modprobe dm_delay
modprobe dm_flakey
disk=/dev/nvme0n1
sectors=131072

# Puts a target on dm-0 in the place of the former: mapped, with the table on standard input.
mapped() {
    dmsetup remove lab --noudevrules --noudevsync 2>/dev/null
    dmsetup create lab --noudevrules --noudevsync
    await 10 [ -b /dev/dm-0 ]
}
measure() {
    name=$1
    shift
    ask "$name" steadfast measure "$@" --target /dev/dm-0 --yes-destroy dm-0 --json
}
verify() {
    ask "$1" steadfast run verify-write --target /dev/dm-0 --yes-destroy dm-0 -o "/out/run-$1" &
    conclude 120 "run-$1"
    wait $!
    ask "study-$1" steadfast study "/out/run-$1" --json
}

echo "0 $sectors delay $disk 0 50 $disk 0 100" | mapped
measure slow-read "RND 4K R" --demand T1Q1 --time 4s
measure slow-write "RND 4K W" --demand T1Q1 --time 4s
measure slow-deep "RND 4K R" --demand T1Q4 --time 4s
ask below steadfast measure "RND 4K W" --target $disk --yes-destroy LABMAP1 --ios 48

# dm-dust is not in Debian's kernels; a target that fails each I/O is.
{
    echo "0 40960 linear $disk 0"
    echo "40960 8 error"
    echo "40968 $((sectors - 40968)) linear $disk 40968"
} | mapped
measure bad "SEQ 128K R" --demand T1Q1 --time 2s

echo "0 $sectors flakey $disk 0 0 3600 1 error_writes" | mapped
measure failing-reads "RND 4K R" --ios 100
measure failing-writes "RND 4K W" --ios 100

echo "0 $sectors linear $disk 0" | mapped
verify honest
echo "0 $sectors flakey $disk 0 0 3600 1 drop_writes" | mapped
verify dropped
echo "0 $sectors flakey $disk 0 0 3600 5 corrupt_bio_byte 5000 w 90 0" | mapped
verify damaged
