modprobe ext4
modprobe dm_mod
disk=/dev/nvme0n1
# A partition table: 1 (sectors 2048 to 34815), 2 in it (20480 to 28671), 3 apart from both
# (49152 to 53247), 4 extended (65536 to 131071) with the logical partition 5 (67584 to 83967).
{
    head -c 446 /dev/zero
    printf '\0\0\0\0\203\0\0\0\0\010\0\0\0\200\0\0'
    printf '\0\0\0\0\203\0\0\0\0\120\0\0\0\040\0\0'
    printf '\0\0\0\0\203\0\0\0\0\300\0\0\0\020\0\0'
    printf '\0\0\0\0\005\0\0\0\0\0\001\0\0\0\001\0'
    printf '\125\252'
} >/tmp/table
{
    head -c 446 /dev/zero
    printf '\0\0\0\0\203\0\0\0\0\010\0\0\0\100\0\0'
    head -c 48 /dev/zero
    printf '\125\252'
} >/tmp/logical
dd if=/tmp/table of=$disk bs=512
dd if=/tmp/logical of=$disk bs=512 seek=65536
blockdev --rereadpt $disk
await 10 [ -e ${disk}p5 ]

# Overwrites a target: overwrite NAME TARGET CONFIRMATION
overwrite() {
    ask "$1" steadfast measure "RND 4K W" --ios 48 --target "$2" --yes-destroy "$3"
}

# What a name leads to, before and after: content NAME TARGET
content() {
    ask "$1" sha256sum "$2"
}

mkdir /tmp/point
mkfs.ext4 -q -F ${disk}p1
mount -o ro ${disk}p1 /tmp/point
content p1-before ${disk}p1
overwrite inside ${disk}p2 LABOVER1-part2
overwrite beside ${disk}p3 LABOVER1-part3
content p1-after ${disk}p1
umount /tmp/point

mkfs.ext4 -q -F ${disk}p2
mount -o ro ${disk}p2 /tmp/point
content p2-before ${disk}p2
overwrite around ${disk}p1 LABOVER1-part1
content p2-after ${disk}p2
umount /tmp/point

mkfs.ext4 -q -F ${disk}p5
mount -o ro ${disk}p5 /tmp/point
content p4-before ${disk}p4
overwrite extended ${disk}p4 LABOVER1-part4
content p4-after ${disk}p4
umount /tmp/point
# Nothing is mounted, but the table of the logical partition is there: said, not done.
ask unconfirmed steadfast measure "RND 4K W" --ios 48 --target ${disk}p4

# Two volumes over the same sectors of 3, and one over the others.
volume() {
    dmsetup create "$1" --noudevrules --noudevsync --table "0 2048 linear ${disk}p3 $2"
}
volume one 0
volume two 0
volume three 2048
mkfs.ext4 -q -F /dev/dm-1
mount -o ro /dev/dm-1 /tmp/point
content two-before /dev/dm-1
overwrite mapped /dev/dm-0 dm-0
overwrite beside-mapped /dev/dm-2 dm-2
content two-after /dev/dm-1
ask devices steadfast devices --json
