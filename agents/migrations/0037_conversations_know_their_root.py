import django.db.models.deletion
from django.db import migrations, models


def fill(apps, schema_editor):
    """Of each called conversation: the one of a person above it, and how many calls lie between."""
    conversations = apps.get_model("agents", "Conversation").objects.using(
        schema_editor.connection.alias
    )
    above, depth = {}, 0
    called = conversations.exclude(parent_call=None).filter(
        parent_call__turn__conversation__parent_call=None
    )
    while rows := dict(called.values_list("pk", "parent_call__turn__conversation")):
        depth += 1
        above = {pk: above.get(caller, caller) for pk, caller in rows.items()}
        changed = [conversations.model(pk=pk, root_id=root, depth=depth) for pk, root in above.items()]
        conversations.bulk_update(changed, ["root", "depth"], batch_size=200)
        called = conversations.filter(parent_call__turn__conversation__depth=depth)


class Migration(migrations.Migration):
    dependencies = [("agents", "0036_a_recording_says_that_files_are_left_out")]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="root",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="called_in_it",
                to="agents.conversation",
            ),
        ),
        migrations.AddField(
            model_name="conversation",
            name="depth",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
