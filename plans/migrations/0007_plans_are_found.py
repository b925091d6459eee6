from django.db import migrations, transaction

from agents.words import words_of

AT_ONCE = 200
TEXT = ("title", "goal", "content", "expected_outcome", "outcome")
SUBTASK = ("name", "description", "expected_outcome", "outcome")
INSERT = """
INSERT INTO agents_searchentry (conversation_id, plan, words) VALUES (%s, %s, {words})
ON CONFLICT DO NOTHING
"""
WORDS = {"sqlite": "%s", "postgresql": "array_to_tsvector(string_to_array(%s, ' '))"}


def fill(apps, schema_editor):
    """As agents 0025 does it for what was said."""
    sql = INSERT.format(words=WORDS[schema_editor.connection.vendor])
    plans = apps.get_model("plans", "Plan").objects.filter(conversation__parent_call=None)
    last = 0
    while batch := list(
        plans.filter(pk__gt=last).select_related("conversation").order_by("pk")[:AT_ONCE]
    ):
        last = batch[-1].pk
        with transaction.atomic(), schema_editor.connection.cursor() as cursor:
            cursor.executemany(sql, [entry(plan) for plan in batch])


def entry(plan):
    listed = plan.subtasks.filter(position__isnull=False).order_by("position")
    texts = [getattr(plan, field) for field in TEXT]
    texts += [text for row in listed.values_list(*SUBTASK) for text in row]
    words = [f"_p{plan.conversation.owner_id}", *words_of("\n".join(texts))]
    return plan.conversation_id, plan.pk, " ".join(words)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("plans", "0006_subtasks_take_comments"),
        ("agents", "0025_what_was_said_is_found"),
    ]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
