# What a host's own shell does before and after steadfast runs there: it makes a directory
# that only this user can enter, stores the program that comes over the connection, runs it,
# and removes everything when it has ended, however it ended. POSIX sh.
#
# Set before this text: device (the path), place (the directory to make), version (what the
# program must print), silence (after how many seconds without a word from the other end
# the program ends everything).
# An answer is lines ended by a line with a dot; a line that begins with "!" says why
# something could not be done.

umask 077
export LC_ALL=C
login=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin
store=$place program= entered=

say() { printf '%s\n' "$*"; }
refuse() { say "!$*"; say .; exit 1; }

finish() {
    trap '' HUP INT TERM PIPE
    # The program ends its server itself, unless it was killed.
    [ -z "$entered" ] || [ ! -s server ] || kill -KILL "-$(cat server)" 2>/dev/null
    cd / && rm -rf "$place" "$store"
}

# Whether programs can be run from the directory $1: it may be mounted noexec.
runs() {
    printf '#!/bin/sh\nexit 0\n' >"$1/probe" && chmod 700 "$1/probe" && "$1/probe" 2>/dev/null
}

# Whether nobody but root can change what is at the path $1.
is_roots() { [ -z "$(find -L "$1" -maxdepth 0 '(' ! -user 0 -o -perm /022 ')' 2>&1)" ]; }

# Whether no other user can exchange an entry of root's in the directory $1.
is_sticky_or_roots() { is_roots "$1" || { [ -k "$1" ] && [ "$(stat -L -c %u "$1")" = 0 ]; }; }

prints_version() {
    printed=$("$1" --version </dev/null 2>&1 | head -n 1)
    [ "$printed" = "$version" ]
}

[ -k /tmp ] && [ "$(stat -L -c %u /tmp)" = 0 ] ||
    refuse "/tmp is no sticky directory of root, so that others could replace files in it; set it with: chown root /tmp; chmod 1777 /tmp"
mkdir "$place" 2>/dev/null || refuse "the directory $place cannot be created"
trap finish EXIT
trap 'exit 1' HUP INT TERM PIPE
cd "$place" || refuse "$place cannot be entered"
entered=1
say "machine $(uname -m)"
say .

# How many bytes of the program follow; none where it is made for another machine.
read -r length || exit 1
why="the program here is made for another kind of machine"
if [ "$length" -gt 0 ]; then
    why="no directory of this host allows programs to be run"
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
            why="the program that was sent cannot be run there: $printed"
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
    refuse "$why. Install $version there: this host is checked by the same program as the one here, or not used"
PATH=$login "$program" attend-host --device "$device" --silence "$silence"
