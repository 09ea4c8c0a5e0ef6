// What a thread of another process runs while `tarn record` has it call functions (injected_code.hpp). It needs nobody:
// after each call it goes on by itself until it is back in the program, with the registers, the signal mask and the
// priority that it had. Between, it sends itself a signal that the program ignores. Where `tarn record` lives, that
// stops the thread for it, which may then have it make another call.
//
// In r15 is the scratch memory, in r14 the saved vector registers, or 0. Functions leave both unchanged.
#if defined(__x86_64__)
#include <sys/syscall.h>

  .section .rodata.injected, "a", @progbits
  .balign 8
  .globl tarn_injected_begin, tarn_injected_start, tarn_injected_call, tarn_injected_return
  .globl tarn_injected_first_stop, tarn_injected_last_stop, tarn_injected_end
  .hidden tarn_injected_begin, tarn_injected_start, tarn_injected_call, tarn_injected_return
  .hidden tarn_injected_first_stop, tarn_injected_last_stop, tarn_injected_end

  .macro field name
\name:
  .quad 0
  .endm

// injected_data
tarn_injected_begin:
  field mark
  field thread
  field process
  field signal
  field blocked_signals
  field signal_mask
  field scratch_bytes
  field is_hurried
  field usual_priority
  field saved_r15
  field saved_r14
  field saved_r13
  field saved_r12
  field saved_rbp
  field saved_rbx
  field saved_r11
  field saved_r10
  field saved_r9
  field saved_r8
  field saved_rcx
  field saved_rdx
  field saved_rsi
  field saved_rdi
  field saved_rsp
  field saved_flags
  field repeated_rax
  field repeated_rip
  field interrupted_rax
  field interrupted_rip

  .macro set_signal_mask name
  mov $SYS_rt_sigprocmask, %eax
  mov $2, %edi  // SIG_SETMASK
  lea \name(%rip), %rsi
  mov $0, %edx
  mov $8, %r10d
  syscall
  .endm

  .macro stop name
  mov $SYS_tgkill, %eax
  mov process(%rip), %rdi
  mov thread(%rip), %rsi
  mov signal(%rip), %rdx
  syscall
\name:
  .endm

  .macro leave way
  mov \way\()_rax(%rip), %rax
  mov saved_rcx(%rip), %rcx
  mov saved_rdx(%rip), %rdx
  mov saved_rsi(%rip), %rsi
  mov saved_rdi(%rip), %rdi
  mov saved_r8(%rip), %r8
  mov saved_r10(%rip), %r10
  mov saved_r11(%rip), %r11
  jmp *\way\()_rip(%rip)
  .endm

tarn_injected_start:
  set_signal_mask blocked_signals
  mov $SYS_mmap, %eax
  xor %edi, %edi
  mov scratch_bytes(%rip), %rsi
  mov $3, %edx      // PROT_READ | PROT_WRITE
  mov $0x22, %r10d  // MAP_PRIVATE | MAP_ANONYMOUS
  mov $-1, %r8
  xor %r9d, %r9d
  syscall
  xor %r14d, %r14d
  mov %rax, %r15
  jmp tarn_injected_return
tarn_injected_call:
  syscall
tarn_injected_return:
  cld
  mov %rax, %rbx
  stop tarn_injected_first_stop
  test %r14, %r14
  jz 1f
  mov %r14, %rdi
  mov $0xfffffdff, %eax  // not the rights of protection keys, which no call here changes
  mov $-1, %edx
  xrstor64 (%rdi)
1:
  // In r8: not 0 if a signal has come, which some system calls are not repeated after.
  xor %r8d, %r8d
  test %r15, %r15
  js 2f
  mov $SYS_rt_sigpending, %eax
  mov %r15, %rdi
  mov $8, %esi
  syscall
  mov signal_mask(%rip), %r8
  not %r8
  and (%r15), %r8
2:
  lea saved_flags(%rip), %rsp
  popfq
  mov saved_rsp(%rip), %rsp
  mov $SYS_munmap, %eax
  mov %r15, %rdi
  mov scratch_bytes(%rip), %rsi
  syscall
  stop tarn_injected_last_stop
  mov is_hurried(%rip), %rcx
  jrcxz 3f
  mov $SYS_sched_setscheduler, %eax
  mov $0, %edi
  mov $0, %esi  // SCHED_OTHER
  lea usual_priority(%rip), %rdx
  syscall
3:
  mov saved_r15(%rip), %r15
  mov saved_r14(%rip), %r14
  mov saved_r13(%rip), %r13
  mov saved_r12(%rip), %r12
  mov saved_rbp(%rip), %rbp
  mov saved_rbx(%rip), %rbx
  mov saved_r9(%rip), %r9
  set_signal_mask signal_mask
  mov %r8, %rcx
  jrcxz 4f
  leave interrupted
4:
  leave repeated
tarn_injected_end:
#endif
  .section .note.GNU-stack, "", %progbits
