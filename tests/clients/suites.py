"""The suites: what is run, with which plugin, of which tests a sample, and the bar each must meet.

A bar is the least share of the tests that ran and passed. `sample` is the N of one test in N; a
suite without one is run whole. The short suites are scored on the CPU; those that make thousands
of small graphs, each of them another, on REF, where nothing is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Suite:
    """One suite of another library."""

    name: str
    package: str  # the distribution whose version is shown
    plugin: str
    targets: tuple[str, ...]  # modules; a name with a slash is a path under .clients/
    bar: Fraction
    sample: int = 1
    device: str = "CPU"
    environment: dict[str, str] = field(default_factory=dict)
    when_named: bool = False  # too long for a run of all


def _scipy(
    name: str, targets: tuple[str, ...], bar: Fraction, sample: int = 1, device: str = "CPU"
) -> Suite:
    return Suite(f"scipy-{name}", "scipy", "scipy_plugin", targets, bar, sample, device, _ARRAYS)


_ARRAYS = {"SCIPY_ARRAY_API": "1"}
_ALL = Fraction(1)
_SKLEARN = (
    "sklearn._loss.tests",
    "sklearn.decomposition.tests.test_pca",
    "sklearn.linear_model._glm.tests.test_glm",
    "sklearn.linear_model.tests.test_base",
    "sklearn.linear_model.tests.test_logistic",
    "sklearn.linear_model.tests.test_ridge",
    "sklearn.metrics.cluster.tests.test_common",
    "sklearn.metrics.cluster.tests.test_supervised",
    "sklearn.metrics.tests.test_classification",
    "sklearn.metrics.tests.test_common",
    "sklearn.metrics.tests.test_pairwise",
    "sklearn.mixture.tests.test_gaussian_mixture",
    "sklearn.model_selection.tests.test_search",
    "sklearn.model_selection.tests.test_split",
    "sklearn.model_selection.tests.test_validation",
    "sklearn.preprocessing.tests",
    "sklearn.tests.test_calibration",
    "sklearn.tests.test_kernel_approximation",
    "sklearn.tests.test_naive_bayes",
    "sklearn.tests.test_pipeline",
    "sklearn.utils.tests.test_array_api",
    "sklearn.utils.tests.test_extmath",
    "sklearn.utils.tests.test_indexing",
    "sklearn.utils.tests.test_multiclass",
    "sklearn.utils.tests.test_optimize",
    "sklearn.utils.tests.test_stats",
    "sklearn.utils.tests.test_validation",
)
_ELEMENTWISE = (
    "scipy.optimize.tests.test_chandrupatla",
    "scipy.optimize.tests.test_bracket",
    "scipy.integrate.tests.test_tanhsinh",
)

SUITES = (
    Suite(
        "array-api-extra",
        "array-api-extra",
        "extra_plugin",
        ("array_api_extra.tests.main",),
        Fraction(1195, 1203),
    ),
    Suite("einops", "einops", "einops_plugin", ("einops.tests",), _ALL),
    _scipy("special", ("scipy.special",), Fraction(998, 1000)),
    _scipy("fft", ("scipy.fft",), Fraction(998, 1000), 8),
    _scipy("stats", ("scipy.stats",), Fraction(99, 100), 5, "REF"),
    _scipy("differentiate", ("scipy.differentiate",), Fraction(77, 78), 1, "REF"),
    replace(_scipy("elementwise", _ELEMENTWISE, Fraction(99, 100), 40, "REF"), when_named=True),
    Suite(
        "scikit-learn",
        "scikit-learn",
        "sklearn_plugin",
        _SKLEARN,
        Fraction(99, 100),
        1,
        "REF",
        _ARRAYS,
    ),
    Suite(
        "autograd",
        "autograd",
        "autograd_plugin",
        ("autograd/tests",),
        Fraction(427, 535),
        device="REF",
    ),
)
