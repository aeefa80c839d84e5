// LegalMemo: the replacements of operators, for later calls that differ only in their arguments. A model of many layers
// has few kernels: each is made once and found by operator, attributes and types of arguments, instead of being made
// again only to find that it exists. Users: passes that make kernels (with_kernels.h).
#pragma once

#include <unordered_map>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

class LegalMemo {
 public:
  explicit LegalMemo(ir::Context& ctx) : ctx_(ctx) {}

  // The call_tir that replaces `call`; null: no call of its kind is remembered.
  const ir::Call* find(const ir::Call* call);
  // Records that `call` became `value` without extra bindings before it.
  void remember(const ir::Call* call, const ir::Expr* value);

 private:
  // An argument of the call_tir: one of the operator's, or an expression over symbolic variables of the types.
  struct Argument {
    std::size_t index;
    const ir::Expr* fixed;
  };
  struct Entry {
    const ir::Call* call;  // the operator's
    const ir::Call* made;
    std::vector<Argument> args;
  };
  static bool leaves_of(const ir::Call* call, std::vector<const ir::Expr*>& out);
  static std::uint64_t key_of(const ir::Call* call, const std::vector<const ir::Expr*>& leaves);
  static bool same_kind(const ir::Call* a, const ir::Call* b);

  ir::Context& ctx_;
  std::unordered_multimap<std::uint64_t, Entry> known_;
};

}  // namespace rldb::passes
