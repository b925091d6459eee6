from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0012_prices_of_the_cache_are_listed'),
    ]

    operations = [
        migrations.CreateModel(
            name='ModelLesson',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=64)),
                ('address', models.CharField(max_length=2000)),
                ('model', models.CharField(max_length=200)),
                ('kind', models.CharField(max_length=32)),
                ('value', models.CharField(blank=True, max_length=200)),
                ('words', models.TextField(blank=True)),
                ('learnt_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('provider', 'address', 'model', 'kind', 'value'), name='one_row_a_lesson')],
            },
        ),
    ]
