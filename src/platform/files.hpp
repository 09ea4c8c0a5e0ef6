// The system calls on files that tarn::io makes, and the only place that makes them. files.cpp implements them;
// fake/files.cpp does so, too, but lets a test shorten, fail and count them.
//
// Each function returns the result of the system call, or its errno negated. None repeats, waits or throws.
#pragma once

#include <sys/stat.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace tarn::platform::files {

using outcome = std::int64_t;

/// `flags` are those of open(2); O_CLOEXEC is added.
outcome open(const char* path, int flags, unsigned mode) noexcept;
/// Opens a path relative to an open folder; AT_FDCWD stands for the current folder.
outcome open_in(int folder, const char* path, int flags, unsigned mode) noexcept;
outcome close(int descriptor) noexcept;
outcome read(int descriptor, void* buffer, std::size_t bytes) noexcept;
/// Transfers at `offset`, without moving the descriptor's own position.
outcome read_at(int descriptor, void* buffer, std::size_t bytes, std::uint64_t offset) noexcept;
outcome write(int descriptor, const iovec* parts, int count) noexcept;
outcome write_at(int descriptor, const void* buffer, std::size_t bytes, std::uint64_t offset) noexcept;
outcome seek(int descriptor, std::int64_t offset, int origin) noexcept;
outcome status(int descriptor, struct stat* result) noexcept;
/// Reads the status of a path, relative to `folder` as in open_in; `flags` are those of statx(2).
outcome status_of(int folder, const char* path, int flags, struct statx* result) noexcept;
/// Syncs the data, and the metadata that is needed to read it.
outcome sync(int descriptor) noexcept;
/// Sleeps until the descriptor can be read or written, or has failed.
outcome wait(int descriptor, short events) noexcept;

/// Allocates the first `bytes` bytes on the disk; new parts read as zero. When it fails, a part may be allocated.
outcome allocate(int descriptor, std::uint64_t bytes) noexcept;
/// Does the same for a file that other threads write at the same time, and keeps its content. If the file system cannot
/// allocate, it only sets the length.
outcome extend(int descriptor, std::uint64_t bytes) noexcept;
/// Sets the length of the file, and frees what is behind it.
outcome cut(int descriptor, std::uint64_t bytes) noexcept;
outcome remove(const char* path) noexcept;
/// Takes the lock of the file, and fails if another descriptor has it. The lock ends with the descriptor, however the
/// process ends.
outcome lock(int descriptor) noexcept;

/// Makes a shared mapping; returns its address, or errno negated.
outcome map(int descriptor, std::uint64_t offset, std::size_t bytes, bool is_writable) noexcept;
outcome unmap(void* start, std::size_t bytes) noexcept;
outcome advise(void* start, std::size_t bytes, int advice) noexcept;
/// Waits until the changes of a shared mapping are on the disk.
outcome sync_map(void* start, std::size_t bytes) noexcept;

}  // namespace tarn::platform::files
