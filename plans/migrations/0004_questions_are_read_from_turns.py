"""What a run asks the person is read from the turn that waits, and its message."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("plans", "0003_authors_have_a_kind")]
    operations = [migrations.RemoveField(model_name="plan", name="question")]
