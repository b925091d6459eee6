"""Every state, page, dialog and menu; its commands run without pytest, which makes Django ready."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()
