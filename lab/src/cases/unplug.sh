has_drive() {
    grep -qs "$1" /sys/class/nvme/*/serial
}

ask run steadfast run iops --verbose --profile quick --step-time 500ms \
    --target /dev/nvme0n1 --yes-destroy LABGONE1 -o /out/run &
await 60 finished run 5
tell pull it out
wait $!
cp -r run halted
ask absent steadfast resume /out/run
ask study steadfast study /out/run --json

tell plug it in
await 30 has_drive LABGONE1
await 10 [ -b /dev/nvme0n1 ]
done=$(steps run)
ask resumed steadfast resume /out/run &
await 60 finished run $((done + 3))
killall -TERM steadfast
wait $!
