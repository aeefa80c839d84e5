// Types of Relay as types of Relax. Type variables, algebraic data types and what inference left open are objects;
// function values are callables of any signature, so that a generic function takes each.
#pragma once

#include <functional>

#include "rldb/ir/context.h"
#include "rldb/relay/ir/type.h"

namespace rldb::to_relax {

// What stands for a `?`: a new variable, or null: the tensor's rank is all that is known of its shape.
using OpenDim = std::function<const ir::Expr*()>;

class Types {
 public:
  // `pure`: so are all functions of the module.
  Types(ir::Context& ctx, bool pure) : ctx_(ctx), pure_(pure) {}

  bool pure() const { return pure_; }
  const ir::Type* of(const relay::Type* t, const OpenDim& open) const;
  // Without variables: what a function's result is declared to be.
  const ir::Type* closed(const relay::Type* t) const { return of(t, nullptr); }

 private:
  ir::Context& ctx_;
  bool pure_;
};

}  // namespace rldb::to_relax
