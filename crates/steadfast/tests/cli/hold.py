"""Holds a file or a device in one way until it is killed; prints "held" once it does."""

import ctypes
import fcntl
import mmap
import os
import platform
import struct
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
CLONE_FILES = 0x400
F_OFD_SETLK = 37
SYS_EXIT = 60 if platform.machine() == "x86_64" else 93


def held():
    print("held", flush=True)
    time.sleep(900)


def hold(how, path):
    flags = {"exclusive": os.O_RDONLY | os.O_EXCL, "flock": os.O_RDONLY}
    handle = os.open(path, flags.get(how, os.O_RDWR))
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    if how == "map":
        kept = mmap.mmap(handle, 4096)
        os.close(handle)
        kept.seek(0)
    elif how == "flock":
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    elif how == "posix":
        fcntl.fcntl(handle, fcntl.F_SETLK, lock)
    elif how == "ofd":
        fcntl.fcntl(handle, F_OFD_SETLK, lock)
    held()


def in_a_thread(path, own_table):
    if own_table and libc.unshare(CLONE_FILES) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    hold("write", path)


how, path = sys.argv[1:]
if how in ("thread", "table"):
    threading.Thread(target=in_a_thread, args=(path, how == "table")).start()
    if how == "thread":
        # Ends the first thread alone.
        libc.syscall(SYS_EXIT, 0)
    time.sleep(900)
else:
    hold(how, path)
