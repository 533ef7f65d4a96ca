#!/usr/bin/env python3
"""A metronome by ctypes: sends clicks ahead of their times, and prints how late each was delivered.

    metronome.py DEVICE [CLICKS [SOCKET]]

TACTUS_RT is the path of the library, if it is not installed. Times are those of
time.monotonic_ns().
"""
import ctypes
import os
import sys
import time

INTERVAL = 20_000_000  # 20 ms
AHEAD = 100_000_000  # 100 ms
OUTCOMES = "delivered failed late stopped cut closed ended refused unknown".split()


class Receipt(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_uint64),
        ("due_ns", ctypes.c_int64),
        ("began_ns", ctypes.c_int64),
        ("ended_ns", ctypes.c_int64),
        ("stream", ctypes.c_uint32),
        ("outcome", ctypes.c_uint32),
        ("evidence", ctypes.c_uint32),
        ("correction_ppb", ctypes.c_int32),
    ]


tactus = ctypes.CDLL(os.environ.get("TACTUS_RT", "libtactusrt.so.0"))
tactus.tactus_error.restype = ctypes.c_char_p
text, u32, u64, i64 = ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
tactus.tactus_connect.argtypes = [ctypes.POINTER(u64), text, text, u32, u32]
tactus.tactus_open.argtypes = [u64, text, ctypes.POINTER(u32)]
tactus.tactus_at.argtypes = [
    u64, u32, i64, text, ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(u64),
]
tactus.tactus_receipt_next.argtypes = [u64, ctypes.POINTER(Receipt), i64]
tactus.tactus_disconnect.argtypes = [u64]


def check(returned):
    if returned < 0:
        sys.exit(tactus.tactus_error().decode())
    return returned


def main(device, clicks="50", socket=None):
    clicks = int(clicks)
    server, stream, receipt = u64(), u32(), Receipt()
    path = socket.encode() if socket else None
    check(tactus.tactus_connect(ctypes.byref(server), path, b"metronome.py", 0, 0))
    check(tactus.tactus_open(server, device.encode(), ctypes.byref(stream)))
    start, sent, delivered, answered = time.monotonic_ns() + AHEAD, 0, 0, 0
    while answered < clicks:
        # As many as lie within the next 100 ms are at the server.
        while sent < clicks and start + sent * INTERVAL < time.monotonic_ns() + AHEAD:
            due = start + sent * INTERVAL
            check(tactus.tactus_at(server, stream, due, b"\x99\x25\x64", 3, None, None))
            sent += 1
        if check(tactus.tactus_receipt_next(server, ctypes.byref(receipt), INTERVAL // 2)) == 0:
            continue
        answered += 1
        outcome = OUTCOMES[receipt.outcome]
        delivered += outcome == "delivered"
        late = f" {(receipt.began_ns - receipt.due_ns) // 1000} us late" if receipt.began_ns >= 0 else ""
        print(f"{receipt.id} {outcome}{late}")
    print(f"delivered {delivered} of {clicks}")
    check(tactus.tactus_disconnect(server))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
