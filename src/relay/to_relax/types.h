// Relay types as Relax types. Type variables, algebraic data types and types left open by inference are objects;
// function values are callables of any signature, so that a generic function accepts any of them.
#pragma once

#include <functional>

#include "rldb/ir/context.h"
#include "rldb/relay/ir/type.h"

namespace rldb::to_relax {

// The dim for a `?`: a new variable, or null: only the tensor's rank is known of its shape.
using OpenDim = std::function<const ir::Expr*()>;

class Types {
 public:
  // `pure`: whether all functions of the module are.
  Types(ir::Context& ctx, bool pure) : ctx_(ctx), pure_(pure) {}

  bool pure() const { return pure_; }
  const ir::Type* of(const relay::Type* t, const OpenDim& open) const;
  // Without variables: for the declared result of a function.
  const ir::Type* closed(const relay::Type* t) const { return of(t, nullptr); }

 private:
  ir::Context& ctx_;
  bool pure_;
};

}  // namespace rldb::to_relax
