#include <tarn/format_statistics.hpp>

#include <algorithm>

#include "base/text.hpp"
#include "memory/api/statistics_fields.hpp"

namespace tarn {
namespace {

using api::field_kind;

template <class Statistics>
struct field {
  std::string_view name;
  std::size_t Statistics::*member;
  field_kind kind = field_kind::level;
};

constexpr field<pool_statistics> pool_fields[] = {
    {"in_use", &pool_statistics::in_use},
    {"peak_in_use", &pool_statistics::peak_in_use},
    {"capacity", &pool_statistics::capacity},
    {"chunks", &pool_statistics::chunks},
    {"chunk_bytes", &pool_statistics::chunk_bytes},
    {"upstream_calls", &pool_statistics::upstream_calls, field_kind::count},
};
static_assert(std::size(pool_fields) == sizeof(pool_statistics) / sizeof(std::size_t), "every field is in the reports");

constexpr field<arena_statistics> arena_fields[] = {
    {"used_bytes", &arena_statistics::used_bytes},
    {"peak_bytes", &arena_statistics::peak_bytes},
    {"chunk_bytes", &arena_statistics::chunk_bytes},
    {"spare_bytes", &arena_statistics::spare_bytes},
    {"chunks", &arena_statistics::chunks},
    {"upstream_calls", &arena_statistics::upstream_calls, field_kind::count},
};
static_assert(std::size(arena_fields) == sizeof(arena_statistics) / sizeof(std::size_t),
              "every field is in the reports");

// Builds one line at a time in the text class of the engine's own reports.
using line = base::text_buffer<512>;
void append(std::string& output, const line& text_line) { output += text_line.view(); }

void append_advice(std::string& output, const pool_statistics& numbers, statistics_form form) {
  const pool_options suggestion = advice_for(numbers);
  line text;
  if (form == statistics_form::json) {
    text.append(",\"advice\":{\"first_chunk_blocks\":").decimal(suggestion.first_chunk_blocks);
    text.append(",\"limit_blocks\":").decimal(suggestion.limit_blocks).append('}');
  } else if (suggestion.first_chunk_blocks != 0) {
    text.append("  next time: {.first_chunk_blocks = ").decimal(suggestion.first_chunk_blocks);
    text.append(", .limit_blocks = ").decimal(suggestion.limit_blocks).append("}\n");
  }
  append(output, text);
}
void append_advice(std::string&, const arena_statistics&, statistics_form) {}
void append_advice(std::string&, const heap_statistics&, statistics_form) {}

template <class Statistics, class Fields>
std::string as_text(std::string_view kind, std::span<const named_statistics<Statistics>> list, const Fields& fields) {
  std::string output;
  for (const named_statistics<Statistics>& entry : list) {
    line head;
    append(output, static_cast<line&>(head.append(kind).append(" \"").append_escaped(entry.name).append("\"\n")));
    for (const auto& [name, member, field_kind] : fields) {
      line number;
      number.append("  ").append(name).pad_to(24).decimal(entry.numbers.*member, 15).append('\n');
      append(output, number);
    }
    append_advice(output, entry.numbers, statistics_form::text);
  }
  return output;
}

template <class Statistics, class Fields>
std::string as_json(std::string_view kind, std::span<const named_statistics<Statistics>> list, const Fields& fields) {
  std::string output = "[";
  for (const named_statistics<Statistics>& entry : list) {
    line head;
    head.append(output.size() == 1 ? "" : ",").append("\n{").json_string(kind).append(':');
    append(output, static_cast<line&>(head.json_string(entry.name.substr(0, 64))));
    for (const auto& [name, member, field_kind] : fields) {
      line number;
      append(output,
             static_cast<line&>(number.append(',').json_string(name).append(':').decimal(entry.numbers.*member)));
    }
    append_advice(output, entry.numbers, statistics_form::json);
    output += '}';
  }
  return output + "\n]\n";
}

template <class Statistics, class Fields>
std::string as_openmetrics(std::string_view kind, std::span<const named_statistics<Statistics>> list,
                           const Fields& fields) {
  std::string output;
  for (const auto& [name, member, field_kind] : fields) {
    const bool is_counter = field_kind == api::field_kind::count;
    line family;
    family.append("# TYPE tarn_").append(kind).append('_').append(name).append(is_counter ? " counter\n" : " gauge\n");
    append(output, family);
    for (std::size_t index = 0; index < list.size(); ++index) {
      line sample;
      sample.append("tarn_").append(kind).append('_').append(name).append(is_counter ? "_total{" : "{").append(kind);
      sample.append("=\"");
      for (const char byte : list[index].name.substr(0, 64)) {
        sample.append(byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\' ? byte : '_');
      }
      // Names need not differ: the number makes the labels unique.
      sample.append("\",row=\"").decimal(index).append("\"} ").decimal(list[index].numbers.*member).append('\n');
      append(output, sample);
    }
  }
  return output + "# EOF\n";
}

template <class Statistics, class Fields>
std::string format_report(std::string_view kind, std::span<const named_statistics<Statistics>> list,
                          const Fields& fields, statistics_form form) {
  switch (form) {
    case statistics_form::json: return as_json(kind, list, fields);
    case statistics_form::openmetrics: return as_openmetrics(kind, list, fields);
    case statistics_form::text: break;
  }
  return as_text(kind, list, fields);
}

}  // namespace

pool_options advice_for(const pool_statistics& statistics) noexcept {
  constexpr std::size_t max_error = 255;  // by so much the peak may be too low
  const std::size_t largest_peak = std::min(statistics.peak_in_use + max_error, statistics.capacity);
  const std::size_t quarter = largest_peak / 4 + (largest_peak % 4 != 0 ? 1 : 0);
  return {.first_chunk_blocks = largest_peak, .limit_blocks = largest_peak + quarter};
}

std::string format_statistics(std::span<const named_statistics<heap_statistics>> heaps, statistics_form form) {
  return format_report("heap", heaps, api::heap_fields, form);
}
std::string format_statistics(std::span<const named_statistics<pool_statistics>> pools, statistics_form form) {
  return format_report("pool", pools, pool_fields, form);
}
std::string format_statistics(std::span<const named_statistics<arena_statistics>> arenas, statistics_form form) {
  return format_report("arena", arenas, arena_fields, form);
}

}  // namespace tarn
