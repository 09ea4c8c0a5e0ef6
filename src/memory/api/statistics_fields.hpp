// Lists the fields of the statistics by name; every form of the report goes through this list.
#pragma once

#include <cstdint>
#include <string_view>

#include <tarn/statistics.hpp>

#include "memory/api/advice.hpp"

namespace tarn::api {

/// Tells how a number may change: a count only grows, a level goes up and down.
enum class field_kind : std::uint8_t { count, level };

struct heap_field {
  std::string_view name;
  std::uint64_t heap_statistics::*member;
  field_kind kind = field_kind::count;
};
inline constexpr heap_field heap_fields[] = {
    {"allocated_blocks", &heap_statistics::allocated_blocks},
    {"freed_blocks", &heap_statistics::freed_blocks},
    {"allocated_bytes", &heap_statistics::allocated_bytes},
    {"freed_bytes", &heap_statistics::freed_bytes},
    {"remote_frees", &heap_statistics::remote_frees},
    {"used_bytes", &heap_statistics::used_bytes, field_kind::level},
    {"slabs", &heap_statistics::slabs, field_kind::level},
    {"slab_bytes", &heap_statistics::slab_bytes, field_kind::level},
    {"large_blocks", &heap_statistics::large_blocks, field_kind::level},
    {"large_bytes", &heap_statistics::large_bytes, field_kind::level},
    {"footprint_bytes", &heap_statistics::footprint_bytes, field_kind::level},
    {"peak_footprint_bytes", &heap_statistics::peak_footprint_bytes, field_kind::level},
    {"refills", &heap_statistics::refills},
    {"flushes", &heap_statistics::flushes},
};
static_assert(sizeof heap_fields / sizeof heap_fields[0] == sizeof(heap_statistics) / sizeof(std::uint64_t) - 1,
              "every field of heap_statistics but counts_calls is in the reports");

struct process_field {
  std::string_view name;
  std::uint64_t process_statistics::*member;
  field_kind kind = field_kind::count;
};
inline constexpr process_field process_fields[] = {
    {"waiting_frees", &process_statistics::waiting_frees, field_kind::level},
    {"waiting_bytes", &process_statistics::waiting_bytes, field_kind::level},
    {"heaps", &process_statistics::heaps, field_kind::level},
    {"threads_started", &process_statistics::threads_started},
    {"abandoned_heaps", &process_statistics::abandoned_heaps},
    {"adopted_heaps", &process_statistics::adopted_heaps},
    {"purges", &process_statistics::purges},
    {"purged_bytes", &process_statistics::purged_bytes},
    {"footprint_bytes", &process_statistics::footprint_bytes, field_kind::level},
    {"peak_footprint_bytes", &process_statistics::peak_footprint_bytes, field_kind::level},
    {"mapped_bytes", &process_statistics::mapped_bytes, field_kind::level},
};

struct call_field {
  std::string_view name;
  std::uint64_t system_call_counts::*member;
};
inline constexpr call_field call_fields[] = {
    {"mmap", &system_call_counts::mmap},         {"munmap", &system_call_counts::munmap},
    {"mremap", &system_call_counts::mremap},     {"madvise", &system_call_counts::madvise},
    {"mprotect", &system_call_counts::mprotect},
};
static_assert(sizeof(process_statistics) ==
                  sizeof(heap_statistics) +
                      (sizeof process_fields / sizeof process_fields[0] + sizeof call_fields / sizeof call_fields[0]) *
                          sizeof(std::uint64_t),
              "every field of process_statistics is in the reports");

struct advice_field {
  std::string_view name;
  std::uint64_t advice::*member;
};
inline constexpr advice_field advice_fields[] = {
    {"initial", &advice::initial},           {"increment", &advice::increment},       {"limit", &advice::limit},
    {"excess_heaps", &advice::excess_heaps}, {"excess_bytes", &advice::excess_bytes},
};
static_assert(sizeof advice_fields / sizeof advice_fields[0] == sizeof(advice) / sizeof(std::uint64_t),
              "every field of advice is in the reports");

}  // namespace tarn::api
