"""A pause says who wanted it, or that another plan was asked for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("plans", "0004_questions_are_read_from_turns")]
    operations = [
        migrations.AddField(
            model_name="plan",
            name="paused_by",
            field=models.CharField(blank=True, db_default="", default="", max_length=150),
        ),
        migrations.AlterField(
            model_name="plan",
            name="pause_reason",
            field=models.CharField(
                blank=True,
                choices=[
                    ("user", "User"),
                    ("aside", "Aside"),
                    ("confirm", "Confirm"),
                    ("question", "Question"),
                    ("approval", "Approval"),
                    ("budget", "Budget"),
                ],
                max_length=8,
            ),
        ),
    ]
