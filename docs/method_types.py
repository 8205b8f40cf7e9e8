"""What the signatures of `docs/build_methods.py` need beside the records: types and a glossary.

A record's annotations are in terms of nodes; here stands what a caller of `Tensor` gives and gets.
"""

from __future__ import annotations

# A parameter's annotation in the record → in a method.
ANNOTATIONS = {
    "UOp": "Operand",
    "UOp | None": "Operand | None",
    "UOp | Sequence[UOp]": "Operand | Sequence[Operand]",
    "DType": "DTypeLike",
    "Axis": "Axis",
}

# Where a record says `Any`: by the parameter's name, or by the op's and the parameter's.
BY_NAME = {
    "alpha": "Number",
    "axis": "Axis",
    "bounds": "Bounds",
    "destination": "Axes",
    "dilation": "Sizes",
    "dim": "Axis",
    "dims": "Axis",
    "dtype": "DTypeLike",
    "kernel_size": "Sizes",
    "operands": "Operand | Sequence[Operand]",
    "order": "Axes",
    "other": "Operand",
    "others": "Operand",
    "out": "Any",
    "output_padding": "Sizes",
    "output_size": "Extents",
    "p": "float | str",
    "padding": "Sizes",
    "q": "Operand | Sequence[float]",
    "repeats": "Sizes",
    "s": "Sizes",
    "shape": "Sizes",
    "shifts": "Sizes",
    "size": "Sizes",
    "source": "Axes",
    "src": "Operand",
    "stride": "Sizes",
    "value": "Operand",
    "values": "Operand",
    "x": "Operand",
}
BY_OP = {
    ("conv2d", "padding"): "Padding | str",
    ("conv_transpose2d", "padding"): "Padding | str",
    ("expand", "shape"): "Extents",
    ("flip", "axis"): "Axes",
    ("fold", "axis"): "Axes",
    ("pad", "padding"): "Padding",
    ("pad_to", "shape"): "Extents",
    ("reshape", "shape"): "Extents",
    ("shard", "devices"): "Any",
    ("shrink_to", "shape"): "Extents",
    ("tensordot", "dims"): "int | Sequence[int] | Sequence[Sequence[int]]",
    ("tile", "dims"): "Sizes",
    ("window", "axis"): "Axes",
}

# A result's annotation in the record → in a method.
RESULTS = {
    "UOp": "Tensor",
    "list[UOp]": "list[Tensor]",
    "tuple[UOp, ...]": "tuple[Tensor, ...]",
    "tuple[UOp, UOp]": "tuple[Tensor, Tensor]",
    "tuple[UOp, UOp, UOp]": "tuple[Tensor, Tensor, Tensor]",
    "Picked": "Picked[Tensor]",
    "Self": "Tensor",
}

# Ops whose result depends on an option: (the option's type, the result) of each case. Of the
# options before it, which have defaults, the later cases take it by name.
CASES = {
    "max_pool2d": (
        "return_indices",
        (("Literal[False]", "Tensor"), ("Literal[True]", "tuple[Tensor, Tensor]")),
    ),
    "median": ("dim", (("None", "Tensor"), ("int", "tuple[Tensor, Tensor]"))),
    "nanmedian": ("dim", (("None", "Tensor"), ("int", "tuple[Tensor, Tensor]"))),
}

# What a parameter means, said where the record's own text does not mention it.
GLOSSARY = {
    "align_corners": "whether the first and last elements stay where they are",
    "approximate": '"tanh", or "none" for the exact function',
    "atol": "the absolute tolerance",
    "axis": "the axis, counted from the end if it is negative",
    "bias": "one value per output channel or feature, added to the result",
    "correction": "is subtracted from the count that is divided by",
    "descending": "whether the largest comes first",
    "diagonal": "0 is the main one, above it positive, below it negative",
    "dilation": "the distance between neighbours inside a window, for all axes or for each",
    "dim": "the axis, counted from the end if it is negative",
    "equal_nan": "whether NaN equals NaN",
    "groups": "into how many groups the channels are divided, each with filters of its own",
    "keepdim": "whether the reduced axes stay, with size 1",
    "kernel_size": "the size of the window, for all axes or for each",
    "norm": '"backward", "ortho" or "forward": where the factor 1/n goes',
    "num_groups": "into how many groups the channels are divided",
    "padding": "what is added around each axis: for all, for each, or before and after each",
    "reduction": '"mean", "sum" or "none"',
    "rtol": "the relative tolerance",
    "stride": "the distance between neighbouring windows, for all axes or for each",
}
SEVERAL_AXES = "the axis or axes, counted from the end if negative"
ALL_AXES = f"{SEVERAL_AXES}; None means all"

# What the many values of a parameter are called where their list can be given by name.
VARIADIC = {"axis": "which", "dims": "counts", "order": "which", "repeats": "counts"}
VARIADIC |= {"shape": "sizes"}

# The other names under which an option is declared; see adjoint/ir/spelling.py.
TWINS = {
    "axis": ("dim", "dims", "axes"),
    "dim": ("axis", "dims", "axes"),
    "dims": ("dim", "axis", "axes"),
    "order": ("dims", "axes"),
    "keepdim": ("keepdims",),
    "correction": ("ddof",),
    "dim0": ("axis0",),
    "dim1": ("axis1",),
    "dim2": ("axis2",),
    "axis0": ("dim0",),
    "axis1": ("dim1",),
    "min_": ("min",),
    "max_": ("max",),
}

# Python's operators and the ops that they are.
OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floordiv",
    "mod": "mod",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "lshift",
    "rshift": "rshift",
    "lt": "lt",
    "le": "le",
    "gt": "lt",
    "ge": "le",
    "neg": "neg",
    "invert": "bitwise_not",
    "abs": "abs",
}

# Methods with the names of types; as functions those but `complex` would hide Python's, or dtypes.
CONVERSIONS = frozenset(
    {"bfloat16", "bool", "char", "complex", "double", "float", "half", "int", "long", "short"}
    | {"uchar"}
)
