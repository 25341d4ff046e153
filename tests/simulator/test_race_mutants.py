"""Device functions that lack one synchronisation, or have it elsewhere, are told from those that do not.

What is not caught must be what changes nothing: another synchronisation orders the same, or a person has looked at it.
``pytest -m full -s`` prints the table.
"""

from __future__ import annotations

import collections

import pytest
from kernels import BY_NAME, REFERENCES
from race_mutants import Mutant, Subject, covered

FEW = (("dequantising_gemm", "sm_90a"), ("specialised_gemm", "sm_90a"), ("gemm_2", "sm_80"))
"""The references of the default suite: named barriers and proxy fences; the author's mbarriers; cp.async copies."""
OWN = "threads read what they have copied themselves"
MORE = "two more barriers stand between what it orders, in each turn of the loop"
SHORT = "the loop has no more turns than the pipeline has stages: nothing is reused"
EARLIER = "the same threads have waited for the one that its arrival comes before"
LATER = "the next product's wait is for this one, too, and nothing of it is used before that"
BOTH = "the copy has waited for the other operand's stage, too, which is given free behind this access"
COPIES = "products read what cp.async copies have written without a proxy fence"
LOOKED_AT = {
    "row_sum sm_80": {"sync_threads": OWN},
    "dequantising_gemm sm_80": {"sync_threads": f"{OWN}; {MORE}"},
    "packed_int4 sm_80": {"sync_threads": f"{OWN}; {MORE}"},
    "dequantising_gemm sm_90a": {"mbarrier wait": EARLIER, "mbarrier arrive": BOTH},
    "packed_int4 sm_90a": {"mbarrier wait": EARLIER, "mbarrier arrive": BOTH},
    "attention sm_80": {"sync_threads": MORE},
    "causal_attention_unpipelined sm_80": {"sync_threads": MORE},
    "causal_attention_unpipelined sm_90a": {"sync_threads": MORE},
    "attention_backward sm_80": {"sync_threads": MORE},
    "attention_backward sm_90a": {"sync_threads": MORE, "wgmma commit": LATER, "wgmma wait": LATER},
    "flash_decoding sm_80": {"sync_threads": MORE},
    "flash_decoding sm_90a": {"mbarrier wait": SHORT, "mbarrier arrive": SHORT},
    "convolution sm_80": {"sync_threads": MORE},
    "conditional_gemm sm_80": {"sync_threads": MORE},
    "rasterised_gemm sm_90a": {"mbarrier wait": SHORT, "mbarrier arrive": SHORT},
    "rasterised_cluster_gemm sm_90a": {"mbarrier wait": SHORT, "mbarrier arrive": SHORT},
    **{
        f"{name}_unspecialised sm_90a": {"proxy fence": COPIES, "wgmma commit": LATER, "wgmma wait": LATER}
        for name in ("gemm_1", "gemm_2", "gemm_3", "gemm_4", "rasterised_gemm")
    },
}
"""Why mutants of a kind that are not caught change nothing, by reference and architecture."""


def judged(subject: Subject, how: str) -> list[tuple[Mutant, str]]:
    """Each mutant: caught, why it changes nothing, or missed."""
    found = []
    for i, mutant in subject.mutants(how):
        if subject.is_caught({i: mutant.func}):
            said = "caught"
        else:
            reason = LOOKED_AT.get(subject.name, {}).get(mutant.kind) or covered(subject, i, mutant)
            said = reason or "missed"
        found.append((mutant, said))
    return found


@pytest.mark.parametrize(("name", "architecture"), FEW)
def test_a_function_without_one_synchronisation_is_told(name: str, architecture: str) -> None:
    found = judged(Subject(BY_NAME[name], architecture), "drop")
    assert [(mutant.kind, mutant.number) for mutant, said in found if said == "missed"] == []
    assert sum(said == "caught" for _, said in found) >= 0.7 * len(found)


def test_an_arrival_before_a_product_and_a_wait_behind_it_are_told() -> None:
    found = judged(Subject(BY_NAME["specialised_gemm"], "sm_90a"), "move")
    kinds = {mutant.kind for mutant, said in found if said == "caught"}
    assert kinds >= {"mbarrier arrive", "mbarrier wait"}


@pytest.mark.full
@pytest.mark.parametrize("how", ["drop", "move"])
def test_at_least_95_of_100_mutants_of_all_references_are_told(how: str) -> None:
    table: collections.Counter[tuple[str, str]] = collections.Counter()
    missed = []
    for reference in REFERENCES:
        for architecture in reference.architectures:
            subject = Subject(reference, architecture)
            for mutant, said in judged(subject, how):
                table[mutant.kind, said if said in ("caught", "missed") else "changes nothing"] += 1
                missed += [f"{subject.name} {mutant.kind} {mutant.number}"] if said == "missed" else []
    for kind in sorted({kind for kind, _ in table}):
        print(kind, {said: n for (of, said), n in table.items() if of == kind})
    caught = sum(n for (_, said), n in table.items() if said == "caught")
    assert caught >= 0.95 * (caught + len(missed)), missed
