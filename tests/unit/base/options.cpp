#include "base/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace tarn::base;
using testing::ElementsAre;
using testing::IsEmpty;

// Parses into defaults; the reason is empty on success.
struct parse_result {
  options values;
  std::string reason;
  bool is_accepted = false;

  parse_result(option_id id, std::string_view value) {
    text_buffer<128> text;
    is_accepted = parse_option(values, id, value, text);
    reason = text.view();
  }
};

std::vector<std::string> reported;
void note(std::string_view line) noexcept { reported.emplace_back(line); }

options load(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  reported.clear();
  options values;
  load_from_environment(values, environment.data(), note);
  return values;
}

std::string value_text(const options& source, option_id id) {
  text_buffer<2048> line;
  append_value(line, source, id);
  return std::string(line.view());
}

TEST(options, defaults_are_those_of_the_table) {
  const options defaults;
  for (const option_info& option : option_table) {
    EXPECT_EQ(value_text(defaults, option.id), option.default_text) << option.name;
    const parse_result parsed(option.id, option.default_text);
    EXPECT_TRUE(parsed.is_accepted) << option.name;
    EXPECT_EQ(value_text(parsed.values, option.id), option.default_text) << option.name;
    EXPECT_THAT(parsed.reason, IsEmpty()) << option.name;
  }
}

TEST(options, every_option_can_be_set_and_sets_only_itself) {
  const struct {
    option_id id;
    const char* value;
  } changed[] = {
      {option_id::purge_delay_ms, "7"},
      {option_id::stats, "json"},
      {option_id::stats_file, "out.json"},
      {option_id::guard, uses_guard_by_default ? "0" : "1"},
      {option_id::thp, "off"},
      {option_id::limit, "1000"},
      {option_id::initial, "2000"},
      {option_id::increment, "3000"},
      {option_id::background_purge, "0"},
      {option_id::sample_guards, "77"},
      {option_id::harden, "1"},
      {option_id::thread_heaps, "64"},
  };
  static_assert(sizeof changed / sizeof changed[0] == option_count);
  for (const auto& [id, value] : changed) {
    const parse_result result(id, value);
    ASSERT_TRUE(result.is_accepted) << value;
    for (const option_info& option : option_table) {
      EXPECT_EQ(value_text(result.values, option.id), option.id == id ? value : option.default_text) << option.name;
    }
  }
}

TEST(options, have_names_in_the_environment) {
  EXPECT_EQ(environment_name(info(option_id::purge_delay_ms)).view(), "TARN_PURGE_DELAY_MS");
  EXPECT_EQ(environment_name(info(option_id::thp)).view(), "TARN_THP");
}

TEST(options, are_read_as_milliseconds) {
  EXPECT_EQ(parse_result(option_id::purge_delay_ms, "0").values.purge_delay_ms, 0U);
  EXPECT_EQ(parse_result(option_id::purge_delay_ms, "3600000").values.purge_delay_ms, 3'600'000U);
  for (const char* text : {"abc", "", "-1", "+1", " 1", "1 ", "3600001", "1.5", "0x10", "1K", "18446744073709551620"}) {
    const parse_result result(option_id::purge_delay_ms, text);
    EXPECT_FALSE(result.is_accepted) << text;
    EXPECT_EQ(result.reason, "not a number of milliseconds from 0 to 3600000") << text;
    EXPECT_EQ(result.values.purge_delay_ms, 500U) << text;
  }
}

TEST(options, are_read_as_bytes) {
  const struct {
    const char* text;
    std::uint64_t bytes;
  } good[] = {
      {"0", 0},
      {"4096", 4096},
      {"64K", 65536},
      {"64KiB", 65536},
      {"1k", 1024},
      {"3M", 3145728},
      {"3MiB", 3145728},
      {"2G", 2147483648U},
      {"2GiB", 2147483648U},
      {"131072G", std::uint64_t{1} << 47},
  };
  for (const auto& [text, bytes] : good) {
    const parse_result result(option_id::limit, text);
    EXPECT_TRUE(result.is_accepted) << text;
    EXPECT_EQ(result.values.limit, bytes) << text;
  }
  for (const char* text : {"", "K", "-1", "1KB", "1Ki", "1KiBs", "1T", "1 K", "131073G", "17179869184G",
                           "18446744073709551616", "18446744073709551620", "18446744073709551615"}) {
    const parse_result result(option_id::limit, text);
    EXPECT_FALSE(result.is_accepted) << text;
    EXPECT_EQ(result.reason, "not a number of bytes from 0 to 140737488355328 (K, M, G, KiB, MiB, GiB may follow)");
  }
}

TEST(options, are_read_as_flags) {
  for (const char* text : {"1", "on"}) EXPECT_TRUE(parse_result(option_id::guard, text).values.uses_guard) << text;
  for (const char* text : {"0", "off"}) EXPECT_FALSE(parse_result(option_id::guard, text).values.uses_guard) << text;
  for (const char* text : {"", "2", "yes", "ON", "01"}) {
    EXPECT_EQ(parse_result(option_id::guard, text).reason, "not one of 0, 1, off, on") << text;
  }
}

TEST(options, are_read_as_choices) {
  EXPECT_EQ(parse_result(option_id::stats, "off").values.stats, stats_mode::off);
  EXPECT_EQ(parse_result(option_id::stats, "text").values.stats, stats_mode::text);
  EXPECT_EQ(parse_result(option_id::stats, "json").values.stats, stats_mode::json);
  EXPECT_EQ(parse_result(option_id::thp, "auto").values.thp, thp_mode::automatic);
  EXPECT_EQ(parse_result(option_id::thp, "on").values.thp, thp_mode::enabled);
  EXPECT_EQ(parse_result(option_id::thp, "off").values.thp, thp_mode::disabled);
  for (const char* text : {"", "1", "tex", "texts", "off|text", "|"}) {
    EXPECT_EQ(parse_result(option_id::stats, text).reason, "not one of off, text, json, openmetrics") << text;
  }
}

TEST(options, path_is_copied_and_bounded) {
  std::string path(max_path_bytes, 'x');
  EXPECT_EQ(parse_result(option_id::stats_file, path).values.stats_file, path);
  path.push_back('x');
  const parse_result longer(option_id::stats_file, path);
  EXPECT_EQ(longer.reason, "longer than 1023 bytes");
  EXPECT_EQ(longer.values.stats_file[0], '\0');

  options values;
  text_buffer<64> reason;
  ASSERT_TRUE(parse_option(values, option_id::stats_file, "a-long-name", reason));
  ASSERT_TRUE(parse_option(values, option_id::stats_file, "b", reason));
  EXPECT_STREQ(values.stats_file, "b");
}

TEST(options, are_found_by_their_exact_names) {
  EXPECT_EQ(find_option("thp"), option_id::thp);
  for (const char* unknown : {"", "THP", "th", "thpp", "purge-delay-ms"}) EXPECT_EQ(find_option(unknown), std::nullopt);
}

TEST(options, suggest_the_nearest_name_for_a_slip) {
  EXPECT_EQ(nearest_option("purge_delay"), option_id::purge_delay_ms);
  EXPECT_EQ(nearest_option("purge-delay-ms"), option_id::purge_delay_ms);
  EXPECT_EQ(nearest_option("limt"), option_id::limit);
  EXPECT_EQ(nearest_option("lmiit"), option_id::limit);
  EXPECT_EQ(nearest_option("gaurd"), option_id::guard);
  EXPECT_EQ(nearest_option("stat"), option_id::stats);
  EXPECT_EQ(nearest_option("background"), std::nullopt);
  EXPECT_EQ(nearest_option("colour"), std::nullopt);
  EXPECT_EQ(nearest_option(""), std::nullopt);
  EXPECT_EQ(nearest_option(std::string(1000, 'p')), std::nullopt);
}

TEST(options, environment_sets_what_it_names) {
  const options values = load({"HOME=/", "TARN_PURGE_DELAY_MS=250", "TARN_STATS=text", "TARNISH=1", "TARN_LIMIT=1G"});
  EXPECT_THAT(reported, IsEmpty());
  EXPECT_EQ(values.purge_delay_ms, 250U);
  EXPECT_EQ(values.stats, stats_mode::text);
  EXPECT_EQ(values.limit, 1073741824U);
}

TEST(options, malformed_environment_keeps_the_default_in_one_line) {
  const options values = load({"TARN_PURGE_DELAY_MS=abc", "TARN_GUARD=maybe", "TARN_THP=0"});
  EXPECT_THAT(
      reported,
      ElementsAre("tarn: option TARN_PURGE_DELAY_MS=abc: not a number of milliseconds from 0 to 3600000; 500 is used\n",
                  uses_guard_by_default ? "tarn: option TARN_GUARD=maybe: not one of 0, 1, off, on; 1 is used\n"
                                        : "tarn: option TARN_GUARD=maybe: not one of 0, 1, off, on; 0 is used\n",
                  "tarn: option TARN_THP=0: not one of auto, on, off; auto is used\n"));
  EXPECT_EQ(values.purge_delay_ms, 500U);
}

TEST(options, hostile_environment_stays_one_short_line) {
  const std::string path = "TARN_STATS_FILE=" + std::string(5'000, 'y');
  load({"TARN_LIMIT=\n\x1b[2J", "TARN_STATS=a\"b\\c", path.c_str()});
  EXPECT_THAT(reported,
              ElementsAre("tarn: option TARN_LIMIT=\\x0a\\x1b[2J: not a number of bytes from 0 to 140737488355328 "
                          "(K, M, G, KiB, MiB, GiB may follow); 0 is used\n",
                          "tarn: option TARN_STATS=a\"b\\\\c: not one of off, text, json, openmetrics; off is used\n",
                          "tarn: option TARN_STATS_FILE=" + std::string(64, 'y') +
                              "...: longer than 1023 bytes; standard error is used\n"));
}

TEST(options, unknown_environment_names_are_reported) {
  const std::string long_name = "TARN_" + std::string(300, 'Z') + "=1";
  load({"TARN_FOO=1", "TARN_PURGE_DELAY=5", "TARN_Guard=1", "TARN_", "TARN_\n=1", long_name.c_str()});
  EXPECT_THAT(reported, ElementsAre("tarn: unknown option TARN_FOO\n",
                                    "tarn: unknown option TARN_PURGE_DELAY; did you mean TARN_PURGE_DELAY_MS?\n",
                                    "tarn: unknown option TARN_Guard; did you mean TARN_GUARD?\n",
                                    "tarn: unknown option TARN_\n", "tarn: unknown option TARN_\\x0a\n",
                                    "tarn: unknown option TARN_" + std::string(59, 'Z') + "...\n"));
}

TEST(options, first_of_two_entries_counts_as_with_getenv) {
  EXPECT_EQ(load({"TARN_LIMIT=1", "TARN_LIMIT=2"}).limit, 1U);
  EXPECT_EQ(load({"TARN_LIMIT=x", "TARN_LIMIT=2"}).limit, 0U);
}

// Runs twice: as itself, and within that in a copy that is set-uid to nobody, where AT_SECURE is set.
TEST(options, environment_of_a_set_uid_program_is_ignored) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  if (self.string().find("-set-uid-") != std::string::npos) {
    ASSERT_NE(::getauxval(AT_SECURE), 0U);
    EXPECT_EQ(load({"TARN_LIMIT=5", "TARN_FOO=1"}).limit, 0U);
    EXPECT_THAT(reported, IsEmpty());
    // Uses _exit: a search for leaks needs ptrace, which the kernel refuses in a set-uid program.
    ::_exit(HasFailure() ? 1 : 0);
  }
  struct statvfs mount;
  ASSERT_EQ(::statvfs(self.c_str(), &mount), 0);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a program that is set-uid to another user";
  if ((mount.f_flag & ST_NOSUID) != 0) GTEST_SKIP() << "the build folder is mounted nosuid";
  constexpr unsigned nobody = 65534;
  const std::filesystem::path copy = self.string() + "-set-uid-" + std::to_string(::getpid());
  std::filesystem::copy_file(self, copy);
  ASSERT_EQ(::chown(copy.c_str(), nobody, nobody), 0);
  ASSERT_EQ(::chmod(copy.c_str(), 04755), 0);
  const std::string command =
      "'" + copy.string() + "' --gtest_filter=options.environment_of_a_set_uid_program_is_ignored";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(copy);
}

TEST(options, keep_their_defaults_without_an_environment) {
  options values;
  load_from_environment(values, nullptr, note);
  EXPECT_EQ(values.purge_delay_ms, 500U);
}

}  // namespace
