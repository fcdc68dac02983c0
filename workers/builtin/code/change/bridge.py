"""Inside the box of the SDK's client: the box has no network but its loopback, and this leads to one socket.

Run as a file by the Python of the box: bridge.py DIRECTORY PORT COMMAND…
"""

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Until one side has no more to say."""
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def serve(inside: socket.socket, folder: int) -> None:
    while True:
        near, _ = inside.accept()
        far = socket.socket(socket.AF_UNIX)
        far.connect(f"/proc/self/fd/{folder}/model")  # its whole path may be too long for a socket
        for pair in ((near, far), (far, near)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


def main(folder: str, port: str, *command: str) -> int:
    inside = socket.create_server(("127.0.0.1", int(port)), backlog=16)
    threading.Thread(target=serve, args=(inside, os.open(folder, os.O_RDONLY)), daemon=True).start()
    return subprocess.run(command, check=False).returncode  # noqa: S603 # the driver's own words


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
