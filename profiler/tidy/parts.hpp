// Tells of which parts the objects of a type are made.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <clang/AST/Type.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringRef.h>

namespace tarn::tidy {

// The classes of the library whose objects consist of, or own, those of their arguments.
constexpr llvm::StringRef part_owners[] = {"vector",   "basic_string", "deque",    "list",          "map",
                                           "multimap", "set",          "multiset", "unordered_map", "unordered_set",
                                           "pair",     "tuple",        "optional", "array"};

// The classes that a search through the parts of a class has visited: the elements of a class may be of the class.
using class_set = llvm::SmallPtrSet<const clang::CXXRecordDecl*, 8>;

// Returns whether an object of any type may be read and written by this type.
bool is_of_bytes(clang::QualType type);

// Returns whether a write to an object of type `written` may change or end an object of `type`.
bool may_change(clang::QualType written, clang::QualType type);

// Returns whether an object may own memory with objects, to which others may refer also after it moves: that of any
// container but a string.
bool has_elements(clang::QualType type);

// Returns whether the memory that an object owns may hold an object of another type.
bool may_hold(clang::QualType owner, clang::QualType type);

}  // namespace tarn::tidy
