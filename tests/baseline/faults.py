#!/usr/bin/env python3
# ruff: noqa
"""Which of the seeded faults a suite catches, and by which test.

    faults.py TREE PATCHES OUT.tsv [NN …] [--wider] [--again] [--map fault_map]

TREE is a clean worktree with .venv; PATCHES a folder of NN-*.patch. Each fault: apply, run its files in
their order with -x, revert. A failure counts if the same test passes on the clean tree, and fails once
more, alone, with the fault. Faults that have a line in OUT are passed over (--again: not).
"""

import argparse
import importlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
CAP = 360
COLUMNS = [
    "nn",
    "name",
    "area",
    "round",
    "result",
    "test",
    "line",
    "seconds",
    "clean",
    "again",
    "files",
    "note",
]
SCRATCH = Path(tempfile.gettempdir(), "faults")
stamps = itertools.count(1)


def git(tree, *words, check=True):
    return subprocess.run(
        ["git", "-C", tree, *words], check=check, capture_output=True, text=True
    ).stdout


def headers(patch):
    return dict(re.findall(r"^# (\w+): (.*)$", patch.read_text(), re.M))


def touched(patch):
    return re.findall(r"^\+\+\+ b/(.*)$", patch.read_text(), re.M)


def stamp(tree, patch):
    """A time of its own for each state of a file, or a .pyc of the other one would do."""
    for path in touched(patch):
        then = time.time() - 200_000 + 10 * next(stamps)
        os.utime(Path(tree, path), (then, then))


def apply(tree, patch):
    assert git(tree, "status", "--porcelain", "-uno") == "", "not clean"
    git(tree, "apply", str(patch))
    stamp(tree, patch)


def revert(tree, patch):
    git(tree, "checkout", "--", ".")
    stamp(tree, patch)
    assert git(tree, "status", "--porcelain", "-uno") == "", "not reverted"


def run(tree, what, cap, deselect=(), n="0"):
    """Seconds, exit code, reports; -9 where the time was over."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir()
    out = SCRATCH / "reports.jsonl"
    env = {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "FAULT_OUT": str(out),
        "FAULT_ORDER": " ".join(dict.fromkeys(each.split("::")[0] for each in what)),
        "TMPDIR": str(SCRATCH),
    }
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [
        "nice",
        "-n",
        "5",
        ".venv/bin/python",
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    command += ["-p", "fault_plugin", "-n", n, "--tb=short", *what]
    if n != "0":
        command += ["--dist", "loadfile", "--no-loadscope-reorder"]
    for each in deselect:
        command += ["--deselect", each]
    began = time.monotonic()
    with (SCRATCH / "output").open("w") as output:
        child = subprocess.Popen(
            command,
            cwd=tree,
            env=env,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        try:
            code = child.wait(cap)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
            code = -9
    seconds = time.monotonic() - began
    reports = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return seconds, code, reports, (SCRATCH / "output").read_text()


def try_fault(tree, patch, files, cap, later=False):
    begun, flaky, note = time.monotonic(), [], []
    result = dict.fromkeys(COLUMNS, "")
    spent = 0.0
    while True:
        apply(tree, patch)
        try:
            seconds, code, reports, output = run(tree, files, cap - spent, flaky)
        finally:
            revert(tree, patch)
        spent += seconds
        failed = next((each for each in reports if each["outcome"] == "failed"), None)
        ran = sum(each["when"] == "call" for each in reports)
        skipped = [each["id"] for each in reports if each["outcome"] == "skipped"]
        if skipped:
            note.append(f"{len(skipped)} skipped")
        if not failed:
            if code == -9:
                last = reports[-1]["id"] if reports else "nothing"
                note.append(f"time was over after {ran} tests, the last {last}")
                result["result"] = "over time"
            elif code == 0:
                note.append(f"{ran} tests passed")
                result["result"] = "survived"
            else:
                note.append(f"exit {code}: {output.strip().splitlines()[-1:]}")
                result["result"] = "error"
            break
        test = failed["id"]
        if later and not re.match(
            r"tests/(browser|scale|faults|test_kill|console/test_(plan|serve|work|chain))", test
        ):
            result.update(
                result="caught",
                test=test,
                line=f"{failed['when']} {failed['at']} {failed['message']}",
            )
            result.update(clean="later", again="")
            break
        cleans, code, clean, text = run(tree, [test], 240)
        is_clean = code == 0
        if not is_clean:
            flaky.append(test)
            note.append(f"fails on the clean tree too: {test}: {text.strip().splitlines()[-2:]}")
            if spent > cap - 20 or len(flaky) > 4:
                result["result"] = "over time"
                break
            continue
        if later:
            result.update(
                result="caught",
                test=test,
                line=f"{failed['when']} {failed['at']} {failed['message']}",
            )
            result.update(clean="passes", again="")
            break
        apply(tree, patch)
        try:
            _, code, again, text = run(tree, [test], 240)
        finally:
            revert(tree, patch)
        if code == 0:
            flaky.append(test)
            note.append(
                f"failed once, passes alone with the fault: {test} ({failed['message'][:120]})"
            )
            if spent > cap - 20 or len(flaky) > 4:
                result["result"] = "over time"
                break
            continue
        result.update(
            result="caught", test=test, line=f"{failed['when']} {failed['at']} {failed['message']}"
        )
        result.update(clean="passes", again="fails")
        break
    return {**result, "seconds": f"{spent:.0f}", "note": "; ".join(note), "files": " ".join(files)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tree")
    parser.add_argument("patches")
    parser.add_argument("out")
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--wider", action="store_true")
    parser.add_argument(
        "--postgres", action="store_true", help="the files of the suite's pass on PostgreSQL"
    )
    parser.add_argument("--again", action="store_true")
    parser.add_argument(
        "--later",
        action="store_true",
        help="what a clean tree says is asked in one run (faults_clean)",
    )
    parser.add_argument("--map", default="fault_map")
    asked = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if asked.postgres:
        os.environ["PLANSIDE_TEST_ON"] = "postgres"
    table = importlib.import_module(asked.map)
    out = Path(asked.out)
    if not out.exists():
        out.write_text("\t".join(COLUMNS) + "\n")
    rows = [dict(zip(COLUMNS, line.split("\t"))) for line in out.read_text().splitlines()[1:]]
    for patch in sorted(Path(asked.patches).glob("*.patch")):
        nn = int(patch.name[:2])
        if asked.numbers and nn not in asked.numbers:
            continue
        mine = [row for row in rows if int(row["nn"]) == nn]
        word = "postgres" if asked.postgres else "wider" if asked.wider else "likely"
        if not asked.again and any(
            row["round"] == word or row["result"] == "caught" for row in mine
        ):
            continue
        line = {"postgres": table.POSTGRES, "wider": table.WIDER, "likely": table.LIKELY}[word].get(
            nn, ""
        )
        if not line:
            continue
        cap = CAP - (sum(float(row["seconds"]) for row in mine) if asked.wider else 0)
        row = try_fault(asked.tree, patch, table.files(line), max(cap, 60), asked.later)
        row.update(nn=f"{nn:02}", name=patch.stem[3:], area=headers(patch)["area"], round=word)
        with out.open("a") as file:
            file.write("\t".join(re.sub(r"\s+", " ", str(row[c])) for c in COLUMNS) + "\n")
        print(row["nn"], row["result"], row["test"], row["seconds"], row["note"], flush=True)


main()
