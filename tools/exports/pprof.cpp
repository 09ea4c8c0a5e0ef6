#include <algorithm>
#include <map>
#include <numeric>
#include <protozero/pbf_writer.hpp>
#include <tuple>

#include "exports/formats.hpp"
#include "exports/text.hpp"

namespace tarn::exports {
namespace {

using protozero::pbf_writer;

// Field numbers by message.
namespace profile_field {
enum : protozero::pbf_tag_type { sample_type = 1, sample, mapping, location, function, string_table };
enum : protozero::pbf_tag_type { time_nanos = 9, duration_nanos, comment = 13, default_sample_type };
}  // namespace profile_field
namespace value_type_field {
enum : protozero::pbf_tag_type { type = 1, unit };
}
namespace sample_field {
enum : protozero::pbf_tag_type { location_id = 1, value, label };
}
namespace label_field {
enum : protozero::pbf_tag_type { key = 1, str, num };
}
namespace mapping_field {
enum : protozero::pbf_tag_type { id = 1, memory_start, memory_limit, file_offset, filename, build_id };
enum : protozero::pbf_tag_type { has_functions = 7, has_filenames, has_line_numbers, has_inline_frames };
}  // namespace mapping_field
namespace location_field {
enum : protozero::pbf_tag_type { id = 1, mapping_id, address, line };
}
namespace line_field {
enum : protozero::pbf_tag_type { function_id = 1, line };
}
namespace function_field {
enum : protozero::pbf_tag_type { id = 1, name, system_name, filename };
}

class pprof {
 public:
  explicit pprof(const profile& of) : profile_(of), to_(file_) { string({}); }

  std::string file() {
    types();
    for (const sample& each : profile_.samples()) add(each);
    mappings();
    for (std::size_t at = 0; at < profile_.locations().size(); ++at) add(profile_.locations()[at], at + 1);
    facts();
    for (const std::string* each : strings_) to_.add_string(profile_field::string_table, *each);
    return std::move(file_);
  }

 private:
  std::int64_t string(std::string_view text) {
    const auto [found, is_new] = known_strings_.try_emplace(well_formed(text), strings_.size());
    if (is_new) strings_.push_back(&found->first);
    return static_cast<std::int64_t>(found->second);
  }

  void types() {
    for (const measure each : profile_.used()) {
      pbf_writer type(to_, profile_field::sample_type);
      type.add_int64(value_type_field::type, string(measures[each].name));
      type.add_int64(value_type_field::unit, string(words(measures[each].in)));
    }
  }

  void label(pbf_writer& of, std::string_view key, std::string_view text) {
    pbf_writer one(of, sample_field::label);
    one.add_int64(label_field::key, string(key));
    one.add_int64(label_field::str, string(text));
  }

  void add(const sample& one) {
    const format::recording& in = profile_.recorded();
    pbf_writer to(to_, profile_field::sample);
    std::vector<std::uint64_t> places;
    for (const std::uint32_t each : profile_.stacks()[one.site]) places.push_back(each + 1);
    if (places.empty()) places.push_back(nowhere());
    to.add_packed_uint64(sample_field::location_id, places.begin(), places.end());
    std::vector<std::int64_t> counts;
    for (const measure each : profile_.used()) counts.push_back(static_cast<std::int64_t>(one.counted[each]));
    to.add_packed_int64(sample_field::value, counts.begin(), counts.end());
    label(to, "thread", thread_name(in, one.thread));
    label(to, "source", name(one.from));
    label(to, "category", one.category);
    if (one.from == source::heap && one.freed_by != one.thread) label(to, "freed_by", thread_name(in, one.freed_by));
    if (one.from != source::heap) label(to, name(one.from), one.what);
  }

  std::uint64_t function(std::string_view called, std::string_view file) {
    const std::int64_t text = string(called), path = string(file);
    const auto [found, is_new] = functions_.try_emplace({text, path}, functions_.size() + 1);
    if (is_new) {
      pbf_writer one(to_, profile_field::function);
      one.add_uint64(function_field::id, found->second);
      one.add_int64(function_field::name, text);
      one.add_int64(function_field::system_name, text);
      one.add_int64(function_field::filename, path);
    }
    return found->second;
  }

  void add(const location& one, std::uint64_t number) {
    std::vector<std::pair<std::uint64_t, int>>
        lines;  // computed first, because a message cannot begin within another's
    for (const analyse::place& each : *one.lines) lines.emplace_back(function(frame_name(each), each.file), each.line);
    pbf_writer to(to_, profile_field::location);
    to.add_uint64(location_field::id, number);
    if (one.module != no_module) to.add_uint64(location_field::mapping_id, one.module + 1);
    to.add_uint64(location_field::address, one.address);
    for (const auto& [function, line] : lines) {
      pbf_writer part(to, location_field::line);
      part.add_uint64(line_field::function_id, function);
      part.add_int64(line_field::line, line);
    }
  }

  // The location of stacks without any.
  std::uint64_t nowhere() {
    has_nowhere_ = true;
    return profile_.locations().size() + 1;
  }

  // Readers take the first mapping for the program.
  void mappings() {
    const format::recording& in = profile_.recorded();
    const std::string program = in.program.words.empty() ? "" : file_name(in.program.words.front());
    std::vector<std::size_t> order(in.modules.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t at) { return file_name(in.modules[at].path) == program; });
    for (const std::size_t at : order) {
      const format::module_facts& each = in.modules[at];
      pbf_writer one(to_, profile_field::mapping);
      one.add_uint64(mapping_field::id, at + 1);
      one.add_uint64(mapping_field::memory_start, each.start);
      one.add_uint64(mapping_field::memory_limit, each.end);
      one.add_int64(mapping_field::filename, string(each.path));
      one.add_int64(mapping_field::build_id, string(each.build_id));
      // Everything that can be resolved has been.
      one.add_bool(mapping_field::has_functions, true);
      one.add_bool(mapping_field::has_filenames, true);
      one.add_bool(mapping_field::has_line_numbers, true);
      one.add_bool(mapping_field::has_inline_frames, true);
    }
  }

  void facts() {
    const format::recording& in = profile_.recorded();
    if (has_nowhere_) {
      const std::uint64_t known = function(no_stack, {});
      pbf_writer one(to_, profile_field::location);
      one.add_uint64(location_field::id, nowhere());
      pbf_writer(one, location_field::line).add_uint64(line_field::function_id, known);
    }
    to_.add_int64(profile_field::time_nanos, static_cast<std::int64_t>(in.program.started) * 1'000'000'000);
    if (in.ended) to_.add_int64(profile_field::duration_nanos, static_cast<std::int64_t>(in.end.wall_us) * 1000);
    std::vector<std::int64_t> comments = {string(program_name(in)), string(in.program.machine)};
    if (profile_.is_estimate()) comments.push_back(string("sampled: what is counted of the heap is an estimate"));
    to_.add_packed_int64(profile_field::comment, comments.begin(), comments.end());
    const measure first =
        profile_.used().front() == allocations && profile_.used().size() > 1 ? bytes : profile_.used().front();
    to_.add_int64(profile_field::default_sample_type, string(measures[first].name));
  }

  const profile& profile_;
  std::string file_;
  pbf_writer to_;
  std::map<std::string, std::size_t> known_strings_;
  std::vector<const std::string*> strings_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> functions_;
  bool has_nowhere_ = false;
};

}  // namespace

std::string as_pprof(const profile& of) { return pprof(of).file(); }

}  // namespace tarn::exports
