import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from fgtrace import cache, opening
from fgtrace.errors import FgtraceError
from fgtrace.frames.trace import COLLECTED, FRAMES, LAZY_FRAMES
from fgtrace.opening import open_trace


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A cache that keeps traces however small they are."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "WORTH_KEEPING", 1)
    return cache.cache_home()


@pytest.fixture
def path(trace):
    trace.metadata["deviceProperties"] = [{"id": 0, "name": "GPU"}]
    trace.range("call", 0, 90_000).op("aten::add", 10, 50_000, **{"Call stack": "f.py(1): f"})
    trace.api("cudaLaunchKernel", 20, 2000).work("k", 5000, 10, grid=[1, 2, 3])
    return trace.readback(7000, 9000).write()


def reads(monkeypatch, path, **options):
    """Open a trace; tell whether its file was read for it."""
    files = []

    def reader(read, source, *rest):
        files.append(source.name)
        return read(source, *rest)

    with monkeypatch.context() as patch:
        for name, read in opening.READERS.items():
            patch.setitem(opening.READERS, name, partial(reader, read))
        open_trace(path, **options)
    return bool(files)


def assert_equal(one, other):
    assert (one.source, one.provenance) == (other.source, other.provenance)
    for name in FRAMES:
        assert getattr(one, name).equals(getattr(other, name)), name
    for name in LAZY_FRAMES:
        frames = [getattr(trace, name).collect() for trace in (one, other)]
        assert frames[0].equals(frames[1]), name
        assert frames[0].schema == frames[1].schema == LAZY_FRAMES[name]


def test_a_file_that_was_opened_before_is_not_read_again(path, monkeypatch):
    assert reads(monkeypatch, path)
    assert not reads(monkeypatch, path)
    assert not reads(monkeypatch, os.path.relpath(path))


def test_what_is_loaded_is_what_was_read(path):
    read, loaded = open_trace(path), open_trace(path)
    assert_equal(read, loaded)
    assert loaded.op_attributes.collect().height == 1
    assert loaded.launch_attributes.collect().height == 1
    assert loaded.provenance.device.name == "GPU"


def test_what_reports_start_from_is_loaded_and_not_collected_again(path):
    read, loaded = open_trace(path), open_trace(path)
    for name in COLLECTED:
        assert vars(loaded)[name].equals(getattr(read, name))
        assert vars(loaded)[name].height


def test_op_attributes_of_a_loaded_trace_are_those_of_the_file_as_it_was(path):
    open_trace(path)
    loaded = open_trace(path)
    path.write_text(path.read_text().replace("f.py(1)", "f.py(2)"))
    with pytest.raises(Exception, match="no longer the file that was read"):
        loaded.op_attributes.collect()


def rewritten(path):
    path.write_text(path.read_text().replace("aten::add", "aten::mul"))


def longer(path):
    path.write_text(path.read_text() + "\n")


def touched(path):
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def rewritten_with_its_time(path):
    times = path.stat()
    rewritten(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("change", [rewritten, longer, touched, rewritten_with_its_time])
def test_a_file_that_has_changed_is_read_anew_and_replaces_what_was_kept(path, monkeypatch, change):
    assert reads(monkeypatch, path)
    change(path)
    assert reads(monkeypatch, path)
    assert len(cache.entries()) == 1
    assert not reads(monkeypatch, path)


@pytest.mark.parametrize("place", [10, 500_000, 999_990])
def test_content_counts_where_the_clock_stands_still(tmp_path, monkeypatch, place):
    path = tmp_path / "x"
    path.write_bytes(b"a" * 1_000_000)
    status = path.stat()
    monkeypatch.setattr(os, "fstat", lambda _: status)
    before = cache.key_of(path, raw_times=False)
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"b")
    after = cache.key_of(path, raw_times=False)
    assert before.request == after.request
    assert before.state != after.state


def test_a_file_under_another_name_is_read_anew_since_frames_name_it(path, monkeypatch, tmp_path):
    open_trace(path)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    assert reads(monkeypatch, link)
    assert open_trace(link).parts["source"].to_list() == ["link.json"]
    moved = path.rename(tmp_path / "moved.json")
    assert reads(monkeypatch, moved)


def test_raw_times_are_kept_beside_the_others(path, monkeypatch):
    for raw_times in (False, True):
        assert reads(monkeypatch, path, raw_times=raw_times)
    for raw_times in (False, True):
        assert not reads(monkeypatch, path, raw_times=raw_times)


@pytest.mark.parametrize("changed", ["readers/columns.py", "opening.py"])
def test_what_other_code_has_kept_is_read_anew(path, monkeypatch, changed):
    open_trace(path)
    read = Path.read_bytes

    def other(file):
        return read(file) + (b"#" if str(file).endswith(f"fgtrace/{changed}") else b"")

    cache._code.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", other)
        assert reads(monkeypatch, path)
    cache._code.cache_clear()
    assert reads(monkeypatch, path)


def test_without_the_cache_nothing_is_loaded_or_kept(path, monkeypatch):
    assert reads(monkeypatch, path, cache=False)
    assert cache.entries() == []
    open_trace(path)
    assert reads(monkeypatch, path, cache=False)


def test_a_small_trace_is_not_worth_keeping(path, monkeypatch):
    events = open_trace(path, cache=False).events.collect().height
    monkeypatch.setattr(cache, "WORTH_KEEPING", events + 1)
    open_trace(path)
    assert cache.entries() == []
    monkeypatch.setattr(cache, "WORTH_KEEPING", events)
    open_trace(path)
    assert [entry.events for entry in cache.entries()] == [events]


def test_folders_and_what_cannot_be_read_are_not_kept(path, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(path, folder)
    open_trace(folder)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("none", "loop"):
        with pytest.raises(FgtraceError):
            open_trace(tmp_path / name)
    assert cache.entries() == []


def test_only_its_owner_can_see_what_is_kept(path, home):
    umask = os.umask(0)
    try:
        open_trace(path)
    finally:
        os.umask(umask)
    (entry,) = home.iterdir()
    assert {folder.stat().st_mode & 0o777 for folder in (home, entry)} == {0o700}
    assert {file.stat().st_mode & 0o777 for file in entry.iterdir()} == {0o600}


def test_a_folder_that_others_can_write_to_is_not_used(path, home):
    open_trace(path)
    home.chmod(0o777)
    assert cache.entries() == []
    open_trace(path)
    home.chmod(0o700)
    assert len(cache.entries()) == 1


def cut(file):
    file.write_bytes(file.read_bytes()[:-1])


def emptied(file):
    file.write_bytes(b"")


def flipped(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def filled_with_zeros(file):
    file.write_bytes(bytes(file.stat().st_size))


@pytest.mark.parametrize("damage", [Path.unlink, cut, emptied, flipped, filled_with_zeros])
@pytest.mark.parametrize("name", ["manifest.json", "events.arrow", "calls.arrow", "places.arrow"])
def test_a_damaged_entry_is_replaced_and_never_an_error(path, home, monkeypatch, name, damage):
    before = open_trace(path)
    (entry,) = home.iterdir()
    damage(entry / name)
    if name == "manifest.json" and damage is flipped:
        (entry / name).write_bytes(b'{"path": 1}')
    assert reads(monkeypatch, path)
    assert not reads(monkeypatch, path)
    assert_equal(open_trace(path), before)


def test_a_trace_in_use_outlives_its_entry(path):
    before, loaded = open_trace(path), open_trace(path)
    cache.clear()
    assert cache.entries() == []
    assert_equal(loaded, before)


def test_what_was_used_least_recently_goes_first(new_trace, home, monkeypatch):
    paths = [new_trace().op(f"a{n}", 0, 5).write(f"{n}.json") for n in range(3)]
    for age, path in enumerate(paths[:2]):
        open_trace(path)
        for folder in home.iterdir():
            times = folder.stat().st_mtime - 100 * (age + 1)
            os.utime(folder, (times, times))
    open_trace(paths[0])
    assert [Path(entry.path).name for entry in cache.entries()] == ["0.json", "1.json"]
    monkeypatch.setattr(cache, "LIMIT", 5 * cache.entries()[0].size // 2)
    open_trace(paths[2])
    assert [Path(entry.path).name for entry in cache.entries()] == ["2.json", "0.json"]


def test_what_is_larger_than_the_limit_is_not_kept(path, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 100)
    open_trace(path)
    assert cache.entries() == []


def test_no_more_than_half_of_the_free_disk_is_taken(path, home, monkeypatch):
    events = open_trace(path, cache=False).events.collect().height
    usage = shutil.disk_usage(path)
    for free, kept in ((2 * events * cache._EVENT_BYTES - 2, 0), (1 << 30, 1)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: usage._replace(free=free))
        open_trace(path)
        assert len(list(home.iterdir())) == kept


def test_what_a_killed_process_left_goes_after_an_hour(path, home):
    home.mkdir(mode=0o700, parents=True)
    for name, age in (("new-old", 3700), ("new-young", 3500)):
        (home / name).mkdir()
        (home / name / "events.arrow").write_text("half")
        os.utime(home / name, (time.time() - age,) * 2)
    open_trace(path)
    names = {folder.name for folder in home.iterdir()}
    assert "new-young" in names
    assert "new-old" not in names


@pytest.mark.parametrize("failing", range(4))
def test_a_full_disk_leaves_nothing_and_is_no_error(path, home, monkeypatch, failing):
    sink = pl.LazyFrame.sink_ipc
    left = [failing]

    def full(frame, file, **options):
        if not left[0]:
            Path(file).write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= 1
        sink(frame, file, **options)

    with monkeypatch.context() as patch:
        patch.setattr(pl.LazyFrame, "sink_ipc", full)
        assert open_trace(path).parts.height == 1
    assert list(home.iterdir()) == []
    assert reads(monkeypatch, path)


def test_a_ctrl_c_that_comes_twice_leaves_nothing(path, home, monkeypatch):
    # As Polars and Python do: one interrupts what is written, one what clears up after it.
    remove = cache._remove
    interrupted = []

    def sink(frame, file, **options):
        Path(file).write_text("half")
        raise KeyboardInterrupt

    def removing(folder):
        if not interrupted:
            interrupted.append(folder)
            raise KeyboardInterrupt
        remove(folder)

    monkeypatch.setattr(pl.LazyFrame, "sink_ipc", sink)
    monkeypatch.setattr(cache, "_remove", removing)
    with pytest.raises(KeyboardInterrupt):
        open_trace(path)
    assert interrupted
    assert list(home.iterdir()) == []


def test_a_place_that_cannot_be_written_is_no_error(path, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert reads(monkeypatch, path)
    assert reads(monkeypatch, path)
    assert cache.entries() == []
    cache.clear()


def test_a_file_that_changes_while_it_is_read_is_not_kept(path, monkeypatch):
    analysed = opening.analysed

    def while_it_grows(*arguments, **options):
        longer(path)
        return analysed(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(opening, "analysed", while_it_grows)
        open_trace(path)
    assert cache.entries() == []


def opening_in_a_process(path, before=""):
    script = f"""
import os, signal, time
import polars as pl
from pathlib import Path
from fgtrace import cache
from fgtrace.opening import open_trace
cache.WORTH_KEEPING = 1
{before}
print(open_trace({str(path)!r}).events.collect().height)
"""
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


def test_processes_that_keep_the_same_at_once_keep_it_once(path, home, tmp_path, monkeypatch):
    events = open_trace(path, cache=False).events.collect().height
    wait = f"""
import fgtrace.frames.arrow as arrow
written = arrow.save_arrow
def when_all_have_written(*arguments, **options):
    written(*arguments, **options)
    Path({str(tmp_path)!r}, f"written-{{os.getpid()}}").touch()
    while len(list(Path({str(tmp_path)!r}).glob("written-*"))) < 3:
        time.sleep(0.001)
arrow.save_arrow = when_all_have_written
"""
    processes = [opening_in_a_process(path, wait) for _ in range(3)]
    assert [int(process.communicate(timeout=60)[0]) for process in processes] == [events] * 3
    assert [process.returncode for process in processes] == [0] * 3
    assert len(list(home.iterdir())) == 1
    assert not reads(monkeypatch, path)


@pytest.mark.parametrize("step", ["first", "last", "manifest", "rename", "tidy"])
def test_a_process_that_is_killed_leaves_a_whole_entry_or_none(path, home, monkeypatch, step):
    kill = "lambda *a, **o: os.kill(os.getpid(), signal.SIGKILL)"
    before = {
        "first": f"pl.LazyFrame.sink_ipc = {kill}",
        "last": f"sink = pl.LazyFrame.sink_ipc\npl.LazyFrame.sink_ipc = lambda *a, **o: "
        f"(sink(*a, **o), 'places' in str(a[1]) and ({kill})())",
        "manifest": f"Path.write_bytes = {kill}",
        "rename": f"Path.rename = {kill}",
        "tidy": f"cache._tidy = {kill}",
    }[step]
    before_kill = open_trace(path, cache=False)
    killed = opening_in_a_process(path, before)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert reads(monkeypatch, path) == (step != "tidy")
    assert_equal(open_trace(path), before_kill)
    assert len(cache.entries()) == 1
