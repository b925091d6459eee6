from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0050_undos_count_what_they_removed")]

    operations = [
        migrations.AddField(
            "recording",
            "written",
            models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
    ]
