from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0015_calls_say_how_far_they_are'),
    ]

    operations = [
        migrations.AddField(
            model_name='toolsource',
            name='allowed',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='toolsource',
            name='client_id',
            field=models.CharField(blank=True, db_default='', default='', max_length=500),
        ),
        migrations.AddField(
            model_name='toolsource',
            name='client_secret',
            field=models.CharField(blank=True, db_default='', default='', max_length=500),
        ),
    ]
