// Questions about a container that outlives the block which declares it, so that it keeps its memory.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <clang/Basic/SourceLocation.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/tidy/edit_check.hpp"

namespace tarn::tidy {

constexpr llvm::StringRef kept_containers[] = {"vector", "basic_string", "deque"};  // clear() keeps their memory

// Returns whether a container takes its memory from std::allocator, and not from an arena that ends earlier.
bool has_own_allocator(clang::QualType container);

// Returns whether a container takes its memory from std::allocator or from that of std::pmr.
bool has_library_allocator(clang::QualType container);

// Returns whether the end of a value of this type frees memory and does nothing else.
bool has_quiet_end(clang::QualType type);

// Returns whether the library moves, copies and ends a value of this type without code of the program, as it does with
// elements when their container grows.
bool is_moved_quietly(clang::QualType type);

// Returns the names in a piece of source that are neither members of an object nor of a named scope.
std::vector<std::pair<std::string, clang::SourceLocation>> free_names(const clang::ASTContext& context,
                                                                      clang::SourceRange range);

struct escape {
  certainty level = certainty::proven;
  obstacle problem = {};
};

// Returns the least certain use of a variable in the block that declares it, and the first of several.
escape worst_use(clang::ASTContext& context, const clang::VarDecl& variable, const clang::Stmt& scope);

// Returns why a new container may not take its memory from the same resource as `lender` before a statement of a block.
// It may if `lender` is the same object throughout `loop` and is filled by it, and no code of the block, from the loop
// on, names a resource: whoever releases the memory of such a container in the loop takes that of `lender` away, too.
std::optional<obstacle> lending_obstacle(clang::ASTContext& context, const clang::Expr& lender, const clang::Stmt& loop,
                                         const clang::Stmt& block);

// Returns code that ends or replaces a heap of Tarn.
clang::SourceLocation heap_in(const clang::Stmt& code);

// Returns whether a recorded line that allocates may mean this variable: its declaration, or a use that may give it
// elements.
bool is_recorded(clang::ASTContext& context, const site_list& sites, const clang::DeclStmt& statement,
                 const clang::VarDecl& variable, const clang::Stmt& body);

}  // namespace tarn::tidy
