// `bench-predictions PROGRAM before|after ROUNDS`: small programs whose most expensive transient site has a remedy,
// without it and with it. predictions.py compares the gain that `tarn report` predicts for the first with the
// measured gain of the second.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "predictions/codes.hpp"
#include "predictions/compiler.hpp"
#include "predictions/counters.hpp"
#include "predictions/counts.hpp"
#include "predictions/diary.hpp"
#include "predictions/documents.hpp"
#include "predictions/events.hpp"
#include "predictions/fields.hpp"
#include "predictions/filters.hpp"
#include "predictions/frames.hpp"
#include "predictions/greetings.hpp"
#include "predictions/headers.hpp"
#include "predictions/jobs.hpp"
#include "predictions/labels.hpp"
#include "predictions/letters.hpp"
#include "predictions/lookups.hpp"
#include "predictions/matches.hpp"
#include "predictions/messages.hpp"
#include "predictions/packets.hpp"
#include "predictions/pages.hpp"
#include "predictions/parcels.hpp"
#include "predictions/pipeline.hpp"
#include "predictions/places.hpp"
#include "predictions/records.hpp"
#include "predictions/replies.hpp"
#include "predictions/routes.hpp"
#include "predictions/samples.hpp"
#include "predictions/scans.hpp"
#include "predictions/settings.hpp"
#include "predictions/steps.hpp"
#include "predictions/strips.hpp"
#include "predictions/tokens.hpp"
#include "predictions/tries.hpp"
#include "predictions/workers.hpp"

namespace {

struct entry {
  std::string_view name;
  predictions::program before, after;
};

constexpr std::array programs = {
    entry{"codes", predictions::codes::run<false>, predictions::codes::run<true>},
    entry{"compiler", predictions::compiler::run<false>, predictions::compiler::run<true>},
    entry{"counters", predictions::counters::run<false>, predictions::counters::run<true>},
    entry{"counts", predictions::counts::run<false>, predictions::counts::run<true>},
    entry{"diary", predictions::diary::run<false>, predictions::diary::run<true>},
    entry{"documents", predictions::documents::run<false>, predictions::documents::run<true>},
    entry{"events", predictions::events::run<false>, predictions::events::run<true>},
    entry{"fields", predictions::fields::run<false>, predictions::fields::run<true>},
    entry{"filters", predictions::filters::run<false>, predictions::filters::run<true>},
    entry{"frames", predictions::frames::run<false>, predictions::frames::run<true>},
    entry{"greetings", predictions::greetings::run<false>, predictions::greetings::run<true>},
    entry{"headers", predictions::headers::run<false>, predictions::headers::run<true>},
    entry{"jobs", predictions::jobs::run<false>, predictions::jobs::run<true>},
    entry{"labels", predictions::labels::run<false>, predictions::labels::run<true>},
    entry{"letters", predictions::letters::run<false>, predictions::letters::run<true>},
    entry{"lookups", predictions::lookups::run<false>, predictions::lookups::run<true>},
    entry{"matches", predictions::matches::run<false>, predictions::matches::run<true>},
    entry{"messages", predictions::messages::run<false>, predictions::messages::run<true>},
    entry{"packets", predictions::packets::run<false>, predictions::packets::run<true>},
    entry{"pages", predictions::pages::run<false>, predictions::pages::run<true>},
    entry{"parcels", predictions::parcels::run<false>, predictions::parcels::run<true>},
    entry{"pipeline", predictions::pipeline::run<false>, predictions::pipeline::run<true>},
    entry{"places", predictions::places::run<false>, predictions::places::run<true>},
    entry{"records", predictions::records::run<false>, predictions::records::run<true>},
    entry{"replies", predictions::replies::run<false>, predictions::replies::run<true>},
    entry{"routes", predictions::routes::run<false>, predictions::routes::run<true>},
    entry{"samples", predictions::samples::run<false>, predictions::samples::run<true>},
    entry{"scans", predictions::scans::run<false>, predictions::scans::run<true>},
    entry{"settings", predictions::settings::run<false>, predictions::settings::run<true>},
    entry{"steps", predictions::steps::run<false>, predictions::steps::run<true>},
    entry{"strips", predictions::strips::run<false>, predictions::strips::run<true>},
    entry{"tokens", predictions::tokens::run<false>, predictions::tokens::run<true>},
    entry{"tries", predictions::tries::run<false>, predictions::tries::run<true>},
    entry{"workers", predictions::workers::run<false>, predictions::workers::run<true>},
};

}  // namespace

int main(int count, char** words) {
  for (const entry& program : programs) {
    if (count != 4 || program.name != words[1]) continue;
    const bool is_after = std::string_view(words[2]) == "after";
    const std::uint64_t rounds = std::strtoull(words[3], nullptr, 10);
    std::printf("%llx\n", static_cast<unsigned long long>((is_after ? program.after : program.before)(rounds)));
    return 0;
  }
  std::fprintf(stderr, "usage: bench-predictions PROGRAM before|after ROUNDS\n");
  return 2;
}
