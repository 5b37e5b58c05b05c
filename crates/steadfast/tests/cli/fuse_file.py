"""Mounts a FUSE file system with one file, "file", of 1 MiB, whose reads and writes it answers
itself, as if this user had; its server says that all is root's. Prints "mounted" once it is:
fuse_file.py POINT USER"""

import ctypes
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE = 1, 2, 3, 4, 14, 15, 16, 17, 18
FSYNC, FLUSH, INIT, OPENDIR, RELEASEDIR = 20, 25, 26, 27, 29
HEADER = struct.Struct("<IIQQIIII")
ENOENT, ENOSYS = 2, 38
SIZE, FILE, DIRECT = 1 << 20, 2, 1

point, user = sys.argv[1:]
server = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={server},rootmode=40000,user_id={user},group_id={user},allow_other"
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"fuse", point.encode(), b"fuse", 0, options.encode()) != 0:
    raise OSError(ctypes.get_errno(), "mount")
print("mounted", flush=True)


def attributes(node):
    # Number, size, blocks, times, mode, links, user, group, device, block size.
    mode, size = (0o100644, SIZE) if node == FILE else (0o40755, 0)
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(operation, node, body):
    if operation == INIT:
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 0, 0, 65536, 1, 0, 0, 0)
    if operation in (GETATTR, SETATTR):
        return struct.pack("<QII", 0, 0, 0) + attributes(node)
    if operation == LOOKUP and body == b"file\0":
        return struct.pack("<QQQQII", FILE, 0, 0, 0, 0, 0) + attributes(FILE)
    if operation in (OPEN, OPENDIR):
        # The page cache would answer the reads.
        return struct.pack("<QII", 0, DIRECT if operation == OPEN else 0, 0)
    if operation == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        return bytes(max(0, min(size, SIZE - offset)))
    if operation == WRITE:
        _, _, size = struct.unpack_from("<QQI", body)
        return struct.pack("<II", size, 0)
    if operation == STATFS:
        return bytes(80)
    return b"" if operation in (RELEASE, RELEASEDIR, FSYNC, FLUSH) else None


while True:
    request = os.read(server, 1 << 18)
    _, operation, unique, node, *_ = HEADER.unpack_from(request)
    if operation == FORGET:
        continue
    content = answer(operation, node, request[HEADER.size:])
    error = 0 if content is not None else ENOENT if operation == LOOKUP else ENOSYS
    content = content or b""
    os.write(server, struct.pack("<IiQ", 16 + len(content), -error, unique) + content)
