// The objects that the workers share, each in its category.
#pragma once

#include <optional>

#include <tarn/io.hpp>
#include <tarn/tarn.hpp>

#include "memory.hpp"
#include "metrics.hpp"
#include "sessions.hpp"
#include "settings.hpp"

namespace appserver {

struct objects {
  explicit objects(site_settings first) : site(tarn::reload_options{.name = "site"}, std::move(first)) {}

  tarn::read_only<server_settings> settings;
  tarn::reloadable<site_settings> site;
  session_manager sessions;
  std::optional<tarn::io::journal> access_log;  ///< any thread appends, without a lock
  std::optional<memory_budget> budget;          ///< one for each process
  std::optional<metrics_table> metrics;         ///< one entry for each worker, which alone writes it
};

}  // namespace appserver
