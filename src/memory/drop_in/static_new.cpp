// Provides operator new and delete in libtarn-malloc.a, where the rest of the drop-in is another object.
//
// A static program gets only the parts of the C++ runtime that its objects refer to. The drop-in's references to it are
// weak, because C programs use the drop-in, too (memory/drop_in/new_delete.cpp). This object is linked only into
// programs that use operator new or delete, and its references are strong, so that such a program can throw
// std::bad_alloc.
//
// The operators are weak, because a program may have some of its own.
#if defined(__x86_64__)
#define TARN_JUMP "jmp "
#elif defined(__aarch64__)
#define TARN_JUMP "b "
#else
#error "Write the instruction that jumps to a function here"
#endif

// Each function only jumps to the one with the prefix tarn_malloc, so that the return address is the program's.
#define TARN_FORWARD(name)                                                                                 \
  __asm__(".pushsection .text." #name                                                                      \
          ",\"ax\",@progbits\n"                                                                            \
          ".weak " #name "\n.type " #name                                                                  \
          ", @function\n"                                                                                  \
          ".p2align 4\n" #name ":\ntarn_own" #name ":\n  .cfi_startproc\n  " TARN_JUMP "tarn_malloc" #name \
          "\n  .cfi_endproc\n.size " #name ", . - " #name "\n.popsection");
#include <new_and_delete.inc>  // made by CMake

extern "C" void throw_bad_alloc() __asm__("_ZSt17__throw_bad_allocv");
extern "C" void get_new_handler() __asm__("_ZSt15get_new_handlerv");
[[gnu::used]] static void (*const needed[])() = {throw_bad_alloc, get_new_handler};

// The operators of a drop_in::operator_set: as the program has them, and those above. A compiler may take the addresses
// of two names for different ones, so it does not see these.
#define TARN_OPERATORS(prefix)                                                        \
  "  .quad " prefix "_Znwm, " prefix "_Znam, " prefix "_ZnwmSt11align_val_t, " prefix \
  "_ZnamSt11align_val_t\n"                                                            \
  "  .quad " prefix "_ZdlPv, " prefix "_ZdaPv, " prefix "_ZdlPvSt11align_val_t, " prefix "_ZdaPvSt11align_val_t\n"
__asm__(
    ".pushsection .data.rel.ro,\"aw\",@progbits\n"
    ".globl tarn_malloc_operators\n.type tarn_malloc_operators, @object\n.p2align 4\n"
    "tarn_malloc_operators:\n" TARN_OPERATORS("")
        TARN_OPERATORS("tarn_own") ".size tarn_malloc_operators, . - tarn_malloc_operators\n.popsection");
