from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0011_servers_are_signed_in_to'),
    ]

    operations = [
        migrations.AddField(
            model_name='listedmodel',
            name='price_cached',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='listedmodel',
            name='price_stored',
            field=models.FloatField(null=True),
        ),
    ]
