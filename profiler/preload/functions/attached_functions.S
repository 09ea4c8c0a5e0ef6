// The functions that a recorder writes into a running program's tables of addresses (attached_functions.cpp). Each
// jumps to this library's hook while it is attached, and to the function behind it otherwise, with all registers and
// the stack as they were.

  .text

#include "profiler/preload/functions/pass_through.inc"

begin_thread:
  pass_through tarn_begin_attached_thread
look_for_modules:
  pass_through tarn_hook_new_modules, 8

// An entry of the table: this library's hook, the function behind it, the entry point below, and the name.
  .macro entry name
  .pushsection .rodata.attached, "aMS", @progbits, 1
8:
  .asciz "\name"
  .popsection
  .pushsection .data.rel.attached, "aw", @progbits
9:
  .quad 0, 0, 7b, 8b
  .popsection
  .endm

  .macro attached name
  .balign 16
7:
  .cfi_startproc
  entry \name
  mov tarn_attached_state(%rip), %r10d
  test %r10d, %r10d
  je 1f
  mov tarn_seen_state@gottpoff(%rip), %r11
  cmp %r10d, %fs:(%r11)
  jne 2f
  jmp *9b(%rip)
1:
  jmp *(9b + 8)(%rip)
2:
  lea 9b(%rip), %r11
  jmp begin_thread
  .cfi_endproc
  .endm

// The loader's functions see the program as their caller, so they are passed on to; modules that came with an earlier
// call are hooked before.
  .macro loader name
  .balign 16
7:
  .cfi_startproc
  entry \name
  cmpl $0, tarn_attached_state(%rip)
  lea 9b(%rip), %r11
  jne look_for_modules
  jmp *8(%r11)
  .cfi_endproc
  .endm

  .pushsection .data.rel.attached, "aw", @progbits
  .balign 8
  .globl tarn_attached_begin
  .hidden tarn_attached_begin
tarn_attached_begin:
  .popsection

  each attached, malloc, free, calloc, realloc, posix_memalign, aligned_alloc, memalign, valloc, pvalloc
  each attached, _Znwm, _Znam, _ZnwmRKSt9nothrow_t, _ZnamRKSt9nothrow_t, _ZnwmSt11align_val_t, _ZnamSt11align_val_t
  each attached, _ZnwmSt11align_val_tRKSt9nothrow_t, _ZnamSt11align_val_tRKSt9nothrow_t, _ZdlPv, _ZdaPv, _ZdlPvm, _ZdaPvm
  each attached, _ZdlPvRKSt9nothrow_t, _ZdaPvRKSt9nothrow_t, _ZdlPvSt11align_val_t, _ZdaPvSt11align_val_t
  each attached, _ZdlPvSt11align_val_tRKSt9nothrow_t, _ZdaPvSt11align_val_tRKSt9nothrow_t
  each attached, _ZdlPvmSt11align_val_t, _ZdaPvmSt11align_val_t, pthread_create, thrd_create
  each attached, pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_timedlock, pthread_mutex_clocklock
  each attached, pthread_mutex_unlock, pthread_mutex_destroy, pthread_rwlock_rdlock, pthread_rwlock_wrlock
  each attached, pthread_rwlock_tryrdlock, pthread_rwlock_trywrlock, pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock
  each attached, pthread_rwlock_clockrdlock, pthread_rwlock_clockwrlock, pthread_rwlock_unlock, pthread_rwlock_destroy
  each attached, pthread_spin_lock, pthread_spin_trylock, pthread_spin_unlock, pthread_spin_destroy, mtx_lock, mtx_trylock
  each attached, mtx_timedlock, mtx_unlock, mtx_destroy, pthread_cond_wait, pthread_cond_timedwait, pthread_cond_clockwait
  each attached, pthread_cond_destroy, cnd_wait, cnd_timedwait, cnd_destroy, prctl, syscall
  each attached, sem_wait, sem_trywait, sem_timedwait, sem_clockwait, sem_post, sem_destroy, dlclose
  .globl tarn_attached_loader
  .hidden tarn_attached_loader
  .pushsection .data.rel.attached, "aw", @progbits
tarn_attached_loader:
  .popsection
  each loader, dlopen, dlsym, dlvsym

  .pushsection .data.rel.attached, "aw", @progbits
  .globl tarn_attached_end
  .hidden tarn_attached_end
tarn_attached_end:
  .popsection

  .hidden tarn_attached_state
  .hidden tarn_seen_state
  .hidden tarn_begin_attached_thread
  .hidden tarn_hook_new_modules

  .section .note.GNU-stack, "", @progbits
