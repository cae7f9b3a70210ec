"""Third-party files of the browser side: fetched once from npm, committed, hashed in `vendor.json`.

`vendor.json` lists per file: package, version, file in the package, file here, sha256, licence. The style rules of
plotly.js are a file of their own, read out of the script, since a strict content policy forbids it to inject them.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLOTLY, PLOTLY_STYLE = "plotly.min.js", "plotly.css"
PLOTLY_RULE = re.compile(r"""(?:"([^"]+)"|\b([XY]))\s*:\s*(?:"([^"]*)"|'([^']*)')\s*,?""")
OUTSIDE = re.compile(
    r"""(?:<script\b[^>]*\bsrc|<link\b[^>]*\bhref)\s*=\s*["']?\s*(?:https?:)?//[^"'\s>]*""", re.IGNORECASE
)


class VendorError(Exception):
    """A file is not what `vendor.json` says; the message is one line per problem."""


@dataclass(frozen=True)
class Asset:
    """One file of a package."""

    package: str
    version: str
    member: str
    """Path inside the package."""
    file: str
    """Path under `static/vendor/`."""
    sha256: str
    licence: str


@dataclass(frozen=True)
class Vendor:
    """The folder `static/vendor/` and its list."""

    folder: Path

    @property
    def assets(self) -> list[Asset]:
        """What the list names."""
        return [Asset(**entry) for entry in json.loads((self.folder / "vendor.json").read_text())]

    def fetch(self) -> list[str]:
        """Get every file anew and rewrite the hashes; the names of the files written."""
        fetched = []
        for asset in self.assets:
            content = _from_npm(asset) if asset.member else self.plotly_style().encode()
            target = self.folder / asset.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            fetched.append(vars(asset) | {"sha256": hashlib.sha256(content).hexdigest()})
        self._write(fetched)
        return [entry["file"] for entry in fetched]

    def problems(self) -> list[str]:
        """What differs from the list: hashes, files nobody listed, rules of another plotly."""
        listed = {asset.file: asset for asset in self.assets}
        found = [problem for asset in listed.values() if (problem := self._problem(asset))]
        here = {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()}
        found += [f"{name}: not listed in vendor.json" for name in sorted(here - {*listed, "vendor.json"})]
        if {PLOTLY, PLOTLY_STYLE} <= here and (self.folder / PLOTLY_STYLE).read_text() != self.plotly_style():
            found.append(f"{PLOTLY_STYLE}: {PLOTLY} has other style rules")
        return found

    def plotly_style(self) -> str:
        """The rules that plotly.js would inject, as a style sheet for `<link id="plotly.js-style-global">`.

        The script holds them as one object of selector → declarations, where X and Y stand for its root classes.
        """
        script = (self.folder / PLOTLY).read_text("utf-8")
        start = script.find('{"X,X div":')
        end = script.find("};", start)
        if start < 0 or end < 0:
            raise VendorError("plotly.js: its style rules are not where they were")
        lines = []
        for match in PLOTLY_RULE.finditer(script, start + 1, end):
            selector = match[1] or match[2]
            selector = selector.replace("X", ".js-plotly-plot .plotly").replace("Y", ".plotly-notifier")
            lines.append(f"{selector}{{{match[3] or match[4] or ''}}}")
        # insertRule puts each in front of the ones before.
        return "\n".join(reversed(lines)) + "\n"

    def _problem(self, asset: Asset) -> str:
        file = self.folder / asset.file
        if not file.is_file():
            return f"{asset.file}: missing"
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        return "" if digest == asset.sha256 else f"{asset.file}: hash differs from vendor.json"

    def _write(self, entries: list[dict[str, Any]]) -> None:
        text = json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
        (self.folder / "vendor.json").write_text(text)


def _from_npm(asset: Asset) -> bytes:
    """One file out of a package, with the registry's integrity check done by npm."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"{asset.package}@{asset.version}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise VendorError(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            member = archive.extractfile(f"package/{asset.member}")
            if member is None:
                raise VendorError(f"{asset.package}@{asset.version} has no {asset.member}")
            return member.read()


def outside_links(templates: Path) -> list[str]:
    """Scripts and styles that a template would load from elsewhere."""
    return [
        f"{file.relative_to(templates)}: {match[0]}"
        for file in sorted(templates.rglob("*.html"))
        for match in OUTSIDE.finditer(file.read_text("utf-8"))
    ]
