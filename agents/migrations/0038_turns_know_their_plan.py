from django.db import migrations, models
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast


def fill(apps, schema_editor):
    turns = apps.get_model("agents", "Turn").objects.using(schema_editor.connection.alias)
    plan = Cast(KeyTextTransform("plan", "checkpoint"), models.BigIntegerField())
    turns.filter(checkpoint__has_key="plan").update(plan=plan)
    turns.filter(conversation__depth=0, plan__isnull=False).update(serves=models.F("plan"))
    conversations = apps.get_model("agents", "Conversation").objects.using(turns.db)
    caller = conversations.filter(pk=models.OuterRef("conversation"))
    serves = models.Subquery(caller.values("parent_call__turn__serves"))
    deepest = conversations.aggregate(depth=models.Max("depth"))["depth"] or 0
    for depth in range(1, deepest + 1):
        turns.filter(conversation__depth=depth).update(serves=serves)


class Migration(migrations.Migration):
    dependencies = [("agents", "0037_conversations_know_their_root")]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="plan",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="turn",
            name="serves",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
