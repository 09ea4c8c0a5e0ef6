#include <algorithm>
#include <map>
#include <numeric>
#include <protozero/pbf_writer.hpp>

#include "profiler/export/formats.hpp"
#include "profiler/export/utf8.hpp"
#include "profiler/symbols/names.hpp"

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
  pprof(const profile& profile, const time_range& time) : profile_(profile), time_(time), writer_(file_) {
    add_string({});
  }

  std::string file() {
    write_types();
    for (const sample& sample : profile_.samples()) add(sample);
    write_mappings();
    for (std::size_t index = 0; index < profile_.locations().size(); ++index)
      add(profile_.locations()[index], index + 1);
    write_facts();
    for (const std::string* text : strings_) writer_.add_string(profile_field::string_table, *text);
    return std::move(file_);
  }

 private:
  std::int64_t add_string(std::string_view text) {
    const auto [number, is_new] = string_numbers_.try_emplace(well_formed(text), strings_.size());
    if (is_new) strings_.push_back(&number->first);
    return static_cast<std::int64_t>(number->second);
  }

  void write_types() {
    for (const measure measure : profile_.used_measures()) {
      pbf_writer type(writer_, profile_field::sample_type);
      type.add_int64(value_type_field::type, add_string(measures[measure].name));
      type.add_int64(value_type_field::unit, add_string(name(measures[measure].value_unit)));
    }
  }

  void write_label(pbf_writer& parent, std::string_view key, std::string_view text) {
    pbf_writer message(parent, sample_field::label);
    message.add_int64(label_field::key, add_string(key));
    message.add_int64(label_field::str, add_string(text));
  }

  void add(const sample& sample) {
    const format::recording& recording = profile_.recording();
    pbf_writer message(writer_, profile_field::sample);
    std::vector<std::uint64_t> locations;
    for (const std::uint32_t location : profile_.stacks()[sample.site]) locations.push_back(location + 1);
    if (locations.empty()) locations.push_back(require_unknown_location());
    message.add_packed_uint64(sample_field::location_id, locations.begin(), locations.end());
    std::vector<std::int64_t> counts;
    for (const measure measure : profile_.used_measures())
      counts.push_back(static_cast<std::int64_t>(sample.sums[measure]));
    message.add_packed_int64(sample_field::value, counts.begin(), counts.end());
    write_label(message, "thread", thread_name(recording, sample.thread));
    write_label(message, "source", name(sample.source));
    write_label(message, "category", sample.category);
    if (sample.source == sample_source::heap && sample.freed_by != sample.thread)
      write_label(message, "freed_by", thread_name(recording, sample.freed_by));
    if (!sample.operation.empty()) write_label(message, name(sample.source), sample.operation);
  }

  std::uint64_t add_function(std::string_view called, std::string_view file) {
    const std::int64_t text = add_string(called), path = add_string(file);
    const auto [number, is_new] = functions_.try_emplace({text, path}, functions_.size() + 1);
    if (is_new) {
      pbf_writer message(writer_, profile_field::function);
      message.add_uint64(function_field::id, number->second);
      message.add_int64(function_field::name, text);
      message.add_int64(function_field::system_name, text);
      message.add_int64(function_field::filename, path);
    }
    return number->second;
  }

  void add(const location& location, std::uint64_t number) {
    // The functions come first, because a message cannot begin within another one.
    std::vector<std::pair<std::uint64_t, int>> lines;
    for (const analyse::code_location& line : *location.lines)
      lines.emplace_back(add_function(frame_name(line), line.file), line.line);
    pbf_writer message(writer_, profile_field::location);
    message.add_uint64(location_field::id, number);
    if (location.module != no_module) message.add_uint64(location_field::mapping_id, location.module + 1);
    message.add_uint64(location_field::address, location.address);
    for (const auto& [function, line] : lines) {
      pbf_writer part(message, location_field::line);
      part.add_uint64(line_field::function_id, function);
      part.add_int64(line_field::line, line);
    }
  }

  // Returns the number of the location of stacks without frames, and has write_facts() write that location.
  std::uint64_t require_unknown_location() {
    has_unknown_location_ = true;
    return profile_.locations().size() + 1;
  }

  // Readers take the first mapping for the program.
  void write_mappings() {
    const format::recording& recording = profile_.recording();
    const std::string program =
        recording.program.arguments.empty() ? "" : analyse::file_name(recording.program.arguments.front());
    std::vector<std::size_t> order(recording.modules.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_partition(order.begin(), order.end(), [&](std::size_t index) {
      return analyse::file_name(recording.modules[index].path) == program;
    });
    for (const std::size_t index : order) {
      const format::module_facts& module = recording.modules[index];
      pbf_writer message(writer_, profile_field::mapping);
      message.add_uint64(mapping_field::id, index + 1);
      message.add_uint64(mapping_field::memory_start, module.start);
      message.add_uint64(mapping_field::memory_limit, module.end);
      message.add_int64(mapping_field::filename, add_string(module.path));
      message.add_int64(mapping_field::build_id, add_string(module.build_id));
      // Everything that can be resolved has been.
      message.add_bool(mapping_field::has_functions, true);
      message.add_bool(mapping_field::has_filenames, true);
      message.add_bool(mapping_field::has_line_numbers, true);
      message.add_bool(mapping_field::has_inline_frames, true);
    }
  }

  void write_facts() {
    const format::recording& recording = profile_.recording();
    if (has_unknown_location_) {
      const std::uint64_t function_number = add_function(no_stack, {});
      pbf_writer message(writer_, profile_field::location);
      message.add_uint64(location_field::id, require_unknown_location());
      pbf_writer(message, location_field::line).add_uint64(line_field::function_id, function_number);
    }
    writer_.add_int64(profile_field::time_nanos, static_cast<std::int64_t>(time_.from_ns));
    if (time_.until_ns > time_.from_ns)
      writer_.add_int64(profile_field::duration_nanos, static_cast<std::int64_t>(time_.until_ns - time_.from_ns));
    std::vector<std::int64_t> comments = {add_string(program_name(recording)), add_string(recording.program.machine)};
    if (profile_.is_heap_estimated())
      comments.push_back(add_string("sampled: what is counted of the heap is an estimate"));
    writer_.add_packed_int64(profile_field::comment, comments.begin(), comments.end());
    const measure first = profile_.used_measures().front() == allocations && profile_.used_measures().size() > 1
                              ? bytes
                              : profile_.used_measures().front();
    writer_.add_int64(profile_field::default_sample_type, add_string(measures[first].name));
  }

  const profile& profile_;
  const time_range time_;
  std::string file_;
  pbf_writer writer_;
  std::map<std::string, std::size_t> string_numbers_;
  std::vector<const std::string*> strings_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> functions_;
  bool has_unknown_location_ = false;
};

}  // namespace

time_range time_of(const profile& profile) {
  const std::uint64_t from_ns = profile.recording().program.started * 1'000'000'000;
  return {from_ns, from_ns + profile.length_ns()};
}

std::string as_pprof(const profile& profile, const time_range& time) { return pprof(profile, time).file(); }

}  // namespace tarn::exports
