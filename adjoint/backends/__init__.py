"""One folder per kind of device, behind one protocol (`protocol.py`). The engine names none.

In: loop programs and steps. Out: code, memory, and something to launch.
May not: see the schedule or the engine, or choose how anything is computed.
"""
