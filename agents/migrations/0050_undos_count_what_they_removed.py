from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0049_the_file_that_a_call_wrote")]

    operations = [
        migrations.AddField(
            "undo", "removed", models.PositiveIntegerField(db_default=0, default=0)
        ),
    ]
