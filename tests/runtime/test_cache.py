"""The disk cache, and everything that can be wrong with it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pytest

from adjoint.runtime import cache, compiler
from adjoint.runtime.compiler import compile_source
from tests.runtime.adders import added, adder

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def folder(own_cache):
    return own_cache


def compiled_anew(number: int) -> bool:
    """Whether LLVM was needed for a kernel that is not in memory; it must work in any case."""
    compiler.forget()
    before = compiler.compiled
    assert added(compile_source(adder(number)).address) == number
    return compiler.compiled > before


def objects(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.obj"))


def test_a_second_process_does_not_compile(folder):
    assert compiled_anew(1)
    assert not compiled_anew(1)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [f.stat().st_mode & 0o777 for f in objects(folder)] == [0o600]


def test_the_cache_can_be_turned_off(folder, monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE", "0")
    assert compiled_anew(2)
    assert compiled_anew(2)
    assert not folder.exists()


def test_another_processor_or_format_has_other_names(folder, monkeypatch):
    assert compiled_anew(3)
    monkeypatch.setattr(compiler, "machine", lambda: b"another")
    assert compiled_anew(3)
    assert len(objects(folder)) == 2


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "header"])
def test_a_poisoned_object_is_ignored_and_written_again(folder, damage):
    assert compiled_anew(4)
    (file,) = objects(folder)
    good = file.read_bytes()
    middle = len(good) // 2
    bad = {
        "cut": good[:middle],
        "changed": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
        "empty": b"",
        "header": b"x" + good[1:],
    }
    file.write_bytes(bad[damage])
    assert compiled_anew(4)
    assert file.read_bytes() == good
    assert not compiled_anew(4)


def test_an_object_under_another_name_is_not_run(folder):
    """Its own hash is right; the contents are those of another kernel."""
    assert compiled_anew(60)
    (first,) = objects(folder)
    assert compiled_anew(61)
    (second,) = set(objects(folder)) - {first}
    good = second.read_bytes()
    second.write_bytes(first.read_bytes())
    assert compiled_anew(61)
    assert second.read_bytes() == good
    assert not compiled_anew(61)


@pytest.mark.parametrize("payload", ["rubbish", "another kernel", "cut", "empty"])
def test_an_object_with_a_right_hash_and_wrong_contents_is_made_again(folder, payload):
    assert compiled_anew(62)
    (file,) = objects(folder)
    good = cache.read(file.stem)
    other = compiler.compile_object(adder(63, "other"))
    bad = {"rubbish": b"x" * 999, "another kernel": other, "cut": good[:200], "empty": b""}
    cache.write(file.stem, bad[payload])
    assert compiled_anew(62)
    assert cache.read(file.stem) == good
    assert not compiled_anew(62)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_an_object_that_others_can_write_to_is_not_run(folder, mode):
    assert compiled_anew(64)
    (file,) = objects(folder)
    file.chmod(mode)
    assert [line.partition(" ")[2] for line in cache.distrusted()] == [
        "can be written to by other users"
    ]
    cache._say_once.cache_clear()
    with pytest.warns(RuntimeWarning, match=r"can be written to by other users.*removed"):
        assert compiled_anew(64)
    assert file.stat().st_mode & 0o777 == 0o600
    assert not compiled_anew(64)


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a file away")
def test_an_object_of_another_user_is_not_run(folder):
    assert compiled_anew(65)
    (file,) = objects(folder)
    os.chown(file, 12345, 12345)
    assert [line.partition(" ")[2] for line in cache.distrusted()] == ["belongs to another user"]
    cache._say_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert compiled_anew(65)
    assert file.stat().st_uid == os.geteuid()


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_what_is_no_plain_file_is_not_read(folder, kind):
    assert compiled_anew(66)
    (file,) = objects(folder)
    file.unlink()
    file.mkdir() if kind == "directory" else os.mkfifo(file, 0o600)
    cache._say_once.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compiled_anew(66)


@pytest.mark.skipif(not AS_ROOT, reason="needs another user to be")
def test_a_home_that_cannot_be_written_to_moves_the_cache_with_one_note(request):
    """As another user, whose home is root's and whose temporary files are its own; not in a folder
    of pytest's, which another session of it closes to others."""
    folder = Path(tempfile.mkdtemp())
    request.addfinalizer(lambda: shutil.rmtree(folder))
    folder.chmod(0o755)
    home, temporary = folder / "home", folder / "temporary"
    home.mkdir(mode=0o755)
    temporary.mkdir()
    os.chown(temporary, 12345, 12345)
    text = """
import os, warnings
from adjoint import Tensor
Tensor([2.0]).exp().numpy()  # loads all that the other user may not be able to read
del os.environ["ADJOINT_CACHE"]
os.setgroups([]), os.setgid(12345), os.setuid(12345)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for n in range(1, 4):
        (Tensor([1.0] * n) + n).exp().numpy()
print(len(said), said[0].message, sep="\\n")
"""
    names = ("ADJOINT_CACHE_DIR", "XDG_CACHE_HOME")
    env = {k: v for k, v in os.environ.items() if k not in names} | {"ADJOINT_CACHE": "0"}
    env |= {"HOME": str(home), "TMPDIR": str(temporary)}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=root, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    count, note = done.stdout.splitlines()
    assert (count, "compiled code is kept in" in note) == ("1", True)
    (kept,) = temporary.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700
    assert len(objects(kept)) > 0


def test_a_link_in_place_of_an_object_is_not_followed(folder, tmp_path):
    assert compiled_anew(5)
    (file,) = objects(folder)
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert compiled_anew(5)
    assert not file.is_symlink()


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_directory_that_others_can_write_to_is_not_used(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match="can be written to by other users"):
        assert compiled_anew(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled_anew(6)
    assert objects(folder) == []


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_not_used(folder):
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert compiled_anew(7)
    assert objects(folder) == []


def test_a_file_where_the_directory_should_be_is_no_error(folder):
    folder.write_text("in the way")
    assert compiled_anew(8)
    assert folder.read_text() == "in the way"


@pytest.mark.parametrize("function", ["open", "replace"])
def test_a_full_or_read_only_disk_is_no_error(folder, monkeypatch, function):
    assert compiled_anew(9)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, function, refuse)
        assert compiled_anew(10)
    assert len(objects(folder)) == 1
    assert list(folder.glob("*.new")) == []


@pytest.mark.skipif(AS_ROOT, reason="root may write anywhere")
def test_a_read_only_directory_is_read_and_not_written(folder):
    assert compiled_anew(11)
    folder.chmod(0o500)
    try:
        assert not compiled_anew(11)
        assert compiled_anew(12)
    finally:
        folder.chmod(0o700)


@pytest.mark.skipif(not os.path.exists("/proc/sys"), reason="needs a place where nothing is made")
def test_a_place_where_no_directory_can_be_made_is_no_error(folder, monkeypatch):
    monkeypatch.setenv("ADJOINT_CACHE_DIR", "/proc/sys/adjoint/cache")
    assert compiled_anew(13)
    assert cache.entries() == []


def test_the_least_recently_used_objects_go_first(folder, monkeypatch):
    for number in range(20, 26):
        compiled_anew(number)
    size = cache.total_size() // 6
    for age, file in enumerate(objects(folder)):
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    kept = objects(folder)[0]
    monkeypatch.setenv("ADJOINT_CACHE_LIMIT", str(size * 3 + size // 2))
    compiled_anew(26)
    assert cache.total_size() <= size * 3 + size // 2
    assert kept in objects(folder)
    assert not compiled_anew(26)


def test_using_an_object_makes_it_recent(folder):
    compiled_anew(30)
    (file,) = objects(folder)
    os.utime(file, (1_000_000, 1_000_000))
    assert not compiled_anew(30)
    assert time.time() - file.stat().st_mtime < 3600


def test_entries_can_be_listed_and_cleared(folder):
    for number in range(40, 43):
        compiled_anew(number)
    assert len(cache.entries()) == 3
    assert cache.total_size() == sum(f.stat().st_size for f in objects(folder))
    assert cache.clear() == 3
    assert cache.entries() == []
    assert compiled_anew(40)


def test_what_a_dead_process_left_is_cleared(folder, monkeypatch):
    compiled_anew(50)
    old, young = folder / "a-1-b.new", folder / "c-2-d.new"
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (1_000_000, 1_000_000))
    monkeypatch.setenv("ADJOINT_CACHE_LIMIT", "0")
    compiled_anew(51)
    assert not old.exists()
    assert young.exists()


WORKER = """
import os, signal, sys
from adjoint.runtime import cache, compiler
from tests.runtime.adders import added, adder
if sys.argv[1] == "killed":
    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)
    os.replace = die
for number in range(100, 108):
    assert added(compiler.compile_source(adder(number)).address) == number
print(compiler.compiled)
"""


def run_worker(mode: str) -> "subprocess.Popen[str]":
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", WORKER, mode]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)


def test_eight_processes_use_it_at_once(folder):
    workers = [run_worker("plain") for _ in range(8)]
    for worker in workers:
        worker.communicate(timeout=600)
        assert worker.returncode == 0
    assert len(objects(folder)) == 8
    assert list(folder.glob("*.new")) == []
    last = run_worker("plain")
    assert last.communicate(timeout=600)[0].strip() == "0"


def test_a_process_killed_half_way_leaves_nothing_harmful(folder):
    killed = run_worker("killed")
    killed.communicate(timeout=600)
    assert killed.returncode == -signal.SIGKILL
    assert objects(folder) == []
    assert len(list(folder.glob("*.new"))) == 1
    assert compiled_anew(100)
    assert not compiled_anew(100)
