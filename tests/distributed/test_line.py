"""Who is there, on which host, and who asks whom: also where a rank comes late."""

from __future__ import annotations

import pytest
import torch.distributed as dist

from tltrace_nb.distributed.line import Line


class Meeting:
    """The lines of ranks that share a store, in one process; nobody is waited for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, hosts: str) -> None:
        store = dist.HashStore()
        monkeypatch.setattr("torch.distributed.distributed_c10d._get_default_store", lambda: store)
        monkeypatch.setattr(dist, "get_world_size", lambda: len(hosts))
        monkeypatch.setattr(dist, "get_backend", lambda: "gloo")
        self.lines = []
        for rank, host in enumerate(hosts):
            monkeypatch.setattr(dist, "get_rank", lambda rank=rank: rank)
            monkeypatch.setattr("platform.node", lambda host=host: host)
            self.lines.append(Line(0.01))

    def arrive(self, *ranks: int) -> None:
        for rank in ranks:
            self.lines[rank].arrive()


def test_the_first_of_a_host_is_its_lowest_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = Meeting(monkeypatch, "aabab")
    meeting.arrive(*range(5))
    assert [line.first() for line in meeting.lines] == [0, 0, 2, 0, 2]


def test_a_rank_that_leaves_is_on_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = Meeting(monkeypatch, "aa")
    meeting.arrive(0)
    meeting.lines[1].leave()
    assert not meeting.lines[0].asks(1)


def test_ranks_that_are_there_in_time_ask_and_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = Meeting(monkeypatch, "aa")
    meeting.arrive(0, 1)
    assert meeting.lines[1].answers(0)
    assert meeting.lines[0].asks(1)


def test_a_rank_that_comes_too_late_to_be_asked_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = Meeting(monkeypatch, "aa")
    meeting.arrive(0)
    assert not meeting.lines[0].asks(1)
    meeting.arrive(1)
    assert not meeting.lines[1].answers(0)


def test_calls_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = Meeting(monkeypatch, "aa")
    meeting.arrive(0, 1, 0)
    assert not meeting.lines[0].beside(1)
