// map_dataflow_blocks: runs passes on dataflow blocks, and checks what they may not change.
#include <unordered_set>

#include "passes/common.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/helpers.h"
#include "rldb/source/diagnostic_library.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Variables that a block defines for the code after it: plain ones, and symbolic ones that its match_casts bind.
struct Defined {
  std::vector<const Var*> visible;
  std::unordered_set<const Var*> symbols;
};

Defined defined_by(const BindingBlock* block) {
  Defined out;
  for (const Binding* b : block->bindings) {
    if (!b->var->is_dataflow()) out.visible.push_back(b->var);
    if (b->is_match_cast()) bound_symbols(b->cast_type, out.symbols);
  }
  return out;
}

Result<support::Unit> check_same(const BindingBlock* before, const BindingBlock* after) {
  if (!after->is_dataflow()) return support::Failure(source::message(diag::PassLostDataflow));
  const Defined old = defined_by(before), made = defined_by(after);
  const std::unordered_set<const Var*> now(made.visible.begin(), made.visible.end());
  for (const Var* v : old.visible)
    if (!now.count(v)) return support::Failure(source::message(diag::PassLostVariable, v->name));
  for (const Var* v : old.symbols)
    if (!made.symbols.count(v)) return support::Failure(source::message(diag::PassLostVariable, v->name));
  if (now.size() == old.visible.size()) return support::Unit{};
  const std::unordered_set<const Var*> known(old.visible.begin(), old.visible.end());
  for (const Var* v : made.visible)
    if (!known.count(v)) return support::Failure(source::message(diag::PassNewVariable, v->name));
  return support::Unit{};
}

class BlockMapper : public Rewriter {
 public:
  BlockMapper(PassEnv& env, const DataflowBlockFn& f) : Rewriter(env.ctx), env_(env), f_(f) {}
  std::optional<source::Message> error;

 protected:
  const BindingBlock* visit_block(const BindingBlock* b) override {
    if (!b->is_dataflow() || error) return default_block(b);
    auto made = f_(env_, b);
    auto good = made.ok() ? check_same(b, *made) : support::Failure(std::move(made).error());
    if (good.ok()) return *made;
    error = std::move(good).error();
    return b;
  }

 private:
  PassEnv& env_;
  const DataflowBlockFn& f_;
};

}  // namespace

Result<const Module*> map_dataflow_blocks(PassEnv& env, const Module* module, const DataflowBlockFn& f) {
  return map_functions(env, module, [&](std::string_view, const Function* function) -> Result<const Function*> {
    BlockMapper mapper(env, f);
    const Function* made = mapper.rewrite_function(function);
    if (mapper.error) return support::Failure(std::move(*mapper.error));
    return made;
  });
}

}  // namespace rldb::passes
