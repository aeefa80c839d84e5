// Names that code generators give to functions.
#include "rldb/ir/lowered_name.h"

#include <utility>

#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/intrinsic/trigonometry.h"
#include "rldb/ir/scalar.h"

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

constexpr bool Integers = false, Floats = true;
enum class LlvmFunctionIndex : std::size_t {
#define RLDB_LLVM_FUNCTION(id, text, arity, operands) id,
#include "rldb/ir/llvm_function.def"
};
constexpr LlvmFunction kLlvmFunctions[] = {
#define RLDB_LLVM_FUNCTION(id, text, arity, operands) {text, arity, operands, std::size_t(LlvmFunctionIndex::id)},
#include "rldb/ir/llvm_function.def"
};

const LlvmFunction* llvm_function_named(std::string_view name) {
  for (const LlvmFunction& f : kLlvmFunctions)
    if (f.name == name) return &f;
  return nullptr;
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
    return std::size_t(named.arity) + first_operand(c) <= c->args.size() ? &named : nullptr;
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

std::size_t first_operand(const Call* c) {
  if (!calls_llvm(c) || c->args.size() < 3) return 1;
  const auto* count = as<IntImm>(c->args[1]);
  const bool counts = count && count->dtype() == DType::UInt(32) && count->value >= 1 &&
                      std::size_t(count->value) + 2 <= c->args.size();
  // A first operand of uint32 is one if the call is of uint32 and takes all.
  if (!counts || c->args[2]->dtype().element() != c->dtype().element()) return 1;
  if (const LlvmFunction* f = llvm_function_named(name_of(c)))
    return std::size_t(f->arity) + 1 == c->args.size() ? 1 : 2;
  return c->dtype().element() == DType::UInt(32) && std::size_t(count->value) + 2 != c->args.size() ? 1 : 2;
}

const LlvmFunction* called_llvm_function(const Expr* e) {
  const auto* c = calls_llvm(e) ? as<Call>(e) : nullptr;
  const LlvmFunction* f = c ? llvm_function_named(name_of(c)) : nullptr;
  return f && std::size_t(f->arity) + first_operand(c) <= c->args.size() ? f : nullptr;
}

bool is_llvm_integer(const LlvmFunction& f, DType element) {
  if (!element.is_int() && !element.is_uint()) return false;
  return f.name == "llvm.bswap" ? element.bits % 16 == 0 : element.bits % 8 == 0;
}

std::string_view function_name(const Call* c) {
  const IntrinsicInfo* row = called_intrinsic(c);
  const bool by_name = row && (calls_llvm(c) || row->id == intrin::CallPureExtern || row->id == intrin::CallExtern);
  return by_name ? name_of(c) : std::string_view();
}

bool is_half_factor(const Expr* e) {
  if (const auto* b = as<Broadcast>(e)) e = b->value;
  return const_int(e) == std::int64_t(1) << 30;
}

bool is_multiply_add(const Expr* e) {
  const auto* c = calls_llvm(e) ? as<Call>(e) : nullptr;
  return c && c->args.size() == 3 + first_operand(c) && name_of(c) == kLlvmMultiplyAdd;
}

}  // namespace rldb::ir
