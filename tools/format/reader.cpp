#include "format/reader.hpp"

#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "format/checksum.hpp"
#include "format/region.hpp"

namespace tarn::format {
namespace {

constexpr std::size_t most_words = 1 << 20;
constexpr std::uint32_t most_images = 1 << 20;
constexpr std::size_t most_moments = 1 << 20;

std::uint32_t small(decoder& from, std::uint32_t most) { return static_cast<std::uint32_t>(from.number(most)); }
// Reads an index into a list of `size` entries.
std::uint32_t place(decoder& from, std::size_t size) {
  if (size == 0) throw unreadable("a block that refers to what was not written");
  return small(from, static_cast<std::uint32_t>(size - 1));
}

void read_program(decoder& from, recording& to) {
  program_facts facts;
  facts.process = from.number();
  facts.started = from.number();
  facts.machine = from.text();
  facts.mode = from.text();
  for (std::uint64_t left = from.number(most_words); left > 0; --left) facts.sources.emplace_back(from.text());
  for (std::uint64_t left = from.number(most_words); left > 0; --left) facts.words.emplace_back(from.text());
  facts.parent = from.number();
  to.program = std::move(facts);
}

void read_modules(decoder& from, recording& to) {
  to.images = small(from, most_images);
  while (!from.at_end()) {
    module_facts each;
    each.image = small(from, most_images);
    each.start = from.number();
    each.end = each.start + from.number(~each.start);
    each.bias = from.number();
    each.path = from.text();
    each.build_id = from.text();
    each.own_heap = small(from, own_malloc | own_new);
    if (to.modules.size() == most_modules) throw unreadable("too many modules");
    to.modules.push_back(std::move(each));
  }
}

void read_threads(decoder& from, recording& to) {
  while (!from.at_end()) {
    const std::uint32_t number = place(from, to.threads.size() + 1);
    if (number > most_threads) throw unreadable("too many threads");
    thread_facts each;
    each.image = small(from, most_images);
    each.id = small(from, ~0U);
    each.unknown = from.number();
    each.forgotten = from.number();
    each.allocations = from.number();
    each.frees = from.number();
    each.bytes = from.number();
    if (number == to.threads.size()) to.threads.emplace_back();
    each.name = std::move(to.threads[number].name);
    to.threads[number] = std::move(each);
  }
}

void read_names(decoder& from, recording& to) {
  while (!from.at_end()) {
    const std::uint32_t number = place(from, to.threads.size());
    to.threads[number].name = from.text();
  }
}

void read_sites(decoder& from, recording& to) {
  if (from.number() != to.sites.size()) throw unreadable("sites are missing");
  while (!from.at_end()) {
    site_facts each;
    each.image = small(from, most_images);
    const std::uint32_t frames = small(from, most_frames);
    std::uint64_t before = 0;
    for (std::uint32_t at = 0; at < frames; ++at) each.frames.push_back(before = from.difference(before));
    if (to.sites.size() == most_sites) throw unreadable("too many sites");
    to.sites.push_back(std::move(each));
  }
}

void read_locks(decoder& from, recording& to) {
  if (from.number() != to.locks.size()) throw unreadable("locks are missing");
  while (!from.at_end()) {
    lock_facts each;
    each.image = small(from, most_images);
    each.type = static_cast<lock_type>(small(from, lock_types - 1));
    each.site = place(from, to.sites.size());
    each.address = from.number();
    if (to.locks.size() == most_locks) throw unreadable("too many locks");
    to.locks.push_back(each);
  }
}

void read_quiet_regions(decoder& from, recording& to) {
  while (!from.at_end()) {
    const std::uint32_t number = place(from, to.quiet_regions.size() + 1);
    if (number == most_quiet_regions) throw unreadable("too many quiet regions");
    if (number == to.quiet_regions.size()) to.quiet_regions.emplace_back();
    quiet_facts& each = to.quiet_regions[number];
    each.image = small(from, most_images);
    each.entered = from.number();
    each.name = from.text();
  }
}

void read_clock(decoder& from, recording& to) {
  clock_facts facts;
  facts.ticks = from.number();
  facts.nanoseconds = from.number();
  if (facts.ticks == 0) throw unreadable("a clock that stood still");
  to.clock = facts;
}

void read_excerpt(decoder& from, recording& to) {
  excerpt_facts facts;
  facts.thread = place(from, to.threads.size());
  facts.allocations = from.number();
  std::uint64_t before = 0;
  while (!from.at_end()) {
    if (facts.steps.size() == excerpt_events) throw unreadable("an excerpt above its limit");
    excerpt_step step;
    step.is = static_cast<excerpt_kind>(small(from, excerpt_kinds - 1));
    if (step.is == excerpt_kind::allocate) step.site = place(from, to.sites.size());
    step.bytes = small(from, ~0U);
    step.address = before = from.difference(before);
    facts.steps.push_back(step);
  }
  if (to.excerpts.size() == std::size_t{most_excerpts} * most_excerpted) throw unreadable("too many excerpts");
  to.excerpts.push_back(std::move(facts));
}

// Adds the encoded step to `site`, which holds the site of the previous key.
void read_site(decoder& from, const recording& in, std::uint32_t& site) {
  const std::uint32_t step = place(from, in.sites.size());
  if (step >= in.sites.size() - site) throw unreadable("a block that refers to what was not written");
  site += step;
}
void read_key(decoder& from, const recording& in, cell_key_facts& key) {
  read_site(from, in, key.site);
  key.owner = place(from, in.threads.size());
  key.actor = place(from, in.threads.size());
}
void read_key(decoder& from, const recording& in, call_key& key) {
  read_site(from, in, key.site);
  key.thread = place(from, in.threads.size());
  key.number = small(from, most_call_number);
}
void read_key(decoder& from, const recording& in, lock_key& key) {
  read_site(from, in, key.site);
  key.thread = place(from, in.threads.size());
  key.lock = place(from, in.locks.size());
}
void read_key(decoder& from, const recording& in, wait_key& key) {
  read_site(from, in, key.site);
  key.thread = place(from, in.threads.size());
  key.lock = place(from, in.locks.size());
  key.holder_site = place(from, in.sites.size());
  key.holder = place(from, in.threads.size());
}
void read_key(decoder& from, const recording& in, order_key& key) {
  read_site(from, in, key.site);
  key.thread = place(from, in.threads.size());
  key.lock = place(from, in.locks.size());
  key.held_site = place(from, in.sites.size());
  key.held_lock = place(from, in.locks.size());
  key.gate = place(from, in.locks.size());
}
void read_key(decoder& from, const recording& in, noise_key& key) {
  read_site(from, in, key.site);
  key.thread = place(from, in.threads.size());
  key.region = place(from, in.quiet_regions.size());
}

template <class Key, class Counts>
void read_cells(decoder& from, const recording& in, std::map<Key, Counts>& to, watcher* watching) {
  Key key{};
  while (!from.at_end()) {
    read_key(from, in, key);
    const std::uint64_t changed = from.number((std::uint64_t{1} << std::tuple_size_v<Counts>)-1);
    Counts& total = to[key];
    Counts more{};
    for (std::size_t at = 0; at < total.size(); ++at) {
      if ((changed >> at & 1) == 0) continue;
      if (is_longest(key, at)) {
        total[at] = more[at] = from.number();
        continue;
      }
      const std::uint64_t after = from.difference(total[at]);
      more[at] = after > total[at] ? after - total[at] : 0;  // an estimate may decrease a little
      total[at] = after;
    }
    if (watching != nullptr) watching->more(key, more);
  }
}

void read_moment(decoder& from, recording& to, watcher* watching) {
  moment_facts facts;
  const std::uint64_t before = to.moments.empty() ? 0 : to.moments.back().at_ns;
  facts.at_ns = before + from.number(~before);
  facts.resident_bytes = from.number();
  facts.user_us = from.number();
  facts.system_us = from.number();
  if (to.moments.size() == most_moments) throw unreadable("too many moments");
  to.moments.push_back(facts);
  if (watching != nullptr) watching->moment(to);
}

void read_unrecorded(decoder& from, recording& to) {
  unrecorded_facts facts;
  facts.became = from.text();
  facts.why = from.text();
  facts.forks = from.number();
  while (!from.at_end()) {
    std::string name(from.text());
    facts.programs[std::move(name)] = from.number();
    if (facts.programs.size() > most_words) throw unreadable("too many programs");
  }
  to.unrecorded = std::move(facts);
}

void read_end(decoder& from, recording& to) {
  end_facts facts;
  facts.by_signal = from.number(1) != 0;
  facts.status = small(from, ~0U);
  facts.wall_us = from.number();
  facts.user_us = from.number();
  facts.system_us = from.number();
  facts.instructions = from.number();
  facts.surprises = from.number();
  to.end = facts;
  to.ended = true;
}

void read_part(block_kind kind, decoder from, recording& to, watcher* watching) {
  switch (kind) {
    case block_kind::program: return read_program(from, to);
    case block_kind::end: return read_end(from, to);
    case block_kind::modules: return read_modules(from, to);
    case block_kind::threads: return read_threads(from, to);
    case block_kind::names: return read_names(from, to);
    case block_kind::sites: return read_sites(from, to);
    case block_kind::locks: return read_locks(from, to);
    case block_kind::quiet_regions: return read_quiet_regions(from, to);
    case block_kind::excerpt: return read_excerpt(from, to);
    case block_kind::cells: return read_cells(from, to, to.cells, watching);
    case block_kind::calls: return read_cells(from, to, to.calls, watching);
    case block_kind::lockings: return read_cells(from, to, to.lockings, watching);
    case block_kind::waits: return read_cells(from, to, to.waits, watching);
    case block_kind::orders: return read_cells(from, to, to.orders, watching);
    case block_kind::noises: return read_cells(from, to, to.noises, watching);
    case block_kind::clock: return read_clock(from, to);
    case block_kind::moment: return read_moment(from, to, watching);
    case block_kind::unrecorded: return read_unrecorded(from, to);
    case block_kind::look: break;
  }
  throw unreadable("a block of an unknown kind");
}

void read_block(block_kind kind, std::string_view content, recording& to, watcher* watching) {
  decoder from(content);
  if (kind != block_kind::look) return read_part(kind, from, to, watching);
  while (!from.at_end()) {
    const auto part = static_cast<block_kind>(small(from, ~0U));
    read_part(part, decoder(from.text()), to, watching);
  }
}

// Removes the next block from `bytes` and decompresses it.
std::string take_block(std::string_view& bytes, block_kind& kind) {
  block_header header;
  if (bytes.size() < sizeof header) throw unreadable("the file ends inside a block");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.mark != block_mark) throw unreadable("something else where a block should begin");
  if (header.packed > bytes.size() - sizeof header) throw unreadable("the file ends inside a block");
  const std::string_view packed = bytes.substr(sizeof header, header.packed);
  if (header.checksum != checksum_of(header, packed)) {
    throw unreadable("a block that is not as it was written");
  }
  if (header.unpacked > largest_block) throw unreadable("a block above the limit");
  std::string content(header.unpacked, '\0');
  const std::size_t size = ZSTD_decompress(content.data(), content.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0 || size != content.size()) throw unreadable("a block that does not unpack");
  bytes.remove_prefix(sizeof header + header.packed);
  kind = static_cast<block_kind>(header.kind);
  return content;
}

}  // namespace

recording parse(std::string_view bytes, watcher* watching) {
  file_header header;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), recording_magic.data(), recording_magic.size()) != 0) {
    throw unreadable("is not a recording of tarn");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != recording_version) {
    throw unreadable("is a recording of version " + std::to_string(header.version) + ", and this tarn reads version " +
                     std::to_string(recording_version));
  }
  recording result;
  const std::size_t whole = bytes.size();
  bytes.remove_prefix(sizeof header);
  while (!bytes.empty()) {
    try {
      block_kind kind{};
      const std::string content = take_block(bytes, kind);
      read_block(kind, content, result, watching);
    } catch (const unreadable& reason) {
      result.damage = std::string(reason.what()) + ", at byte " + std::to_string(whole - bytes.size());
      break;
    }
  }
  return result;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw unreadable(path + ": " + std::strerror(errno));
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) throw unreadable(path + ": " + std::strerror(errno));
  return bytes;
}

recording read(const std::string& path) {
  const std::string bytes = content_of(path);
  try {
    return parse(bytes);
  } catch (const unreadable& reason) {
    throw unreadable(path + ": " + reason.what());
  }
}

}  // namespace tarn::format
