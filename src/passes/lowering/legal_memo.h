// LegalMemo: what operators became, for later calls that differ in their arguments only. A model of many layers has
// few kernels: made once, found by operator, attributes and types of arguments, in the place of making each again to
// see that it is there. Users: passes that make kernels (with_kernels.h).
#pragma once

#include <unordered_map>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

class LegalMemo {
 public:
  explicit LegalMemo(ir::Context& ctx) : ctx_(ctx) {}

  // The call_tir that replaces `call`; null: nothing is remembered of its kind.
  const ir::Call* find(const ir::Call* call);
  // `value` is what `call` became without any binding before it.
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
