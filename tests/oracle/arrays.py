"""How ours is called for torch's reductions, shapes and indexing; no torch, no Adjoint here."""

from __future__ import annotations

from typing import Any

from tests.oracle.elementwise import Call, Missing, each, method


def reduction(name: str) -> Call:
    """A reduction whose axis torch calls dim."""
    return lambda x, dim=None, keepdim=False, **named: getattr(x, name)(dim, keepdim, **named)


def along(name: str) -> Call:
    """An op along one axis, which torch calls dim."""
    return lambda x, dim, **named: getattr(x, name)(dim, **named)


def _spread(name: str) -> Call:
    """var and std: torch's `unbiased` is a correction of 1 or 0."""

    def call(
        x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = 1
    ) -> Any:
        if isinstance(dim, bool):  # the overload without axes: (unbiased)
            dim, unbiased = None, dim
        used = correction if unbiased is None else int(unbiased)
        return getattr(x, name)(dim, keepdim, 1 if used is None else used)

    return call


def _with_index(name: str) -> Call:
    """max and min along an axis, whose second result is where they were found."""

    def call(x: Any, dim: int, keepdim: bool = False) -> Any:
        return getattr(x, name)(dim, keepdim), getattr(x, f"arg{name}")(dim, keepdim)

    return call


def _sort(x: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return x.sort(dim, descending)


def _argsort(x: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return x.argsort(dim, descending)


def _searchsorted(
    x: Any,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    side: Any = None,
    **named: Any,
) -> Any:
    rows = named.get("sorter")
    x = x if rows is None else x.gather(-1, rows)
    return x.searchsorted(values, right or side == "right")


def _split(x: Any, sizes: Any, dim: int = 0) -> Any:
    return x.split(sizes, dim)


def _joined(name: str) -> Call:
    return lambda tensors, *args, **named: getattr(tensors[0], name)(*tensors[1:], *args, **named)


def _joined_along(name: str) -> Call:
    return lambda tensors, dim=0: getattr(tensors[0], name)(*tensors[1:], dim=dim)


def _tensor_split(x: Any, where: Any, dim: int = 0) -> Any:
    return x.tensor_split(where.tolist() if hasattr(where, "tolist") else where, dim)


def _select(x: Any, dim: int, index: int) -> Any:
    return x[(slice(None),) * (dim % x.ndim) + (index,)]


def _slice(x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _narrow(x: Any, dim: int, start: Any, length: int) -> Any:
    return x.narrow(dim, start if isinstance(start, int) else start.item(), length)


def _nonzero(x: Any, as_tuple: bool = False) -> Any:
    found = x.argwhere()
    return tuple(found[:, i] for i in range(found.shape[1])) if as_tuple else found


def _unique(
    x: Any, dim: Any = None, return_inverse: bool = False, return_counts: bool = False, **_: Any
) -> Any:
    if dim is not None:
        raise Missing("unique(dim=)")
    return x.unique(return_inverse, return_counts)


def _variables(x: Any, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    if fweights is not None or aweights is not None:
        raise Missing("cov(fweights=, aweights=)")
    return x.cov(correction)


def _cast_then(name: str) -> Call:
    """cumsum and cumprod in another dtype."""
    return lambda x, dim, dtype=None: getattr(x if dtype is None else x.cast(dtype), name)(dim)


def _meshgrid(*tensors: Any, indexing: str = "ij") -> Any:
    first, *others = tensors[0] if isinstance(tensors[0], list) else tensors
    return first.meshgrid(*others, indexing=indexing)


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    if accumulate:
        raise Missing("x[i] = v that adds")
    changed = x.clone()
    changed[tuple(indices)] = values
    return changed


def _broadcast(*tensors: Any) -> Any:
    shape = _common_shape([t.shape for t in tensors])
    return tuple(t.expand(shape) for t in tensors)


def _common_shape(shapes: Any) -> tuple[int, ...]:
    rank = max(len(s) for s in shapes)
    aligned = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*aligned, strict=True))


REDUCTIONS: dict[str, Call] = {
    **each("sum mean amax amin all any nansum nanmean count_nonzero", reduction),
    **each("argmax argmin logsumexp prod", reduction),
    **each("var std var_mean std_mean", _spread),
    **{f"{name}.unbiased": _spread(name) for name in ("var", "std", "var_mean", "std_mean")},
    "max.reduction_no_dim": method("max"),
    "min.reduction_no_dim": method("min"),
    "max.reduction_with_dim": _with_index("max"),
    "min.reduction_with_dim": _with_index("min"),
    "aminmax": lambda x, dim=None, keepdim=False: x.aminmax(dim, keepdim),
    "median": method("median"),
    "nanmedian": method("nanmedian"),
    "quantile": method("quantile"),
    "mode": method("mode"),
    "kthvalue": method("kthvalue"),
    "topk": method("topk"),
    "sort": _sort,
    "argsort": _argsort,
    "msort": method("msort"),
    "cumsum": _cast_then("cumsum"),
    "cumprod": _cast_then("cumprod"),
    "cummax": along("cummax"),
    "cummin": along("cummin"),
    "logcumsumexp": along("logcumsumexp"),
    "softmax": lambda x, dim, dtype=None: x.softmax(dim, dtype),
    "softmax.with_dtype": lambda x, dim, dtype=None: x.softmax(dim, dtype),
    "log_softmax": lambda x, dim, dtype=None: x.log_softmax(dim, dtype),
    "log_softmax.with_dtype": lambda x, dim, dtype=None: x.log_softmax(dim, dtype),
    "nn.functional.softmin": lambda x, dim, dtype=None: x.softmin(dim, dtype),
    "nn.functional.softmin.with_dtype": lambda x, dim, dtype=None: x.softmin(dim, dtype),
    "trapz": method("trapezoid"),
    "trapezoid": method("trapezoid"),
    "diff": method("diff"),
    "dist": method("dist"),
    "cov": _variables,
    "corrcoef": method("corrcoef"),
    "unique": _unique,
    "histc": method("histc"),
    "bincount": method("bincount"),
    "bucketize": lambda x, bounds, out_int32=False, right=False: x.bucketize(bounds, right),
    "searchsorted": _searchsorted,
    "norm": method("norm"),
    "norm.fro": method("norm"),
    "norm.inf": method("norm"),
}

SHAPES: dict[str, Call] = {
    **each("reshape view reshape_as view_as permute transpose movedim"),
    **each("squeeze unsqueeze expand expand_as broadcast_to flatten"),
    **each("unflatten fliplr flipud roll rot90 repeat tile unfold"),
    **each("chunk unbind diag diagonal tril triu trace"),
    **each("hstack vstack dstack column_stack", _joined),
    "cat": _joined_along("cat"),
    "stack": _joined_along("stack"),
    "squeeze.multiple": method("squeeze"),
    "ravel": method("flatten"),
    "flip": lambda x, dims: x.flip(dims),
    "repeat_interleave": lambda x, repeats, dim=None, output_size=None: x.repeat_interleave(
        repeats, dim
    ),
    "atleast_1d": lambda *tensors: _each("atleast_1d", tensors),
    "atleast_2d": lambda *tensors: _each("atleast_2d", tensors),
    "atleast_3d": lambda *tensors: _each("atleast_3d", tensors),
    "split": _split,
    "split.list_args": _split,
    "split_with_sizes": _split,
    "tensor_split": _tensor_split,
    "narrow": _narrow,
    "select": _select,
    "slice": _slice,
    "T": lambda x: x.T,
    "t": lambda x: x.T if x.ndim == 2 else x,
    "mT": lambda x: x.mT,
    "meshgrid.variadic_tensors": _meshgrid,
    "meshgrid.list_of_tensors": _meshgrid,
    "broadcast_tensors": _broadcast,
    "constant_pad_nd": lambda x, pad, value=0: x.pad(pad, value=value),
    "nn.functional.pad.constant": lambda x, pad, mode="constant", value=0: x.pad(pad, mode, value),
    "nn.functional.pad.reflect": method("pad"),
    "nn.functional.pad.replicate": method("pad"),
    "nn.functional.pad.replicate_negative": method("pad"),
    "nn.functional.pad.circular": method("pad"),
}


def _each(name: str, tensors: Any) -> Any:
    listed = tensors[0] if isinstance(tensors[0], (list, tuple)) else tensors
    return tuple(getattr(t, name)() for t in listed)


INDEXING: dict[str, Call] = {
    **each("gather scatter scatter_add index_select index_add"),
    **each("index_copy index_fill take take_along_dim"),
    **each("masked_select masked_scatter argwhere"),
    **each("sum prod mean amin amax", lambda _: method("scatter_reduce"), "scatter_reduce."),
    "nonzero": _nonzero,
    "__getitem__": lambda x, index: x[index],
    "index_put": _index_put,
    "nn.functional.embedding": lambda w, idx: w.embedding(idx),
    "nn.functional.one_hot": method("one_hot"),
}
