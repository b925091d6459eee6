from django.db import migrations, models
from django.db.models import F


def fill(apps, schema_editor):
    """What a person has said yes to last, by the events that say so; older plans have none."""
    plans, events = apps.get_model("plans", "Plan"), apps.get_model("agents", "Event")
    approved = plans.objects.filter(approved_version__isnull=False)
    approved.filter(approved_kind="person").update(read_version=F("approved_version"))
    versions = {}
    yeses = events.objects.filter(type="plan.approved", actor_kind="person")
    for subject, data in yeses.values_list("subject", "data").iterator():
        versions[subject] = max(versions.get(subject, 0), data.get("version") or 0)
    for subject, version in versions.items():
        approved.filter(pk=subject.partition(":")[2]).update(read_version=version or None)


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0052_looks_at_a_folder"),
        ("plans", "0012_a_subtask_says_since_when_it_is_not_true"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="subtask", name="regressed_subtasks"),
        migrations.AddField(
            model_name="plan",
            name="read_version",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="checkresult",
            index=models.Index(
                condition=models.Q(("passed", False)), fields=["subtask"], name="failed_results"
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
