from django.db import migrations

# In one pass over the table, whatever the length of a conversation.
FILL = """
UPDATE agents_turn SET parent_id = ordered.parent
FROM (
    SELECT id, lag(id) OVER (PARTITION BY conversation_id ORDER BY id) AS parent
    FROM agents_turn WHERE lane = 'chat'
) AS ordered
WHERE agents_turn.id = ordered.id AND ordered.parent IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("agents", "0017_turns_form_a_tree")]

    operations = [migrations.RunSQL(FILL, migrations.RunSQL.noop)]
