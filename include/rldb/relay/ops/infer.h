// Type inference of Relay: unification over a whole module, and for each operator a relation that computes the type of
// a call from its operands.
//
// Anything left open by the text and not determined otherwise stays a hole, as in TVM; it is an error only where a type
// is required. A `match` has to cover every value. Users: session, ui, relay passes.
#pragma once

#include <algorithm>
#include <vector>

#include "rldb/relay/ir/context.h"
#include "rldb/source/diagnostic.h"

namespace rldb::relay {

// The types of expressions, by id.
class Typing {
 public:
  const Type* of(const Expr* e) const { return e->id < types_.size() ? types_[e->id] : nullptr; }
  void set(const Expr* e, const Type* t) {
    if (types_.size() <= e->id) types_.resize(std::max<std::size_t>(e->id + 1, types_.size() * 2));
    types_[e->id] = t;
  }
  // Replaces each type by the result of `f`.
  template <class F>
  void for_each(F&& f) {
    for (const Type*& t : types_)
      if (t) t = f(t);
  }

 private:
  std::vector<const Type*> types_;
};

// False after errors, which are reported at the expressions' places.
bool infer_types(Context& ctx, const Module* m, Typing& typing, source::Diagnostics& out);

}  // namespace rldb::relay
