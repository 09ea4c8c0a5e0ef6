# What gdb does beside libtarn-record.so, which gets each recorded system call as a SIGSYS of its own: that signal is
# none of the program's faults. docs/guide/debugger.md says how gdb finds this file.
handle SIGSYS nostop noprint pass
