ask devices steadfast devices --json
ask controller nvme id-ctrl /dev/nvme0 -o json
ask cache-before nvme get-feature /dev/nvme0 -f 6

# The same pages by nvme-cli, decoded and raw. Doctor's own reads lie between two of the SMART log.
ask namespace nvme id-ns /dev/nvme0n1 -o json
ask raw-controller nvme id-ctrl /dev/nvme0 -b
ask raw-namespace nvme id-ns /dev/nvme0n1 -b
ask raw-errors nvme get-log /dev/nvme0 -i 1 -l 64 -b
ask raw-effects nvme get-log /dev/nvme0 -i 5 -l 4096 -b
ask power-state nvme get-feature /dev/nvme0 -f 2
ask smart-ahead nvme smart-log /dev/nvme0 -o json
ask doctor steadfast doctor /dev/nvme0n1 --json
ask smart-behind nvme smart-log /dev/nvme0 -o json
ask doctor-root steadfast doctor /dev/vda --json

ask unnamed steadfast run iops --profile quick --target /dev/nvme0n1 -o /out/unnamed
ask misnamed steadfast run iops --profile quick --target /dev/nvme0n1 --yes-destroy LABNVME2 \
    -o /out/misnamed
ask root-disk steadfast run iops --profile quick --target /dev/vda --yes-destroy vda \
    -o /out/root-disk
ask smart-before nvme smart-log /dev/nvme0 -o json

ask run steadfast run iops --profile quick --step-time 300ms --max-rounds 5 \
    --target /dev/nvme0n1 --yes-destroy LABNVME1 -o /out/run &
await 60 finished run 3
ask cache-meanwhile nvme get-feature /dev/nvme0 -f 6
wait $!
ask smart-after nvme smart-log /dev/nvme0 -o json
ask cache-after nvme get-feature /dev/nvme0 -f 6
cat /sys/block/nvme0n1/queue/nomerges >/out/nomerges-after

# Format, as a purge and to another sector size.
ask written cmp -n 1048576 /dev/nvme0n1 /dev/zero
ask format nvme format /dev/nvme0n1 --ses=1 --force
ask blank cmp -n 134217728 /dev/nvme0n1 /dev/zero
ask formatted-devices steadfast devices --json
ask format-4k nvme format /dev/nvme0n1 --lbaf=4 --force
ask large-devices steadfast devices --json
ask small-transfer steadfast measure "RND 0.5K R" --target /dev/nvme0n1 --time 1s
ask large-transfer steadfast measure "RND 4K R" --target /dev/nvme0n1 --time 1s --json

# The same by a run, which keeps the sector size; stopped after it has begun.
if steadfast run --help | grep -q -- --purge; then
    # Without nvme-cli: a file that is no program is mounted over it.
    mount -o bind /dev/null /bin/nvme
    ask no-tool nvme version
    ask purge-run steadfast run iops --profile quick --step-time 100ms --purge nvme-format \
        --target /dev/nvme0n1 --yes-destroy LABNVME1 -o /out/purge-run &
    await 60 finished purge-run 3
    killall -TERM steadfast
    wait $!
    umount /bin/nvme
    ask purged-devices steadfast devices --json
fi
