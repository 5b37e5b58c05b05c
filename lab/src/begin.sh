# The start of every guest: mounts what programs expect, runs its script, leaves the output on the
# second disk as one archive, and powers off. The kernel's command line names the script
# (lab.script) and the seconds after which the guest powers off in any case (lab.limit).

export PATH=/bin HOME=/tmp LC_ALL=C
for place in out run tmp; do
    mount -t tmpfs none /$place
done
# The root is read-only; changes of host settings are journaled here.
mkdir -m 700 /run/state
export STATE_DIRECTORY=/run/state
mount -t debugfs none /sys/kernel/debug
cd /out

# Runs a command and keeps its output and exit code: ask NAME COMMAND...
ask() {
    name=$1
    shift
    "$@" </dev/null >"/out/$name.stdout" 2>"/out/$name.stderr"
    echo $? >"/out/$name.code"
    tell "$name: $(cat "/out/$name.code") after $(cut -d' ' -f1 /proc/uptime) s"
}

# Writes a line to the console, where the lab waits for it.
tell() {
    echo "lab: $*"
}

# Waits until a command succeeds, for a limited time: await SECONDS COMMAND...
await() {
    left=$(($1 * 10)) pause=0.1
    # A look costs the emulated processor much, and a long wait would take most of it.
    [ "$1" -lt 600 ] || left=$(($1 / 5)) pause=5
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || return 1
        sleep $pause
    done
}

# Prints the number of finished steps of a run: steps RUN
steps() {
    grep -c '"applied"' "/out/$1/journal.jsonl" 2>/dev/null
}

# Succeeds if a run has finished at least this many steps: finished RUN STEPS
finished() {
    [ "$(steps "$1")" -ge "$2" ]
}

# Waits for the end of a run and skips its report, which takes a minute to typeset under emulation:
# conclude SECONDS RUN
conclude() {
    await "$1" grep -q '"entry":"ended"' "/out/$2/journal.jsonl"
    killall -KILL steadfast
}

# Sets the address of the only network interface: network ADDRESS
network() {
    ip link set lo up
    ip address add "$1/24" dev eth0
    ip link set eth0 up
}

given() {
    sed -n "s/.*lab\.$1=\([^ ]*\).*/\1/p" /proc/cmdline
}

(sleep "$(given limit)"; poweroff -f) &
. "/lab/$(given script)"
dmesg >/out/dmesg
tar -C /out -cf /dev/vdb . && sync && tell done
poweroff -f
