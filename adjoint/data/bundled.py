"""Small real datasets that come with scikit-learn's package: no download, and no import of it."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from adjoint.data.dataset import Dataset
from adjoint.errors import FileError

_WINE = (
    "alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids "
    "nonflavanoid_phenols proanthocyanins color_intensity hue od280/od315 proline"
)
_CELL = (
    *("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity"),
    *("concave points", "symmetry", "fractal dimension"),
)
_IRIS = ("sepal length", "sepal width", "petal length", "petal width")


def digits() -> Dataset:
    """1797 handwritten digits: x float32[64], 8 × 8 pixels from 0 to 16, row by row; y 0 to 9."""
    table = _table("digits.csv.gz")
    pixels = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    return _classified(table).named(pixels, [str(digit) for digit in range(10)])


def wine() -> Dataset:
    """178 wines of 3 growers: x float32[13], chemistry; y 0 to 2."""
    return _classified(_table("wine_data.csv", skip=1)).named(
        _WINE.split(), ("class_0", "class_1", "class_2")
    )


def breast_cancer() -> Dataset:
    """569 tumours: x float32[30], measures of cell nuclei; y 0 malignant, 1 benign."""
    kinds = [f"mean {c}" for c in _CELL] + [f"{c} error" for c in _CELL]
    names = kinds + [f"worst {c}" for c in _CELL]
    return _classified(_table("breast_cancer.csv", skip=1)).named(names, ("malignant", "benign"))


def iris() -> Dataset:
    """150 irises of 3 species: x float32[4], sizes in cm; y 0 to 2."""
    species = ("setosa", "versicolor", "virginica")
    return _classified(_table("iris.csv", skip=1)).named(_IRIS, species)


def diabetes(scaled: bool = True) -> Dataset:
    """442 patients: x float32[10]; y float32, how far the disease has come in a year.

    Scaled, each feature has mean 0 and sum of squares 1, as in `sklearn.datasets.load_diabetes`.
    """
    x = _table("diabetes_data_raw.csv.gz", delimiter=None)
    y = _table("diabetes_target.csv.gz", delimiter=None).reshape(-1)
    if scaled:
        x = x - x.mean(0)
        x = x / (x.std(0) * len(x) ** 0.5)
    names = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
    return Dataset(x.astype(np.float32), y.astype(np.float32)).named(names)


def _classified(table: np.ndarray) -> Dataset:
    return Dataset(table[:, :-1].astype(np.float32), table[:, -1].astype(np.int64))


def _table(name: str, skip: int = 0, delimiter: str | None = ",") -> np.ndarray:
    file = _folder() / name
    try:
        with gzip.open(file, "rt") if name.endswith(".gz") else open(file) as lines:
            return np.loadtxt(lines, delimiter=delimiter, skiprows=skip)
    except OSError as error:
        problem = f"scikit-learn is installed, but its {name} cannot be read: {error}"
        fix = "pip install --force-reinstall scikit-learn"
        raise FileError("E9006", problem, op="data", help=fix) from error


def _folder() -> Path:
    spec = find_spec("sklearn")
    if spec is None or not spec.submodule_search_locations:
        problem = "this dataset comes with scikit-learn, which is not installed"
        raise FileError("E9006", problem, op="data", help="pip install adjoint[data]")
    return Path(spec.submodule_search_locations[0]) / "datasets" / "data"
