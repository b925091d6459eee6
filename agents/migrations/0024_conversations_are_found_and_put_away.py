import re

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

import agents.models.fields

# What is said, and titles and plans, which are few: each has an index of its own.
KINDS = {"said": "message_id IS NOT NULL", "named": "message_id IS NULL"}
# `words` alone is indexed, without positions; what triggers take away has to be what they put in.
SQLITE = """
CREATE VIRTUAL TABLE agents_searchentry_{name} USING fts5(
    words, content='agents_searchentry', content_rowid='id', detail=none, columnsize=0,
    tokenize="ascii tokenchars '_'", prefix='1 2 3'
);
CREATE TRIGGER agents_searchentry_{name}_added AFTER INSERT ON agents_searchentry
WHEN new.{which} BEGIN
    INSERT INTO agents_searchentry_{name}(rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER agents_searchentry_{name}_gone AFTER DELETE ON agents_searchentry
WHEN old.{which} BEGIN
    INSERT INTO agents_searchentry_{name}(agents_searchentry_{name}, rowid, words)
    VALUES ('delete', old.id, old.words);
END;
CREATE TRIGGER agents_searchentry_{name}_changed AFTER UPDATE OF words ON agents_searchentry
WHEN old.{which} BEGIN
    INSERT INTO agents_searchentry_{name}(agents_searchentry_{name}, rowid, words)
    VALUES ('delete', old.id, old.words);
    INSERT INTO agents_searchentry_{name}(rowid, words) VALUES (new.id, new.words);
END
"""
# Without the list of pending words, which each search would read through.
POSTGRESQL = """
CREATE INDEX agents_searchentry_{name} ON agents_searchentry USING gin (words)
WITH (fastupdate = off) WHERE {which}
"""


def index(apps, schema_editor):
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    for name, which in KINDS.items():
        if is_postgresql:
            schema_editor.execute(POSTGRESQL.format(name=name, which=which))
            continue
        for statement in re.split(r";\n(?=CREATE)", SQLITE.format(name=name, which=which)):
            schema_editor.execute(statement)


def unindex(apps, schema_editor):
    kind = "INDEX" if schema_editor.connection.vendor == "postgresql" else "TABLE"
    for name in KINDS:
        schema_editor.execute(f"DROP {kind} agents_searchentry_{name}")


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0023_what_calls_replaced_in_files_is_kept"),
    ]

    operations = [
        migrations.AddField(
            "conversation", "pinned_at", models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField(
            "conversation", "archived_at", models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField(
            "conversation", "deleted_at", models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddIndex(
            "conversation",
            models.Index(
                condition=Q(("deleted_at__isnull", False)),
                fields=["deleted_at"],
                name="deleted_conversations",
            ),
        ),
        migrations.CreateModel(
            "SearchEntry",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("plan", models.PositiveBigIntegerField(null=True, unique=True)),
                ("words", agents.models.fields.WordsField()),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="agents.conversation",
                    ),
                ),
                (
                    "message",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="agents.message",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(("message", None), ("plan", None)),
                        fields=("conversation",),
                        name="one_search_entry_per_title",
                    )
                ]
            },
        ),
        migrations.RunPython(index, unindex),
    ]
