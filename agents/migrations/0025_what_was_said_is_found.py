from django.db import migrations, transaction

from agents.words import words_of

AT_ONCE = 500  # rows of one transaction; others write between two of them
INSERT = """
INSERT INTO agents_searchentry (conversation_id, message_id, words) VALUES (%s, %s, {words})
ON CONFLICT DO NOTHING
"""
WORDS = {"sqlite": "%s", "postgresql": "array_to_tsvector(string_to_array(%s, ' '))"}


def fill(apps, schema_editor):
    """Titles and messages, in the order they were made in."""
    titles = apps.get_model("agents", "Conversation").objects.exclude(title="")
    titles = titles.filter(parent_call=None).values_list("pk", "owner", "title")
    for rows in batches(titles):
        insert(
            schema_editor, [(pk, None, f"_t{owner}", title) for pk, owner, title in rows]
        )
    said = apps.get_model("agents", "Message").objects.filter(
        conversation__parent_call=None, kind__in=["text", "question"], streaming=False
    )
    said = said.exclude(text="")
    for rows in batches(said.values_list("pk", "conversation", "conversation__owner", "text")):
        insert(
            schema_editor, [(where, pk, f"_m{owner}", text) for pk, where, owner, text in rows]
        )


def batches(rows):
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk")[:AT_ONCE]):
        yield batch
        last = batch[-1][0]


def insert(schema_editor, entries):
    sql = INSERT.format(words=WORDS[schema_editor.connection.vendor])
    values = [
        (where, message, " ".join([whose, *words_of(text)]))
        for where, message, whose, text in entries
    ]
    with transaction.atomic(), schema_editor.connection.cursor() as cursor:
        cursor.executemany(sql, values)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("agents", "0024_conversations_are_found_and_put_away")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
