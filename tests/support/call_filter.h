// Filters of system calls (seccomp), which programs in C and C++ set for themselves, as sandboxes and containers do.
#ifndef TARN_TESTS_SUPPORT_CALL_FILTER_H
#define TARN_TESTS_SUPPORT_CALL_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { max_filtered_calls = 32 };

// The rules of a filter. It must not be moved, because `program` points into it.
struct call_filter {
  struct sock_filter rules[2 * max_filtered_calls + 2];
  struct sock_fprog program;
};

// Writes a filter that treats the `count` calls of `numbers` by the action `listed`, and all others by `others`.
static inline void make_call_filter(struct call_filter* filter, const int* numbers, size_t count, unsigned listed,
                                    unsigned others) {
  struct sock_filter* rule = filter->rules;
  const struct sock_filter load_number = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  *rule++ = load_number;
  for (size_t call = 0; call < count; ++call) {
    const struct sock_filter is_it = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[call], 0, 1);
    const struct sock_filter treat_it = BPF_STMT(BPF_RET | BPF_K, listed);
    *rule++ = is_it;
    *rule++ = treat_it;
  }
  const struct sock_filter treat_others = BPF_STMT(BPF_RET | BPF_K, others);
  *rule++ = treat_others;
  filter->program.len = (unsigned short)(rule - filter->rules);
  filter->program.filter = filter->rules;
}

// Sets the filter for the calling thread and those that it starts, until they end. Returns 0 when it is set.
static inline int set_call_filter(const struct call_filter* filter) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter->program);
}

// Makes one call do `action` from now on. Returns 0 when the filter is set.
static inline int filter_call(int number, unsigned action) {
  struct call_filter filter;
  make_call_filter(&filter, &number, 1, action, SECCOMP_RET_ALLOW);
  return set_call_filter(&filter);
}

// Makes one call fail with this number of <errno.h> from now on. Returns 0 when the filter is set.
static inline int refuse_call(int number, int error) {
  return filter_call(number, SECCOMP_RET_ERRNO | (unsigned)error);
}

#endif
