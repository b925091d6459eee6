"""A person comments on subtasks before their yes."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0019_what_stops_gave_back_is_kept_beside_the_draft'),
        ('plans', '0005_pauses_say_who'),
    ]

    operations = [
        migrations.CreateModel(
            name='SubtaskComment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('author', models.CharField(max_length=150)),
                ('answered_in', models.PositiveIntegerField(blank=True, null=True)),
                ('answer', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='agents.message')),
                ('subtask', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comments', to='plans.subtask')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
    ]
