// The flavours of liburcu, if it is installed.
#pragma once
#if BENCH_URCU
#define URCU_INLINE_SMALL_FUNCTIONS
#define _LGPL_SOURCE
#include <urcu/urcu-bp.h>
#include <urcu/urcu-memb.h>
#include <urcu/urcu-qsbr.h>

#include "forms.hpp"

namespace bench {

#define BENCH_FLAVOUR(FLAVOUR, NAME, AFTER_READ, WRITERS_ENTRY)                           \
  struct FLAVOUR##_form {                                                                 \
    static constexpr const char* name = NAME;                                             \
    struct member {                                                                       \
      member() { FLAVOUR##_register_thread(); }                                           \
      ~member() { FLAVOUR##_unregister_thread(); }                                        \
    };                                                                                    \
    std::atomic<const config*> value{new config(1)};                                      \
    long read() const {                                                                   \
      FLAVOUR##_read_lock();                                                              \
      const long sum = value.load(std::memory_order_consume)->sum();                      \
      FLAVOUR##_read_unlock();                                                            \
      AFTER_READ;                                                                         \
      return sum;                                                                         \
    }                                                                                     \
    void write(long n) {                                                                  \
      const config* const old = value.exchange(new config(n), std::memory_order_acq_rel); \
      WRITERS_ENTRY;                                                                      \
      FLAVOUR##_synchronize_rcu();                                                        \
      delete old;                                                                         \
    }                                                                                     \
  }
BENCH_FLAVOUR(urcu_memb, "liburcu, memb", , );
BENCH_FLAVOUR(urcu_qsbr, "liburcu, qsbr", urcu_qsbr_quiescent_state(), );
BENCH_FLAVOUR(urcu_bp, "liburcu, bp", , );
#undef BENCH_FLAVOUR

}  // namespace bench
#endif
