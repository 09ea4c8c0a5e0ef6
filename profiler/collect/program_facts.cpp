#include "profiler/collect/program_facts.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>

#include "profiler/base/failure.hpp"

namespace tarn::command {
namespace {

std::vector<std::string> names_of(std::uint32_t sources) {
  using enum format::kind;
  std::vector<std::string> names;
  if ((sources & source_bit(heap_kind)) != 0) names.emplace_back("heap");
  if ((sources & source_bit(lock_kind)) != 0) names.emplace_back("locks");
  if ((sources & source_bit(call_kind)) != 0) names.emplace_back("system calls by syscall user dispatch");
  return names;
}

}  // namespace

format::program_facts facts_of(const std::vector<std::string>& arguments, std::uint32_t sources,
                               std::uint64_t interval) {
  utsname machine{};
  ::uname(&machine);
  return {.started = static_cast<std::uint64_t>(::time(nullptr)),
          .machine = fmt::format("{} {} {}, {} processors", machine.sysname, machine.release, machine.machine,
                                 ::sysconf(_SC_NPROCESSORS_ONLN)),
          .mode = interval == 0 ? "full" : "sampled",
          .sources = names_of(sources),
          .arguments = arguments,
          .interval = interval,
          .host = machine.nodename};
}

std::unique_ptr<cpu::sampler> add_cpu_source(format::program_facts& facts, pid_t process) {
  auto sampler = process == 0 ? std::make_unique<cpu::sampler>() : std::make_unique<cpu::sampler>(process);
  if (sampler->error() == 0) {
    facts.sources.emplace_back("cpu");
    return sampler;
  }
  const std::string reason =
      fmt::format("the kernel refuses to sample the processor: {}", system_error_text(sampler->error()));
  constexpr const char* cure =
      "sysctl kernel.perf_event_paranoid=2, root, or in a container --cap-add=PERFMON may help";
  if (facts.sources.empty()) fail(exit_code::missing, "--cpu: {}; {}", reason, cure);
  print_error("tarn: {}; {}\n", reason, cure);
  return nullptr;
}

void take_samples(cpu::sampler* sampler) {
  if (sampler != nullptr) sampler->take();
}

}  // namespace tarn::command
