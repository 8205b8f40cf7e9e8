"""`adjoint doctor`: what it finds on a good installation and on bad ones."""

import json
import warnings

import numpy as np
import pytest

from adjoint.cli import doctor as checks
from adjoint.cli import doctor_gpu
from adjoint.runtime.device import DeviceFacts


@pytest.fixture
def quick(monkeypatch, tmp_path_factory):
    """Without the process that measures the import, and with little in the cache."""
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr(checks, "_load", lambda: iter(()))


@pytest.fixture
def doctor(quick, adjoint_command):
    def call():
        code, out, _ = adjoint_command("doctor", "--json")
        return code, json.loads(out)

    return call


def named(data, name):
    return [check for check in data["checks"] if check["name"] == name]


def test_a_good_installation_is_all_well(adjoint_process):
    code, out, err = adjoint_process("doctor")
    assert (code, err) == (0, "")
    for name in ("python", "library", "device", "threads", "cache", "smoke test", "import"):
        assert f"  {name} " in out
    assert "numpy" in out
    assert out.splitlines()[-1].startswith("all is well")


def test_as_json_every_check_has_a_status(doctor):
    code, data = doctor()
    assert code == 0
    assert data["ok"] is True
    assert {check["status"] for check in data["checks"]} <= {"ok", "warn", "fail"}
    assert sum(data["counts"].values()) == len(data["checks"])


def test_a_wrong_switch_fails_and_one_that_is_not_known_warns(doctor, monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE_LIMIT", "lots")
    monkeypatch.setenv("ADJOINT_THRADS", "2")
    code, data = doctor()
    assert (code, data["ok"]) == (1, False)
    statuses = {c["text"].partition(" ")[0].partition("=")[0]: c for c in named(data, "switches")}
    assert statuses["ADJOINT_CACHE_LIMIT"]["status"] == "fail"
    assert statuses["ADJOINT_CACHE_LIMIT"]["fix"] == "unset ADJOINT_CACHE_LIMIT"
    assert statuses["ADJOINT_THRADS"]["fix"] == "did you mean 'ADJOINT_THREADS'?"


def test_a_cache_that_others_can_write_to_warns(doctor, monkeypatch, tmp_path):
    tmp_path.chmod(0o777)
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ADJOINT_CACHE", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code, data = doctor()
    (found,) = named(data, "cache")
    assert (code, found["status"]) == (0, "warn")
    assert "chmod 700" in found["fix"]


def test_a_cache_that_is_turned_off_or_a_file_warns(doctor, monkeypatch, tmp_path):
    monkeypatch.setenv("ADJOINT_CACHE", "0")
    assert named(doctor()[1], "cache")[0]["status"] == "warn"
    monkeypatch.setenv("ADJOINT_CACHE", "1")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ADJOINT_CACHE_DIR", str(tmp_path / "file"))
    assert named(doctor()[1], "cache")[0]["status"] == "warn"


def test_a_gradient_that_is_wrong_fails(doctor, monkeypatch):
    gradient = checks._gradient
    wrong = {"CPU": 1.0, "REF": 0.0}
    monkeypatch.setattr(checks, "_gradient", lambda d: gradient("REF") + wrong[d])
    code, data = doctor()
    assert (code, named(data, "smoke test")[0]["status"]) == (1, "fail")


def test_a_gradient_that_is_nan_fails(doctor, monkeypatch):
    monkeypatch.setattr(checks, "_gradient", lambda device: np.full(3, np.nan))
    assert doctor()[0] == 1


def test_a_check_that_breaks_is_a_failure_and_the_others_go_on(doctor, monkeypatch):
    def broken(device):
        raise ImportError("no LLVM here", name="llvmlite")

    monkeypatch.setattr(checks, "_gradient", broken)
    code, data = doctor()
    failed = [c for c in data["checks"] if c["status"] == "fail"]
    assert code == 1
    assert "no LLVM here" in failed[0]["text"]
    assert "llvmlite" in failed[0]["fix"]


def test_old_and_missing_libraries_say_what_to_install(doctor, monkeypatch):
    versions = {"numpy": "1.20.0", "llvmlite": None}
    monkeypatch.setattr(checks, "_version", lambda name: versions.get(name, "99"))
    code, data = doctor()
    failed = {c["text"]: c["fix"] for c in named(data, "library") if c["status"] == "fail"}
    assert code == 1
    least = next(version for name, version, _ in checks._requirements() if name == "numpy")
    assert failed[f"numpy 1.20.0 is older than {least}"] == f"pip install 'numpy>={least}'"
    assert failed["llvmlite is not installed"].startswith("pip install 'llvmlite>=")


def test_an_extra_that_is_not_installed_is_fine_and_says_how(doctor, monkeypatch):
    monkeypatch.setattr(checks, "_requirements", lambda: [("nothing", "1", "extra")])
    code, data = doctor()
    (found,) = named(data, "extra")
    assert (code, found["status"]) == (0, "ok")
    assert "pip install 'adjoint[extra]'" in found["text"]


def test_more_threads_than_cores_warn(doctor, monkeypatch):
    monkeypatch.setattr(checks, "available_cores", lambda: 2)
    monkeypatch.setenv("ADJOINT_THREADS", "64")
    (found,) = named(doctor()[1], "threads")
    assert (found["status"], found["text"]) == ("warn", "64 threads on 2 cores")


# ---- GPUs


@pytest.fixture
def gpus(monkeypatch):
    """A machine with a driver and some GPUs, as far as the doctor looks."""

    def make(count=1, problem="", driver=True):
        monkeypatch.setattr(doctor_gpu.cuda, "problem", lambda: problem)
        monkeypatch.setattr(doctor_gpu, "has_driver", lambda: driver)
        monkeypatch.setattr(doctor_gpu.cuda, "remedy", lambda: "update the driver")
        names = ["GPU", *(f"GPU:{i}" for i in range(1, count))]
        monkeypatch.setattr(doctor_gpu.Device, "available", lambda: ["CPU", *names], raising=False)
        facts = lambda name: DeviceFacts(name, "fake", 16 << 30, "9.0")  # noqa: E731
        monkeypatch.setattr(doctor_gpu.Device, "facts", facts, raising=False)
        return [
            (f.name, f.status, f.text, f.fix)
            for f in doctor_gpu.gpu_findings(lambda device: np.ones(3))
        ]

    return make


def test_every_gpu_is_named_with_its_memory_and_capability(gpus):
    texts = [text for name, _, text, _ in gpus(2) if name == "device"]
    assert texts[0].startswith("GPU: fake, compute capability 9.0, ")
    assert texts[1].startswith("GPU:1: fake")
    assert "GB of memory" in texts[0]


def test_a_missing_library_of_products_warns_and_says_what_to_install(gpus, monkeypatch):
    for name in doctor_gpu._LIBRARIES:
        monkeypatch.setitem(doctor_gpu._LIBRARIES, name, (lambda: None, "it is slow"))
    found = [row for row in gpus() if "is not installed" in row[2]]
    assert [status for _, status, _, _ in found] == ["warn", "ok", "ok", "ok"]
    assert all("pip install 'adjoint[cuda]'" in f"{text} {fix}" for _, _, text, fix in found)


@pytest.mark.parametrize(
    ("driver", "default", "status"),
    [(False, "CPU", "ok"), (True, "CPU", "warn"), (True, "GPU", "fail"), (False, "GPU", "fail")],
)
def test_no_gpu_is_a_fault_only_where_one_is_asked_for(gpus, monkeypatch, driver, default, status):
    monkeypatch.setattr(doctor_gpu.Device, "_default", default)
    ((_, found, text, fix),) = gpus(problem="it is too old", driver=driver)
    assert found == status
    assert "it is too old" in text
    assert bool(fix) is (status != "ok")


def test_a_gpu_that_computes_something_else_fails(gpus):
    gpus()
    wrong = {"GPU": np.ones(3), "CPU": np.zeros(3)}
    *_, last = doctor_gpu.gpu_findings(wrong.__getitem__)
    assert last.status == "fail"
