#include "profiler/lab/experiment.hpp"

namespace tarn::lab {

// The settings are those that the makers advise when speed matters and memory is plentiful (docs/guide/lab.md has the
// sources).
std::vector<form> mallocs(const std::string& word) {
  return {
      {"glibc", word, role::original},
      {"glibc tuned",
       word,
       role::peer,
       {},
       {},
       {"GLIBC_TUNABLES=glibc.malloc.tcache_count=2000:glibc.malloc.mmap_threshold=33554432:"
        "glibc.malloc.trim_threshold=536870912:glibc.malloc.top_pad=1048576"}},
      {"jemalloc",
       word,
       role::peer,
       "libjemalloc.so.2",
       "libjemalloc2",
       {"MALLOC_CONF=background_thread:true,metadata_thp:auto,dirty_decay_ms:30000,muzzy_decay_ms:30000"}},
      {"mimalloc", word, role::peer, "libmimalloc.so.2", "libmimalloc2.0", {"MIMALLOC_PAGE_RESET=0"}},
      {"tcmalloc",
       word,
       role::peer,
       "libtcmalloc_minimal.so.4",
       "libtcmalloc-minimal4",
       {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=268435456"}},
      {"tbbmalloc", word, role::peer, "libtbbmalloc_proxy.so.2", "libtbbmalloc2"},
      {"tarn drop-in", word, role::ours, drop_in},
  };
}

}  // namespace tarn::lab
