// `bench-predictions PROGRAM before|after ROUNDS`: small programs whose most expensive same-thread site has a remedy,
// without it and with it. predictions.py compares the gain that `tarn report` predicts for the first with the
// measured gain of the second.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "predictions/counts.hpp"
#include "predictions/documents.hpp"
#include "predictions/events.hpp"
#include "predictions/filters.hpp"
#include "predictions/greetings.hpp"
#include "predictions/headers.hpp"
#include "predictions/packets.hpp"
#include "predictions/pages.hpp"
#include "predictions/pipeline.hpp"
#include "predictions/routes.hpp"
#include "predictions/scans.hpp"
#include "predictions/workers.hpp"

namespace {

struct entry {
  std::string_view name;
  predictions::program before, after;
};

constexpr std::array programs = {
    entry{"counts", predictions::counts::run<false>, predictions::counts::run<true>},
    entry{"documents", predictions::documents::run<false>, predictions::documents::run<true>},
    entry{"events", predictions::events::run<false>, predictions::events::run<true>},
    entry{"filters", predictions::filters::run<false>, predictions::filters::run<true>},
    entry{"greetings", predictions::greetings::run<false>, predictions::greetings::run<true>},
    entry{"headers", predictions::headers::run<false>, predictions::headers::run<true>},
    entry{"packets", predictions::packets::run<false>, predictions::packets::run<true>},
    entry{"pages", predictions::pages::run<false>, predictions::pages::run<true>},
    entry{"pipeline", predictions::pipeline::run<false>, predictions::pipeline::run<true>},
    entry{"routes", predictions::routes::run<false>, predictions::routes::run<true>},
    entry{"scans", predictions::scans::run<false>, predictions::scans::run<true>},
    entry{"workers", predictions::workers::run<false>, predictions::workers::run<true>},
};

}  // namespace

int main(int count, char** arguments) {
  for (const entry& program : programs) {
    if (count != 4 || program.name != arguments[1]) continue;
    const bool is_after = std::string_view(arguments[2]) == "after";
    const std::uint64_t rounds = std::strtoull(arguments[3], nullptr, 10);
    std::printf("%llx\n", static_cast<unsigned long long>((is_after ? program.after : program.before)(rounds)));
    return 0;
  }
  std::fprintf(stderr, "usage: bench-predictions PROGRAM before|after ROUNDS\n");
  return 2;
}
