# Script for a host's shell: creates a directory that only this user can enter, stores the
# program received over the connection, runs it, and removes everything when it has ended,
# even if it was killed. POSIX sh.
#
# Variables set before this text: device (path), place (directory to create), version (what the
# program must print), silence (seconds without input after which the program ends everything).
# An answer ends with a line that contains only a dot; a line that begins with "!" is an error
# message.

umask 077
export LC_ALL=C
login=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin
store=$place program= entered=

say() { printf '%s\n' "$*"; }
refuse() { say "!$*"; say .; exit 1; }

finish() {
    trap '' HUP INT TERM PIPE
    # The program ends its server itself unless it was killed.
    [ -z "$entered" ] || [ ! -s server ] || kill -KILL "-$(cat server)" 2>/dev/null
    cd / && rm -rf "$place" "$store"
}

# Succeeds if programs can be run from the directory $1, which may be mounted noexec.
runs() {
    printf '#!/bin/sh\nexit 0\n' >"$1/probe" && chmod 700 "$1/probe" && "$1/probe" 2>/dev/null
}

# Succeeds if only root can change the file at the path $1.
is_roots() { [ -z "$(find -L "$1" -maxdepth 0 '(' ! -user 0 -o -perm /022 ')' 2>&1)" ]; }

# Succeeds if no other user can replace an entry of root in the directory $1.
is_sticky_or_roots() { is_roots "$1" || { [ -k "$1" ] && [ "$(stat -L -c %u "$1")" = 0 ]; }; }

prints_version() {
    printed=$("$1" --version </dev/null 2>&1 | head -n 1)
    [ "$printed" = "$version" ]
}

[ -k /tmp ] && [ "$(stat -L -c %u /tmp)" = 0 ] ||
    refuse "/tmp is not a sticky directory owned by root, so other users could replace files in it; fix it with: chown root /tmp; chmod 1777 /tmp"
mkdir "$place" 2>/dev/null || refuse "the directory $place cannot be created"
trap finish EXIT
trap 'exit 1' HUP INT TERM PIPE
cd "$place" || refuse "$place cannot be entered"
entered=1
say "machine $(uname -m)"
say .

# Length of the program that follows in bytes; 0 if it was built for another architecture.
read -r length || exit 1
why="the program here is built for another architecture"
if [ "$length" -gt 0 ]; then
    why="programs cannot be run from any directory of this host"
    for directory in "$place" /run /root /var/tmp /dev/shm; do
        [ "$directory" = "$place" ] || { is_sticky_or_roots "$directory" && store=$(mktemp -d "$directory/steadfast-XXXXXXXXXX" 2>/dev/null); } || { store=; continue; }
        ! runs "$store" || break
        [ "$store" = "$place" ] || rm -rf "$store"
        store=
    done
    head -c "$length" >"${store:-$place}/steadfast" || refuse "the program cannot be stored in ${store:-$place}; free some space there"
    if [ -n "$store" ]; then
        chmod 700 "$store/steadfast"
        if prints_version "$store/steadfast"; then
            program=$store/steadfast
        else
            why="the program that was sent cannot be run: $printed"
        fi
    fi
fi
if [ -z "$program" ]; then
    for directory in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin; do
        installed=$directory/steadfast
        if [ -x "$installed" ] && is_roots "$directory" && is_roots "$installed" && prints_version "$installed"; then
            program=$installed
            break
        fi
    done
fi
[ -n "$program" ] ||
    refuse "$why. Install $version there: a host is used only if the same version checks it"
PATH=$login "$program" attend-host --device "$device" --silence "$silence"
