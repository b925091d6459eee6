# ruff: noqa
"""The same for the suite as it is now: first the file that caught a fault before, or the one that has
caught it since; of the others those that are still part of make test."""

import csv
from pathlib import Path

import fault_map

HERE = Path(__file__).parent
SINCE = {
    10: "plans/test_liars",
    16: "agents/test_permissions plans/test_run_mode",
    17: "agents/test_clock",
    18: "console/test_chain_beside",
    20: "agents/test_claims agents/test_worker",
    21: "console/api/test_events",
    31: "console/test_fragments",
    36: "browser/test_offline browser/test_needs",
    39: "smoke/test_serve",
    41: "console/test_fragments",
}


def named(nn):
    before = list(csv.DictReader((HERE / "faults-before.tsv").open(), delimiter="\t"))
    caught = [r["test"].split("::")[0][6:-3] for r in before if int(r["nn"]) == nn and r["test"]]
    words = SINCE.get(nn, "").split() + caught
    words += fault_map.LIKELY.get(nn, "").split() + fault_map.WIDER.get(nn, "").split()
    there = [each for each in dict.fromkeys(words) if (HERE.parent / f"{each}.py").exists()]
    return " ".join(there[:8])


LIKELY = {nn: named(nn) for nn in range(1, 42)}
WIDER = POSTGRES = {}
files = fault_map.files
