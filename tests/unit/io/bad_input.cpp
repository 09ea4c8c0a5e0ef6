// Everything in tarn::io reports unusable files with the same text: path, failed operation, reason.
#include <tarn/io.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>

#include "support/child.hpp"
#include "unit/io/io_fixture.hpp"

namespace {

using namespace tarn::io;

std::string words_of(const std::function<void()>& body) { return io_test::thrown<error>(body); }

/// Returns each component's message for a path; empty where the component accepts it.
std::map<std::string, std::string> words_on(const std::string& path) {
  std::map<std::string, std::string> messages;
  messages["reader"] = words_of([&] { reader(path).block(); });
  messages["mapped_file"] = words_of([&] { count(mapped_file(path), 'x'); });
  messages["journal_reader"] = words_of([&] { journal_reader{path}; });
  messages["journal"] = words_of([&] { journal(path, {.bytes = 4096, .chunk_bytes = 1024}); });
  messages["writer"] = words_of([&] { writer(path, {.existing = if_exists::append}).flush(); });
  batch requests({.max_file_bytes = 1 << 20});
  const batch_content& text = requests.read_file(path);
  requests.run();
  messages["batch"] = words_of([&] { static_cast<void>(text.get()); });
  return messages;
}

using message_map = std::map<std::string, std::string>;

message_map all_say(const std::string& path, const std::string& why) {
  const std::string to_read = path + ": cannot be opened to read: " + why;
  return {{"reader", to_read},         {"mapped_file", to_read},
          {"journal_reader", to_read}, {"journal", path + ": cannot be opened to read and write: " + why},
          {"batch", to_read},          {"writer", path + ": cannot be opened to write: " + why}};
}

TEST(bad_input, a_path_that_leads_nowhere_is_an_error) {
  const io_test::folder folder;
  folder.file("file", "");
  std::filesystem::create_symlink(folder.path("loop"), folder.path("loop"));
  const std::string missing = folder.path("none/file"), in_a_file = folder.path("file/x"), loop = folder.path("loop");
  const std::string too_long = folder.path(std::string(300, 'x'));
  EXPECT_EQ(words_on(missing), all_say(missing, "No such file or directory"));
  EXPECT_EQ(words_on(in_a_file), all_say(in_a_file, "Not a directory"));
  EXPECT_EQ(words_on(loop), all_say(loop, "Too many levels of symbolic links"));
  EXPECT_EQ(words_on(too_long), all_say(too_long, "File name too long"));
}

TEST(bad_input, a_file_that_may_not_be_read_is_an_error) {
  const io_test::folder folder;
  const std::string path = folder.file("secret", "x");
  chmod(path.c_str(), 0);
  const support::ending child_ending = support::in_child([&] {
    constexpr uid_t nobody = 65534;
    std::filesystem::permissions(std::filesystem::path(path).parent_path(), std::filesystem::perms::all);
    if (geteuid() == 0 && setresuid(nobody, nobody, nobody) != 0) return 2;
    return words_on(path) == all_say(path, "Permission denied") ? 0 : 1;
  });
  EXPECT_EQ(child_ending, support::ending{});
}

TEST(bad_input, a_folder_is_an_error) {
  const io_test::folder folder;
  const std::string path = folder.path("");
  message_map expected = all_say(path, "Is a directory");
  const std::string not_read = path + ": cannot be read at offset 0: Is a directory";
  expected["reader"] = expected["mapped_file"] = expected["batch"] = not_read;
  expected["journal_reader"] = not_read;
  EXPECT_EQ(words_on(path), expected);
}

TEST(bad_input, a_socket_is_an_error) {
  const io_test::folder folder;
  const std::string path = folder.path("socket");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{AF_UNIX, {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(words_on(path), all_say(path, "No such device or address"));
  close(socket);
}

TEST(bad_input, an_empty_file_and_a_device_are_empty) {
  const io_test::folder folder;
  const std::string path = folder.file("empty", "");
  message_map messages = words_on(path);
  EXPECT_EQ(messages["journal_reader"], path + ": is not a journal");
  for (const char* const type_name : {"reader", "mapped_file", "batch", "writer", "journal"})
    EXPECT_EQ(messages[type_name], "");
  messages = words_on("/dev/null");
  for (const char* const type_name : {"reader", "mapped_file", "batch", "writer"}) EXPECT_EQ(messages[type_name], "");
  EXPECT_EQ(messages["journal_reader"], "/dev/null: is not a journal");
  EXPECT_EQ(messages["journal"], "/dev/null: is not a journal");
}

TEST(bad_input, an_enormous_file_is_read_where_it_can_be) {
  const io_test::folder folder;
  const std::string path = folder.file("enormous", "");
  constexpr std::uint64_t bytes = std::uint64_t{1} << 40;
  const int descriptor = open(path.c_str(), O_RDWR);
  if (ftruncate(descriptor, bytes) != 0) GTEST_SKIP() << "this file system has no files of a tebibyte";
  ASSERT_EQ(pwrite(descriptor, "the end\n", 8, bytes - 8), 8);

  const mapped_file mapped(path);
  EXPECT_EQ(mapped.view().size(), bytes);
  EXPECT_EQ(mapped.view().substr(bytes - 8), "the end\n");

  ASSERT_EQ(lseek(descriptor, bytes - 8, SEEK_SET), static_cast<off_t>(bytes - 8));
  reader end_reader(file::adopt(descriptor, path));
  EXPECT_EQ(end_reader.offset(), bytes - 8);
  EXPECT_EQ(end_reader.line(), "the end");
  EXPECT_EQ(end_reader.offset(), bytes);

  batch requests({.max_file_bytes = 1 << 20});
  const batch_content& end = requests.read(end_reader.source(), bytes - 8, 100);
  const batch_content& whole = requests.read_file(path);
  const batch_status& status = requests.status(path);
  for (int count = 0; count < 8; ++count) requests.status(path);
  requests.run();
  EXPECT_EQ(end.get(), "the end\n");
  EXPECT_EQ(status.get().bytes, bytes);
  EXPECT_EQ(words_of([&] { static_cast<void>(whole.get()); }),
            path + ": is longer than is allowed at offset 1048577: Message too long");
  EXPECT_EQ(words_of([&] { journal_reader{path}; }), path + ": is not a journal");
}

}  // namespace
