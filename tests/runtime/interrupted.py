"""Processes that are interrupted at random times: all must end, soon, and with the right code.

`python -m tests.runtime.interrupted 500` runs that many and prints the figures; `make
test-interrupts` does so.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 5.0  # seconds from the signal to the end, on an idle machine
BEGIN = """
import signal, sys
import numpy as np
from adjoint import Tensor, jit, scan, while_loop
if sys.argv[1] == "exit":
    def leave(*_):
        raise SystemExit(7)
    signal.signal(signal.SIGTERM, leave)
print("ready", flush=True)
"""
WORK = {
    "compile": """
for i in range(10_000):
    x = Tensor(np.ones((8, 9), np.float32))
    for k in range(1 + i % 7):
        x = (x.roll(1 + k, 0) * (i + k + 0.5) + x.flip(0).tanh()).softmax(k % 2)
    x.realize()
""",
    "run": """
x = Tensor.ones(300_000).contiguous().realize()
while True:
    (x.reshape(-1, 1) * x).sin().sum().realize()
""",
    "one piece": """
x = Tensor(np.arange(3 << 21, dtype=np.float32)[::-1] * 0.7).contiguous().realize()
while True:
    x.sin().sort(0)[0].realize()
""",
    "loop": """
x = Tensor.ones(100).contiguous().realize()
jit(lambda x: while_loop(lambda v: v.sum() > 0, lambda v: v.abs(), x))(x).realize()
""",
    "steps": """
step = jit(lambda x: (x @ x.T).tanh() @ x)
x = Tensor.ones(64, 64).contiguous().realize()
while True:
    x = step(x).realize()
""",
}
ENDS = {"int": (signal.SIGINT, (-signal.SIGINT, 130)), "term": (signal.SIGTERM, (-signal.SIGTERM,))}
ENDS |= {"exit": (signal.SIGTERM, (7,)), "twice": (signal.SIGINT, (-signal.SIGINT, 130))}


@dataclass(frozen=True)
class Outcome:
    """How one process ended, and how long that took from the first signal."""

    work: str
    how: str
    code: int | None
    seconds: float
    errors: str

    @property
    def right(self):
        return self.code in ENDS[self.how][1]


def interrupted(work, how, after, patience):
    """Start a process, wait until it works, signal it after some seconds."""
    env = os.environ | {"ADJOINT_CACHE": "0", "ADJOINT_DEVICE": "CPU"}
    command = [sys.executable, "-c", BEGIN + WORK[work], how]
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    time.sleep(after)
    began = time.monotonic()
    process.send_signal(ENDS[how][0])
    if how == "twice":
        time.sleep(after / 50)
        process.send_signal(signal.SIGINT)
    try:
        errors = process.communicate(timeout=patience)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return Outcome(work, how, None, time.monotonic() - began, process.communicate()[1])
    return Outcome(work, how, process.returncode, time.monotonic() - began, errors)


def outcomes(count, seed, patience, longest=1.4):
    """That many processes, of all kinds in turn, at times drawn from the seed."""
    rng = random.Random(seed)
    kinds = [(work, how) for work in WORK for how in ENDS]
    for number in range(count):
        work, how = kinds[number % len(kinds)]
        yield interrupted(work, how, longest * rng.random() ** 2, patience)


def main(count):
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background shell's: see conftest
        signal.signal(signal.SIGINT, signal.default_int_handler)
    ended, slowest, wrong = Counter(), 0.0, []
    for outcome in outcomes(count, seed=count, patience=60.0):
        ended[outcome.how, outcome.code] += 1
        slowest = max(slowest, outcome.seconds)
        if not outcome.right or outcome.seconds > PATIENCE:
            wrong.append(outcome)
            print(outcome, flush=True)
    for (how, code), number in sorted(ended.items(), key=str):
        print(f"{number:5d} {how}: exit code {code}")
    print(f"{count} processes, {len(wrong)} wrong; the slowest took {slowest:.2f} s to end")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
