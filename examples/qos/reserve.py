#!/usr/bin/env python3
"""Reserves CPU time for this thread at the QoS manager, works a while, and prints the grant.

usage: reserve.py [SOCKET]
"""
import json
import os
import socket
import sys
import threading
import time

MS = 1_000_000


class Manager:
    """A connection to the manager. Its reserves end with it."""

    def __init__(self, path="/run/tactus/qos.sock"):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.received = b""

    def call(self, method, parameters, descriptors=()):
        """Calls a method of org.tactus.qos and returns the result."""
        message = {"method": "org.tactus.qos." + method, "parameters": parameters}
        # A message is a JSON object and a NUL; descriptors come with its first byte.
        socket.send_fds(self.socket, [json.dumps(message).encode() + b"\0"], list(descriptors))
        while b"\0" not in self.received:
            piece = self.socket.recv(65536)
            if not piece:
                raise ConnectionError("the manager has closed the connection")
            self.received += piece
        reply, self.received = self.received.split(b"\0", 1)
        reply = json.loads(reply)
        if "error" in reply:
            raise RuntimeError(f"{reply['error']}: {reply['parameters']}")
        return reply["parameters"]


def main():
    manager = Manager(*sys.argv[1:2])
    # A pidfd names one thread, whatever becomes of its ID. PIDFD_THREAD is O_EXCL; it needs Linux 6.9.
    thread = os.pidfd_open(threading.get_native_id(), os.O_EXCL)
    need = {"period": 10 * MS, "cost_min": MS // 10, "cost_max": MS // 5, "importance": 20}
    grant = manager.call("Reserve", {"need": need, "descriptor": 0}, [thread])["grant"]
    print(f"{grant['cost']} ns in every {grant['period']} ns: {grant['promise']}")
    for _ in range(5):
        time.sleep(0.01)  # The periodic work.
    manager.call("Release", {"reserve": grant["reserve"]})


if __name__ == "__main__":
    main()
