from __future__ import annotations

from django.db import migrations

from kernelsite.reviews.frozen import install, remove


class Migration(migrations.Migration):
    dependencies = [("reviews", "0001_initial")]

    operations = [
        migrations.RunPython(
            lambda apps, editor: install(editor.connection),
            lambda apps, editor: remove(editor.connection),
        )
    ]
