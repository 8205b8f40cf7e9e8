"""`scipy.stats`: densities for tensors, SciPy's own functions for arrays and all else."""

from __future__ import annotations

from types import SimpleNamespace as _Names
from typing import Any

import scipy.stats as _stats

import adjoint as _adjoint

from ...dispatch import dispatched as _dispatched
from . import densities as _densities


def _of_tensors(function: Any, wrap: Any) -> Any:
    return lambda *args: wrap(function(*map(_adjoint.asarray, args)))


def _distribution(name: str, **parts: Any) -> Any:
    """SciPy's distribution, with the parts named here dispatched."""
    theirs = getattr(_stats, name)
    names = {part: getattr(theirs, part) for part in dir(theirs) if not part.startswith("_")}
    for part, (function, wrap) in parts.items():
        names[part] = _dispatched(names[part], _of_tensors(function, wrap))
    return _Names(**names)


def _plain(value: Any) -> Any:
    return value


def _log_and_exp(name: str, mass: str = "pdf") -> dict[str, Any]:
    function = getattr(_densities, f"{name}_log{mass}")
    return {f"log{mass}": (function, _plain), mass: (function, _adjoint.exp)}


_tails = {
    "cdf": (_densities.norm_cdf, _plain),
    "logcdf": (_densities.norm_cdf, _adjoint.log),
    "sf": (lambda x, loc, scale: _densities.norm_cdf(-x, -loc, scale), _plain),
    "logsf": (lambda x, loc, scale: _densities.norm_cdf(-x, -loc, scale), _adjoint.log),
}
beta = _distribution("beta", **_log_and_exp("beta"))
chi2 = _distribution("chi2", **_log_and_exp("chi2"))
dirichlet = _distribution("dirichlet", **_log_and_exp("dirichlet"))
gamma = _distribution("gamma", **_log_and_exp("gamma"))
norm = _distribution("norm", **_log_and_exp("norm"), **_tails)
poisson = _distribution("poisson", **_log_and_exp("poisson", "pmf"))
t = _distribution("t", **_log_and_exp("t"))
