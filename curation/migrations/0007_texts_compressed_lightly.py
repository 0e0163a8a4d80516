from django.db import migrations

LIGHTLY = """
DO $$
DECLARE
    place text[];
BEGIN
    FOREACH place SLICE 1 IN ARRAY ARRAY[['curation_sourceprompt', 'text'], ['curation_reconstruction', 'text']]
    LOOP
        IF EXISTS (
            SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals)
        ) THEN
            EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET COMPRESSION lz4', place[1], place[2]);
        ELSE
            EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET STORAGE EXTERNAL', place[1], place[2]);
        END IF;
    END LOOP;
END
$$
"""
"""lz4 where the server has it, and no compression elsewhere: pglz, the default, took almost a third of the
database's time in an import. Rows that are there already stay as they are."""

USUAL = """
ALTER TABLE curation_sourceprompt ALTER COLUMN text SET COMPRESSION default, ALTER COLUMN text SET STORAGE EXTENDED;
ALTER TABLE curation_reconstruction ALTER COLUMN text SET COMPRESSION default, ALTER COLUMN text SET STORAGE EXTENDED
"""


class Migration(migrations.Migration):
    dependencies = [("curation", "0006_lean_prompt_indexes")]

    operations = [migrations.RunSQL(LIGHTLY, USUAL)]
