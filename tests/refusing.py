"""Runs a command to which the kernel refuses memory policies, as in a container or a sandbox.

usage: refusing.py ERRNO COMMAND...

set_mempolicy, get_mempolicy and mbind fail with ERRNO in the command and in all that it starts.
"""

import ctypes
import os
import platform
import struct
import sys

# mbind, set_mempolicy, get_mempolicy (kernel: syscall_64.tbl, asm-generic/unistd.h)
CALLS = {"x86_64": (237, 238, 239), "aarch64": (235, 237, 236)}
# linux/prctl.h, linux/seccomp.h, linux/bpf_common.h
NO_NEW_PRIVILEGES, SET_SECCOMP, MODE_FILTER = 38, 22, 2
ERRNO, ALLOW = 0x00050000, 0x7FFF0000
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06


def refuse(errno: int) -> None:
    numbers = CALLS[platform.machine()]
    program = [(LOAD_WORD, 0, 0, 0)]
    for left, number in zip(range(len(numbers), 0, -1), numbers, strict=True):
        program.append((JUMP_IF_EQUAL, left, 0, number))
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | errno)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for call in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SET_SECCOMP, MODE_FILTER, head, 0, 0)):
        if prctl(*call):
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
