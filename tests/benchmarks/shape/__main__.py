"""`make shape`: how big the product is, how its functions, imports and templates look.

    python -m tests.benchmarks.shape [--json] [folder of another checkout]
    python -m tests.benchmarks.shape --one-caller agents.tools

Tests and migrations are left out, and so are Python files that nobody can import (the sample files
of an agent, named at the end). Nothing is asserted; `aim` is what we want to get to.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.shape.functions import KINDS, PLAIN, Callers, Function
from tests.benchmarks.shape.imports import Import, imports_of, knots
from tests.benchmarks.shape.source import Source, read
from tests.benchmarks.shape.state import state_of

ROOT = Path(__file__).parents[3]
LONG_LINE = 120
AIMS = {
    "lines": "≤ 19,000",
    "files": "≤ 190",
    "longest module": "≤ 400",
    "function, median": "≤ 9",
    "function, p90": "≤ 28",
    "function, longest": "≤ 50",
    "one caller in their own file, %": "≤ 12",
    "packages in knots": "0",
    "packages in knots, imports in functions too": "0",
    "template line, longest": "≤ 120",
    "template lines over 120": "0",
}


def p90(numbers: list[int]) -> int:
    return sorted(numbers)[int(len(numbers) * 0.9)] if numbers else 0


def figures(source: Source) -> dict[str, Any]:
    functions = list(Callers(source).functions())
    imports = imports_of(source)
    return {
        **size(source),
        **functions_of(functions, source.test_text),
        **templates_of(source),
        **cycles_of(source, imports),
        "module-level state": state_of(source),
        "left out": [f"{path}" for path in source.left_out],
    }


def size(source: Source) -> dict[str, Any]:
    modules = sorted(source.modules, key=lambda module: -module.lines)
    return {
        "lines": sum(module.lines for module in modules),
        "lines that are not empty": sum(
            1 for module in modules for line in module.text.splitlines() if line.strip()
        ),
        "files": len(modules),
        "empty files": sum(not module.text for module in modules),
        "longest module": modules[0].lines,
        "longest modules": {module.name: module.lines for module in modules[:10]},
    }


def functions_of(functions: list[Function], tests: str) -> dict[str, Any]:
    lengths = [function.lines for function in functions]
    longest = sorted(functions, key=lambda function: -function.lines)[:10]
    single = [f for f in functions if f.uses and f.kind in PLAIN]
    count = Counter((f.kind, f.uses) for f in functions)
    said_in_tests = set(re.findall(r"\w+", tests))
    tested = sum(function.node.name in said_in_tests for function in single)
    return {
        "functions": len(functions),
        "function, median": median(lengths),
        "function, p90": p90(lengths),
        "function, longest": max(lengths),
        "longest functions": {function.name: function.lines for function in longest},
        "functions over 50": sum(length > 50 for length in lengths),
        "one caller in their own file": len(single),
        "one caller in their own file, %": round(100 * len(single) / len(functions), 1),
        "of these named in a test": tested,
        "one caller, by kind": {
            kind: {
                "all": sum(count[kind, use] for use in ("", "called", "passed")),
                "called": count[kind, "called"],
                "passed": count[kind, "passed"],
            }
            for kind in KINDS
        },
    }


def templates_of(source: Source) -> dict[str, Any]:
    lines = [
        (len(line), f"{path.relative_to(source.root)}:{number}")
        for path in source.templates
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.strip()
    ]
    widths = [width for width, _ in lines]
    return {
        "templates": len(source.templates),
        "template lines": len(lines),
        "template line, median": median(widths),
        "template line, p90": p90(widths),
        "template line, longest": max(widths),
        "longest template line": max(lines)[1],
        "template lines over 120": sum(width > LONG_LINE for width in widths),
    }


def cycles_of(source: Source, imports: list[Import]) -> dict[str, Any]:
    at_start = [each for each in imports if not each.deferred]
    found = {app: knots(at_start, app) for app in source.apps}
    with_deferred = {app: knots(imports, app) for app in source.apps}
    return {
        "packages in knots": packages(found),
        "packages in knots, imports in functions too": packages(with_deferred),
        "imports inside functions": len(imports) - len(at_start),
        "knots": found,
        "knots, imports in functions too": with_deferred,
    }


def packages(found: dict[str, list[list[str]]]) -> int:
    return sum(len(knot) for each in found.values() for knot in each)


def table(shape: dict[str, Any]) -> str:
    """Plain figures beside what we aim at, then the names behind them."""
    lines = [f"{'':<46}{'now':>10}  aim"]
    for name, value in shape.items():
        if isinstance(value, int | float):
            lines.append(f"{name:<46}{value:>10,}  {AIMS.get(name, '')}".rstrip())
    lines += ["", f"{'one caller in their own file':<46}{'all':>10}{'called':>10}{'passed':>10}"]
    for kind, row in shape["one caller, by kind"].items():
        lines.append(f"  {kind:<44}" + "".join(f"{each:>10,}" for each in row.values()))
    lines.append(
        f"  The share is that of {' and '.join(PLAIN)}; functions.py tells the others apart."
    )
    for name in ("longest modules", "longest functions"):
        lines += ["", name]
        lines += [f"  {value:>5,}  {each}" for each, value in shape[name].items()]
    for name in ("knots", "knots, imports in functions too"):
        lines += ["", name]
        lines += [
            f"  {app}: {len(knot)} packages: " + " ".join(each.split(".")[1] for each in knot)
            for app, found in shape[name].items()
            for knot in found
        ] or ["  none"]
    for kind, names in shape["module-level state"].items():
        lines += ["", f"module-level state, {kind}: {len(names)}", *(f"  {each}" for each in names)]
    lines += ["", f"longest template line: {shape['longest template line']}"]
    lines += [f"left out, nobody can import it: {each}" for each in shape["left out"]]
    return "\n".join(lines)


def one_caller(source: Source, package: str) -> str:
    """Name, lines, how it is used, and whether a test names it."""
    named_in_tests = set(re.findall(r"\w+", source.test_text))
    return "".join(
        f"{f.lines:>4}  {f.uses:<7} {'test' if f.node.name in named_in_tests else '':<5} {f.name}\n"
        for f in Callers(source).functions()
        if f.uses and f.kind in PLAIN and f"{f.name}.".startswith(f"{package}.")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--one-caller", metavar="PACKAGE", help="list the functions that have one caller"
    )
    chosen = parser.parse_args()
    if chosen.one_caller:
        sys.stdout.write(one_caller(read(chosen.folder.resolve()), chosen.one_caller))
        return
    shape = figures(read(chosen.folder.resolve()))
    shape_text = json.dumps(shape, indent=2) if chosen.json else table(shape)
    sys.stdout.write(shape_text + "\n")


if __name__ == "__main__":
    main()
