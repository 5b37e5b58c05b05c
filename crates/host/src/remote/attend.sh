# What steadfast has a host's own shell do while a load from several hosts runs: it
# looks the device over, holds it, keeps a fio server on a socket that only this user can
# reach, and ends all of it when the connection ends. POSIX sh.
#
# Set before this text: device (the path), place (the directory to make), silence (after
# how many seconds without a word from the other end everything is ended).
# Every request is a line on standard input; its answer is lines that begin with a word,
# ended by a line with a dot. A line that begins with "!" says why it could not be done.

umask 077
export LC_ALL=C
PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
server= keeper= watcher=

say() { printf '%s\n' "$*"; }
refuse() { say "!$*"; say .; exit 1; }

end_group() {
    kill -TERM "-$1" 2>/dev/null || return 0
    for wait in 1 2 3 4 5 6 7 8 9 10; do
        kill -0 "-$1" 2>/dev/null || return 0
        sleep 0.1 2>/dev/null || sleep 1
    done
    kill -KILL "-$1" 2>/dev/null
}

finish() {
    trap '' HUP INT TERM PIPE
    [ -z "$server" ] || end_group "$server"
    for helper in $keeper $watcher; do
        kill -KILL "$helper" 2>/dev/null
    done
    cd / && rm -rf "$place"
}

# Opens our handle on the device once more, exclusively: $1 says what then.
exclusively() {
    if command -v perl >/dev/null 2>&1; then
        exec perl -e 'use Fcntl; $| = 1;
            sysopen(my $f, "/proc/self/fd/9", O_RDWR | O_EXCL) or do { print "no $!\n"; exit };
            print "yes\n"; if ($ARGV[0] eq "hold") { sleep 3600 while 1 }' "$1"
    elif command -v python3 >/dev/null 2>&1; then
        exec python3 -c 'import os, sys, time
try:
    f = os.open("/proc/self/fd/9", os.O_RDWR | os.O_EXCL)
except OSError as error:
    print("no", error.strerror); sys.exit()
print("yes", flush=True)
while sys.argv[1] == "hold": time.sleep(3600)' "$1"
    else
        say "no neither perl nor python3 is installed, so it cannot be tried"
    fi
}

# What a file holds, if it is there.
tell() { [ -r "$2" ] && say "$1 $(cat "$2" 2>/dev/null)"; }

# Who holds one of these nodes open for writing: /proc/PID/fdinfo has the flags.
writers() {
    ls -l /proc/[0-9]*/fd 2>/dev/null | awk -v nodes="$1" '
        BEGIN { n = split(nodes, all, " "); for (i = 1; i <= n; i++) wanted[all[i]] = 1 }
        /^\/proc\/[0-9]+\/fd:$/ { split($0, part, "/"); pid = part[3]; next }
        NF > 3 && $(NF - 1) == "->" && ($NF in wanted) { print pid, $(NF - 2) }' |
    while read -r pid fd; do
        flags=$(awk '$1 == "flags:" { print $2 }' "/proc/$pid/fdinfo/$fd" 2>/dev/null)
        case $flags in
        *[123567]) [ "$pid" = "$keeper" ] ||
            say "writer $pid $(cat "/proc/$pid/comm" 2>/dev/null)" ;;
        esac
    done
}

look() {
    tell boot /proc/sys/kernel/random/boot_id
    say "name $(uname -n)"
    say "kernel $(uname -r)"
    say "user $(id -u)"
    say "number $number"
    say "node $node"
    [ ! -e "$sys/partition" ] || say "partition yes"
    tell blocks "$sys/size"
    tell readonly "$sys/ro"
    tell logical "$sys/queue/logical_block_size"
    tell physical "$sys/queue/physical_block_size"
    tell rotational "$sys/queue/rotational"
    tell wwid "$sys/wwid" || tell wwid "$sys/device/wwid" || tell wwid "$sys/dm/uuid"
    command -v lsblk >/dev/null 2>&1 || refuse "lsblk is not installed"
    say "model $(lsblk -dno MODEL "/dev/$node" 2>/dev/null)"
    serial=$(lsblk -dno SERIAL "/dev/$node" 2>/dev/null)
    [ -n "$serial" ] || serial=$(cat "$sys/device/serial" "$sys/serial" 2>/dev/null | head -n 1)
    say "serial $serial"
    tell namespace "$sys/nsid"
    blocks=$(lsblk -rno MAJ:MIN,KNAME,TYPE,SIZE,FSTYPE "/dev/$node" 2>/dev/null) ||
        refuse "lsblk does not list /dev/$node"
    printf '%s\n' "$blocks" | sed 's/^/block /'
    for holder in "$sys"/holders/* "$sys"/*/holders/*; do
        [ ! -e "$holder" ] || say "holder ${holder##*/}"
    done
    [ -r /proc/self/mountinfo ] && [ -r /proc/swaps ] || refuse "/proc cannot be read"
    cat /proc/[0-9]*/mountinfo 2>/dev/null | awk '{
        i = 7; while (i < NF && $i != "-") i++
        print "mount", $3, $(i + 2), $5 }' | sort -u
    sed '1d; s/^/swap /' /proc/swaps
    writers "$(lsblk -rno KNAME "/dev/$node" | sed 's|^|/dev/|' | tr '\n' ' ')"
    command -v fio >/dev/null 2>&1 || refuse "fio is not installed; install the package fio"
    say "fio $(fio --version 2>&1 | head -n 1)"
    say "seen yes"
}

# A host that is cut off is told nothing, and its sshd can take hours to notice: without
# this, its part of a load would run on. Every word from the other end makes the file "pulse".
watch() {
    silent=0
    while [ "$silent" -lt "$silence" ]; do
        sleep 1
        silent=$((silent + 1))
        [ ! -e pulse ] || { rm -f pulse; silent=0; }
    done
    if [ "$(readlink /proc/$$/cwd)" = "$(readlink /proc/self/cwd)" ]; then
        kill -TERM $$
    else
        finish
    fi
}

serve() {
    command -v setsid >/dev/null 2>&1 || refuse "setsid (util-linux) is not installed"
    setsid fio --server="sock:$place/socket" </dev/null >server.log 2>&1 &
    server=$!
    for wait in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        if [ -S socket ]; then
            watch </dev/null >/dev/null 2>&1 &
            watcher=$!
            say "serves $server"
            return
        fi
        kill -0 "$server" 2>/dev/null || break
        sleep 0.25 2>/dev/null || sleep 1
    done
    refuse "fio --server did not start: $(tail -n 3 server.log | tr '\n' ' ')"
}

hold() {
    exclusively hold </dev/null >held 2>&1 &
    keeper=$!
    for wait in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        [ ! -s held ] || break
        sleep 0.1 2>/dev/null || sleep 1
    done
    say "exclusive $(cat held) $keeper"
}

mkdir "$place" 2>/dev/null || refuse "the directory $place cannot be created"
trap finish EXIT
trap 'exit 1' HUP INT TERM PIPE
cd "$place" || refuse "$place cannot be entered"
[ -b "$device" ] || refuse "$device is no block device on this host"
[ -r "$device" ] || refuse "$device cannot be read; log in as root"
exec 9<"$device"
number=$(stat -L -c '%t %T' /proc/self/fd/9) || refuse "stat does not tell what $device is"
number="$((0x${number% *})):$((0x${number#* }))"
sys=/sys/dev/block/$number
[ -d "$sys" ] || refuse "$sys cannot be read"
node=$(readlink -f "$sys")
node=${node##*/}
# Every thread waits for the agreed moment, then notes when it went on.
cat >begin <<'BEGIN'
now=$(date +%s%N)
left=$(($(cat at) - now))
[ "$left" -le 0 ] || sleep "$(printf '%d.%09d' $((left / 1000000000)) $((left % 1000000000)))"
date +%s%N >>began
BEGIN
say "here $place"
say .

while read -r request rest; do
    : >pulse
    case $request in
    pulse) continue ;;
    look) look ;;
    hold) hold ;;
    serve) serve ;;
    clock) say "clock $(date +%s%N)" ;;
    at) say "$rest" >at; : >began; say "at $rest" ;;
    began) sed 's/^/began /' began ;;
    counters) say "counters $(cat "$sys/stat")" ;;
    end) exit 0 ;;
    *) say "!unknown request" ;;
    esac
    say .
done
