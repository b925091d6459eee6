from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0014_providers_name_their_protocol'),
    ]

    operations = [
        migrations.AddField(
            model_name='toolcall',
            name='progress',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='toolcall',
            name='asked_as',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
    ]
