// Hooks for the functions of the C library that make system calls: each counts one step (profiler/preload/windows.hpp) and
// jumps to the function behind it, with all registers and the stack as they were. So nothing here needs to know a
// function's arguments, and no frame of ours lies between the program and the call. waiting_functions.cpp wraps those
// that wait.

  .text

#include "profiler/preload/functions/pass_through.inc"

decide:
  pass_through tarn_next_window
look_up:
  pass_through tarn_find_hooked

// A hook's entry of the table: the function behind it, and its name. The first call looks the function up where no
// constructor has done so yet.
  .macro hook name
  .globl \name
  .type \name, @function
  .balign 16
\name:
  .cfi_startproc
  mov tarn_steps_left@gottpoff(%rip), %r11
  subl $1, %fs:(%r11)
  js 1f
  jmp *3f(%rip)
1:
  lea 3f(%rip), %r11
  jmp decide
2:
  lea 3f(%rip), %r11
  jmp look_up
  .cfi_endproc
  .size \name, . - \name
  .pushsection .rodata.hooked, "aMS", @progbits, 1
4:
  .asciz "\name"
  .popsection
  .pushsection .data.rel.hooked, "aw", @progbits
3:
  .quad 2b, 4b
  .popsection
  .endm

  .pushsection .data.rel.hooked, "aw", @progbits
  .balign 8
  .globl tarn_hooked_begin
  .hidden tarn_hooked_begin
tarn_hooked_begin:
  .popsection

  each hook, read, write, pread, pread64, pwrite, pwrite64, readv, writev, preadv, preadv64, pwritev, pwritev64
  each hook, recvmmsg, send, sendto, sendmsg, sendmmsg, sendfile, sendfile64, splice, epoll_ctl, bind, listen, socket
  each hook, socketpair, shutdown, setsockopt, getsockopt, getsockname, getpeername, open, open64, openat, openat64
  each hook, creat, close, lseek, lseek64, ftruncate, ftruncate64, fallocate, fcntl, fcntl64, ioctl, pipe, pipe2, dup
  each hook, dup2, dup3, stat, stat64, fstat, fstat64, lstat, lstat64, fstatat, fstatat64, statx, access, faccessat
  each hook, readlink, readlinkat, unlink, unlinkat, rename, renameat, mkdir, rmdir, chdir, getcwd, opendir, readdir
  each hook, readdir64, closedir, getrandom, getpid, getppid, gettid, getuid, geteuid, getgid, getegid, getrusage
  each hook, times, uname, sysinfo, getpriority, sched_yield, sched_getaffinity, sched_setaffinity, sigprocmask
  each hook, pthread_sigmask, kill, raise, pthread_kill, setitimer, timer_settime, timerfd_settime, eventfd
  each hook, epoll_create, epoll_create1, mmap, mmap64, munmap, mprotect, madvise, mremap, inotify_add_watch
  each hook, fopen, fopen64, fclose, fread, fwrite, fgets, fputs, puts, fflush, getline, getdelim, printf, fprintf
  each hook, vfprintf, dprintf, __read_chk, __pread_chk, __pread64_chk, __recv_chk, __recvfrom_chk, __fread_chk
  each hook, __fgets_chk, __printf_chk, __fprintf_chk, __vfprintf_chk, __open_2, __open64_2, __openat_2, __openat64_2
  each hook, __xstat, __xstat64, __fxstat, __fxstat64, __lxstat, __lxstat64

// Makes the call itself, as its child returns on the stack of the parent, which then returns there, too. So the return
// address is kept in a register, as is what the parent gives to tarn_end_vfork (lent_thread.cpp).
  .globl vfork
  .type vfork, @function
  .balign 16
vfork:
  .cfi_startproc
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call tarn_begin_vfork
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  mov %eax, %esi
  pop %rdi
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rdi
  mov $58, %eax
  syscall
  .globl tarn_vfork_made
  .hidden tarn_vfork_made
tarn_vfork_made:
  push %rdi
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rip, 0
  test %rax, %rax
  jz 1f
  mov %rax, %rdi
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call tarn_end_vfork
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
1:
  ret
  .cfi_endproc
  .size vfork, . - vfork

  .pushsection .data.rel.hooked, "aw", @progbits
  .globl tarn_hooked_end
  .hidden tarn_hooked_end
tarn_hooked_end:
  .popsection

  .hidden tarn_steps_left
  .hidden tarn_next_window
  .hidden tarn_find_hooked
  .hidden tarn_begin_vfork
  .hidden tarn_end_vfork

  .section .note.GNU-stack, "", @progbits
