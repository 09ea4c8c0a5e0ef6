// Files as Tarn sees them: the calls that tarn::io makes, and the only place that makes them. files.cpp makes them;
// files_fake.cpp makes them too, but lets a test cut them short, fail them and count them.
//
// Each returns what the system call returns, or minus its errno. None repeats, waits or throws.
#pragma once

#include <sys/stat.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace tarn::platform::files {

using outcome = std::int64_t;

/// `flags` as for open(2); O_CLOEXEC is added.
outcome open(const char* path, int flags, unsigned mode) noexcept;
/// A path that begins in an open folder; AT_FDCWD: in the current one.
outcome open_in(int folder, const char* path, int flags, unsigned mode) noexcept;
outcome close(int descriptor) noexcept;
outcome read(int descriptor, void* place, std::size_t bytes) noexcept;
/// At `offset`, without moving the descriptor's own.
outcome read_at(int descriptor, void* place, std::size_t bytes, std::uint64_t offset) noexcept;
outcome write(int descriptor, const iovec* parts, int count) noexcept;
outcome write_at(int descriptor, const void* place, std::size_t bytes, std::uint64_t offset) noexcept;
outcome seek(int descriptor, std::int64_t offset, int from) noexcept;
outcome status(int descriptor, struct stat* found) noexcept;
/// Of what a path names, from `folder` on as for open_in; `flags` as for statx(2).
outcome status_of(int folder, const char* path, int flags, struct statx* found) noexcept;
/// The data, and what of the metadata is needed to read it.
outcome sync(int descriptor) noexcept;
/// Sleeps until the descriptor can be read or written, or has failed.
outcome wait(int descriptor, short events) noexcept;

/// Room on the disk for the first `bytes`, which reads as zero where nothing was. When it fails, part of it may be
/// there.
outcome allocate(int descriptor, std::uint64_t bytes) noexcept;
/// Makes the file so long, and gives back the room behind that.
outcome cut(int descriptor, std::uint64_t bytes) noexcept;
/// Nobody else holds this lock; it ends with the descriptor, however the process ends.
outcome lock(int descriptor) noexcept;

/// A shared mapping; minus errno, or its address.
outcome map(int descriptor, std::uint64_t offset, std::size_t bytes, bool writable) noexcept;
outcome unmap(void* start, std::size_t bytes) noexcept;
outcome advise(void* start, std::size_t bytes, int advice) noexcept;
/// Waits until a shared mapping's changes are on the disk.
outcome sync_map(void* start, std::size_t bytes) noexcept;

}  // namespace tarn::platform::files
