// The slots of a function's shape heap: one per distinct scalar expression that its types, shapes and
// scalar values mention, in order of first occurrence: parameters, body, return type. Only expressions of
// the same form share a slot, as in TVM. Literals have none. User: vm_shape_lower.cc.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "passes/common.h"

namespace rldb::passes {

struct ShapeSlot {
  const ir::Expr* expr = nullptr;
  int index = 0;
  std::vector<int> users;  // slots of compound expressions that mention this variable
  int missing = 0;         // variables of this compound expression that are not bound yet
  bool ready = false;      // the value is in the heap
};

class ShapeSlots {
 public:
  // Variables that hold run-time values of the function (parameters, bindings) have no slot as values; one that a shape
  // mentions has one, filled where the variable is bound.
  explicit ShapeSlots(const ir::Function* f);

  ShapeSlot* find(const ir::Expr* e);
  ShapeSlot& at(int index) { return slots_[std::size_t(index)]; }
  std::vector<ShapeSlot>& all() { return slots_; }
  std::size_t size() const { return slots_.size(); }
  // Bound by a parameter or a binding, so it lives in a register.
  bool is_value(const ir::Var* v) const { return values_.count(v) != 0; }
  // State computed inside a branch does not hold after it.
  struct State {
    std::vector<bool> ready;
    std::vector<int> missing;
  };
  State save() const;
  void restore(const State& s);

 private:
  void collect_values(const ir::SeqExpr* s);
  void visit_seq(const ir::SeqExpr* s);
  void visit_value(const ir::Expr* e);
  void visit_type(const ir::Type* t);
  void add(const ir::Expr* e);
  void link_users();

  std::vector<ShapeSlot> slots_;
  std::unordered_multimap<std::uint64_t, int> by_hash_;
  std::unordered_set<const ir::Var*> values_;
};

// A scalar expression other than a literal.
bool is_symbolic(const ir::Expr* e);

}  // namespace rldb::passes
