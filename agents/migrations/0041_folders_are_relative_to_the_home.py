import hashlib
import json
import os
from pathlib import Path

from django.conf import settings
from django.db import migrations


def fill(apps, schema_editor):
    """Of rows, and of the stores of recordings, which are named after their folder."""
    get, alias = apps.get_model, schema_editor.connection.alias
    tables = (
        (get("agents", "Recording"), "turn__conversation__agent_id"),
        (get("agents", "Undo"), "conversation__agent_id"),
        (get("agents", "Trashed"), "agent"),
    )
    moved = {}
    for model, agent in tables:
        rows = model.objects.using(alias)
        for root, of in set(rows.order_by().values_list("root", agent)):
            moved[root] = stored(root, of)
            if root != moved[root]:
                rows.filter(**{"root": root, agent: of}).update(root=moved[root])
    turns = get("agents", "Turn").objects.using(alias).filter(checkpoint__has_key="commands_in")
    for turn in turns.select_related("conversation").iterator():
        folder = stored(turn.checkpoint["commands_in"], turn.conversation.agent_id)
        turn.checkpoint = {**turn.checkpoint, "commands_in": folder}
        turn.save(update_fields=["checkpoint"])
    for root in sorted(Path(settings.PLANSIDE_HOME).glob("recordings/*/root")):
        folder = json.loads(root.read_text())
        move_store(root, moved.get(folder, folder))


def stored(folder, agent):
    """Also where the home has been moved, or copied, since the row was written."""
    own = f"workspaces/{agent}/files"
    is_own = folder.endswith(f"/{own}")
    return own if is_own else folder.removeprefix(f"{settings.PLANSIDE_HOME}/")


def move_store(root, folder):
    """To its new name; into the one of that name where the home was moved once already."""
    root.write_text(json.dumps(folder))
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:24]
    old, new = root.parent, root.parent.with_name(name)
    if new == old:
        return
    if not new.exists():
        old.rename(new)
        return
    for pack in (old / "pack").iterdir():
        pack.rename(new / "pack" / pack.name)
    root.unlink()


class Migration(migrations.Migration):
    dependencies = [("agents", "0040_deleted_files_have_rows")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
