"""console → plans → agents: in imports, foreign keys and migrations."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.db.migrations.loader import MigrationLoader

ROOT = Path(__file__).parents[2]
DJANGO = {"auth", "contenttypes", "sessions"}
BELOW = {"agents": {"agents"} | DJANGO, "plans": {"plans", "agents"} | DJANGO}


def test_imports_go_one_way():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("app", BELOW)
def test_foreign_keys_go_one_way(app):
    for model in apps.get_app_config(app).get_models():
        for field in model._meta.get_fields():
            if field.is_relation and not field.auto_created and field.related_model:
                assert field.related_model._meta.app_label in BELOW[app], field


@pytest.mark.parametrize("app", BELOW)
def test_migrations_depend_one_way(app):
    graph = MigrationLoader(None).disk_migrations
    for (label, name), migration in graph.items():
        if label == app:
            named = {dependency[0] for dependency in migration.dependencies}
            assert named <= BELOW[app] | {"__setting__"}, name


def test_the_console_has_no_tables():
    assert not list(apps.get_app_config("console").get_models())
