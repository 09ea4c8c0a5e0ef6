"""Asks this kernel whether it samples programs, and lets it refuse."""

import ctypes
import errno
import os

PERF_EVENT_OPEN = 298  # on x86-64


def refusal():
    """The errno with which this kernel refuses to sample the own code of a process; 0 if it does not."""
    attributes = (ctypes.c_uint64 * 17)()
    attributes[0] = 1 | len(bytes(attributes)) << 32  # a software event
    attributes[1] = 0  # the clock of the processor
    attributes[5] = 1 | 1 << 5 | 1 << 6  # disabled, without the kernel's code, without a hypervisor's
    libc = ctypes.CDLL(None, use_errno=True)
    file = libc.syscall(PERF_EVENT_OPEN, ctypes.byref(attributes), 0, -1, -1, 0)
    if file < 0:
        return ctypes.get_errno()
    os.close(file)
    return 0


class Filter(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filters", ctypes.POINTER(Filter))]


def refuse():
    """Lets perf_event_open fail in this process, as containers do."""
    load, equal, give_back = 0x20, 0x15, 0x06
    allow, error = 0x7fff0000, 0x00050000 | errno.EPERM
    filters = (Filter * 4)(Filter(load, 0, 0, 0), Filter(equal, 0, 1, PERF_EVENT_OPEN),
                           Filter(give_back, 0, 0, error), Filter(give_back, 0, 0, allow))
    no_new_privileges, seccomp, filter_mode = 38, 22, 2
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(no_new_privileges, 1, 0, 0, 0)
    libc.prctl(seccomp, filter_mode, ctypes.byref(Program(4, filters)), 0, 0)
