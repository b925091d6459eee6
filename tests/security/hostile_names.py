"""Sixty-odd forms of a name or path that lead elsewhere, or that something might take for another.

{} stands for the path of a file outside of the workspace, out and leak for links that lead there.
What is not seen goes when a name is cleaned.
"""

WAYS_OUT = ["../secret.txt", "../new.txt", "{}", "{}.new", ".\u200b./secret.txt"]
LEAD_ELSEWHERE = [
    *WAYS_OUT,
    "../../secret.txt",
    "/{}",
    "./{}",
    "sub/../../secret.txt",
    "\u200b.\u200b.\u200b/secret.txt",
    ".\u202e./\u2060.\u00ad./secret.txt",
    "\ufeff{}",
    " ../secret.txt",
    "../secret.txt ",
    "..\ud800/secret.txt",
    "sub/",
    "a/b",
]
NOTHING_LEFT = [".", "..", "", " ", "\u200b", ".\u200b.", "\0"]
ONE_COMPONENT = [
    "..\\secret.txt",
    "%2e%2e%2fsecret.txt",
    "..%2fsecret.txt",
    "\uff0e\uff0e\uff0fsecret.txt",
    "\u2025\u2215secret.txt",
    "~",
    "$HOME",
    "-rf",
    "x" * 300,
    "é" * 200 + ".txt",
]
# In a path, where a name is refused.
PATHS = [
    "../../../secret.txt",
    "sub/../../../secret.txt",
    "sub/./../../secret.txt",
    "sub//..//..//secret.txt",
    "./././../secret.txt",
    "....//secret.txt",
    "..;/secret.txt",
    "..%00/secret.txt",
    "../secret.txt\0.png",
    "../secret.txt\n",
    "\t../secret.txt",
    "..\r/secret.txt",
    "sub/\u200b../../secret.txt",
    "file://{}",
    "//localhost{}",
    "\\\\localhost\\secret.txt",
    "C:\\secret.txt",
    "~/secret.txt",
    "~root/secret.txt",
    "${HOME}/secret.txt",
    "/proc/self/cwd/secret.txt",
    "/proc/self/environ",
    "/dev/fd/0",
    "../agent.json",
    "../../../secret.key",
    "out/secret.txt",
    "out/../secret.txt",
    "out",
    "sub/../out/secret.txt",
    "leak.txt",
    "leak.txt/.",
    "*",
    "a\nb",
    "/".join(["sub"] * 500),
]
HOSTILE = [*LEAD_ELSEWHERE, *NOTHING_LEFT, *ONE_COMPONENT, *PATHS]
