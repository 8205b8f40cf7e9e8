"""The graph: dtypes, nodes, attributes, records, patterns and rules.

In: nothing but dtypes and NumPy scalars. Out: `UOp` nodes, the op record, patterns and rules. May
not: name an op's meaning (that is `ops/`), hold tensor data, run anything.
"""
