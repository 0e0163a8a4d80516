from django.db import migrations

LIGHTLY = """
DO $$
DECLARE
    place text[];
BEGIN
    FOREACH place SLICE 1 IN ARRAY ARRAY[['llm_completion', 'text'], ['llm_completion', 'request']]
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
"""lz4 where the server has it, and no compression elsewhere: pglz, the default, took a fifth of the time of
storing a call. Rows that are there already stay as they are."""

USUAL = """
ALTER TABLE llm_completion ALTER COLUMN text SET COMPRESSION default, ALTER COLUMN text SET STORAGE EXTENDED;
ALTER TABLE llm_completion ALTER COLUMN request SET COMPRESSION default, ALTER COLUMN request SET STORAGE EXTENDED
"""


class Migration(migrations.Migration):
    dependencies = [("llm", "0005_allowance")]

    operations = [migrations.RunSQL(LIGHTLY, USUAL)]
