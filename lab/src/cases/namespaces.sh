dd if=/dev/urandom of=/dev/nvme0n1 bs=1M count=8 conv=fsync
ask devices steadfast devices --json
ask doctor steadfast doctor /dev/nvme0n2 --json
ask before sha256sum /dev/nvme0n1

ask whole-drive steadfast run iops --profile quick --target /dev/nvme0n2 --yes-destroy LABTWO1 \
    -o /out/whole-drive
ask sibling steadfast run iops --profile quick --target /dev/nvme0n2 --yes-destroy LABTWO1-n1 \
    -o /out/sibling
ask run steadfast run iops --step-time 100ms --max-rounds 1 \
    --target /dev/nvme0n2 --yes-destroy LABTWO1-n2 -o /out/run &
conclude 200 run
wait $!
ask study steadfast study /out/run --json
ask after sha256sum /dev/nvme0n1
