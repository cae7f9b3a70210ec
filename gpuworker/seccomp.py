"""System calls a cell may not make, as a classic BPF filter.

Two profiles. `contender` and `screen` run in one process for their whole life: making another process,
running a program, tracing, remapping through another process, or moving to other cores ends them with SIGSYS
or fails. A compiler starts programs, so `build` keeps fork and exec and loses the rest.

Namespaces, uid and resource limits hold without this filter; it closes what they leave: a second process
that escapes the freeze between passes, and a wider set of cores.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from enum import StrEnum

from gpuworker import linux


class Profile(StrEnum):
    """What runs in the cell."""

    CONTENDER = "contender"
    SCREEN = "screen"
    BUILD = "build"
    TRACE = "trace"
    """Host code of a candidate without a device: it starts compilers, like a build."""
    REHEARSE = "rehearse"
    """The same with a device, before anything is judged."""
    COMPARED = "compared"
    """A baseline that compiles itself when it is first called."""
    EXAMINE = "examine"
    """A tool of the device's maker around a replay: our code and theirs, so no call is filtered."""


# name: (x86_64, aarch64); None where the architecture has no such call.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "personality": (135, 92),
    "modify_ldt": (154, None),
    "quotactl": (179, 60),
    "swapon": (167, 224),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
}
_CLONE = (56, 220)
_CLONE3 = (435, 435)

# A contender that tries one of these has no honest reason, so it ends at once with SIGSYS.
_DEADLY = frozenset(
    {
        *("fork", "vfork", "execve", "execveat", "unshare", "setns", "chroot", "mount", "pivot_root"),
        *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "bpf", "sched_setaffinity"),
    }
)
_BUILD_MAY = frozenset({"fork", "vfork", "execve", "execveat", "memfd_create", "socketpair"})

_BUILDING = frozenset({Profile.BUILD, Profile.TRACE, Profile.REHEARSE, Profile.COMPARED})

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
MACHINES = tuple(_ARCHITECTURES)
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x00010000

_KILL = 0x80000000
_ALLOW = 0x7FFF0000


def _refuse(code: int) -> int:
    return 0x00050000 | code


_LOAD, _EQUAL, _GREATER_EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16


def _instruction(code: int, jump_true: int, jump_false: int, value: int) -> bytes:
    return struct.pack("=HBBI", code, jump_true, jump_false, value)


def _verdicts(profile: Profile, column: int) -> list[tuple[int, int]]:
    """(call number, action) of everything that is refused outright."""
    found = [(_CLONE3[column], _refuse(errno.ENOSYS))]  # libc falls back to clone, whose flags we can read
    for name, numbers in _CALLS.items():
        number = numbers[column]
        if number is None or (profile in _BUILDING and name in _BUILD_MAY):
            continue
        deadly = name in _DEADLY and profile not in _BUILDING
        found.append((number, _KILL if deadly else _refuse(errno.EPERM)))
    return found


def program(profile: Profile, machine: str) -> bytes:
    """The filter as an array of `struct sock_filter`.

    Raises:
        KeyError: no table for this machine.
    """
    column, architecture = _ARCHITECTURES[machine]
    code = [
        _instruction(_LOAD, 0, 0, _ARCHITECTURE),
        _instruction(_EQUAL, 1, 0, architecture),
        _instruction(_RETURN, 0, 0, _KILL),
        _instruction(_LOAD, 0, 0, _NUMBER),
        # The x32 calls of x86_64 carry this bit and would pass a table of numbers.
        _instruction(_GREATER_EQUAL, 0, 1, _X32_BIT),
        _instruction(_RETURN, 0, 0, _KILL),
    ]
    for number, action in _verdicts(profile, column):
        code += [_instruction(_EQUAL, 0, 1, number), _instruction(_RETURN, 0, 0, action)]
    if profile not in _BUILDING:
        code += [
            _instruction(_EQUAL, 0, 3, _CLONE[column]),
            _instruction(_LOAD, 0, 0, _FIRST_ARGUMENT),
            _instruction(_ANY_BIT, 1, 0, _CLONE_THREAD),
            _instruction(_RETURN, 0, 0, _KILL),
        ]
    code.append(_instruction(_RETURN, 0, 0, _ALLOW))
    return b"".join(code)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def install(profile: Profile) -> None:
    """Put the filter on this process, for good. Needs no_new_privs.

    Raises:
        OSError: the kernel has no seccomp filters, or this machine has no table.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no system call table for {machine}")
    code = program(profile, machine)
    block = _Program(len(code) // 8, code)
    linux.prctl(linux.PR_SET_SECCOMP, 2, ctypes.addressof(block))
