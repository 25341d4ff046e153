"""Files that are written: whole, under the name that was given, and whatever that name stands for stays what it is."""

from __future__ import annotations

import io
import os
import stat
import threading
from pathlib import Path

import pytest
from recordings import RECORDED

from tltrace_nb import load
from tltrace_nb.base.files import replacing, writing
from tltrace_nb.base.notices import say
from tltrace_nb.simulator import progress


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    sync, rename = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda number: (done.append("on the disk"), sync(number)))
    monkeypatch.setattr(Path, "replace", lambda *names: (done.append("named"), rename(*names)))
    load(RECORDED / "add.tltrace").save(tmp_path / "t.tltrace")
    assert done == ["on the disk", "named"]


def test_a_device_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with writing(pipe) as file:
        file.write(b"through")
    reader.join()
    assert read == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_stays_one_and_leads_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link, target = tmp_path / "link", tmp_path / "elsewhere" / "file"
    target.write_text("before")
    link.symlink_to(target)
    with writing(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    with writing(path) as file:
        file.write(b"there")
    assert path.read_bytes() == b"there"


def test_threads_that_write_the_same_file_write_it_whole(tmp_path: Path) -> None:
    path, both = tmp_path / "file", threading.Barrier(2)

    def write(letter: bytes) -> None:
        with writing(path) as file:
            file.write(letter)
            both.wait()
            file.write(letter * 9)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in {b"a" * 10, b"b" * 10}
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_told_by_the_name_that_was_given(tmp_path: Path) -> None:
    path = tmp_path / "none" / "file"
    with pytest.raises(FileNotFoundError) as failed, writing(path):
        pass
    assert failed.value.filename == str(path)


def test_what_cannot_be_taken_away_does_not_hide_what_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlink(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "file") as partial:
        partial.write_text(str(1 / 0))


def test_lines_of_ours_are_lost_where_the_disk_is_full_and_nothing_else() -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    say("nobody reads it", Full())
    closed = io.StringIO()
    closed.close()
    say("nobody reads it", closed)
    say("nobody reads it", None)


def test_a_terminal_that_is_gone_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def isatty(self) -> bool:
            return True

        def write(self, _: str) -> int:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr("sys.stderr", Gone())
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0)
    with progress.progress_bar("kernel") as told:
        for done in range(20):
            told(done, 20)
