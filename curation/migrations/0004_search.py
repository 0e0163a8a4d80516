from django.db import migrations


def partial(name, table):
    """The texts that curation.search has not indexed yet: few, and gone from the index once they are."""
    return migrations.RunSQL(
        f"CREATE INDEX {name} ON {table} (id) WHERE search IS NULL AND text <> ''", f"DROP INDEX {name}"
    )


class Migration(migrations.Migration):

    dependencies = [("curation", "0003_open_slots")]

    operations = [
        partial("reconstruction_unindexed", "curation_reconstruction"),
        partial("source_prompt_unindexed", "curation_sourceprompt"),
        migrations.RunSQL(
            "CREATE INDEX source_prompt_language ON curation_sourceprompt (language, id)",
            "DROP INDEX source_prompt_language",
        ),
    ]
