"""`make fonts`: the typefaces under static/vendor, made again from the packages of their makers.

Only what pages show is kept: these characters, the weights from regular to semibold, kerning,
marks and figures of one width. No ligatures and no contextual forms: what is shown is what was
typed, in text and in code. Chinese stays with the system's face.
"""

import subprocess
import tarfile
import tempfile
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

STATIC = Path(__file__).parents[1] / "static"
INTER = "inter-ui@4.1.1"
MONO = "@expo-google-fonts/jetbrains-mono@0.4.1"
FEATURES = ["kern", "mark", "mkmk", "ccmp", "locl", "tnum"]

LATIN = (
    "0-FF, 131, 152-153, 2BB-2BC, 2C6, 2DA, 2DC, 2000-206F, 20AC, 2122, 2190-2199, 2212, 2215, "
    "FEFF, FFFD"
)
LATIN_EXT = "100-130, 132-151, 154-24F, 259, 300-30C, 323, 329, 1E80-1EF9, 20A0-20AB, 20AD-20C0"
CYRILLIC = "400-52F, 2116"
GREEK = "370-3FF"
SYMBOLS = "2100-2115, 2117-2121, 2123-218F, 219A-2211, 2213-2214, 2216-23FF, 2460-24FF, 25A0-27BF"
ALL = f"{LATIN}, {LATIN_EXT}, {CYRILLIC}, {GREEK}, {SYMBOLS}, 2500-259F"

# Package and file in it, where it goes, family, weights, characters.
FACES = [
    *(
        (INTER, "variable/InterVariable.woff2", f"inter-4.1/{name}.woff2", "Inter", "400 600", of)
        for name, of in {
            "latin": LATIN,
            "latin-ext": LATIN_EXT,
            "cyrillic": CYRILLIC,
            "greek": GREEK,
            "symbols": SYMBOLS,
        }.items()
    ),
    (MONO, "400Regular/JetBrainsMono_400Regular.ttf", "jetbrains-mono-2.211/regular.woff2",
     "JetBrains Mono", "400", ALL),
    (MONO, "600SemiBold/JetBrainsMono_600SemiBold.ttf", "jetbrains-mono-2.211/semibold.woff2",
     "JetBrains Mono", "500 600", ALL),
]  # fmt: skip
LICENCES = {"inter-4.1": (INTER, "LICENSE.txt"), "jetbrains-mono-2.211": (MONO, "LICENSE_FONT")}

HEAD = """/* Inter for text, JetBrains Mono for code; written by .ci/fonts.py. A face that has
   not come when a page is first drawn waits for the next page: no text moves under a reader. */
"""
RULE = """@font-face {{
  font-family: "{family}";
  src: url("../vendor/{file}") format("woff2");
  font-weight: {weight};
  font-display: optional;
  unicode-range:
    {ranges};
}}
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        packages = {name: unpack(name, Path(folder)) for name in (INTER, MONO)}
        for package, source, target, _, _, ranges in FACES:
            write(packages[package] / source, STATIC / "vendor" / target, ranges)
        for target, (package, name) in LICENCES.items():
            text = (packages[package] / name).read_text()
            (STATIC / "vendor" / target / "LICENSE").write_text(text)
    rules = [
        RULE.format(family=family, file=file, weight=weight, ranges=in_css(ranges))
        for _, _, file, family, weight, ranges in FACES
    ]
    (STATIC / "css" / "fonts.css").write_text(HEAD + "".join(rules))


def unpack(package, folder):
    packed = subprocess.run(
        ["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True
    )
    place = folder / packed.stdout.strip().removesuffix(".tgz")
    with tarfile.open(folder / packed.stdout.strip()) as archive:
        archive.extractall(place, filter="data")
    return place / "package"


def write(source, target, ranges):
    font = TTFont(source, recalcTimestamp=False)
    options = subset.Options(layout_features=FEATURES, hinting=False, notdef_outline=True)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=[code for part in parts(ranges) for code in part])
    subsetter.subset(font)
    if "fvar" in font:
        instancer.instantiateVariableFont(font, {"opsz": 14, "wght": (400, 600)}, inplace=True)
    font.flavor = "woff2"
    target.parent.mkdir(parents=True, exist_ok=True)
    font.save(target)
    print(f"{target.relative_to(STATIC)}: {target.stat().st_size / 1000:.1f} kB")  # noqa: T201


def parts(ranges):
    for part in ranges.split(", "):
        first, _, last = part.partition("-")
        yield range(int(first, 16), int(last or first, 16) + 1)


def in_css(ranges):
    lines = [""]
    for part in ranges.split(", "):
        if len(lines[-1]) + len(part) > 88:
            lines.append("")
        lines[-1] += f"U+{part}, "
    return "\n    ".join(line.strip() for line in lines).rstrip(",")


main()
