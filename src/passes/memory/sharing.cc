// Why tensors do not share memory, in the order of the planner's checks.
#include <fmt/format.h>

#include <algorithm>

#include "passes/lowering/storage_plan.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/passes/memory_report.h"

namespace rldb::passes {

namespace {

std::string overlap(const FunctionMemory& memory, const MemoryTensor& a, const MemoryTensor& b) {
  const std::size_t from = std::max(a.begin, b.begin);
  const std::size_t to = std::min({a.end, b.end, memory.bindings.size()});
  if (from > to) return {};
  if (from == to) return fmt::format("both are in use at binding {}", from);
  return fmt::format("both are in use at bindings {} to {}", from, to);
}

std::string sizes_apart(const MemoryTensor& a, const MemoryTensor& b) {
  if (!a.size.bytes || !b.size.bytes) return "a size is only known at run time";
  const auto x = ir::const_int(a.size.bytes);
  const auto y = ir::const_int(b.size.bytes);
  if (!x || !y)
    return ir::expr_equal(a.size.bytes, b.size.bytes)
               ? std::string()
               : fmt::format("`{}` and `{}` bytes are not known to be equal", ir::print_expr(a.size.bytes),
                             ir::print_expr(b.size.bytes));
  if (std::max(*x, *y) / kMatchRange > std::min(*x, *y))
    return fmt::format("{} and {} bytes: one is more than {} times the other", *x, *y, kMatchRange);
  return {};
}

}  // namespace

std::string why_alone(const FunctionMemory& memory, const MemoryTensor& t) {
  switch (t.escape) {
    case Escape::None:
      break;
    case Escape::Returned:
      return fmt::format("`{}` is part of the result", t.name);
    case Escape::Captured:
      return fmt::format("`{}` is captured by a function", t.name);
    case Escape::Passed:
      return fmt::format("`{}` is passed to `{}`, which is not a kernel", t.name, t.escapes_to);
    case Escape::Elsewhere:
      return fmt::format("`{}` is used in another block than the one that makes it", t.name);
  }
  if (!t.size.bytes) return fmt::format("the size of `{}` is only known at run time", t.name);
  if (!memory.storages[t.storage].shared) return fmt::format("`{}` has an allocation of its own", t.name);
  return {};
}

std::string why_apart(const FunctionMemory& memory, std::size_t a, std::size_t b) {
  const MemoryTensor& x = memory.tensors[a];
  const MemoryTensor& y = memory.tensors[b];
  if (x.storage == y.storage) return fmt::format("share `{}`", memory.storages[x.storage].name);
  for (const MemoryTensor* t : {&x, &y})
    if (std::string why = why_alone(memory, *t); !why.empty()) return why;
  if (x.kind.dtype != y.kind.dtype)
    return fmt::format("{} and {}: a storage is of one dtype", runtime::to_string(x.kind.dtype),
                       runtime::to_string(y.kind.dtype));
  if (x.kind.scope != y.kind.scope) return fmt::format("scopes `{}` and `{}`", x.kind.scope, y.kind.scope);
  if (x.kind.device != y.kind.device) return fmt::format("devices {} and {}", x.kind.device, y.kind.device);
  if (std::string why = overlap(memory, x, y); !why.empty()) return why;
  if (std::string why = sizes_apart(x, y); !why.empty()) return why;
  return "nothing forbids it: the planner gave the free storage to another tensor";
}

}  // namespace rldb::passes
