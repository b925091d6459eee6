from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0048_a_plan_is_current_on_the_command_line")]

    operations = [
        migrations.AddField(
            "undo", "removed", models.PositiveIntegerField(db_default=0, default=0)
        ),
    ]
