from django.db import migrations, models


def fill(apps, schema_editor):
    """Why a file stayed, there was one reason for; undos that are not finished keep their words."""
    rows = apps.get_model("agents", "Undo").objects.using(schema_editor.connection.alias)
    rows.filter(kept=[]).update(kept={})
    for row in rows.exclude(kept={}):
        row.kept = dict.fromkeys(row.kept, "changed")
        row.save(update_fields=["kept"])
    for row in rows.filter(finished_at=None):
        row.sentence = {"code": "as_written", "text": row.words}
        row.save(update_fields=["sentence"])


class Migration(migrations.Migration):
    """The column that had the words stays, empty: the version before writes it."""

    dependencies = [("agents", "0045_calls_say_whether_they_write")]

    operations = [
        migrations.AddField(
            "undo",
            "sentence",
            models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AlterField("undo", "kept", models.JSONField(default=dict)),
        migrations.AlterField("undo", "words", models.TextField(blank=True, db_default="")),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField("undo", "words")]
        ),
    ]
