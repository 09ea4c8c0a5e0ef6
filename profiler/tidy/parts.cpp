#include "profiler/tidy/parts.hpp"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include "profiler/tidy/library_calls.hpp"
#include "profiler/tidy/syntax.hpp"

namespace tarn::tidy {
namespace {

using clang::dyn_cast;
using clang::QualType;

// Calls `visit` with the types of the parts of an object, the object's own first, until it returns true.
bool any_part(QualType type, llvm::function_ref<bool(QualType)> visit, unsigned depth = 0) {
  type = bare_type(type);
  if (visit(type) || depth > 8) return true;
  if (const auto* array = type->getAsArrayTypeUnsafe()) return any_part(array->getElementType(), visit, depth + 1);
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) return record != nullptr;
  if (is_std_class(type, part_owners)) {
    const auto* specialization = dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
    if (specialization == nullptr) return true;
    const auto is_hit = [&](const clang::TemplateArgument& argument) {
      if (argument.getKind() != clang::TemplateArgument::Type) return false;
      const clang::CXXRecordDecl* part_class = argument.getAsType()->getAsCXXRecordDecl();
      // Allocators, comparisons and traits of the library have no parts.
      if (part_class != nullptr && part_class->isInStdNamespace() && !is_std_class(argument.getAsType(), part_owners))
        return !is_std_class(argument.getAsType(), {"allocator", "char_traits", "less", "greater", "hash", "equal_to"});
      return any_part(argument.getAsType(), visit, depth + 1);
    };
    return llvm::any_of(specialization->getTemplateArgs().asArray(), [&](const clang::TemplateArgument& argument) {
      return argument.getKind() == clang::TemplateArgument::Pack ? llvm::any_of(argument.pack_elements(), is_hit)
                                                                 : is_hit(argument);
    });
  }
  if (record->isInStdNamespace()) return true;
  return llvm::any_of(record->bases(), [&](const auto& base) { return any_part(base.getType(), visit, depth + 1); }) ||
         llvm::any_of(record->fields(),
                      [&](const auto* field) { return any_part(field->getType(), visit, depth + 1); });
}

// Returns whether both are numbers that differ in no more than their sign and size. An int may be written as unsigned.
bool are_integers(QualType first, QualType second) {
  const auto is_integer = [](QualType type) {
    return type->isIntegerType() && !type->isEnumeralType() && !type->isCharType() && !type->isBooleanType();
  };
  return is_integer(first) && is_integer(second);
}

// Returns whether types differ in no more than the qualifiers of what pointers lead to. By an expression of such a type
// an object may be read and written.
bool are_similar(QualType first, QualType second) {
  first = bare_type(first);
  second = bare_type(second);
  while (first->isPointerType() && second->isPointerType()) {
    first = bare_type(first->getPointeeType());
    second = bare_type(second->getPointeeType());
  }
  return first == second;
}

}  // namespace

bool is_of_bytes(QualType type) {
  return type->isVoidType() || type->isCharType() || type->isStdByteType() || type->isIncompleteType();
}

bool may_change(QualType written, QualType type) {
  if (is_stream(written)) return false;
  const QualType target = bare_type(written), source = bare_type(type);
  if (is_of_bytes(target)) return true;
  // A part of the source is written.
  if (any_part(source, [&](QualType part) { return are_similar(part, target) || are_integers(part, target); }))
    return true;
  if (target->isScalarType()) return false;
  // The source may be a part of what is written: of a class with a pointer to it, too.
  return any_part(target,
                  [&](QualType part) { return part == source || part->isAnyPointerType() || part->isReferenceType(); });
}

bool has_elements(QualType type) {
  return any_part(type, [](QualType part) {
    return is_std_class(part, part_owners) &&
           !is_std_class(part, {"basic_string", "pair", "tuple", "optional", "array"});
  });
}

bool may_hold(QualType owner, QualType type) {
  const QualType whole = bare_type(owner), target = bare_type(type);
  return any_part(whole, [&](QualType part) { return part != whole && part == target; });
}

}  // namespace tarn::tidy
