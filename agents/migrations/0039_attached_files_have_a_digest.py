from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0038_turns_know_their_plan")]

    operations = [
        migrations.AddField(
            model_name="attachment",
            name="digest",
            field=models.CharField(blank=True, db_default="", default="", max_length=64),
        ),
    ]
