import json
from datetime import UTC, datetime
from pathlib import Path

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def fill(apps, schema_editor):
    """Of what was deleted before there were rows, each in a folder with a record.json."""
    alias = schema_editor.connection.alias
    rows = apps.get_model("agents", "Trashed").objects.using(alias)
    people = set(apps.get_model("auth", "User").objects.using(alias).values_list("pk", flat=True))
    home = Path(settings.PLANSIDE_HOME)
    for record in sorted(home.glob("deleted-files/*/*/record.json")):
        try:
            known = json.loads(record.read_text())
            at = datetime.fromtimestamp(record.stat().st_mtime, UTC)
            row = rows.model(
                key=record.parent.name,
                agent=record.parent.parent.name,
                person_id=known["person"],
                root=known["root"],
                path=known["path"],
                was_replaced=bool(known.get("was_replaced")),
                state="kept",
                at=at,
            )
        except (OSError, ValueError, KeyError, TypeError):
            continue  # it was cut off before anything was moved, or is erased as what no row names
        if row.person_id in people:
            row.save(using=alias)


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("agents", "0039_attached_files_have_a_digest"),
    ]

    operations = [
        migrations.CreateModel(
            name="Trashed",
            fields=[
                ("key", models.CharField(max_length=16, primary_key=True, serialize=False)),
                ("agent", models.CharField(max_length=64)),
                ("root", models.TextField()),
                ("path", models.TextField()),
                ("was_replaced", models.BooleanField(default=False)),
                ("is_beside", models.BooleanField(default=False)),
                (
                    "state",
                    models.CharField(
                        choices=[("moving", "Moving"), ("kept", "Kept")],
                        default="moving",
                        max_length=6,
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["at"], name="trashed_by_time")]},
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
