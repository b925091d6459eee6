"""console → plans → agents: in foreign keys and migrations. For imports .ci/lint asks import-linter."""

from pathlib import Path

from django.apps import apps
from django.db.migrations.loader import MigrationLoader

ROOT = Path(__file__).parents[2]
DJANGO = {"auth", "contenttypes", "sessions"}
BELOW = {"agents": {"agents"} | DJANGO, "plans": {"plans", "agents"} | DJANGO}


def test_foreign_keys_go_one_way():
    upwards = [
        str(field)
        for app, below in BELOW.items()
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.get_fields()
        if field.is_relation and not field.auto_created and field.related_model
        if field.related_model._meta.app_label not in below
    ]
    assert upwards == []


def test_migrations_depend_one_way():
    upwards = [
        f"{app}.{name} on {depends}"
        for (app, name), migration in MigrationLoader(None).disk_migrations.items()
        for depends, _ in migration.dependencies
        if app in BELOW and depends not in BELOW[app] | {"__setting__"}
    ]
    assert upwards == []


def test_the_console_has_no_tables():
    assert not list(apps.get_app_config("console").get_models())
