#include "passes/lowering/inferred_type.h"

namespace rldb::passes {

using namespace ir;

const Call* with_inferred_type(Context& ctx, const Call* c) {
  auto inferred = ctx.call({c->callee, c->args, c->attrs, c->ty_args});
  if (!inferred.ok() || (*inferred)->type == c->type) return c;
  return ctx.call_typed(c->callee, c->args, (*inferred)->type, c->attrs, c->ty_args);
}

}  // namespace rldb::passes
