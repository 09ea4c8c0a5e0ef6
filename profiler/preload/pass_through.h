// The way of a hook, in assembly, to the function behind it.
#pragma once

// Saves what may hold arguments, calls a function that is given r11, restores them, and jumps to the address that lies
// `offset` bytes from r11.
  .macro pass_through function, offset=0
  .cfi_startproc
  .irp register, rax, rdi, rsi, rdx, rcx, r8, r9, r10, r11
  push %\register
  .cfi_adjust_cfa_offset 8
  .endr
  sub $128, %rsp
  .cfi_adjust_cfa_offset 128
  .irp index, 0, 1, 2, 3, 4, 5, 6, 7
  movups %xmm\index, 16 * \index(%rsp)
  .endr
  mov %r11, %rdi
  cld
  call \function
  .irp index, 0, 1, 2, 3, 4, 5, 6, 7
  movups 16 * \index(%rsp), %xmm\index
  .endr
  add $128, %rsp
  .cfi_adjust_cfa_offset -128
  .irp register, r11, r10, r9, r8, rcx, rdx, rsi, rdi, rax
  pop %\register
  .cfi_adjust_cfa_offset -8
  .endr
  jmp *\offset(%r11)
  .cfi_endproc
  .endm
