#include <tarn/io/batch.hpp>
#include <tarn/io/reader.hpp>
#include <tarn/io/writer.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "platform/many_calls.hpp"
#include "support/call_filter.h"
#include "support/child.hpp"
#include "unit/io/io_fixture.hpp"

namespace tarn::io {

// Prints the differences of the ways into the names of the tests. The bytes of the structure differ from build to
// build.
static void PrintTo(const batch_options& options, std::ostream* output) {
  *output << (options.method == batch_method::plain ? "plain" : "best") << "_" << options.max_in_progress << "_at_once_"
          << options.threads << "_threads";
}

}  // namespace tarn::io

namespace {

using namespace tarn::io;
using io_test::content;
using io_test::fake::call;
using io_test::fake::scoped_hook;
using io_test::fake::verdict;

bool has_ring() { return tarn::platform::files::ring_calls(1) != nullptr; }

int number_of(const batch_result& result) {
  const auto failure = result.error();
  return failure ? failure->code().value() : 0;
}
std::string words_of(const batch_result& result) { return result ? "" : result.error()->what(); }

/// The expected result of a batch, computed by one call after the other.
struct expected {
  std::string text, error_text;
};

expected read_plainly(const std::string& path) {
  expected outcome;
  outcome.error_text = io_test::thrown<error>([&] {
    reader input(path);
    for (std::string_view block; !(block = input.block()).empty();) outcome.text += block;
  });
  return outcome;
}

struct some_files {
  io_test::folder folder;
  std::vector<std::string> paths;

  some_files() {
    for (const std::size_t bytes : {0, 1, 100, 8191, 8192, 8193, 16384, 65535, 65536, 65537, 300'000}) {
      paths.push_back(
          folder.file("file" + std::to_string(bytes), io_test::text(bytes + 1, bytes, 200).substr(0, bytes)));
    }
    paths.push_back(folder.path("missing"));
    paths.push_back(folder.path("file100/in a file"));
    paths.push_back(folder.path(""));  // a folder can be opened and not be read
    paths.push_back(std::string("a\0b", 3));
    std::filesystem::create_symlink("file100", folder.path("link"));
    std::filesystem::create_symlink("nowhere", folder.path("broken"));
    paths.push_back(folder.path("link"));
    paths.push_back(folder.path("broken"));
    paths.push_back("/proc/cpuinfo");  // reports a size of 0 and is read in short pieces
  }
};

class batches : public testing::TestWithParam<batch_options> {};

INSTANTIATE_TEST_SUITE_P(ways, batches,
                         testing::Values(batch_options{}, batch_options{.method = batch_method::plain},
                                         batch_options{.max_in_progress = 3}, batch_options{.threads = 3},
                                         batch_options{.threads = 3, .method = batch_method::plain}));

class steered_batches : public batches {};  // steered by a hook of one thread

INSTANTIATE_TEST_SUITE_P(ways, steered_batches,
                         testing::Values(batch_options{}, batch_options{.method = batch_method::plain},
                                         batch_options{.max_in_progress = 3}));

TEST_P(batches, give_what_plain_calls_give) {
  const some_files files;
  std::vector<expected> plainly;
  for (const std::string& path : files.paths) plainly.push_back(read_plainly(path));
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    io_test::numbers random(seed);
    batch requests(GetParam());
    std::vector<std::size_t> chosen_files;
    for (int number = 0; number < 200; ++number) {
      chosen_files.push_back(random.next_below(files.paths.size()));
      const std::string& path = files.paths[chosen_files.back()];
      requests.read_file(path);
      requests.status(path);
      requests.open_to_read(path);
    }
    std::optional<scoped_hook> hook;
    if (seed % 2 == 0 && GetParam().threads == 1) {
      hook.emplace([&](const call& system_call) { return io_test::short_and_interrupted(random, system_call); });
    }
    requests.run();
    hook.reset();
    ASSERT_EQ(requests.contents().size(), chosen_files.size());
    for (std::size_t index = 0; index < chosen_files.size(); ++index) {
      const std::string& path = files.paths[chosen_files[index]];
      const expected& right = plainly[chosen_files[index]];
      batch_content& text = requests.contents()[index];
      ASSERT_EQ(text.path(), path);
      ASSERT_EQ(words_of(text), right.error_text);
      ASSERT_EQ(text ? text.get() : "", right.text);
      struct stat status_of_path;
      const bool has_status = path.find('\0') == std::string::npos && stat(path.c_str(), &status_of_path) == 0;
      const batch_status& status = requests.statuses()[index];
      ASSERT_EQ(static_cast<bool>(status), has_status);
      if (has_status) {
        ASSERT_EQ(status.get().bytes, static_cast<std::uint64_t>(status_of_path.st_size));
        ASSERT_EQ(status.get().number, status_of_path.st_ino);
        ASSERT_EQ(status.get().kind == file_kind::folder, S_ISDIR(status_of_path.st_mode));
        ASSERT_EQ(status.get().permissions, status_of_path.st_mode & 07777u);
      }
      batch_file& opened = requests.files()[index];
      ASSERT_EQ(words_of(opened), io_test::thrown<error>([&] { file::open_to_read(path); }));
      if (opened && has_status && S_ISREG(status_of_path.st_mode)) {
        reader input(opened.take());
        ASSERT_EQ(input.block(200), right.text.substr(0, 200));
      }
    }
  }
}

TEST_P(batches, write_files) {
  const io_test::folder folder;
  io_test::numbers random(7);
  std::optional<scoped_hook> hook;
  if (GetParam().threads == 1) {
    hook.emplace([&](const call& system_call) { return io_test::short_and_interrupted(random, system_call); });
  }
  batch requests(GetParam());
  std::vector<std::string> texts;
  for (std::uint64_t number = 0; number < 100; ++number) {
    texts.push_back(io_test::text(number, random.next_below(number % 10 == 0 ? 100'000 : 300), 80));
    requests.write_file(folder.path(std::to_string(number)), texts.back());
  }
  requests.run();
  for (std::size_t index = 0; index < texts.size(); ++index) {
    ASSERT_EQ(requests.writes()[index].get(), texts[index].size());
    ASSERT_EQ(content(folder.path(std::to_string(index))), texts[index]);
  }
  requests.clear();
  requests.write_file(folder.path("0"), "new");
  requests.write_file(folder.path("1"), "more", if_exists::append);
  requests.write_file(folder.path("2"), "other", if_exists::refuse);
  requests.write_file(folder.path("none/3"), "");
  requests.run();
  EXPECT_EQ(content(folder.path("0")), "new");
  EXPECT_EQ(content(folder.path("1")), texts[1] + "more");
  EXPECT_EQ(content(folder.path("2")), texts[2]);
  EXPECT_EQ(words_of(requests.writes()[2]), folder.path("2") + ": cannot be opened to write: File exists");
  EXPECT_EQ(words_of(requests.writes()[3]),
            folder.path("none/3") + ": cannot be opened to write: No such file or directory");
}

TEST_P(batches, read_and_write_at_places_of_open_files) {
  const io_test::folder folder;
  const std::string text = io_test::text(3, 200'000, 100);
  const file target = file::open_to_update(folder.path("file"));
  {
    std::optional<scoped_hook> hook;
    io_test::numbers random(11);
    if (GetParam().threads == 1) {
      hook.emplace([&](const call& system_call) { return io_test::short_and_interrupted(random, system_call); });
    }
    batch requests(GetParam());
    for (std::size_t offset = 0; offset < text.size(); offset += 300) {
      requests.write(target, offset, std::string_view(text).substr(offset, 300));
    }
    requests.run();
    for (const batch_write& written : requests.writes()) EXPECT_LE(written.get(), 300u);
    EXPECT_EQ(content(folder.path("file")), text);
    std::vector<std::pair<std::size_t, std::size_t>> places = {{0, 0}, {0, 1}, {text.size(), 5}, {text.size() + 9, 5}};
    for (int number = 0; number < 300; ++number)
      places.emplace_back(random.next_below(text.size() + 100), random.next_below(20'000));
    for (const auto& [offset, bytes] : places) requests.read(target, offset, bytes);
    requests.run();
    for (std::size_t index = 0; index < places.size(); ++index) {
      const std::size_t offset = std::min(places[index].first, text.size());
      ASSERT_EQ(requests.contents()[index].get(), std::string_view(text).substr(offset, places[index].second)) << index;
    }
  }
}

TEST_P(batches, each_error_is_its_own) {
  const some_files files;
  batch requests(GetParam());
  for (int number = 0; number < 20; ++number) {
    requests.read_file(files.paths[2]);
    requests.write_file("/dev/full", "lost");
    requests.read_file(files.folder.path("missing"));
  }
  requests.run();
  for (std::size_t index = 0; index < 20; ++index) {
    EXPECT_EQ(requests.contents()[2 * index].get(), content(files.paths[2]));
    EXPECT_EQ(words_of(requests.writes()[index]), "/dev/full: cannot be written at offset 0: No space left on device");
    EXPECT_EQ(number_of(requests.contents()[2 * index + 1]), ENOENT);
  }
  EXPECT_THROW(static_cast<void>(requests.contents().back().get()), error);
}

TEST_P(steered_batches, say_where_an_error_was) {
  const io_test::folder folder;
  const std::string path = folder.file("file", io_test::text(1, 1000, 80));
  const file target = file::open_to_update(path);
  const std::string text(500, 'x');
  batch requests(GetParam());
  const batch_content& whole = requests.read_file(path);
  const batch_content& part = requests.read(target, 300, 400);
  const batch_write& written = requests.write(target, 600, text);
  for (int number = 0; number < 9; ++number) requests.status(path);
  std::size_t transferred_bytes[3] = {};
  const scoped_hook hook([&](const call& system_call) {
    using io_test::fake::kind;
    if (system_call.kind != kind::read && system_call.kind != kind::read_at && system_call.kind != kind::write_at)
      return verdict{};
    std::size_t& before = transferred_bytes[system_call.kind == kind::read      ? 0
                                            : system_call.kind == kind::read_at ? 1
                                                                                : 2];
    before += 70;
    return before > 140 ? verdict{.error = EIO} : verdict{.limit = 70};
  });
  requests.run();
  EXPECT_EQ(words_of(whole), path + ": cannot be read at offset 140: Input/output error");
  EXPECT_EQ(words_of(part), path + ": cannot be read at offset 440: Input/output error");
  EXPECT_EQ(words_of(written), path + ": cannot be written at offset 740: Input/output error");
}

TEST_P(batches, read_and_write_pipes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const file read_end = file::adopt(ends[0], "a pipe");
  file write_end = file::adopt(ends[1], "its end");
  batch requests(GetParam());
  for (int number = 0; number < 10; ++number) requests.write(write_end, 0, "text");
  requests.run();
  for (int number = 0; number < 9; ++number) requests.read(read_end, 1000, 4);
  requests.run();
  for (const batch_content& content_read : requests.contents()) EXPECT_EQ(content_read.get(), "text");
  write_end.close();
  const batch_content& last_read = requests.read(read_end, 0, 100);
  for (int number = 0; number < 9; ++number) requests.status("/");
  requests.run();
  EXPECT_EQ(last_read.get(), "text");

  std::signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const file broken = file::adopt(ends[1], "nobody");
  const batch_write& lost = requests.write(broken, 0, "text");
  for (int number = 0; number < 9; ++number) requests.status("/");
  requests.run();
  EXPECT_EQ(words_of(lost), "nobody: cannot be written at offset 0: Broken pipe");
}

TEST_P(batches, show_results_as_they_come) {
  const some_files files;
  batch requests(GetParam());
  for (int number = 0; number < 1000; ++number) {
    requests.read_file(files.paths[number % 3 == 0 ? 1 : 5]);
    requests.status(files.paths[2]);
  }
  const std::string short_content = content(files.paths[1]), long_content = content(files.paths[5]);
  std::set<const batch_result*> visited;
  std::size_t texts = 0;
  const std::thread::id caller = std::this_thread::get_id();
  requests.run([&](batch_content& text) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    const std::string& right = text.path() == files.paths[1] ? short_content : long_content;
    EXPECT_EQ(text.get(), right);
    if (texts % 2 == 0) {
      EXPECT_EQ(text.take(), right);
    }
    EXPECT_TRUE(visited.insert(&text).second);
    if (++texts % 10 == 0 && texts <= 1000) requests.read_file(files.paths[1]);  // adds more in the same run
  });
  EXPECT_EQ(texts, 1100u);
  EXPECT_EQ(io_test::thrown<std::logic_error>([&] { static_cast<void>(requests.contents()[0].get()); }),
            requests.contents()[0].path() + ": its text was taken, or shown, and is gone: keep what take() returned");
  for (const batch_status& status : requests.statuses()) EXPECT_EQ(status.get().bytes, 100u);
  requests.run([](batch_result&) { FAIL() << "nothing is left"; });
}

TEST_P(batches, do_everything_before_a_visitors_exception_comes_out) {
  const some_files files;
  batch requests(GetParam());
  for (int number = 0; number < 700; ++number) requests.read_file(files.paths[2]);
  int visits = 0;
  EXPECT_THROW(requests.run([&](batch_content&) {
    if (++visits == 5) throw std::out_of_range("of the visitor");
  }),
               std::out_of_range);
  EXPECT_EQ(visits, 5);
  for (const batch_content& content_read : requests.contents()) ASSERT_TRUE(content_read) << "done, and not kept";
}

std::size_t descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST_P(steered_batches, any_call_may_fail_and_nothing_stays_open) {
  const some_files files;
  const std::size_t before = descriptors();
  bool is_over = false;
  for (std::uint64_t failing = 1; !is_over; ++failing) {
    std::size_t failed = 0;
    {
      batch requests(GetParam());
      for (int number = 0; number < 3; ++number) {
        requests.read_file(files.paths[2]);
        requests.read_file(files.paths[5]);
        requests.open_to_read(files.paths[2]);
        requests.status(files.paths[2]);
        requests.write_file(files.folder.path("new"), "text");
      }
      const scoped_hook hook([&](const call& system_call) {
        if (system_call.number != failing) return verdict{};
        if (system_call.kind == io_test::fake::kind::close && system_call.descriptor >= 0)
          close(system_call.descriptor);  // Linux closes it, too
        return verdict{.error = EIO};
      });
      requests.run();
      is_over = io_test::fake::calls() < failing;
      const auto look = [&](const batch_result& result) {
        ASSERT_TRUE(result.is_done());
        failed += !result;
        ASSERT_EQ(number_of(result), result ? 0 : EIO);
      };
      for (const auto& result : requests.contents()) look(result);
      for (const auto& result : requests.files()) look(result);
      for (const auto& result : requests.statuses()) look(result);
      for (const auto& result : requests.writes()) look(result);
      for (const auto& result : requests.contents()) ASSERT_TRUE(!result || result.get() == content(result.path()));
    }
    ASSERT_LE(failed, 1u);
  }
  EXPECT_EQ(descriptors(), before);
}

TEST(batch, needs_few_descriptors) {
  const some_files files;
  const auto body = [&](batch_method way) {
    const rlimit few_descriptors{40, 40};
    setrlimit(RLIMIT_NOFILE, &few_descriptors);
    batch requests({.method = way});
    for (int number = 0; number < 500; ++number) requests.read_file(files.paths[2]);
    requests.run();
    return std::ranges::all_of(requests.contents(),
                               [](const batch_content& result) { return result.get().size() == 100; });
  };
  EXPECT_EQ(support::in_child([&] { return body(batch_method::best) ? 0 : 1; }).status, 0);
  EXPECT_EQ(support::in_child([&] { return body(batch_method::plain) ? 0 : 1; }).status, 0);
}

TEST(batch, uses_a_ring_where_there_is_one) {
  if (!has_ring()) GTEST_SKIP() << "no io_uring here";
  const some_files files;
  batch requests;
  for (int number = 0; number < 50; ++number) requests.read_file(files.paths[2]);
  requests.run();
  EXPECT_EQ(requests.method(), batch_method::ring);
  requests.clear();
  requests.read_file(files.paths[2]);
  requests.run();
  EXPECT_EQ(requests.method(), batch_method::plain) << "for one file a ring costs more than it gives";
}

TEST(batch, does_without_io_uring_where_it_is_forbidden) {
  const some_files files;
  for (const int number : {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register}) {
    const support::ending child_ending = support::in_child([&] {
      if (refuse_call(number, EPERM) != 0) return 1;
      batch requests;
      for (int count = 0; count < 10; ++count) {
        for (const std::string& path : files.paths) requests.read_file(path);
      }
      requests.run();
      if (requests.method() != batch_method::plain) return 2;
      for (const batch_content& result : requests.contents()) {
        const expected right = read_plainly(result.path());
        if (words_of(result) != right.error_text || (result && result.get() != right.text)) return 3;
      }
      return 0;
    });
    EXPECT_EQ(child_ending, support::ending{}) << number;
  }
}

TEST(batch, reads_what_comes_through_a_pipe) {
  const io_test::folder folder;
  for (const batch_method way : {batch_method::best, batch_method::plain}) {
    const std::string path = folder.path("pipe");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const std::string text = io_test::text(1, 300'000, 100);
    std::jthread sender([&] {
      writer output(path);
      output.write(text);
      output.close();
    });
    batch requests({.method = way});
    for (int number = 0; number < 10; ++number) requests.read_file(folder.path("missing"));
    const batch_content& content = requests.read_file(path);
    requests.run();
    EXPECT_EQ(content.get(), text);
    std::filesystem::remove(path);
  }
}

TEST(batch, results_are_there_after_the_run_only) {
  const some_files files;
  batch requests;
  const batch_content& text = requests.read_file(files.paths[2]);
  EXPECT_FALSE(text.is_done());
  EXPECT_FALSE(text);
  EXPECT_EQ(io_test::thrown<std::logic_error>([&] { static_cast<void>(text.get()); }),
            files.paths[2] + ": a result of a batch is read before its run: call run() first");
  requests.run();
  EXPECT_EQ(text.get().size(), 100u);
}

TEST(batch, a_file_that_is_too_long_is_an_error) {
  const some_files files;
  for (const std::size_t longest : {99, 100, 10'000, 65'536}) {
    batch requests({.max_file_bytes = longest});
    for (const std::string& path : files.paths) requests.read_file(path);
    requests.run();
    for (const batch_content& result : requests.contents()) {
      const expected right = read_plainly(result.path());
      if (!right.error_text.empty()) continue;
      EXPECT_EQ(number_of(result), right.text.size() > longest ? EMSGSIZE : 0) << result.path() << " " << longest;
    }
  }
}

}  // namespace
