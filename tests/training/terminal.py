"""A terminal of a given width, for programs that want one."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time


def on_terminal(command, width, **environment):
    """What a terminal of that width is sent by a command that succeeds."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "TERM")}
    settings = kept | {"TERM": "xterm", "PYTHONIOENCODING": "utf-8", **environment}
    child = subprocess.Popen(command, stdout=slave, stderr=slave, stdin=slave, env=settings)
    os.close(slave)
    data, until = b"", time.monotonic() + 600
    while time.monotonic() < until and select.select([master], [], [], 600)[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:  # how Linux says that nobody writes any more
            break
        if not piece:
            break
        data += piece
    os.close(master)
    assert child.wait(600) == 0, data
    return data.decode()


def drawn(text):
    """The lines that stood on the terminal, one after the other, without escape codes."""
    parts = re.split(r"[\r\n]+", text)
    return [re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", part) for part in parts]
