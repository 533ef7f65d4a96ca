#!/usr/bin/env python3
"""The ordinary side in Python, by ctypes: reads samples of ./wave and stops it.

    ./scope.py /run/wave.sock [SAMPLES]

TACTUS_RT names the library unless the system finds it.
"""
import ctypes
import os
import select
import sys

TRT_READ, TRT_WRITE, TRT_FIFO = 1, 0, 0  # As in tactus_rt.h.
STOP = 1


class Sample(ctypes.Structure):
    _fields_ = [("number", ctypes.c_uint64), ("missed", ctypes.c_uint64), ("position", ctypes.c_int64)]


class Command(ctypes.Structure):
    _fields_ = [("what", ctypes.c_uint32), ("step", ctypes.c_int32)]


library = ctypes.CDLL(os.environ.get("TACTUS_RT", "libtactusrt.so.0"))
library.trt_error.restype = ctypes.c_char_p
library.trt_open.argtypes = [
    ctypes.POINTER(ctypes.c_uint64), ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32,
    ctypes.c_char_p, ctypes.c_size_t,
]
library.trt_get.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64]
library.trt_put.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
library.trt_pollfd.argtypes = [ctypes.c_uint64]
library.trt_close.argtypes = [ctypes.c_uint64]


def checked(result):
    """Returns what a call returned, unless it failed."""
    if result < 0:
        raise OSError(-result, library.trt_error().decode())
    return result


def opened(socket, name, kind, layout, item):
    """Opens a channel."""
    channel = ctypes.c_uint64()
    socket, name, layout = socket.encode(), name.encode(), layout.encode()
    checked(library.trt_open(channel, socket, name, kind, layout, ctypes.sizeof(item)))
    return channel


def main():
    socket, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    sample, command = Sample(), Command(STOP, 0)
    layout = "sample 1: number u64, missed u64, position i64"
    samples = opened(socket, "samples", TRT_FIFO | TRT_READ, layout, sample)
    layout = "command 1: what u32, step i32"
    commands = opened(socket, "commands", TRT_FIFO | TRT_WRITE, layout, command)
    poll = select.poll()
    poll.register(checked(library.trt_pollfd(samples)), select.POLLIN)
    read, before = 0, None
    while read < count:
        poll.poll(1000)
        while checked(library.trt_get(samples, ctypes.byref(sample), ctypes.sizeof(sample), 0)) == 1:
            if before is not None and sample.number != before + 1:
                print("lost", sample.number - before - 1)
            read, before = read + 1, sample.number
    print("read", read, "samples, the last at position", sample.position)
    checked(library.trt_put(commands, ctypes.byref(command), ctypes.sizeof(command)))
    library.trt_close(samples)
    library.trt_close(commands)


try:
    main()
except OSError as error:
    sys.exit(str(error))
