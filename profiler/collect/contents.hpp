// Finds what the blocks of a heap contain that the program could do without: bytes that it has never written, and
// contents that several blocks of a site have.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiler/collect/reachability.hpp"
#include "profiler/format/recording.hpp"

namespace tarn::command {

// Returns the sites that have any such bytes. A block without any written byte is not equal to another one.
std::map<std::uint32_t, format::site_contents> contents_of(const std::vector<heap_block>& blocks,
                                                           const memory_reader& read);

}  // namespace tarn::command
