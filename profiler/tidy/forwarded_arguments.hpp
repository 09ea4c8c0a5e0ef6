// Tells whether a constructor gets the same from std::make_shared as from `new`.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/ExprCXX.h>

#include <string>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

// The least certain argument of a `new` that is passed on by reference: `text` says what is wrong with it.
struct forwarding {
  certainty level = certainty::proven;
  obstacle problem = {};
};

// Judges the arguments of a `new` with parentheses. std::make_shared takes each by reference, and converts it to the
// type of the parameter inside of the library: in another scope, and for a shorter time.
forwarding forwarding_of(clang::ASTContext& context, const clang::CXXNewExpr& creation);

}  // namespace tarn::tidy
