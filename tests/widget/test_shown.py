"""Which timelines stay while cells are run, again and one after the other."""

from __future__ import annotations

from types import SimpleNamespace

from tltrace_nb.widget.shown import CELLS, Shown, note


class Timeline:
    closed = False

    def close(self) -> None:
        self.closed = True


def timelines(number: int) -> list[Timeline]:
    return [Timeline() for _ in range(number)]


def test_a_cell_that_is_run_again_ends_what_it_showed() -> None:
    shown, (first, second, third) = Shown(), timelines(3)
    shown.add(first, "cell", "run 1")
    shown.add(second, "cell", "run 1")
    assert not first.closed
    shown.add(third, "cell", "run 2")
    assert (first.closed, second.closed, third.closed) == (True, True, False)


def test_what_another_cell_shows_too_stays() -> None:
    shown, (both, other) = Shown(), timelines(2)
    shown.add(both, "a", "run 1")
    shown.add(both, "b", "run 2")
    shown.add(other, "a", "run 3")
    assert not both.closed


def test_the_cells_that_were_run_last_keep_theirs() -> None:
    shown, made = Shown(), timelines(CELLS + 2)
    for number, each in enumerate(made[:-2]):
        shown.add(each, f"cell {number}", f"run {number}")
    assert not any(each.closed for each in made)
    again, new = made[-2:]
    shown.add(again, "cell 0", "again")
    assert [each.closed for each in made[:2]] == [True, False]
    shown.add(new, "new", "run")
    assert [each.closed for each in made[:3]] == [True, True, False]
    assert not again.closed


def test_without_cell_ids_each_run_counts_as_a_cell() -> None:
    kernel, made = SimpleNamespace(execution_count=0), timelines(CELLS + 1)
    for number, each in enumerate(made):
        kernel.get_parent = lambda number=number: {"header": {"msg_id": f"run {number}"}}
        note(each, kernel)
    assert [each.closed for each in made] == [True, *[False] * CELLS]


def test_a_shell_without_messages_counts_its_own_runs() -> None:
    kernel, made = SimpleNamespace(execution_count=0), timelines(CELLS + 1)
    for each in made:
        kernel.execution_count += 1
        note(each, kernel)
    assert [each.closed for each in made] == [True, *[False] * CELLS]
