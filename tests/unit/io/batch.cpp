#include <tarn/io/batch.hpp>
#include <tarn/io/reader.hpp>
#include <tarn/io/writer.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "platform/many_calls.hpp"
#include "support/child.hpp"
#include "unit/io/io_fixture.hpp"

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
  std::string text, words;
};

expected read_plainly(const std::string& path) {
  expected all;
  all.words = io_test::thrown<error>([&] {
    reader from(path);
    for (std::string_view block; !(block = from.block()).empty();) all.text += block;
  });
  return all;
}

struct some_files {
  io_test::folder here;
  std::vector<std::string> paths;

  some_files() {
    for (const std::size_t bytes : {0, 1, 100, 8191, 8192, 8193, 16384, 65535, 65536, 65537, 300'000}) {
      paths.push_back(here.file("file" + std::to_string(bytes), io_test::text(bytes + 1, bytes, 200).substr(0, bytes)));
    }
    paths.push_back(here.path("missing"));
    paths.push_back(here.path("file100/in a file"));
    paths.push_back(here.path(""));  // a folder can be opened and not be read
    paths.push_back(std::string("a\0b", 3));
    std::filesystem::create_symlink("file100", here.path("link"));
    std::filesystem::create_symlink("nowhere", here.path("broken"));
    paths.push_back(here.path("link"));
    paths.push_back(here.path("broken"));
    paths.push_back("/proc/cpuinfo");  // reports a size of 0 and is read in short pieces
  }
};

class batches : public testing::TestWithParam<batch_options> {};

INSTANTIATE_TEST_SUITE_P(ways, batches,
                         testing::Values(batch_options{}, batch_options{.way = batch_way::plain},
                                         batch_options{.at_once = 3}, batch_options{.threads = 3},
                                         batch_options{.threads = 3, .way = batch_way::plain}));

class steered_batches : public batches {};  // steered by a hook of one thread

INSTANTIATE_TEST_SUITE_P(ways, steered_batches,
                         testing::Values(batch_options{}, batch_options{.way = batch_way::plain},
                                         batch_options{.at_once = 3}));

TEST_P(batches, give_what_plain_calls_give) {
  const some_files some;
  std::vector<expected> plainly;
  for (const std::string& path : some.paths) plainly.push_back(read_plainly(path));
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    io_test::numbers random(seed);
    batch all(GetParam());
    std::vector<std::size_t> wanted;
    for (int each = 0; each < 200; ++each) {
      wanted.push_back(random.below(some.paths.size()));
      const std::string& path = some.paths[wanted.back()];
      all.read_file(path);
      all.status(path);
      all.open_to_read(path);
    }
    std::optional<scoped_hook> hook;
    if (seed % 2 == 0 && GetParam().threads == 1) {
      hook.emplace([&](const call& of) { return io_test::short_and_interrupted(random, of); });
    }
    all.run();
    hook.reset();
    ASSERT_EQ(all.contents().size(), wanted.size());
    for (std::size_t each = 0; each < wanted.size(); ++each) {
      const std::string& path = some.paths[wanted[each]];
      const expected& right = plainly[wanted[each]];
      batch_content& text = all.contents()[each];
      ASSERT_EQ(text.path(), path);
      ASSERT_EQ(words_of(text), right.words);
      ASSERT_EQ(text ? text.get() : "", right.text);
      struct stat known;
      const bool has_status = path.find('\0') == std::string::npos && stat(path.c_str(), &known) == 0;
      const batch_status& status = all.statuses()[each];
      ASSERT_EQ(static_cast<bool>(status), has_status);
      if (has_status) {
        ASSERT_EQ(status.get().bytes, static_cast<std::uint64_t>(known.st_size));
        ASSERT_EQ(status.get().number, known.st_ino);
        ASSERT_EQ(status.get().kind == file_kind::folder, S_ISDIR(known.st_mode));
        ASSERT_EQ(status.get().permissions, known.st_mode & 07777u);
      }
      batch_opened& opened = all.opened()[each];
      ASSERT_EQ(words_of(opened), io_test::thrown<error>([&] { file::open_to_read(path); }));
      if (opened && has_status && S_ISREG(known.st_mode)) {
        reader from(opened.take());
        ASSERT_EQ(from.block(200), right.text.substr(0, 200));
      }
    }
  }
}

TEST_P(batches, write_files) {
  const io_test::folder here;
  io_test::numbers random(7);
  std::optional<scoped_hook> hook;
  if (GetParam().threads == 1) {
    hook.emplace([&](const call& of) { return io_test::short_and_interrupted(random, of); });
  }
  batch all(GetParam());
  std::vector<std::string> texts;
  for (std::uint64_t each = 0; each < 100; ++each) {
    texts.push_back(io_test::text(each, random.below(each % 10 == 0 ? 100'000 : 300), 80));
    all.write_file(here.path(std::to_string(each)), texts.back());
  }
  all.run();
  for (std::size_t each = 0; each < texts.size(); ++each) {
    ASSERT_EQ(all.written()[each].get(), texts[each].size());
    ASSERT_EQ(content(here.path(std::to_string(each))), texts[each]);
  }
  all.clear();
  all.write_file(here.path("0"), "new");
  all.write_file(here.path("1"), "more", creation::append);
  all.write_file(here.path("2"), "other", creation::refuse);
  all.write_file(here.path("none/3"), "");
  all.run();
  EXPECT_EQ(content(here.path("0")), "new");
  EXPECT_EQ(content(here.path("1")), texts[1] + "more");
  EXPECT_EQ(content(here.path("2")), texts[2]);
  EXPECT_EQ(words_of(all.written()[2]), here.path("2") + ": cannot be opened to write: File exists");
  EXPECT_EQ(words_of(all.written()[3]), here.path("none/3") + ": cannot be opened to write: No such file or directory");
}

TEST_P(batches, read_and_write_at_places_of_open_files) {
  const io_test::folder here;
  const std::string text = io_test::text(3, 200'000, 100);
  const file target = file::open_to_update(here.path("file"));
  {
    std::optional<scoped_hook> hook;
    io_test::numbers random(11);
    if (GetParam().threads == 1) {
      hook.emplace([&](const call& of) { return io_test::short_and_interrupted(random, of); });
    }
    batch all(GetParam());
    for (std::size_t at = 0; at < text.size(); at += 300) {
      all.write(target, at, std::string_view(text).substr(at, 300));
    }
    all.run();
    for (const batch_written& each : all.written()) EXPECT_LE(each.get(), 300u);
    EXPECT_EQ(content(here.path("file")), text);
    std::vector<std::pair<std::size_t, std::size_t>> places = {{0, 0}, {0, 1}, {text.size(), 5}, {text.size() + 9, 5}};
    for (int each = 0; each < 300; ++each) places.emplace_back(random.below(text.size() + 100), random.below(20'000));
    for (const auto& [at, bytes] : places) all.read(target, at, bytes);
    all.run();
    for (std::size_t each = 0; each < places.size(); ++each) {
      const std::size_t at = std::min(places[each].first, text.size());
      ASSERT_EQ(all.contents()[each].get(), std::string_view(text).substr(at, places[each].second)) << each;
    }
  }
}

TEST_P(batches, each_error_is_its_own) {
  const some_files some;
  batch all(GetParam());
  for (int each = 0; each < 20; ++each) {
    all.read_file(some.paths[2]);
    all.write_file("/dev/full", "lost");
    all.read_file(some.here.path("missing"));
  }
  all.run();
  for (std::size_t each = 0; each < 20; ++each) {
    EXPECT_EQ(all.contents()[2 * each].get(), content(some.paths[2]));
    EXPECT_EQ(words_of(all.written()[each]), "/dev/full: cannot be written at offset 0: No space left on device");
    EXPECT_EQ(number_of(all.contents()[2 * each + 1]), ENOENT);
  }
  EXPECT_THROW(static_cast<void>(all.contents().back().get()), error);
}

TEST_P(steered_batches, say_where_an_error_was) {
  const io_test::folder here;
  const std::string path = here.file("file", io_test::text(1, 1000, 80));
  const file target = file::open_to_update(path);
  const std::string text(500, 'x');
  batch all(GetParam());
  const batch_content& whole = all.read_file(path);
  const batch_content& part = all.read(target, 300, 400);
  const batch_written& written = all.write(target, 600, text);
  for (int each = 0; each < 9; ++each) all.status(path);
  std::size_t done[3] = {};
  const scoped_hook hook([&](const call& of) {
    using io_test::fake::kind;
    if (of.kind != kind::read && of.kind != kind::read_at && of.kind != kind::write_at) return verdict{};
    std::size_t& before = done[of.kind == kind::read ? 0 : of.kind == kind::read_at ? 1 : 2];
    before += 70;
    return before > 140 ? verdict{.error = EIO} : verdict{.limit = 70};
  });
  all.run();
  EXPECT_EQ(words_of(whole), path + ": cannot be read at offset 140: Input/output error");
  EXPECT_EQ(words_of(part), path + ": cannot be read at offset 440: Input/output error");
  EXPECT_EQ(words_of(written), path + ": cannot be written at offset 740: Input/output error");
}

TEST_P(batches, read_and_write_pipes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const file from = file::adopt(ends[0], "a pipe");
  file to = file::adopt(ends[1], "its end");
  batch all(GetParam());
  for (int each = 0; each < 10; ++each) all.write(to, 0, "text");
  all.run();
  for (int each = 0; each < 9; ++each) all.read(from, 1000, 4);
  all.run();
  for (const batch_content& each : all.contents()) EXPECT_EQ(each.get(), "text");
  to.close();
  const batch_content& rest = all.read(from, 0, 100);
  for (int each = 0; each < 9; ++each) all.status("/");
  all.run();
  EXPECT_EQ(rest.get(), "text");

  std::signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const file broken = file::adopt(ends[1], "nobody");
  const batch_written& lost = all.write(broken, 0, "text");
  for (int each = 0; each < 9; ++each) all.status("/");
  all.run();
  EXPECT_EQ(words_of(lost), "nobody: cannot be written at offset 0: Broken pipe");
}

TEST_P(batches, show_results_as_they_come) {
  const some_files some;
  batch all(GetParam());
  for (int each = 0; each < 1000; ++each) {
    all.read_file(some.paths[each % 3 == 0 ? 1 : 5]);
    all.status(some.paths[2]);
  }
  const std::string one = content(some.paths[1]), other = content(some.paths[5]);
  std::set<const batch_result*> seen;
  std::size_t texts = 0;
  const std::thread::id caller = std::this_thread::get_id();
  all.run([&](batch_content& text) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    const std::string& right = text.path() == some.paths[1] ? one : other;
    EXPECT_EQ(text.get(), right);
    if (texts % 2 == 0) {
      EXPECT_EQ(text.take(), right);
    }
    EXPECT_TRUE(seen.insert(&text).second);
    if (++texts % 10 == 0 && texts <= 1000) all.read_file(some.paths[1]);  // adds more in the same run
  });
  EXPECT_EQ(texts, 1100u);
  EXPECT_THROW(static_cast<void>(all.contents()[0].get()), std::logic_error) << "shown, and gone";
  for (const batch_status& each : all.statuses()) EXPECT_EQ(each.get().bytes, 100u);
  all.run([](batch_result&) { FAIL() << "nothing is left"; });
}

TEST_P(batches, do_everything_before_a_visitors_exception_comes_out) {
  const some_files some;
  batch all(GetParam());
  for (int each = 0; each < 700; ++each) all.read_file(some.paths[2]);
  int shown = 0;
  EXPECT_THROW(all.run([&](batch_content&) {
    if (++shown == 5) throw std::out_of_range("of the visitor");
  }),
               std::out_of_range);
  EXPECT_EQ(shown, 5);
  for (const batch_content& each : all.contents()) ASSERT_TRUE(each) << "done, and not kept";
}

std::size_t descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST_P(steered_batches, any_call_may_fail_and_nothing_stays_open) {
  const some_files some;
  const std::size_t before = descriptors();
  bool is_over = false;
  for (std::uint64_t failing = 1; !is_over; ++failing) {
    std::size_t failed = 0;
    {
      batch all(GetParam());
      for (int each = 0; each < 3; ++each) {
        all.read_file(some.paths[2]);
        all.read_file(some.paths[5]);
        all.open_to_read(some.paths[2]);
        all.status(some.paths[2]);
        all.write_file(some.here.path("new"), "text");
      }
      const scoped_hook hook([&](const call& of) {
        if (of.number != failing) return verdict{};
        if (of.kind == io_test::fake::kind::close && of.descriptor >= 0) close(of.descriptor);  // Linux closes it, too
        return verdict{.error = EIO};
      });
      all.run();
      is_over = io_test::fake::calls() < failing;
      const auto look = [&](const batch_result& result) {
        ASSERT_TRUE(result.is_done());
        failed += !result;
        ASSERT_EQ(number_of(result), result ? 0 : EIO);
      };
      for (const auto& each : all.contents()) look(each);
      for (const auto& each : all.opened()) look(each);
      for (const auto& each : all.statuses()) look(each);
      for (const auto& each : all.written()) look(each);
      for (const auto& each : all.contents()) ASSERT_TRUE(!each || each.get() == content(each.path()));
    }
    ASSERT_LE(failed, 1u);
  }
  EXPECT_EQ(descriptors(), before);
}

TEST(batch, needs_few_descriptors) {
  const some_files some;
  const auto body = [&](batch_way way) {
    const rlimit few{40, 40};
    setrlimit(RLIMIT_NOFILE, &few);
    batch all({.way = way});
    for (int each = 0; each < 500; ++each) all.read_file(some.paths[2]);
    all.run();
    return std::ranges::all_of(all.contents(), [](const batch_content& each) { return each.get().size() == 100; });
  };
  EXPECT_EQ(support::in_child([&] { return body(batch_way::best) ? 0 : 1; }).status, 0);
  EXPECT_EQ(support::in_child([&] { return body(batch_way::plain) ? 0 : 1; }).status, 0);
}

TEST(batch, uses_a_ring_where_there_is_one) {
  if (!has_ring()) GTEST_SKIP() << "no io_uring here";
  const some_files some;
  batch all;
  for (int each = 0; each < 50; ++each) all.read_file(some.paths[2]);
  all.run();
  EXPECT_EQ(all.way(), batch_way::ring);
  all.clear();
  all.read_file(some.paths[2]);
  all.run();
  EXPECT_EQ(all.way(), batch_way::plain) << "for one file a ring costs more than it gives";
}

/// Makes this system call fail with EPERM from now on, as in many containers.
void forbid(unsigned number) {
  sock_filter rules[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program{sizeof rules / sizeof *rules, rules};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) std::abort();
}

TEST(batch, does_without_io_uring_where_it_is_forbidden) {
  const some_files some;
  for (const unsigned number : {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register}) {
    const support::ending seen = support::in_child([&] {
      forbid(number);
      batch all;
      for (int each = 0; each < 10; ++each) {
        for (const std::string& path : some.paths) all.read_file(path);
      }
      all.run();
      if (all.way() != batch_way::plain) return 2;
      for (const batch_content& each : all.contents()) {
        const expected right = read_plainly(each.path());
        if (words_of(each) != right.words || (each && each.get() != right.text)) return 3;
      }
      return 0;
    });
    EXPECT_EQ(seen, support::ending{}) << number;
  }
}

TEST(batch, reads_what_comes_through_a_pipe) {
  const io_test::folder here;
  for (const batch_way way : {batch_way::best, batch_way::plain}) {
    const std::string path = here.path("pipe");
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const std::string text = io_test::text(1, 300'000, 100);
    std::jthread other([&] {
      writer to(path);
      to.write(text);
      to.close();
    });
    batch all({.way = way});
    for (int each = 0; each < 10; ++each) all.read_file(here.path("missing"));
    const batch_content& got = all.read_file(path);
    all.run();
    EXPECT_EQ(got.get(), text);
    std::filesystem::remove(path);
  }
}

TEST(batch, results_are_there_after_the_run_only) {
  const some_files some;
  batch all;
  const batch_content& text = all.read_file(some.paths[2]);
  EXPECT_FALSE(text.is_done());
  EXPECT_FALSE(text);
  EXPECT_THROW(static_cast<void>(text.get()), std::logic_error);
  EXPECT_FALSE(text.error()) << "nothing has failed";
  all.run();
  EXPECT_EQ(text.get().size(), 100u);
}

TEST(batch, a_file_that_is_too_long_is_an_error) {
  const some_files some;
  for (const std::size_t longest : {99, 100, 10'000, 65'536}) {
    batch all({.longest = longest});
    for (const std::string& path : some.paths) all.read_file(path);
    all.run();
    for (const batch_content& each : all.contents()) {
      const expected right = read_plainly(each.path());
      if (!right.words.empty()) continue;
      EXPECT_EQ(number_of(each), right.text.size() > longest ? EMSGSIZE : 0) << each.path() << " " << longest;
    }
  }
}

}  // namespace
