from __future__ import annotations

from django.db import migrations

from kernelsite.accounts.append_only import install, remove


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_people_may")]

    operations = [
        migrations.RunPython(
            lambda apps, editor: install(editor.connection),
            lambda apps, editor: remove(editor.connection),
        )
    ]
