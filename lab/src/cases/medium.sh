modprobe sd_mod
modprobe scsi_debug dev_size_mb=128 opts=2 medium_error_start=40961 medium_error_count=1
await 20 [ -b /dev/sda ]
ask nvme steadfast measure "SEQ 128K R" --target /dev/nvme0n1 --demand T1Q1 --time 2s --json
ask scsi steadfast measure "SEQ 128K R" --target /dev/sda --demand T1Q1 --time 2s --json
ask run steadfast run iops --profile quick --target /dev/nvme1n1 --yes-destroy LABDEAD1 --purge none \
    -o /out/run
