"""Static files under hashed names, import statements of ES modules included."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedModuleStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise ships no types
    """Collected, hashed and compressed; browsers may keep each file for ever."""

    support_js_module_import_aggregation = True
