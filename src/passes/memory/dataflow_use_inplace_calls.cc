// DataflowUseInplaceCalls: in dataflow blocks, an elementwise operator overwrites an operand of the same shape and
// dtype that is not read afterwards: R.call_tir_inplace of a kernel `<name>_inplace`.
//
// An operand may be overwritten when it is created in the block and nothing that may share its memory is read later:
// aliases, views, fields of tuples, arguments and results of any function that is not an operator. Memory is
// partitioned into classes that are merged where two values may alias (TVM keeps sets of locations, and compares them
// pairwise).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>

#include "passes/common.h"
#include "passes/fusion/function_table.h"
#include "passes/lowering/legal_memo.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/activation.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op/nn.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op/transpose.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_class.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/legalize.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Operators whose result may alias their first argument after later passes (besides those with the trait View).
constexpr std::array kMayBeViews = {op::ExpandDims,  op::Squeeze, op::Reshape,
                                    op::PermuteDims, op::Flatten, op::NnBatchFlatten};

bool is_one_of(std::span<const std::string_view> names, const Expr* callee) {
  const auto* o = as<Op>(callee);
  return o && std::find(names.begin(), names.end(), o->name) != names.end();
}

// The operators that TVM's pass knows. Others on elements could be written over an operand as well, but modules are
// compared with what TVM makes of them.
constexpr std::array kOverwriting = {op::Add, op::Subtract, op::Multiply, op::Divide, op::NnSilu, op::NnRelu};

bool may_overwrite(const Expr* callee) {
  const op::Row* row = op::row_of(callee);
  return row && op::may_overwrite(row->id) && is_one_of(kOverwriting, callee);
}

// ---- memory ----

// Where a value is stored: a class of locations, or for a tuple one per field.
struct Place {
  std::size_t id = 0;
  std::vector<std::shared_ptr<const Place>> fields;
  std::size_t depth = 0;
};
using PlacePtr = std::shared_ptr<const Place>;

constexpr std::size_t kMaxDepth = 16;  // tuples nested deeper count as one location

class Memory {
 public:
  static constexpr std::size_t kUnknown = 0;  // memory that existed before the block
  static constexpr std::size_t kForever = std::numeric_limits<std::size_t>::max();

  Memory() { fresh(); }

  std::size_t root(std::size_t id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void merge(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    if (b < a) std::swap(a, b);  // the unknown class stays its own root
    parent_[b] = a;
    last_use_[a] = std::max(last_use_[a], last_use_[b]);
  }
  void merge_all(const Place& p, std::size_t with) {
    each(p, [&](std::size_t id) { merge(id, with); });
  }
  void used(const Place& p, std::size_t when) {
    each(p, [&](std::size_t id) {
      std::size_t& last = last_use_[root(id)];
      last = std::max(last, when);
    });
  }
  std::size_t last_use(std::size_t id) { return last_use_[root(id)]; }
  bool is_unknown(std::size_t id) { return root(id) == root(kUnknown); }

  PlacePtr unknown() { return place(kUnknown); }
  PlacePtr fresh_place(const Type* t, std::size_t depth = 0) {
    const auto* tuple = as<TupleType>(t);
    if (!tuple || depth == kMaxDepth) return place(fresh());
    std::vector<PlacePtr> fields;
    for (const Type* f : tuple->fields) fields.push_back(fresh_place(f, depth + 1));
    return tuple_of(std::move(fields));
  }
  PlacePtr tuple_of(std::vector<PlacePtr> fields) {
    Place made{fresh(), std::move(fields), 0};
    for (const PlacePtr& f : made.fields) made.depth = std::max(made.depth, f->depth + 1);
    if (made.depth <= kMaxDepth) return std::make_shared<const Place>(std::move(made));
    for (const PlacePtr& f : made.fields) merge_all(*f, made.id);
    return place(made.id);
  }

 private:
  std::size_t fresh() {
    parent_.push_back(parent_.size());
    last_use_.push_back(0);
    return parent_.size() - 1;
  }
  static PlacePtr place(std::size_t id) { return std::make_shared<const Place>(Place{id, {}, 0}); }
  template <class F>
  void each(const Place& p, const F& f) {
    f(p.id);
    for (const PlacePtr& field : p.fields) each(*field, f);
  }

  std::vector<std::size_t> parent_;
  std::vector<std::size_t> last_use_;
};

// Where the values of one dataflow block are stored, and up to where they are read.
class BlockMemory {
 public:
  explicit BlockMemory(const BindingBlock* block) {
    for (std::size_t i = 0; i < block->bindings.size(); ++i) {
      support::poll();
      bind(block->bindings[i], i);
    }
  }

  // The variable is created in the block, and the binding at `at` is the last to read its memory.
  bool dies_at(const Var* v, std::size_t at) {
    const PlacePtr p = of(v);
    return p->fields.empty() && !memory_.is_unknown(p->id) && memory_.last_use(p->id) <= at;
  }
  bool may_share(const Var* v, const Expr* other) {
    const PlacePtr a = of(v), b = of(other);
    return !b->fields.empty() || memory_.root(a->id) == memory_.root(b->id);
  }

 private:
  PlacePtr of(const Expr* e) {
    if (const auto* v = as<Var>(e)) {
      const auto found = places_.find(v);
      return found == places_.end() ? memory_.unknown() : found->second;
    }
    return memory_.fresh_place(e->type);
  }

  void bind(const Binding* b, std::size_t at) {
    const PlacePtr place = value(b->value, at);
    places_[b->var] = place;
    memory_.used(*place, b->var->is_dataflow() ? at : Memory::kForever);
  }

  PlacePtr read(const Expr* e, std::size_t at) {
    PlacePtr place = of(e);
    memory_.used(*place, at);
    return place;
  }

  PlacePtr value(const Expr* e, std::size_t at) {
    if (const auto* tuple = as<Tuple>(e)) {
      std::vector<PlacePtr> fields;
      for (const Expr* item : tuple->items) fields.push_back(isa<Tuple>(item) ? everything(item, at) : read(item, at));
      return memory_.tuple_of(std::move(fields));
    }
    if (const auto* get = as<TupleGetItem>(e)) return field(get, at);
    const auto* call = as<Call>(e);
    if (!call) return isa<Var>(e) ? read(e, at) : everything(e, at);
    const auto* callee = as<Op>(call->callee);
    const bool view = op::is_call_with(call, op::Trait::View | op::Trait::Identity) || is_one_of(kMayBeViews, callee);
    const bool opaque = !callee || op::is_call_with(call, op::Trait::CallsPacked | op::Trait::CallsClosure);
    if (opaque) return everything(call, at);
    for (const Var* v : free_vars(call)) read(v, at);
    if (view && !call->args.empty()) return of(call->args[0]);
    if (as_call_of(call, op::CallTirInplace)) return everything(call, at);
    return memory_.fresh_place(call->type);
  }

  // Reading a field is not a use of the other fields.
  PlacePtr field(const TupleGetItem* get, std::size_t at) {
    const PlacePtr tuple = isa<Var>(get->tuple) ? of(get->tuple) : everything(get->tuple, at);
    const auto index = std::size_t(get->index);
    return index < tuple->fields.size() ? tuple->fields[index] : tuple;
  }

  // The result may alias anything that the value reads, or a part of it.
  PlacePtr everything(const Expr* e, std::size_t at) {
    const PlacePtr result = memory_.fresh_place(nullptr);  // one location, tuple or not
    for (const Var* v : free_vars(e)) memory_.merge_all(*read(v, at), result->id);
    return result;
  }

  Memory memory_;
  std::unordered_map<const Var*, PlacePtr> places_;
};

// ---- kernels ----

// The kernel without its result, which it writes over the parameter at `over` instead.
class KernelOver : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const PrimFunc* run(const PrimFunc* f, std::size_t over) {
    const Buffer *result = f->params.back().buffer, *operand = f->params[over].buffer;
    remap_buffer(result, operand);
    remap(result->data, operand->data);
    const std::span<const PrimParam> params(f->params.data(), f->params.size() - 1);
    const PrimFunc* made = ctx_.prim_func(params, f->ret_type, rewrite(f->body), f->attrs, f->s_tir);
    ctx_.set_origin(made, f);
    return made;
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override {
    const auto found = buffers_.find(b);
    return found == buffers_.end() ? b : found->second;
  }
};

class InplaceCalls : public Rewriter {
 public:
  InplaceCalls(Context& ctx, const Module* module, ModuleBuilder& builder)
      : Rewriter(ctx), kernels_(ctx, *module), legalizer_(ctx, kernels_), memo_(ctx), table_(ctx, module, builder) {}

 protected:
  const BindingBlock* visit_block(const BindingBlock* b) override {
    if (!b->is_dataflow()) return default_block(b);
    BlockMemory memory(b);
    for (std::size_t i = 0; i < b->bindings.size(); ++i)
      if (const int operand = operand_to_overwrite(memory, b->bindings[i], i); operand >= 0)
        over_[b->bindings[i]] = std::size_t(operand);
    return default_block(b);
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    const auto found = over_.find(b);
    std::vector<const Binding*> made = default_binding(b);
    if (found == over_.end() || made.size() != 1) return made;
    const Call* call = inplace(cast<Call>(made[0]->value), found->second);
    if (!call) return made;
    if (made[0]->is_match_cast()) return {ctx_.match_cast(made[0]->var, call, made[0]->cast_type)};
    return {remake_binding(ctx_, made[0], made[0]->var, call)};
  }

 private:
  // -1: none. If there are several, the last one, as in TVM.
  int operand_to_overwrite(BlockMemory& memory, const Binding* b, std::size_t at) {
    const auto* call = as<Call>(b->value);
    if (!call || !may_overwrite(call->callee)) return -1;
    int found = -1;
    for (std::size_t i = 0; i < call->args.size(); ++i) {
      const auto* v = as<Var>(call->args[i]);
      if (!v || !same_size(v->type, call->type) || !memory.dies_at(v, at)) continue;
      bool apart = true;
      for (const Expr* other : call->args) apart = apart && (other == v || !memory.may_share(v, other));
      if (apart) found = int(i);
    }
    if (found < 0 || !may_rewrite([&] { return fmt::format("`{}` is written over an operand", b->var->name); }))
      return -1;
    return found;
  }

  bool same_size(const Type* a, const Type* b) {
    const auto *x = as<TensorType>(a), *y = as<TensorType>(b);
    return x && y && x->has_shape && y->has_shape && !x->dtype.is_void() && x->dtype == y->dtype &&
           prove_shapes_equal(ctx_, x->shape, y->shape);
  }

  const Call* inplace(const Call* call, std::size_t over) {
    const Call* kernel_call = kernel_call_of(call);
    const auto* name = kernel_call ? as<GlobalVar>(kernel_call->args[0]) : nullptr;
    const auto* kernel = name ? as<PrimFunc>(kernels_.find(name->name)) : nullptr;
    if (!kernel || over + 1 >= kernel->params.size() || !kernel->params[over].buffer) return nullptr;
    const Expr*& callee = callees_[{name, over}];
    if (!callee) callee = table_.add(KernelOver(ctx_).run(kernel, over), std::string(name->name) + "_inplace");
    const NamedAttr index[] = {ctx_.named(op_attr::InplaceIndices, ctx_.attr_ints(std::vector{std::int64_t(over)}))};
    std::vector<const Expr*> args(kernel_call->args.begin(), kernel_call->args.end());
    args[0] = callee;
    const Call* made = ctx_.call_typed(ctx_.op(op::CallTirInplace), args, call->type, index, kernel_call->ty_args);
    ctx_.set_origin(made, call);
    return made;
  }

  // A call of a kernel that writes a result of its own; null: there is none.
  const Call* kernel_call_of(const Call* call) {
    if (const Call* known = memo_.find(call)) return known;
    BlockBuilder blocks(ctx_);
    blocks.begin_scope();
    const Result<const Expr*> legal = legalizer_.legalize(call, blocks);
    const SeqExpr* before = blocks.end_scope(call);
    if (!legal.ok() || !before->blocks.empty()) return nullptr;
    memo_.remember(call, *legal);
    return as_call_of(*legal, op::CallTir);
  }

  ModuleBuilder kernels_;  // made by legalization; only kernels that overwrite an operand go into the module
  ops::Legalizer legalizer_;
  LegalMemo memo_;
  FunctionTable table_;
  std::map<std::pair<const GlobalVar*, std::size_t>, const Expr*> callees_;
  std::unordered_map<const Binding*, std::size_t> over_;
};

}  // namespace

Result<const Module*> dataflow_use_inplace_calls(PassEnv& env, const Module* module, const NoOptions&) {
  ModuleBuilder builder(env.ctx, *module);
  InplaceCalls calls(env.ctx, module, builder);
  bool changed = false;
  for (const ModuleEntry& e : module->entries) {
    const auto* f = as<Function>(e.function);
    if (!f) continue;
    const Function* made = calls.rewrite_function(f);
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
