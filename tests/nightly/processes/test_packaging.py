"""A wheel, built."""

import subprocess
import sys
import zipfile

from tests.test_packaging import ROOT


def test_a_wheel_holds_every_file_of_the_product(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    product = {
        f"{inside}{path.relative_to(ROOT)}"
        for inside, folder in [
            ("", "agents"),
            ("", "plans"),
            ("", "console"),
            ("console/", "templates"),
            ("console/", "static"),
        ]
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert product - held == set()
    assert not any(name.startswith(("tests/", "requirements/", "docs/")) for name in held)
