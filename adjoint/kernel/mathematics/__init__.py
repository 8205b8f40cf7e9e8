"""Elementary functions in basic arithmetic, correct to the bounds of docs/math.md.

In: scalar kernel nodes. Out: scalar kernel nodes. May not: know of loops or targets.
"""
