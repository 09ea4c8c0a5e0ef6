#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "profiler/export/formats.hpp"
#include "profiler/export/frames.hpp"
#include "profiler/export/utf8.hpp"

namespace tarn::exports {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

// Field numbers by message, from https://perfetto.dev/docs/reference/trace-packet-proto.
constexpr pbf_tag_type trace_packet = 1;
namespace packet {
constexpr pbf_tag_type timestamp = 8, sequence = 10, track_event = 11, interned = 12, flags = 13, profile = 37,
                       track = 60;
}
namespace interned {
constexpr pbf_tag_type functions = 5, frames = 6, callstacks = 7, mapping_paths = 17, source_paths = 18, mappings = 19;
constexpr pbf_tag_type iid = 1, text = 2;                                                 // string
constexpr pbf_tag_type end = 5, path = 7;                                                 // mapping
constexpr pbf_tag_type function = 2, mapping = 3, relative_pc = 4, source = 5, line = 6;  // frame
constexpr pbf_tag_type frame_iids = 2;                                                    // call stack
}  // namespace interned
namespace heap {
constexpr pbf_tag_type dumps = 5;
constexpr pbf_tag_type pid = 1, samples = 2, from_start = 3, timestamp = 9, name = 11;
constexpr pbf_tag_type callstack = 1, allocated = 2, freed = 3, allocations = 5, frees = 6;  // sample
}  // namespace heap
namespace track {
constexpr pbf_tag_type uuid = 1, name = 2, process = 3, thread = 4, parent = 5;
constexpr pbf_tag_type pid = 1, command_line = 2, process_name = 6, tid = 2, thread_name = 5;
}  // namespace track
namespace event {
constexpr pbf_tag_type annotation = 4, type = 9, track = 11, category = 22, name = 23;
constexpr pbf_tag_type number = 3, text = 6, key = 10;  // annotation
constexpr int begin = 1, end = 2;                       // types
}  // namespace event

constexpr std::uint32_t sequence = 1, starts_anew = 1;  // there is only one sequence

class perfetto {
 public:
  explicit perfetto(const profile& profile) : profile_(profile), frames_(profile), writer_(file_) {}

  std::string file() {
    add_process();
    add_heap();
    for (const sample_source source :
         {sample_source::lock, sample_source::call, sample_source::cpu, sample_source::wait})
      add_slices(source);
    return std::move(file_);
  }

 private:
  static constexpr std::uint64_t process_track = 1;
  std::uint64_t track_of(std::uint32_t thread) const { return 2 + thread; }
  std::uint64_t track_of(std::uint32_t thread, sample_source source) const {
    return track_of(thread) + profile_.recording().threads.size() * static_cast<std::uint64_t>(source);
  }
  std::int32_t process() const { return static_cast<std::int32_t>(profile_.recording().program.process); }

  template <class Write>
  void add_packet(Write write, std::uint64_t time = 0) {
    pbf_writer message(writer_, trace_packet);
    message.add_uint64(packet::timestamp, time);
    message.add_uint32(packet::sequence, sequence);
    write(message);
  }

  void add_process() {
    const format::recording& recording = profile_.recording();
    add_packet([&](pbf_writer& message) {
      message.add_uint32(packet::flags, starts_anew);
      pbf_writer track(message, packet::track);
      track.add_uint64(track::uuid, process_track);
      pbf_writer facts(track, track::process);
      facts.add_int32(track::pid, process());
      for (const std::string& text : recording.program.arguments)
        facts.add_string(track::command_line, well_formed(text));
      facts.add_string(track::process_name, well_formed(program_name(recording)));
    });
    for (std::uint32_t thread = 0; thread < recording.threads.size(); ++thread) {
      add_packet([&](pbf_writer& message) {
        pbf_writer track(message, packet::track);
        track.add_uint64(track::uuid, track_of(thread));
        track.add_uint64(track::parent, process_track);
        pbf_writer facts(track, track::thread);
        facts.add_int32(track::pid, process());
        facts.add_int64(track::tid, recording.threads[thread].id);
        facts.add_string(track::thread_name, well_formed(thread_name(recording, thread)));
      });
    }
  }

  static void add_text(pbf_writer& parent, pbf_tag_type table, std::uint64_t number, std::string_view text) {
    pbf_writer message(parent, table);
    message.add_uint64(interned::iid, number);
    message.add_bytes(interned::text, well_formed(text));
  }

  // Writes the names, and for each heap sample a numbered stack.
  void add_heap() {
    std::vector<std::vector<std::uint32_t>> stacks;
    for (const sample& number_in_file : profile_.samples()) {
      if (number_in_file.source == sample_source::heap) stacks.push_back(frames_.stack_of(number_in_file));
    }
    if (stacks.empty()) return;
    add_packet([&](pbf_writer& message) {
      pbf_writer interned_data(message, packet::interned);
      // Readers want each frame in a mapping; ours are resolved already.
      add_text(interned_data, interned::mapping_paths, 1, program_name(profile_.recording()));
      {
        pbf_writer whole(interned_data, interned::mappings);
        whole.add_uint64(interned::iid, 1);
        whole.add_uint64(interned::end, ~0ULL >> 1);
        whole.add_uint64(interned::path, 1);
      }
      std::map<std::string_view, std::uint64_t> files;
      for (std::size_t index = 0; index < frames_.list().size(); ++index) add_frame(interned_data, index, files);
      for (std::size_t index = 0; index < stacks.size(); ++index) {
        std::vector<std::uint64_t> numbers(stacks[index].begin(), stacks[index].end());
        for (std::uint64_t& frame : numbers) ++frame;
        pbf_writer stack(interned_data, interned::callstacks);
        stack.add_uint64(interned::iid, index + 1);
        for (const std::uint64_t frame : numbers) stack.add_uint64(interned::frame_iids, frame);
      }
    });
    add_packet([&](pbf_writer& message) {
      pbf_writer profile(message, packet::profile);
      pbf_writer dump(profile, heap::dumps);
      dump.add_uint64(heap::pid, static_cast<std::uint64_t>(process()));
      dump.add_bool(heap::from_start, true);
      dump.add_uint64(heap::timestamp, 0);
      dump.add_string(heap::name, "libc.malloc");
      std::uint64_t number = 0;
      for (const sample& number_in_file : profile_.samples()) {
        if (number_in_file.source == sample_source::heap) add_sample(dump, ++number, number_in_file.sums);
      }
    });
  }

  void add_frame(pbf_writer& parent, std::size_t index, std::map<std::string_view, std::uint64_t>& files) const {
    const frame& frame = frames_.list()[index];
    add_text(parent, interned::functions, index + 1, frame.name);
    std::uint64_t file = 0;
    if (!frame.file.empty()) {
      const auto [file_number, is_new] = files.try_emplace(frame.file, files.size() + 1);
      file = file_number->second;
      if (is_new) add_text(parent, interned::source_paths, file, frame.file);
    }
    pbf_writer message(parent, interned::frames);
    message.add_uint64(interned::iid, index + 1);
    message.add_uint64(interned::function, index + 1);
    message.add_uint64(interned::mapping, 1);
    message.add_uint64(interned::relative_pc, index + 1);
    if (file != 0) message.add_uint64(interned::source, file);
    if (frame.line > 0) message.add_uint32(interned::line, static_cast<std::uint32_t>(frame.line));
  }

  static void add_sample(pbf_writer& parent, std::uint64_t stack, const values& sums) {
    const std::uint64_t frees = sums[freed_by_same_thread] + sums[remote_frees];
    pbf_writer message(parent, heap::samples);
    message.add_uint64(heap::callstack, stack);
    message.add_uint64(heap::allocated, sums[bytes]);
    // The recording has no freed bytes; this uses the mean size of the site's blocks.
    const double mean =
        sums[allocations] == 0 ? 0 : static_cast<double>(sums[bytes]) / static_cast<double>(sums[allocations]);
    const std::uint64_t freed_blocks = sums[allocations] - std::min(sums[in_use], sums[allocations]);
    message.add_uint64(heap::freed,
                       std::min(sums[bytes], static_cast<std::uint64_t>(mean * static_cast<double>(freed_blocks))));
    message.add_uint64(heap::allocations, sums[allocations]);
    message.add_uint64(heap::frees, frees);
  }

  // Puts a thread's waits, or calls, end to end, the longest first.
  void add_slices(sample_source source) {
    const measure time = source == sample_source::lock   ? lock_wait
                         : source == sample_source::call ? call_time
                         : source == sample_source::cpu  ? cpu_time
                                                         : wait_time;
    std::map<std::uint32_t, std::vector<const sample*>> by_thread;
    for (const sample& sample : profile_.samples()) {
      if (sample.source == source) by_thread[sample.thread].push_back(&sample);
    }
    for (auto& [thread, samples] : by_thread) {
      const std::uint64_t track_number = track_of(thread, source);
      add_packet([&, owner = thread](pbf_writer& message) {
        pbf_writer track(message, packet::track);
        track.add_uint64(track::uuid, track_number);
        track.add_uint64(track::parent, track_of(owner));
        track.add_string(track::name, source == sample_source::lock ? "lock waits, sorted by length (not in time order)"
                                      : source == sample_source::call
                                          ? "system calls, sorted by length (not in time order)"
                                      : source == sample_source::cpu ? "running, sorted by length (not in time order)"
                                                                     : "waiting, sorted by length (not in time order)");
      });
      std::stable_sort(samples.begin(), samples.end(),
                       [&](const sample* a, const sample* b) { return a->sums[time] > b->sums[time]; });
      std::uint64_t now = 0;
      for (const sample* sample : samples) {
        add_packet([&](pbf_writer& message) { add_begin(message, track_number, *sample); }, now);
        now += sample->sums[time];
        add_packet(
            [&](pbf_writer& message) {
              pbf_writer end(message, packet::track_event);
              end.add_enum(event::type, event::end);
              end.add_uint64(event::track, track_number);
            },
            now);
      }
    }
  }

  void add_begin(pbf_writer& parent, std::uint64_t track_number, const sample& sample) {
    std::string stack;
    for (const std::uint32_t frame : frames_.stack_of(sample))
      stack += (stack.empty() ? "" : ";") + frames_.list()[frame].name;
    pbf_writer begin(parent, packet::track_event);
    begin.add_enum(event::type, event::begin);
    begin.add_uint64(event::track, track_number);
    begin.add_string(event::category, std::string(sample.category));
    begin.add_string(event::name, leaf_name(sample));
    {
      pbf_writer note(begin, event::annotation);
      note.add_string(event::key, "stack");
      note.add_string(event::text, well_formed(stack));
    }
    for (std::size_t index_of_measure = 0; index_of_measure < measure_count; ++index_of_measure) {
      if (sample.sums[index_of_measure] == 0) continue;
      pbf_writer note(begin, event::annotation);
      note.add_string(event::key, std::string(measures[index_of_measure].name));
      note.add_uint64(event::number, sample.sums[index_of_measure]);
    }
  }

  const profile& profile_;
  frames frames_;
  std::string file_;
  pbf_writer writer_;
};

}  // namespace

std::string as_perfetto(const profile& profile) { return perfetto(profile).file(); }

}  // namespace tarn::exports
