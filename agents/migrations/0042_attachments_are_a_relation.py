from django.db import migrations, models


def fill(apps, schema_editor):
    """From the copies of their facts in each message box and each message."""
    get, alias = apps.get_model, schema_editor.connection.alias
    attachments = get("agents", "Attachment").objects.using(alias)
    messages = get("agents", "Message").objects.using(alias)
    conversations = get("agents", "Conversation").objects.using(alias)
    for conversation in conversations.exclude(attached=[]).iterator():
        for file in conversation.attached:
            filled(attachments, conversation.pk, file, in_box=True)
    links = attachments.model.messages.through.objects.using(alias)
    with_files = messages.filter(meta__has_key="attachments")
    for message in with_files.order_by("pk").iterator():
        for file in message.meta["attachments"] or ():
            key = filled(attachments, message.conversation_id, file)
            links.create(message_id=message.pk, attachment_id=key)
            messages.filter(pk=message.pk).update(has_files=True)


def filled(attachments, conversation, file, **more):
    """The key of the row; what is gone, though it is named, has one again."""
    known = {name: file.get(name) for name in ("size", "width", "height")}
    facts = {"conversation_id": conversation, "data": b"", "name": file["name"]}
    facts |= {"path": file["path"], "media_type": file["media_type"]}
    row, _ = attachments.get_or_create(pk=file["attachment"], defaults=facts)
    attachments.filter(pk=row.pk).update(**known, **more)
    return row.pk


class Migration(migrations.Migration):
    dependencies = [("agents", "0041_folders_are_relative_to_the_home")]

    operations = [
        migrations.AddField(
            model_name="attachment",
            name="root",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddField(
            model_name="attachment",
            name="size",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="attachment",
            name="width",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="attachment",
            name="height",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="attachment",
            name="in_box",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="attachment",
            name="is_moving",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="attachment",
            name="messages",
            field=models.ManyToManyField(related_name="+", to="agents.message"),
        ),
        migrations.AddField(
            model_name="message",
            name="has_files",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
