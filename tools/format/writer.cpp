#include "format/writer.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "format/checksum.hpp"

namespace tarn::format {
namespace {

constexpr int compression_level = 3;
// A block is closed once it exceeds this size, so that a torn block loses little and a reader needs little memory.
constexpr std::size_t block_bytes = std::size_t{1} << 20;

// Cells are sorted by site, so the site is stored as the difference from the previous one.
void put_key(encoder& to, const cell_key_facts& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.owner, key.actor}) to.number(word);
}
void put_key(encoder& to, const call_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.number}) to.number(word);
}
void put_key(encoder& to, const lock_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.lock}) to.number(word);
}
void put_key(encoder& to, const wait_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.lock, key.holder_site, key.holder})
    to.number(word);
}
void put_key(encoder& to, const order_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.lock, key.held_site, key.held_lock, key.gate})
    to.number(word);
}
void put_key(encoder& to, const noise_key& key, std::uint32_t before) {
  for (const std::uint32_t word : {key.site - before, key.thread, key.region}) to.number(word);
}

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

writer::writer(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666)) {
  if (file_ < 0) fail(path.c_str());
  const file_header header{recording_magic, recording_version, 0};
  try {
    write(&header, sizeof header);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

writer::~writer() { ::close(file_); }

void writer::write(const void* bytes, std::size_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t wrote = ::write(file_, from, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail("the recording cannot be written");
    from += wrote;
    size -= static_cast<std::size_t>(wrote);
    bytes_ += static_cast<std::uint64_t>(wrote);
  }
}

void writer::put(block_kind kind, std::string_view content) {
  std::string block(sizeof(block_header) + ZSTD_compressBound(content.size()), '\0');
  const std::size_t packed = ZSTD_compress(block.data() + sizeof(block_header), block.size() - sizeof(block_header),
                                           content.data(), content.size(), compression_level);
  if (ZSTD_isError(packed) != 0) {
    throw std::system_error(ENOMEM, std::generic_category(), ZSTD_getErrorName(packed));
  }
  block.resize(sizeof(block_header) + packed);
  block_header header{block_mark, static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(packed),
                      static_cast<std::uint32_t>(content.size()), 0};
  header.checksum = checksum_of(header, std::string_view(block).substr(sizeof header));
  block.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
  write(block.data(), block.size());  // in one call, so that a block is usually written completely or not at all
}

void writer::put_part(block_kind kind, std::string_view content) {
  look_.number(static_cast<std::uint32_t>(kind));
  look_.text(content);
  if (look_.bytes().size() >= block_bytes) end_look();
}

void writer::end_look() {
  if (!look_.bytes().empty()) put(block_kind::look, look_.bytes());
  look_ = {};
}

void writer::program(const program_facts& facts) {
  encoder to;
  to.number(facts.process);
  to.number(facts.started);
  to.text(facts.machine);
  to.text(facts.mode);
  to.number(facts.sources.size());
  for (const std::string& source : facts.sources) to.text(source);
  to.number(facts.words.size());
  for (const std::string& word : facts.words) to.text(word);
  to.number(facts.parent);
  put(block_kind::program, to.bytes());
}

void writer::modules(const recording& now) {
  if (now.modules.size() == written_.modules.size() && now.images == written_.images) return;
  encoder to;
  to.number(now.images);
  std::for_each(now.modules.begin() + static_cast<std::ptrdiff_t>(written_.modules.size()), now.modules.end(),
                [&](const module_facts& each) {
                  to.number(each.image);
                  to.number(each.start);
                  to.number(each.end - each.start);
                  to.number(each.bias);
                  to.text(each.path);
                  to.text(each.build_id);
                  to.number(each.own_heap);
                });
  put_part(block_kind::modules, to.bytes());
  written_.modules = now.modules;
  written_.images = now.images;
}

void writer::threads(const recording& now) {
  encoder to;
  for (std::size_t number = 0; number < now.threads.size(); ++number) {
    const thread_facts& each = now.threads[number];
    if (number < written_.threads.size() && written_.threads[number] == each) continue;
    to.number(number);
    to.number(each.image);
    to.number(each.id);
    to.number(each.unknown);
    to.number(each.forgotten);
    to.number(each.allocations);
    to.number(each.frees);
    to.number(each.bytes);
  }
  if (to.bytes().empty()) return;
  put_part(block_kind::threads, to.bytes());
  written_.threads = now.threads;
}

void writer::names(const recording& now) {
  names_.resize(now.threads.size());
  encoder to;
  for (std::size_t number = 0; number < now.threads.size(); ++number) {
    const std::string& name = now.threads[number].name;
    if (names_[number] == name) continue;
    to.number(number);
    to.text(name);
    names_[number] = name;
  }
  if (!to.bytes().empty()) put_part(block_kind::names, to.bytes());
}

void writer::sites(const recording& now) {
  std::size_t number = written_.sites.size();
  while (number < now.sites.size()) {
    encoder to;
    to.number(number);
    for (; number < now.sites.size() && to.bytes().size() < block_bytes; ++number) {
      const site_facts& each = now.sites[number];
      to.number(each.image);
      to.number(each.frames.size());
      std::uint64_t before = 0;
      for (const std::uint64_t frame : each.frames) {
        to.difference(frame, before);
        before = frame;
      }
      written_.sites.push_back(each);
    }
    put_part(block_kind::sites, to.bytes());
  }
}

void writer::locks(const recording& now) {
  std::size_t number = written_.locks.size();
  while (number < now.locks.size()) {
    encoder to;
    to.number(number);
    for (; number < now.locks.size() && to.bytes().size() < block_bytes; ++number) {
      const lock_facts& each = now.locks[number];
      to.number(each.image);
      to.number(static_cast<std::uint32_t>(each.type));
      to.number(each.site);
      to.number(each.address);
      written_.locks.push_back(each);
    }
    put_part(block_kind::locks, to.bytes());
  }
}

void writer::quiet_regions(const recording& now) {
  encoder to;
  for (std::size_t number = 0; number < now.quiet_regions.size(); ++number) {
    const quiet_facts& each = now.quiet_regions[number];
    if (number < written_.quiet_regions.size() && written_.quiet_regions[number] == each) continue;
    to.number(number);
    to.number(each.image);
    to.number(each.entered);
    to.text(each.name);
  }
  if (to.bytes().empty()) return;
  put_part(block_kind::quiet_regions, to.bytes());
  written_.quiet_regions = now.quiet_regions;
}

void writer::clock(const recording& now) {
  encoder to;
  to.number(now.clock.ticks);
  to.number(now.clock.nanoseconds);
  put_part(block_kind::clock, to.bytes());
  written_.clock = now.clock;
}

void writer::excerpts(const recording& now) {
  while (written_.excerpts.size() < now.excerpts.size()) {
    const excerpt_facts& each = now.excerpts[written_.excerpts.size()];
    encoder to;
    to.number(each.thread);
    to.number(each.allocations);
    std::uint64_t before = 0;
    for (const excerpt_step& step : each.steps) {
      to.number(static_cast<std::uint32_t>(step.is));
      if (step.is == excerpt_kind::allocate) to.number(step.site);
      to.number(step.bytes);
      to.difference(step.address, before);
      before = step.address;
    }
    put_part(block_kind::excerpt, to.bytes());
    written_.excerpts.emplace_back();  // empty placeholders: excerpts are large and never change
  }
}

template <class Key, class Counts>
void writer::cells(block_kind kind, const std::map<Key, Counts>& now, std::map<Key, Counts>& before) {
  encoder to;
  std::uint32_t site = 0;
  const auto close = [&] {
    if (!to.bytes().empty()) put_part(kind, to.bytes());
    to = {};
    site = 0;
  };
  for (const auto& [key, value] : now) {
    Counts& written = before[key];
    if (written == value) continue;
    put_key(to, key, site);
    site = key.site;
    std::uint64_t changed = 0;
    static_assert(std::tuple_size_v<Counts> < 64);
    for (std::size_t at = 0; at < value.size(); ++at) changed |= std::uint64_t{value[at] != written[at]} << at;
    to.number(changed);
    for (std::size_t at = 0; at < value.size(); ++at) {
      if (value[at] == written[at]) continue;
      is_longest(key, at) ? to.number(value[at]) : to.difference(value[at], written[at]);
    }
    written = value;
    if (to.bytes().size() >= block_bytes) close();
  }
  close();
}

void writer::moment(const recording& now) {
  if (now.moments.size() == written_.moments.size()) return;
  const moment_facts before = written_.moments.empty() ? moment_facts{} : written_.moments.back();
  const moment_facts& last = now.moments.back();
  encoder to;
  to.number(last.at_ns - before.at_ns);
  to.number(last.resident_bytes);
  to.number(last.user_us);
  to.number(last.system_us);
  put_part(block_kind::moment, to.bytes());
  written_.moments = now.moments;
}

void writer::changes(const recording& now) {
  modules(now);
  threads(now);
  names(now);
  sites(now);
  locks(now);
  quiet_regions(now);
  // Excerpts come last, because they refer to the others.
  excerpts(now);
  const std::uint64_t before = bytes_ + look_.bytes().size();
  cells(block_kind::cells, now.cells, written_.cells);
  cells(block_kind::calls, now.calls, written_.calls);
  cells(block_kind::lockings, now.lockings, written_.lockings);
  cells(block_kind::waits, now.waits, written_.waits);
  cells(block_kind::orders, now.orders, written_.orders);
  cells(block_kind::noises, now.noises, written_.noises);
  if (bytes_ + look_.bytes().size() != before && now.clock != written_.clock) clock(now);
  moment(now);
  end_look();
}

void writer::unrecorded(const unrecorded_facts& facts) {
  encoder to;
  to.text(facts.became);
  to.text(facts.why);
  to.number(facts.forks);
  for (const auto& [name, starts] : facts.programs) {
    to.text(name);
    to.number(starts);
  }
  put(block_kind::unrecorded, to.bytes());
}

void writer::end(const end_facts& facts) {
  encoder to;
  to.number(facts.by_signal ? 1 : 0);
  to.number(facts.status);
  to.number(facts.wall_us);
  to.number(facts.user_us);
  to.number(facts.system_us);
  to.number(facts.instructions);
  to.number(facts.surprises);
  put(block_kind::end, to.bytes());
}

}  // namespace tarn::format
