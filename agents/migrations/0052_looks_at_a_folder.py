from django.db import migrations, models


class Migration(migrations.Migration):
    """What calls and others changed is told by looks; the columns that told it before stay for
    processes of the version before, and are filled no more."""

    dependencies = [("agents", "0051_files_that_others_wrote_meanwhile")]

    operations = [
        migrations.CreateModel(
            "Observation",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("since", models.BigIntegerField()),
                ("until", models.BigIntegerField()),
                ("files", models.JSONField(default=dict)),
                (
                    "call",
                    models.ForeignKey(
                        "agents.ToolCall", models.CASCADE, blank=True, null=True, related_name="+"
                    ),
                ),
                (
                    "recording",
                    models.ForeignKey(
                        "agents.Recording", models.CASCADE, related_name="observations"
                    ),
                ),
            ],
        ),
        migrations.AlterField(
            "personedit",
            "folders",
            models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("personedit", "folders"),
                migrations.RemoveField("recording", "taken"),
                migrations.RemoveField("recording", "written"),
                migrations.RemoveField("toolcall", "folders"),
            ]
        ),
    ]
