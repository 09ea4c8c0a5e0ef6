// What the workers share, each in its category.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include <tarn/io.hpp>
#include <tarn/tarn.hpp>

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
  std::unique_ptr<worker_metrics[]> metrics;    ///< one for each worker, who alone writes it

  std::span<const worker_metrics> all_metrics() const { return {metrics.get(), settings->workers}; }
};

}  // namespace appserver
