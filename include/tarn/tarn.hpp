// Includes the headers of tarn::heap and tarn::sync, except for async_shared.hpp, quiet_region.hpp and service.hpp.
// Those of tarn::io are in <tarn/io.hpp>, and those for users of Asio in tarn/asio.
#pragma once

#include <tarn/accept_backoff.hpp>
#include <tarn/allocator.hpp>
#include <tarn/application.hpp>
#include <tarn/arena.hpp>
#include <tarn/arena_string.hpp>
#include <tarn/deeply_const.hpp>
#include <tarn/fixed_pool.hpp>
#include <tarn/format_statistics.hpp>
#include <tarn/heap.hpp>
#include <tarn/lock_free_pool.hpp>
#include <tarn/object_cache.hpp>
#include <tarn/outlives.hpp>
#include <tarn/owned.hpp>
#include <tarn/pool.hpp>
#include <tarn/pooled.hpp>
#include <tarn/rank.hpp>
#include <tarn/read_only.hpp>
#include <tarn/recycle.hpp>
#include <tarn/reloadable.hpp>
#include <tarn/reloadable_map.hpp>
#include <tarn/shared.hpp>
#include <tarn/shared_pool.hpp>
#include <tarn/spin_mutex.hpp>
#include <tarn/statistics.hpp>
#include <tarn/thread_checked.hpp>
#include <tarn/tokens.hpp>
#include <tarn/transient.hpp>
#include <tarn/version.hpp>
#include <tarn/with.hpp>
#include <tarn/work_phase.hpp>
#include <tarn/worker.hpp>
