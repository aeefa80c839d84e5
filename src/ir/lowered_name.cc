// Names that code generators give to functions.
#include "rldb/ir/lowered_name.h"

#include <utility>

#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/intrinsic/trigonometry.h"

namespace rldb::ir {

namespace {

using Row = std::pair<std::string_view, Intrinsic>;

constexpr Row kLlvmNames[] = {
#define RLDB_LLVM_NAME(text, id) {text, intrin::id},
#include "rldb/ir/lowered_name.def"
};
constexpr Row kLibraryNames[] = {
#define RLDB_LIBRARY_NAME(text, id) {text, intrin::id},
#include "rldb/ir/lowered_name.def"
};

// The C library's name for a dtype ends in this; nullptr: it has no function of the dtype.
const char* library_suffix(DType dtype) {
  if (!dtype.is_float()) return nullptr;
  return dtype.bits == 32 ? "f" : dtype.bits == 64 ? "" : nullptr;
}

std::string_view name_of(const Call* c) {
  const auto* name = c->args.empty() ? nullptr : as<StringImm>(c->args[0]);
  return name ? name->value : std::string_view();
}

bool calls_llvm(const Expr* e) {
  const IntrinsicInfo* row = called_intrinsic(e);
  return row && (row->id == intrin::CallLlvmPureIntrin || row->id == intrin::CallLlvmIntrin);
}

}  // namespace

std::string_view llvm_name(Intrinsic id) {
  for (const auto& [name, row] : kLlvmNames)
    if (row == id) return name;
  return {};
}

std::string library_name(Intrinsic id, DType dtype) {
  const char* suffix = library_suffix(dtype);
  for (const auto& [name, row] : kLibraryNames)
    if (row == id && suffix) return std::string(name) + suffix;
  return {};
}

const IntrinsicInfo* named_intrinsic(const Expr* e) {
  const IntrinsicInfo* row = called_intrinsic(e);
  if (!row) return nullptr;
  const auto* c = as<Call>(e);
  const std::string_view name = name_of(c);
  const auto enough = [&](Intrinsic id) {
    const IntrinsicInfo& named = info(id);
    return std::size_t(named.arity) < c->args.size() ? &named : nullptr;
  };
  if (calls_llvm(e))
    for (const auto& [text, id] : kLlvmNames)
      if (text == name) return enough(id);
  const char* suffix = row->id == intrin::CallPureExtern ? library_suffix(c->dtype().element()) : nullptr;
  if (suffix)
    for (const auto& [text, id] : kLibraryNames)
      if (name.starts_with(text) && name.substr(text.size()) == suffix) return enough(id);
  return nullptr;
}

bool is_multiply_add(const Expr* e) {
  const auto* c = calls_llvm(e) ? as<Call>(e) : nullptr;
  return c && c->args.size() == 4 && name_of(c) == kLlvmMultiplyAdd;
}

}  // namespace rldb::ir
