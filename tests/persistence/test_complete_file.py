"""Written files are complete or unchanged, whatever other processes do."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from threading import Thread
from unittest.mock import Mock

import pytest

from skcalrank.persistence import complete_file

needs_posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and signals of POSIX")


@pytest.fixture
def file(tmp_path):
    """A file that is there already."""
    file = tmp_path / "scores.txt"
    file.write_text("before")
    return file


def write(path, text):
    with complete_file(path, "w") as out:
        out.write(text)


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_two_writers_of_one_name_do_not_mix(tmp_path):
    path = tmp_path / "scores.txt"
    with complete_file(path, "w") as slow:
        slow.write("A" * 20_000)
        slow.flush()
        write(path, "B" * 100)
        assert path.read_text() == "B" * 100
        slow.write("A" * 20_000)
    assert path.read_text() == "A" * 40_000
    assert names(tmp_path) == ["scores.txt"]


def test_many_writers_at_once(tmp_path):
    path, seen = tmp_path / "scores.txt", set()

    def write_often(character):
        for _ in range(50):
            write(path, character * 99_999)
            text = path.read_text()
            seen.add((len(text), len(set(text))))

    writers = [Thread(target=write_often, args=(character,)) for character in "ABC"]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert seen == {(99_999, 1)}
    assert names(tmp_path) == ["scores.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_writer_leaves_the_file_and_nothing_else(file, error):
    with pytest.raises(error), complete_file(file, "w") as out:  # noqa: PT012
        out.write("half of it")
        raise error
    assert file.read_text() == "before"
    assert names(file.parent) == ["scores.txt"]


@pytest.mark.parametrize("call", ["os.fsync", "os.replace"])
def test_a_disk_that_is_full(file, call, monkeypatch):
    monkeypatch.setattr(call, Mock(side_effect=OSError("full")))
    with pytest.raises(OSError, match="full"):
        write(file, "after")
    assert file.read_text() == "before"
    assert names(file.parent) == ["scores.txt"]


def test_bytes_are_on_the_disk_before_the_name(file, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def call(*args, name=name, real=real):
            size = os.stat(args[0]).st_size
            calls.append((name, size))
            real(*args)

        monkeypatch.setattr(os, name, call)
    write(file, "after")
    assert calls == [("fsync", len("after")), ("replace", len("after"))]
    assert file.read_text() == "after"


@pytest.mark.long
@needs_posix
def test_a_killed_writer_leaves_the_file(file):
    code = (
        "import sys; from skcalrank.persistence import complete_file\n"
        "with complete_file(sys.argv[1], 'w') as out:\n"
        "    out.write('half of it'); out.flush(); print('written', flush=True); input()\n"
    )
    command = [sys.executable, "-c", code, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"written\n"
        writer.kill()
        assert writer.wait() == -signal.SIGKILL
    assert file.read_text() == "before"
    # What the dead one left behind is in the way of no other.
    write(file, "after")
    assert file.read_text() == "after"


def test_neighbors_that_look_like_temporary_files_are_left_alone(file):
    others = [file.with_name(f"{file.name}{suffix}") for suffix in (".part", ".tmp", "~")]
    for other in others:
        other.write_text("of the user")
    write(file, "after")
    assert [other.read_text() for other in others] == ["of the user"] * 3
    assert len(names(file.parent)) == 4


def test_a_file_of_the_same_random_name_is_not_written_to(file, monkeypatch):
    monkeypatch.setattr(
        "skcalrank.persistence._complete_file.token_hex", lambda n_bytes: "0" * 2 * n_bytes
    )
    with complete_file(file, "w"):
        (unfinished,) = set(file.parent.iterdir()) - {file}
    unfinished.write_text("of another writer")
    with pytest.raises(FileExistsError):
        write(file, "after")
    assert file.read_text() == ""


DAY = 24 * 60 * 60


@needs_posix
def test_what_killed_processes_left_is_removed_when_it_is_old(file):
    folder, now = file.parent, time.time()
    ages = {
        ".skcalrank-0123456789abcdef.part": 2 * DAY,
        ".skcalrank-1123456789abcdef.part": DAY / 2,
        ".skcalrank-012345.part": 2 * DAY,
        ".skcalrank-0123456789abcdeg.part": 2 * DAY,
        "skcalrank-0123456789abcdef.part": 2 * DAY,
        ".skcalrank-0123456789abcdef.part.gz": 2 * DAY,
    }
    for name, age in ages.items():
        (folder / name).write_text("half of it")
        os.utime(folder / name, (now - age, now - age))
    (folder / ".skcalrank-2123456789abcdef.part").mkdir()
    os.utime(folder / ".skcalrank-2123456789abcdef.part", (0, 0))
    link = folder / ".skcalrank-3123456789abcdef.part"
    link.symlink_to(file)
    os.utime(link, (0, 0), follow_symlinks=False)
    write(file, "after")
    kept = {name for name in ages if name != ".skcalrank-0123456789abcdef.part"}
    assert set(names(folder)) == kept | {file.name, ".skcalrank-2123456789abcdef.part"}
    assert file.read_text() == "after"


@needs_posix
def test_a_folder_that_cannot_be_listed_can_be_written_to(file, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    write(file, "after")
    assert file.read_text() == "after"


FILL = """
import resource, sys
from skcalrank.persistence import complete_file
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
with complete_file(sys.argv[1], "w") as out:
    out.write("x" * (1 << 20))
"""


@pytest.mark.long
@needs_posix
def test_a_file_that_does_not_fit(file):
    command = [sys.executable, "-c", FILL, str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(f"File too large: '{file}'")
    assert file.read_text() == "before"
    assert names(file.parent) == ["scores.txt"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("call", ["os.fsync", "os.replace"])
def test_errors_of_the_disk_name_the_file(file, code, call, monkeypatch):
    monkeypatch.setattr(call, Mock(side_effect=OSError(code, os.strerror(code))))
    with pytest.raises(OSError, match=os.strerror(code)) as caught:
        write(file, "after")
    assert caught.value.filename == str(file)
    assert file.read_text() == "before"
    assert names(file.parent) == ["scores.txt"]


def test_a_disk_that_cannot_be_written(tmp_path, monkeypatch):
    def refuse(hidden, *_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(hidden))

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    with pytest.raises(OSError, match=r"scores\.txt"):
        write(tmp_path / "scores.txt", "after")


def test_errors_of_the_writer_keep_their_name(file):
    for error in (OSError(errno.ENOSPC, "full", "other"), ConnectionResetError(104, "reset")):
        with pytest.raises(type(error)) as caught, complete_file(file, "w"):
            raise error
        assert caught.value is error


@needs_posix
@pytest.mark.parametrize("suffix", [".part", ".tmp"])
def test_links_in_place_of_temporary_files_are_not_followed(file, suffix):
    victim = file.with_name("victim.txt")
    victim.write_text("of somebody else")
    file.with_name(f"{file.name}{suffix}").symlink_to(victim)
    write(file, "after")
    assert victim.read_text() == "of somebody else"
    assert not file.is_symlink()


# -- modes, links, devices -------------------------------------------------------------


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@needs_posix
@pytest.mark.parametrize("kept", [0o600, 0o640, 0o666, 0o755])
def test_the_mode_of_a_file_is_kept(file, kept):
    file.chmod(kept)
    with complete_file(file, "w") as out:
        out.write("after")
        # The text is not readable for others while it is written either.
        assert {mode(each) for each in file.parent.iterdir()} == {kept}
    assert mode(file) == kept


@needs_posix
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_of_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        write(tmp_path / "new.txt", "after")
    finally:
        os.umask(before)
    assert mode(tmp_path / "new.txt") == 0o666 & ~umask


@needs_posix
@pytest.mark.parametrize("there", [True, False])
def test_of_a_link_the_target_is_replaced(tmp_path, there):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "scores.txt", tmp_path / "link.txt"
    if there:
        target.write_text("before")
    (tmp_path / "middle.txt").symlink_to("real/scores.txt")
    link.symlink_to("middle.txt")
    write(link, "after")
    assert link.is_symlink()
    assert target.read_text() == link.read_text() == "after"
    assert names(target.parent) == ["scores.txt"]


@needs_posix
def test_a_link_to_itself(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="loop"):
        write(tmp_path / "loop", "after")
    assert names(tmp_path) == ["loop"]


@needs_posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_must_not_be_written(file):
    file.chmod(0o444)
    with pytest.raises(PermissionError, match=r"scores\.txt"):
        write(file, "after")
    assert file.read_text() == "before"


def test_names_as_long_as_they_may_be(tmp_path):
    path = tmp_path / ("n" * 255)
    write(path, "after")
    assert path.read_text() == "after"


@pytest.mark.parametrize("name", ["missing/scores.txt", "."])
def test_errors_name_the_file(tmp_path, name):
    with pytest.raises(OSError) as caught:  # noqa: PT011
        write(tmp_path / name, "after")
    assert caught.value.filename == str(tmp_path / name)
    assert names(tmp_path) == []


def test_an_empty_name_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError) as caught:  # noqa: PT011
        write("", "after")
    assert caught.value.filename == ""


@needs_posix
def test_the_null_device():
    write(os.devnull, "after")
    assert not os.path.isfile(os.devnull)


@needs_posix
@pytest.mark.parametrize(
    "folder",
    ["/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd"],
    ids=["dev", "self", "pid"],
)
@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_open_descriptors_by_name(tmp_path, folder, kind):
    if not os.path.isdir(folder):
        pytest.skip(f"no {folder} here")
    log = tmp_path / "log.txt"
    log.write_text("before, ")
    read, into = (
        os.pipe() if kind == "pipe" else (os.open(log, os.O_RDONLY), os.open(log, os.O_RDWR))
    )
    try:
        write(f"{folder}/{into}", "after")
        assert os.read(read, 99) == (b"after" if kind == "pipe" else b"before, after")
    finally:
        os.close(read)
        os.close(into)
    assert names(tmp_path) == ["log.txt"]


@needs_posix
@pytest.mark.parametrize(("name", "number"), [("/dev/stdout", 1), ("/dev/stderr", 2)])
def test_standard_streams_by_name(tmp_path, name, number):
    if not os.path.exists(name):
        pytest.skip(f"no {name} here")
    log = tmp_path / "log.txt"
    log.write_text("before, ")
    kept = os.dup(number)
    try:
        with open(log, "a") as into:
            os.dup2(into.fileno(), number)
        write(name, "after")
    finally:
        os.dup2(kept, number)
        os.close(kept)
    assert log.read_text() == "before, after"
