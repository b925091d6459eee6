"""The command line: `manage.py` in a checkout, `planside` where Planside is installed."""

from __future__ import annotations

import os
import sys

READER_LEFT = 141  # 128 and the number of SIGPIPE, as a shell counts


def main() -> None:
    from agents.umask import keep_private

    keep_private()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    try:
        try:
            execute_from_command_line(sys.argv)
        except ImproperlyConfigured as error:
            sys.exit(str(error))
        except DatabaseError:  # of a command of Django's, such as migrate; ours say it themselves
            from console.home import no_way_to_postgresql

            if problem := no_way_to_postgresql():
                sys.exit(problem)
            raise
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # as in: manage.py plan list | head -1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READER_LEFT)
