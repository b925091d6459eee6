"""Matches a regular expression against lines. Run as a program of its own, so it can be ended.

Reads {"pattern": …, "lines": […]} and prints the places of the lines that match, or null when
the pattern is no regular expression.
"""

import json
import re
import resource
import sys
import warnings

MOST_SECONDS = 10  # of computing, should nobody be left who would end it

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    request = json.load(sys.stdin)
    warnings.simplefilter("ignore")  # a pattern with a future meaning still has its present one
    places = None
    try:
        pattern = re.compile(request["pattern"])
        places = [place for place, line in enumerate(request["lines"]) if pattern.search(line)]
    except (re.error, RecursionError, OverflowError):
        pass
    json.dump(places, sys.stdout)
