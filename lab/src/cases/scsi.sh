# scsi_debug derives its serial number from its host number, so it is loaded first.
modprobe sg
modprobe sd_mod
modprobe scsi_debug dev_size_mb=128 lbpu=1 sector_size=4096
await 20 [ -b /dev/sda ]
modprobe ata_piix
modprobe vmw_pvscsi
await 20 [ -b /dev/sdc ]

# Prints the device of a drive with this vendor or model: disk TEXT
disk() {
    for directory in /sys/block/sd*; do
        grep -qsF "$1" "$directory/device/vendor" "$directory/device/model" &&
            echo "/dev/${directory##*/}"
    done
}
ln -s "$(disk 'LABDISK')" /tmp/scsi
ln -s "$(disk 'ATA')" /tmp/sata
ln -s "$(disk 'scsi_debug')" /tmp/debug

# The write cache as reported by the drive: the WCE bit of the caching page.
cache() {
    sg_modes --page=8 --raw "$1" | od -An -v -tx1
}

ask devices steadfast devices --json
for kind in scsi sata debug; do
    readlink /tmp/$kind >"/out/$kind"
done
ask wrong steadfast run iops --profile quick --target /tmp/sata --yes-destroy LABSCSI1 \
    -o /out/wrong-run

# To the end on one drive, stopped with a signal on the others.
ask debug-before cache /tmp/debug
ask debug-run steadfast run iops --profile quick --step-time 100ms --max-rounds 5 \
    --target /tmp/debug --yes-destroy 2000 -o /out/debug-run &
await 60 finished debug-run 3
ask debug-meanwhile cache /tmp/debug
conclude 200 debug-run
wait $!
ask debug-after cache /tmp/debug

# A drive that answers FORMAT UNIT with GOOD and erases nothing.
ask scsi-format steadfast run iops --profile quick --target /tmp/scsi --yes-destroy LABSCSI1 \
    --purge scsi-format -o /out/scsi-format-run
ask scsi-sanitize steadfast run iops --profile quick --target /tmp/scsi --yes-destroy LABSCSI1 \
    --purge scsi-sanitize-block -o /out/scsi-sanitize-run
ask sata-erase steadfast run iops --profile quick --target /tmp/sata --yes-destroy LABSATA1 \
    --purge ata-security-erase -o /out/sata-erase-run

for kind in scsi sata; do
    serial=$(echo $kind | sed 's/scsi/LABSCSI1/; s/sata/LABSATA1/')
    ask $kind-before cache /tmp/$kind
    ask $kind-run steadfast run iops --profile quick --step-time 100ms --target /tmp/$kind \
        --yes-destroy "$serial" -o /out/$kind-run &
    await 60 finished $kind-run 3
    ask $kind-meanwhile cache /tmp/$kind
    killall -TERM steadfast
    wait $!
    ask $kind-after cache /tmp/$kind
done
