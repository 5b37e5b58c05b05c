for pattern in "RND 4K R" "RND 4K W" "RND 4K RW65"; do
    ask "$pattern" steadfast measure "$pattern" --target /dev/nvme0n1 --demand T1Q16 \
        --ramp 2s --time 6s --yes-destroy LABSLOW1 --json
done
ask fio fio --name=x --filename=/dev/nvme0n1 --ioengine=io_uring --direct=1 --rw=randread --bs=4k \
    --iodepth=16 --ramp_time=2 --runtime=6 --time_based --norandommap --output-format=json
