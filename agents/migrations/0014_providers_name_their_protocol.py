from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0013_what_models_refused_is_kept'),
    ]

    operations = [
        migrations.AddField(
            model_name='provider',
            name='api',
            field=models.CharField(blank=True, db_default='', default='', max_length=32),
        ),
    ]
