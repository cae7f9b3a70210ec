"""Walls of a cell: namespaces, a minimal read-only root, a private user, limits, an empty environment.

Started as root, each slot of a worker has a real uid of its own. Started as a user, the same walls stand inside
a user namespace, where the uid stays ours and the process namespace, seccomp and the empty root keep cells
apart. Where neither works nothing runs, unless the operator said `--unsandboxed`, which every number then tells.
"""

from __future__ import annotations

import os
import resource
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import gpuworker
import search
from gpuworker import linux, seccomp
from search.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TMP_BYTES = 64 * 1024 * 1024
FIRST_UID = 64000
_SLOTS_PER_WORKER = 32
_WORKERS = 45
BUILDING_SLOTS = range(8, _SLOTS_PER_WORKER)
"""Of cells that build side by side: the number of processes is limited per user, so none may share one."""
_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/alternatives", "/etc/ld.so.cache")
_LIBRARY_FOLDERS = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")


class Mode(StrEnum):
    """How strong the walls are on this machine; part of every environment key."""

    SANDBOXED = "sandboxed"
    USER_NAMESPACE = "sandboxed-userns"
    UNSANDBOXED = "unsandboxed"


class View(StrEnum):
    """What a cell sees of this machine, read-only in every case."""

    LIBRARIES = "libraries"
    """The system's shared libraries: no Python, no torch, no program. For compiled candidates."""
    COMPILER = "compiler"
    """The whole system folder. For building."""
    PYTHON = "python"
    """That, and this Python with its packages. For candidates and references in Python."""
    DEVICE = "device"
    """That, and the nodes of one GPU. For whatever runs on it."""


class SandboxUnavailableError(Exception):
    """No walls can be built here."""


class Limits(Record):
    """Resource limits of a cell."""

    memory_bytes: int
    """Address space on top of what the forked process has mapped already."""
    cpu_s: int
    processes: int = 64
    file_bytes: int = 4 * 1024 * 1024
    """Longest file it may write, its log included."""
    files: int = 64
    tmp_bytes: int = TMP_BYTES
    """Room in its private folder."""
    device: bool = False
    """A GPU's driver reserves far more addresses than it uses, so data is limited instead of address space."""


def choose_mode(*, unsandboxed: bool) -> Mode:
    """Strongest walls that this process can build; for a user it enters the user namespace at once.

    Call it in a process with one thread.

    Raises:
        SandboxUnavailableError: none can be built and the operator did not say `--unsandboxed`.
    """
    if unsandboxed:
        return Mode.UNSANDBOXED
    if os.geteuid() == 0 and _can_unshare():
        return Mode.SANDBOXED
    try:
        _enter_user_namespace()
    except OSError as error:
        raise SandboxUnavailableError(
            f"no sandbox: needs root with CAP_SYS_ADMIN, or user namespaces ({error.strerror}); "
            "--unsandboxed runs candidates without walls"
        ) from error
    return Mode.USER_NAMESPACE


def _can_unshare() -> bool:
    """Try it in a child, since leaving a mount namespace cannot be undone."""
    pid = os.fork()
    if pid == 0:
        try:
            linux.unshare(_NAMESPACES | linux.CLONE_NEWPID)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _enter_user_namespace() -> None:
    uid, gid = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


_NAMESPACES = linux.CLONE_NEWNS | linux.CLONE_NEWNET | linux.CLONE_NEWIPC | linux.CLONE_NEWUTS


def slot_uid(worker_pid: int, slot: int) -> int:
    """Real uid of a slot. RLIMIT_NPROC counts per uid, so neighbours on one machine get other ranges."""
    return FIRST_UID + worker_pid % _WORKERS * _SLOTS_PER_WORKER + slot % _SLOTS_PER_WORKER


def raise_walls(mount_point: str, view: View, nodes: Iterable[str] = (), tmp_bytes: int = TMP_BYTES) -> None:
    """In the first process of a new pid namespace: own mounts, network, IPC and host name, and a minimal root.

    Args:
        mount_point: empty folder that becomes the root.
        view: what is there.
        nodes: device files to add, for the view that has a device.
        tmp_bytes: room in the private folder.
    """
    linux.unshare(_NAMESPACES)
    linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("tmpfs", mount_point, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "size=1m,mode=755")
    root = Path(mount_point)
    # Before the rest: this Python may itself lie below /tmp, and must not be hidden.
    _mount_private(root, tmp_bytes)
    for source in _readable(view):
        _bind(source, root)
    if view is View.LIBRARIES and (root / "usr/lib/python3").is_dir():
        # Distributions put packages, torch among them, between their libraries.
        linux.mount("tmpfs", str(root / "usr/lib/python3"), "tmpfs", linux.MS_RDONLY, "size=4k")
    for node in (*_DEVICES, *(nodes if view is View.DEVICE else ())):
        _bind_file(Path(node), root, read_only=False)
    linux.pivot_root(mount_point)
    linux.mount("none", "/", "", linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID)


def _mount_private(root: Path, tmp_bytes: int) -> None:
    (root / "proc").mkdir()
    quiet = linux.MS_NOSUID | linux.MS_NODEV
    linux.mount("proc", str(root / "proc"), "proc", quiet | linux.MS_NOEXEC)
    (root / "tmp").mkdir()
    linux.mount("tmpfs", str(root / "tmp"), "tmpfs", quiet, f"size={tmp_bytes},mode=1777,nr_inodes=4096")


def _readable(view: View) -> Iterator[Path]:
    """What a cell may read; outer folders first."""
    packages = [str(Path(next(iter(module.__path__))).resolve()) for module in (gpuworker, search)]
    site = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    python = (*_SYSTEM_FOLDERS, sys.base_prefix, sys.prefix, *site, *packages)
    wanted = {
        View.LIBRARIES: _LIBRARY_FOLDERS,
        View.COMPILER: _SYSTEM_FOLDERS,
        View.PYTHON: python,
        View.DEVICE: python,
    }[view]
    taken: list[Path] = []
    for path in map(Path, wanted):
        if not path.exists() or any(path.is_relative_to(other) for other in taken):
            continue
        taken.append(path)
        yield path


def _bind(source: Path, root: Path) -> None:
    target = root / source.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir(exist_ok=True)
        _bind_read_only(source, target)
    else:
        _bind_file(source, root, read_only=True)


def _bind_file(source: Path, root: Path, *, read_only: bool) -> None:
    target = root / source.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch()
    if read_only:
        _bind_read_only(source, target)
    else:
        linux.mount(str(source), str(target), "", linux.MS_BIND)


def _bind_read_only(source: Path, target: Path) -> None:
    linux.mount(str(source), str(target), "", linux.MS_BIND | linux.MS_REC)
    # Inside a user namespace the flags that the mount has already are locked and must be repeated.
    held = os.statvfs(target).f_flag
    held &= linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC | linux.MS_NOATIME | linux.MS_NODIRATIME
    flags = linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY | linux.MS_NOSUID | held
    linux.mount("none", str(target), "", flags)


def become(mode: Mode, uid: int, limits: Limits) -> None:
    """Last step before strange code: limits, private user, no capabilities, no way to get any back."""
    _apply(limits)
    if mode is not Mode.UNSANDBOXED:
        linux.drop_bounding_set()
    if mode is Mode.SANDBOXED:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if mode is not Mode.UNSANDBOXED:
        linux.drop_capabilities()
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_NO_NEW_PRIVS, 1)
    os.umask(0o077)


def _apply(limits: Limits) -> None:
    mapped, _, _, _, _, data, _ = map(int, Path("/proc/self/statm").read_text().split())
    what = resource.RLIMIT_DATA if limits.device else resource.RLIMIT_AS
    most = (data if limits.device else mapped) * resource.getpagesize() + limits.memory_bytes
    resource.setrlimit(what, (most, most))
    for what, most in (
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, limits.files),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 1 << 20),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_RTPRIO, 0),
    ):
        resource.setrlimit(what, (most, most))
    # At the soft limit comes SIGXCPU, which says why; at the hard one SIGKILL, which does not.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 5))


def set_environment(values: dict[str, str]) -> None:
    """Replace the environment; nothing is inherited."""
    os.environ.clear()
    os.environ.update(values)


def close_all_but(keep: Iterable[int]) -> None:
    """Close every open file except these and the standard three."""
    kept = sorted({0, 1, 2, *keep})
    for low, high in zip(kept, [*kept[1:], 1 << 20], strict=True):
        os.closerange(low + 1, high)


def apply_filter(profile: seccomp.Profile, mode: Mode) -> None:
    """System call filter; missing filters are an error unless the operator said `--unsandboxed`."""
    try:
        seccomp.install(profile)
    except OSError:
        if mode is not Mode.UNSANDBOXED:
            raise
