// Chooses the sites of a recording that an edit can improve, and the check of libtarn-tidy.so that makes the edit.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "profiler/advise/analysis.hpp"

namespace tarn::fix {

// A line that calls the function around a line which allocates.
struct calling_line {
  analyse::code_location location;
  double share = 0;                // of the allocations
  bool is_behind_library = false;  // it calls a function of the library, which calls the function
};

// A line of code that allocates or writes, with the remedy that the recording asks for.
struct proposal {
  analyse::code_location location;
  std::string remedy;
  std::string check;                     // empty: no check edits this remedy
  std::string title;                     // of a commit
  std::string silence;                   // the meaning of a check without an answer
  std::uint64_t bytes = 0;               // to reserve for each buffer that grows here; 0: no fixed number pays
  std::string size_text;                 // what these bytes are enough for, and what they cost
  analyse::range saved_ns;               // predicted
  bool fills_callers_container = false;  // if the check is silent: a caller may own what the line fills
  bool is_guess = false;                 // no remedy of the report: the site is listed only if the check has an answer
  bool saves_more = false;               // the edit also saves work that no recording shows
  std::set<std::string> files;           // of the functions around the line, in all stacks
  std::vector<calling_line> callers;     // the most frequent one first
  std::vector<proposal> alternatives;    // the further remedies of the site that a check edits
};

// Returns whether a function allocates the counts of a shared_ptr that takes over a pointer, and not those that
// std::make_shared allocates together with the object.
bool allocates_counts_alone(const std::string& function);

// Returns whether a function is the constructor that copies an object of its class.
bool is_copy_constructor(const std::string& function);

// Orders the larger gain first, and equal gains by file, line and remedy, so that they do not change their places.
bool saves_more_than(const proposal& first, const proposal& second);

// Returns the sites that are worth a change, the largest gain first. `replay` replays the most expensive ones.
std::vector<proposal> proposals_of(
    analyse::analysis& analysis,
    const std::function<void(analyse::analysis&, const std::vector<analyse::site>&)>& replay);

}  // namespace tarn::fix
