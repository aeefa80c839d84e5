#include "rldb/ir/op_traits.h"

#include <unordered_map>

#include "rldb/ir/op_id.h"
#include "rldb/ir/op_name.h"

namespace rldb::op {
namespace {

struct Table {
  Row rows[kCount];
};

constexpr Table table() {
  using enum Trait;
  constexpr bool Pure = true;
  constexpr bool Impure = false;
  return {{
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) \
  {Id::id, RLDB_OP_FULL_NAME(name), traits, purity},
#include "rldb/ir/op/op.def"
  }};
}
constexpr Table kTable = table();

}  // namespace

const Row* find(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Row*> out;
    for (const Row& r : kTable.rows) out.emplace(r.name, &r);
    return out;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::span<const Row> rows() { return kTable.rows; }

const Row& row(Id id) { return kTable.rows[std::size_t(id)]; }

bool has(std::string_view name, Trait any_of) {
  const Row* r = find(name);
  return r != nullptr && r->has(any_of);
}

bool is_call_with(const ir::Expr* e, Trait any_of) {
  const auto* call = ir::as<ir::Call>(e);
  return call != nullptr && has(call->callee, any_of);
}

}  // namespace rldb::op
