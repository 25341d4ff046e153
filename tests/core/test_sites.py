"""The table that travels with a kernel."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import instant, span, table

from tltrace_nb.data.sites import EventKind, Keep, Launch, PayloadType, SiteTable, Writer

texts = st.text(max_size=12)
payloads = st.sampled_from(PayloadType)


@given(
    name=texts, lane=texts, group=texts, payload=payloads, keep=st.sampled_from(Keep), ctas=st.none() | st.just((0, 5))
)
def test_a_table_survives_json(
    name: str, lane: str, group: str, payload: PayloadType, keep: Keep, ctas: tuple[int, ...]
) -> None:
    sites = (*span(0, name, lane=lane, group=group, payload=payload), instant(2, name, payload=payload))
    writers = (Writer(0, group, "producer", 32), Writer(1, group, None, 0))
    launches = (Launch("k", (None, 2, 1), (128, 1, 1)), Launch("k_1", (4, 1, 1), (64, 2, 1), 8))
    before = table(*sites, writers=writers, flows=((name, name),), keep=keep, ctas=ctas, launches=launches)
    assert SiteTable.from_json(before.to_json()) == before


def test_json_is_deterministic() -> None:
    assert table(*span(0, "a")).to_json() == table(*span(0, "a")).to_json()


def test_enumerations_come_back_as_such() -> None:
    site = SiteTable.from_json(table(*span(0, "a")).to_json()).sites[1]
    assert site.kind is EventKind.RANGE_END
    assert site.payload is PayloadType.INT32


def test_another_version_says_to_upgrade() -> None:
    text = dataclasses.replace(table(), version=99).to_json()
    with pytest.raises(ValueError, match="version 99.*upgrade"):
        SiteTable.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '"x"', '{"version": 1}', '{"version": 1, "sites": 3}'])
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="site table"):
        SiteTable.from_json(text)


def test_an_unknown_field_is_refused() -> None:
    raw = json.loads(table().to_json()) | {"surprise": 1}
    with pytest.raises(ValueError, match="surprise"):
        SiteTable.from_json(json.dumps(raw))
