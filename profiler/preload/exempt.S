// Holds the only code whose system calls are not dispatched (profiler/preload/dispatch.cpp): the recorder's own calls, and
// those that it makes in the program's place. Nothing else belongs here, as the recorder does not see calls from
// here.

#define stack_below 192 /* the red zone of 128 bytes, and what is kept below it */
#define began 0         /* the clock */
#define cell 8          /* 0: not counted */
#define back 16         /* the address in the program behind its own `syscall` */
#define number 24
#define result 32
#define third 40 /* rdx */

  .text
  .balign 64
  .globl tarn_exempt_begin
  .hidden tarn_exempt_begin
tarn_exempt_begin:

// long tarn_raw_call(long number, six words): returns the result, or an errno as its negative.
  .globl tarn_raw_call
  .hidden tarn_raw_call
  .type tarn_raw_call, @function
tarn_raw_call:
  .cfi_startproc
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  ret
  .cfi_endproc
  .size tarn_raw_call, . - tarn_raw_call

// Makes a call of the program. rcx holds the address behind the call, r11 the value to carry (profiler/preload/substitute.hpp)
// or 0; everything else is as the program left it. A system call may change rcx and r11 anyway.
  .globl tarn_call
  .hidden tarn_call
  .type tarn_call, @function
tarn_call:
  .cfi_startproc
  .cfi_def_cfa %rsp, 0
  .cfi_register %rip, %rcx
  lea -stack_below(%rsp), %rsp
  .cfi_def_cfa_offset stack_below
  mov %rcx, back(%rsp)
  .cfi_offset %rip, back - stack_below
  mov %r11, cell(%rsp)
  mov %rax, number(%rsp)
  mov %rdx, third(%rsp)
  rdtsc
  mov %eax, began(%rsp)
  mov %edx, began + 4(%rsp)
  mov number(%rsp), %rax
  mov third(%rsp), %rdx
  .globl tarn_call_instruction
  .hidden tarn_call_instruction
tarn_call_instruction:
  syscall
  mov cell(%rsp), %rcx
  jrcxz 1f /* leaves the flags, as `syscall` does */
  mov %rax, result(%rsp)
  pushfq
  .cfi_adjust_cfa_offset 8
  push %rdi
  .cfi_adjust_cfa_offset 8
  push %rsi
  .cfi_adjust_cfa_offset 8
  push %rdx
  .cfi_adjust_cfa_offset 8
  push %r10
  .cfi_adjust_cfa_offset 8
  push %r8
  .cfi_adjust_cfa_offset 8
  push %r9
  .cfi_adjust_cfa_offset 8
  mov %rsp, %rdi /* struct made_call of profiler/preload/call_ended.cpp */
  push %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  and $-16, %rsp
  cld
  call tarn_call_made
  mov %rbp, %rsp
  .cfi_def_cfa_register %rsp
  pop %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  pop %r9
  .cfi_adjust_cfa_offset -8
  pop %r8
  .cfi_adjust_cfa_offset -8
  pop %r10
  .cfi_adjust_cfa_offset -8
  pop %rdx
  .cfi_adjust_cfa_offset -8
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rdi
  .cfi_adjust_cfa_offset -8
  popfq
  .cfi_adjust_cfa_offset -8
  mov result(%rsp), %rax
1:
  mov back(%rsp), %rcx
  .cfi_register %rip, %rcx
  lea stack_below(%rsp), %rsp
  .cfi_def_cfa_offset 0
  jmp *%rcx
  .cfi_endproc
  .size tarn_call, . - tarn_call

// Makes the calls after which a second thread of execution also returns here, or the same stack is used twice
// (vfork). Nothing may lie on the stack, so the return addresses are in a table. Each address has one slot and one
// copy of this code.
  .globl tarn_clone_process
  .hidden tarn_clone_process
  .balign 16
tarn_clone_process:
  .set at, 0
  .rept 64
  .balign 16
  syscall
  jmp *(tarn_clone_back + 8 * at)(%rip)
  .set at, at + 1
  .endr

// Does the same for a thread. The new thread enables the dispatch of its calls before it continues.
  .globl tarn_clone_thread
  .hidden tarn_clone_thread
  .balign 32
tarn_clone_thread:
  .set at, 64
  .rept 64
  .balign 32
  syscall
  mov %rax, %rcx
  jrcxz 1f
  jmp *(tarn_clone_back + 8 * at)(%rip)
1:
  mov (tarn_clone_back + 8 * at)(%rip), %rcx
  jmp tarn_arm
  .set at, at + 1
  .endr

tarn_arm:
  lea -stack_below(%rsp), %rsp
  mov %rcx, back(%rsp)
  mov %rdi, (%rsp)
  mov %rsi, 8(%rsp)
  mov %rdx, 24(%rsp)
  mov %r10, 32(%rsp)
  mov %r8, 40(%rsp)
  mov $157, %eax /* prctl */
  mov $59, %edi  /* PR_SET_SYSCALL_USER_DISPATCH */
  mov $1, %esi   /* PR_SYS_DISPATCH_ON */
  lea tarn_exempt_begin(%rip), %rdx
  mov $(tarn_exempt_end - tarn_exempt_begin), %r10d
  lea tarn_selector(%rip), %r8
  syscall
  mov (%rsp), %rdi
  mov 8(%rsp), %rsi
  mov 24(%rsp), %rdx
  mov 32(%rsp), %r10
  mov 40(%rsp), %r8
  mov back(%rsp), %rcx
  mov $0, %eax
  lea stack_below(%rsp), %rsp
  jmp *%rcx

// Ends a signal's handler: ours, through its address, and the program's. Unwinders recognise these two instructions
// by their bytes, so there is no call frame information here.
  .balign 16
  nop /* an unwinder looks for the caller one byte before */
  .globl tarn_signal_return
  .hidden tarn_signal_return
  .type tarn_signal_return, @function
tarn_signal_return:
  mov $15, %rax
  syscall
  .size tarn_signal_return, . - tarn_signal_return

  nop /* a call is known by the address behind it */
  .globl tarn_exempt_end
  .hidden tarn_exempt_end
tarn_exempt_end:

  .hidden tarn_selector

  .bss
  .balign 8
  .globl tarn_clone_back
  .hidden tarn_clone_back
tarn_clone_back:
  .zero 8 * 128

  .section .note.GNU-stack, "", @progbits
