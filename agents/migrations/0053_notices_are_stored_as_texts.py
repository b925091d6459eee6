import json

from django.db import migrations

# What the codes of the version before stood for: one text, or that for one and that for more.
TEXTS = {
    "undone.plan": "You undid the changes of the plan “{title}”.",
    "undone.subtask": "You undid the changes of subtask {number}.",
    "undone.reply": "You undid the changes of a reply.",
    "undone.undo": "You undid an undo.",
    "undo.restored": ("{n} file restored.", "{n} files restored."),
    "undo.removed": ("{n} file removed.", "{n} files removed."),
    "undo.changed": (
        "{n} file stayed: it was changed meanwhile.",
        "{n} files stayed: they were changed meanwhile."),
    "undo.unsure": (
        "{n} file stayed: others may have written it.",
        "{n} files stayed: others may have written them."),
    "undo.full": (
        "{n} file stayed: the disk is full.", "{n} files stayed: the disk is full."),
    "undo.forbidden": (
        "{n} file stayed: writing it is not permitted.",
        "{n} files stayed: writing them is not permitted."),
    "undo.not_kept": (
        "{n} file stayed: what it was is not kept any more.",
        "{n} files stayed: what they were is not kept any more."),
    "undo.blocked": (
        "{n} file stayed: something else stands in its place.",
        "{n} files stayed: something else stands in their place."),
    "undo.failed": (
        "{n} file stayed: the disk failed.", "{n} files stayed: the disk failed."),
    "undo.cut_off": "It was cut off, and what was left to do is lost: look through the files.",
    "plan.asked_anew": "“{goal}” is not planned any more: another plan was asked for.",
    "comments.back": (
        "No new version came of your comment. It stands at its subtask again.",
        "No new version came of your {n} comments. They stand at their subtasks again."),
    "message.given_back": (
        "{messages} message was not sent: it is back in the message box.",
        "{messages} messages were not sent: they are back in the message box."),
}


def convert(apps, schema_editor):
    """Notices and unfinished undos had codes; a notice's text was only what its writer read."""
    alias = schema_editor.connection.alias
    messages = apps.get_model("agents", "Message").objects.using(alias)
    for row in messages.filter(meta__has_key="sentences").iterator():
        codes = row.meta.pop("sentences")
        for each in codes:
            if each.get("code") == "message.given_back":
                row.meta["given_back"] = {name: each[name] for name in ("messages", "reason")}
        if all(each.get("code") in TEXTS for each in codes):
            parts = [part_of(**each) for each in codes]
            row.text = f"\x1e{json.dumps(parts, ensure_ascii=False)}"
        row.save(update_fields=["text", "meta"])
    undos = apps.get_model("agents", "Undo").objects.using(alias)
    for undo in undos.exclude(sentence={}).iterator():
        is_known = undo.sentence.get("code") in TEXTS
        said = part_of(**undo.sentence) if is_known else undo.sentence.get("text", "")
        undo.sentence = [said]
        undo.save(update_fields=["sentence"])


def part_of(code, **arguments):
    forms = TEXTS[code]
    one, more = (forms, None) if isinstance(forms, str) else forms
    return [one, more, arguments.get("n", arguments.get("messages", 0)), arguments]


class Migration(migrations.Migration):
    dependencies = [("agents", "0052_looks_at_a_folder")]

    operations = [migrations.RunPython(convert, migrations.RunPython.noop)]
