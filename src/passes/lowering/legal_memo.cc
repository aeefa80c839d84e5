// LegalMemo: keys of calls, and the call_tir of an earlier call with new arguments substituted.
#include "passes/lowering/legal_memo.h"

#include <algorithm>
#include <unordered_set>

#include "passes/common.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/op/call_tir.h"

namespace rldb::passes {

using namespace ir;

namespace {

// A kernel depends on a variable only through its type, and on a shape only through its values, which its type holds
// too. Constants and scalars matter themselves.
bool is_plain(const Expr* e) { return isa<Var>(e) || isa<ShapeExpr>(e); }

bool is_tensor(const Expr* e) { return e->type->kind == TypeKind::Tensor; }

void mix(std::uint64_t& key, std::uint64_t value) { key = (key ^ value) * 0x9E3779B97F4A7C15u; }

}  // namespace

// False: more than the types matters for some arguments of the call.
bool LegalMemo::leaves_of(const Call* call, std::vector<const Expr*>& out) {
  for (const Expr* arg : call->args) {
    if (const auto* t = as<Tuple>(arg)) {
      if (!std::all_of(t->items.begin(), t->items.end(), [](const Expr* e) { return isa<Var>(e) && is_tensor(e); }))
        return false;
      out.insert(out.end(), t->items.begin(), t->items.end());
      continue;
    }
    if (!is_plain(arg) || (isa<Var>(arg) && !is_tensor(arg))) return false;
    out.push_back(arg);
  }
  return true;
}

std::uint64_t LegalMemo::key_of(const Call* call, const std::vector<const Expr*>& leaves) {
  std::uint64_t key = std::hash<std::string_view>()(as<Op>(call->callee)->name);
  for (const Expr* e : leaves) mix(key, std::uint64_t(reinterpret_cast<std::uintptr_t>(e->type)));
  mix(key, std::uint64_t(reinterpret_cast<std::uintptr_t>(call->type)));
  return key;
}

// Types are interned, so equal ones are one pointer.
bool LegalMemo::same_kind(const Call* a, const Call* b) {
  if (as<Op>(a->callee)->name != as<Op>(b->callee)->name || a->type != b->type || a->args.size() != b->args.size() ||
      a->attrs.size() != b->attrs.size() || a->ty_args.size() != b->ty_args.size())
    return false;
  for (std::size_t i = 0; i < a->args.size(); ++i) {
    const bool tuple = isa<Tuple>(a->args[i]);
    if (a->args[i]->type != b->args[i]->type || tuple != isa<Tuple>(b->args[i]) ||
        (!tuple && isa<Var>(a->args[i]) != isa<Var>(b->args[i])))
      return false;
  }
  for (std::size_t i = 0; i < a->ty_args.size(); ++i)
    if (a->ty_args[i] != b->ty_args[i]) return false;
  for (std::size_t i = 0; i < a->attrs.size(); ++i)
    if (a->attrs[i].name != b->attrs[i].name || !attr_equal(a->attrs[i].value, b->attrs[i].value)) return false;
  return true;
}

const Call* LegalMemo::find(const Call* call) {
  std::vector<const Expr*> leaves;
  if (!isa<Op>(call->callee) || !leaves_of(call, leaves)) return nullptr;
  const auto [from, to] = known_.equal_range(key_of(call, leaves));
  for (auto it = from; it != to; ++it) {
    const Entry& entry = it->second;
    if (!same_kind(entry.call, call)) continue;
    std::vector<const Expr*> args;
    for (const Argument& a : entry.args) args.push_back(a.fixed ? a.fixed : leaves[a.index]);
    const Expr* const made[] = {entry.made->args[0], ctx_.tuple(args)};
    return ctx_.call_typed(entry.made->callee, made, entry.made->type, entry.made->attrs, entry.made->ty_args);
  }
  return nullptr;
}

void LegalMemo::remember(const Call* call, const Expr* value) {
  const Call* made = as_call_of(value, op::CallTir);
  const auto* args = made && made->args.size() == 2 ? as<Tuple>(made->args[1]) : nullptr;
  std::vector<const Expr*> leaves;
  if (!args || !leaves_of(call, leaves)) return;
  // A variable that occurs twice but is passed to the kernel once could match either occurrence.
  const auto tensors = std::count_if(leaves.begin(), leaves.end(), is_tensor);
  const auto used = std::count_if(args->items.begin(), args->items.end(), is_tensor);
  if (tensors != used && std::unordered_set<const Expr*>(leaves.begin(), leaves.end()).size() != leaves.size()) return;
  Entry entry{call, made, {}};
  std::size_t next = 0;  // a kernel takes the operator's tensors in their order
  for (const Expr* a : args->items) {
    if (a->type->kind == TypeKind::Prim) {
      entry.args.push_back({0, a});
      continue;
    }
    while (next < leaves.size() && leaves[next] != a) ++next;
    if (next == leaves.size()) return;
    entry.args.push_back({next++, nullptr});
  }
  known_.emplace(key_of(call, leaves), std::move(entry));
}

}  // namespace rldb::passes
