// OptimizeLayoutTransform: two consecutive R.layout_transform that move every element back to its place are removed,
// also with a kernel `remove_pad` between them, which drops the padding that the first one added.
// A function that changes is left in canonical form, without bindings that nothing uses.
//
// Stricter than TVM, which compares shapes only: the second index map has to invert the first, and padding with a
// specified value stays.
#include "passes/layout/index_map.h"
#include "passes/layout/remove_pad.h"
#include "passes/operators/call_expander.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/ir/scalar.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

// out[i] = in[i], i over the whole result.
bool copies_in_place(const PrimFunc* f) {
  const BufferStore* store = nullptr;
  bool plain = f->params.size() == 2 && f->params[0].buffer && f->params[1].buffer;
  walk(f->body, [&](const Node* n) {
    if (const auto* s = as<BufferStore>(n)) {
      plain = plain && !store && !s->predicate && s->buffer == f->params[1].buffer;
      store = s;
      return false;
    }
    if (const auto* r = as<SBlockRealize>(n)) plain = plain && is_const(r->predicate, 1);
    if (isa<IfThenElse>(n) || isa<WhileStmt>(n)) plain = false;
    return isa<Stmt>(n);
  });
  const auto* load = plain && store ? as<BufferLoad>(store->value) : nullptr;
  if (!load || load->predicate || load->buffer != f->params[0].buffer) return false;
  if (load->indices.size() != store->indices.size()) return false;
  for (std::size_t i = 0; i < load->indices.size(); ++i)
    if (!isa<Var>(store->indices[i]) || load->indices[i] != store->indices[i]) return false;
  return true;
}

class LayoutOptimizer : public CallExpander {
 public:
  LayoutOptimizer(Context& ctx, const Module* module) : CallExpander(ctx), module_(module) {}

 protected:
  const Expr* expand(const Call* call) override {
    if (!as_call_of(call, op::LayoutTransform)) return nullptr;
    const Call* first = call_of(call->args[0], op::LayoutTransform);
    const TensorType* between = nullptr;
    if (!first) {
      const Call* trimmed = remove_pad(call->args[0]);
      if (!trimmed) return nullptr;
      between = shaped(trimmed);
      first = call_of(as<Tuple>(trimmed->args[1])->items[0], op::LayoutTransform);
      if (!first || !between) return nullptr;
    }
    const Expr* x = first->args[0];
    if (!same_shape(x, call) || !undoes(first, call, between)) return nullptr;
    return may_rewrite([] { return std::string("a layout is not changed back and forth"); }) ? x : nullptr;
  }

 private:
  const Call* remove_pad(const Expr* e) const {
    const Call* call = call_of(e, op::CallTir);
    const auto* args = call && call->args.size() == 2 ? as<Tuple>(call->args[1]) : nullptr;
    const auto* name = call ? as<GlobalVar>(call->args[0]) : nullptr;
    const auto* kernel = name ? as<PrimFunc>(module_->find(name->name)) : nullptr;
    if (!kernel || !args || args->items.size() != 1) return nullptr;
    const Attr* is = find_attr(kernel->attrs, attr_name::OperatorName);
    return is && is->is(AttrKind::String) && is->string == kRemovePad && copies_in_place(kernel) ? call : nullptr;
  }

  bool same_shape(const Expr* a, const Expr* b) const {
    const TensorType *x = shaped(a), *y = shaped(b);
    return x && y && prove_shapes_equal(ctx_, x->shape, y->shape);
  }

  // second(first(i)) == i for every index of the tensor. Elements outside `between`, where it is given, are padding:
  // they may have any index where the second transformation specifies no value for it.
  bool undoes(const Call* first, const Call* second, const TensorType* between) {
    const Lambda *there = index_map_of(first), *back = index_map_of(second);
    const TensorType* x = shaped(first->args[0]);
    if (!there || !back || there->params.size() != x->shape.size() || back->params.size() != there->results.size() ||
        back->results.size() != x->shape.size())
      return false;
    Analyzer analyzer(ctx_);
    for (std::size_t i = 0; i < x->shape.size(); ++i) {
      const Expr* extent = cast_to(ctx_, there->params[i]->dtype(), x->shape[i]);
      analyzer.bind_range(there->params[i], {ctx_.int_imm(extent->dtype(), 0), extent});
    }
    VarMap place;
    for (std::size_t i = 0; i < back->params.size(); ++i) {
      place[back->params[i]] = cast_to(ctx_, back->params[i]->dtype(), there->results[i]);
      if (!between) continue;
      const bool kept = i < between->shape.size() && below(analyzer, there->results[i], between->shape[i]);
      if (!kept && pads(second)) return false;
    }
    for (std::size_t i = 0; i < back->results.size(); ++i) {
      const Expr* returned = cast_to(ctx_, there->params[i]->dtype(), substitute(ctx_, back->results[i], place));
      if (!analyzer.prove_equal(returned, there->params[i])) return false;
    }
    return true;
  }

  static bool pads(const Call* transform) {
    const Attr* value = find_attr(transform->attrs, op_attr::PadValue);
    return value && !value->is(AttrKind::None);
  }

  bool below(Analyzer& analyzer, const Expr* index, const Expr* extent) {
    return analyzer.prove(compare(ctx_, BinaryKind::LT, index, cast_to(ctx_, index->dtype(), extent)));
  }

  const Module* module_;
};

}  // namespace

Result<const Module*> optimize_layout_transform(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    if (is_set(f->attrs, attr_name::Primitive)) return f;
    const Function* made = LayoutOptimizer(env.ctx, module).run(f);
    return made == f ? f : remove_dead_bindings(env.ctx, canonicalize(env.ctx, made));
  });
}

}  // namespace rldb::passes
