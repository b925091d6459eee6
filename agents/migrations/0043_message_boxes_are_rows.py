from django.db import migrations, models


class Migration(migrations.Migration):
    """The column that had them stays, empty: SQLite would copy the whole table to drop it."""

    dependencies = [("agents", "0042_attachments_are_a_relation")]

    operations = [
        migrations.AddIndex(
            model_name="attachment",
            index=models.Index(
                condition=models.Q(("in_box", True)),
                fields=["conversation"],
                name="attachments_in_box",
            ),
        ),
        migrations.AddIndex(
            model_name="attachment",
            index=models.Index(
                condition=models.Q(("is_moving", True)), fields=["id"], name="moving_attachments"
            ),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField("conversation", "attached")]
        ),
    ]
