from django.db import migrations


def open_what_waits(apps, schema_editor):
    """What waited for review before there were slots gets one."""
    reconstruction = apps.get_model("curation", "Reconstruction")
    slot = apps.get_model("curation", "ReviewSlot")
    waiting = reconstruction.objects.filter(state="in_review")
    slot.objects.bulk_create(
        (slot(reconstruction_id=pk, number=0) for pk in waiting.values_list("pk", flat=True)), batch_size=1000
    )
    reconstruction.objects.filter(state__in=["in_review", "accepted", "rejected"]).update(wanted_reviews=1)


class Migration(migrations.Migration):

    dependencies = [("curation", "0002_workbench")]

    operations = [migrations.RunPython(open_what_waits, migrations.RunPython.noop)]
