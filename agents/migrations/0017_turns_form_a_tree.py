from django.db import migrations, models
from django.db.models.deletion import SET_NULL


class Migration(migrations.Migration):
    dependencies = [("agents", "0016_services_are_changed_after_adding")]

    operations = [
        migrations.AddField(
            "conversation",
            "branched_seq",
            models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            "conversation",
            "provider",
            models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
        migrations.AddField(
            "conversation",
            "model",
            models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            "turn",
            "parent",
            models.ForeignKey(
                "agents.turn", SET_NULL, blank=True, null=True, related_name="following"
            ),
        ),
        migrations.AddField("turn", "hidden", models.BooleanField(db_default=False, default=False)),
        migrations.AddField(
            "turn", "shown_seq", models.PositiveBigIntegerField(db_default=0, default=0)
        ),
        migrations.AddField(
            "message",
            "after",
            models.ForeignKey(
                "agents.turn", SET_NULL, blank=True, db_index=False, null=True, related_name="+"
            ),
        ),
        migrations.AddField(
            "message", "hidden", models.BooleanField(db_default=False, default=False)
        ),
        migrations.AddIndex(
            "message",
            models.Index(
                condition=models.Q(("after__isnull", False)),
                fields=["after"],
                name="messages_after_a_turn",
            ),
        ),
    ]
