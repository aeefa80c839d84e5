// create_prim_func: stages in order, one block in its loops per stage, names as TVM assigns them.
#include "rldb/te/create_prim_func.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/comparison.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/regions.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::te {
namespace {

using ir::IterVar;

using ir::Stmt;

// Names of one function's buffers and blocks, made unique with a number.
class Names {
 public:
  std::string take(std::string_view name) {
    std::string base(name.empty() ? "T" : name);
    int& n = used_[base];
    std::string out = n == 0 ? base : base + "_" + std::to_string(n);
    ++n;
    while (n > 1 && used_.count(out)) out = base + "_" + std::to_string(n++);
    if (out != base) used_[out] = 1;
    return out;
  }

 private:
  std::unordered_map<std::string, int> used_;
};

class Builder {
 public:
  explicit Builder(ir::Context& ctx) : ctx_(ctx) {}
  const ir::PrimFunc* build(std::span<const Param> params);

 private:
  void order(const Operation* op);
  std::vector<Tensor> inputs_of(const Operation* op);
  const ir::Buffer* buffer_of(Tensor t) { return buffers_.at(t); }
  const ir::Buffer* make_buffer(Tensor t);
  const Stmt* root_around(const std::vector<const Stmt*>& stages, const std::vector<const ir::Buffer*>& local);
  Stmt const* stage(const Operation* op);
  const Stmt* compute(const Operation* op);
  const Stmt* reduce(const Operation* op);
  const Stmt* block_in_loops(const Operation* op, const Stmt* init, const Stmt* body, std::string_view name);
  const Stmt* extern_block(const Operation* op);
  const Expr* lower(const Expr* e, ir::Analyzer& ana);
  const Expr* lower_parts(const Expr* e, ir::Analyzer& ana);
  std::vector<const Expr*> store_indices(const Operation* op);

  ir::Context& ctx_;
  std::vector<const Operation*> stages_;
  std::unordered_map<Tensor, ExternMemory> memory_;
  std::unordered_set<const Operation*> seen_;
  std::unordered_map<Tensor, const ir::Buffer*> buffers_;
  Names buffer_names_;
  Names block_names_;
};

// Loads inside an index come before the load that uses the index.
void collect_inputs(const Expr* e, std::vector<Tensor>& out) {
  ir::walk(e, [&](const ir::Node* n) {
    const auto* load = ir::as<ir::ProducerLoad>(n);
    if (!load) return true;
    for (const Expr* index : load->indices) collect_inputs(index, out);
    out.push_back(tensor_of(load));
    return false;
  });
}

std::vector<Tensor> Builder::inputs_of(const Operation* op) {
  std::vector<Tensor> out = op->inputs;
  for (const Expr* body : op->bodies) collect_inputs(body, out);
  return out;
}

// Inputs before users. A chain of stages is as deep as an operator's body is long, so recursion is fine.
void Builder::order(const Operation* op) {
  if (!seen_.insert(op).second) return;
  for (Tensor t : inputs_of(op)) order(t->op);
  stages_.push_back(op);
  if (op->kind != OperationKind::Extern) return;
  for (Tensor t : op->outputs) memory_[t] = {op->memory.alignment, false};
  // The last extern that reads a placeholder decides.
  for (Tensor t : op->inputs)
    if (t->op->kind == OperationKind::Placeholder)
      memory_[t] = {op->memory.inputs_aligned ? op->memory.alignment : 0, op->memory.any_offset};
}

const ir::Buffer* Builder::make_buffer(Tensor t) {
  const ir::Buffer* plain = ctx_.buffer(buffer_names_.take(t->name), t->shape, t->dtype);
  const auto it = memory_.find(t);
  if (it == memory_.end() && t->axis_separators.empty()) return plain;
  ir::Buffer described = *plain;
  described.axis_separators = t->axis_separators;
  if (it == memory_.end()) return ctx_.buffer(described);
  if (it->second.alignment) described.data_alignment = it->second.alignment;
  if (it->second.any_offset) {
    const DType index = t->shape.empty() ? DType::Int(32) : t->shape[0]->dtype();
    described.elem_offset = ctx_.var("elem_offset", ctx_.prim(index));
  }
  return ctx_.buffer(described);
}

const Expr* Builder::lower_parts(const Expr* e, ir::Analyzer& ana) {
  if (const auto* load = ir::as<ir::ProducerLoad>(e)) {
    std::vector<const Expr*> indices;
    for (const Expr* i : load->indices) indices.push_back(lower(i, ana));
    return ctx_.load(buffer_of(tensor_of(load)), indices);
  }
  if (const auto* b = ir::as<ir::BinaryExpr>(e)) {
    const Expr* x = lower_parts(b->a, ana);
    const Expr* y = lower_parts(b->b, ana);
    return x == b->a && y == b->b ? e : ctx_.binary(b->op(), x, y);
  }
  if (const auto* n = ir::as<ir::NotExpr>(e)) return ctx_.not_(lower_parts(n->a, ana));
  if (const auto* c = ir::as<ir::CastExpr>(e)) {
    const Expr* v = lower_parts(c->value, ana);
    return v == c->value ? e : ctx_.cast(c->dtype(), v);
  }
  if (const auto* s = ir::as<ir::SelectExpr>(e))
    return ctx_.select(lower(s->cond, ana), lower_parts(s->true_value, ana), lower_parts(s->false_value, ana));
  if (const auto* c = ir::as<ir::Call>(e)) {
    std::vector<const Expr*> args;
    for (const Expr* a : c->args) args.push_back(a->dtype().is_integral() ? lower(a, ana) : lower_parts(a, ana));
    // A condition that is always true or always false.
    if (ir::is_call_of(c, ir::intrin::IfThenElse))
      if (const auto* cond = ir::as<ir::IntImm>(args[0])) return cond->value ? args[1] : args[2];
    return ctx_.call_typed(c->callee, args, c->type, c->attrs);
  }
  if (const auto* l = ir::as<ir::LetExpr>(e))
    return ctx_.let(l->var, lower_parts(l->value, ana), lower_parts(l->body, ana));
  return e;
}

const Expr* Builder::lower(const Expr* e, ir::Analyzer& ana) { return ana.simplify(lower_parts(e, ana)); }

std::vector<const Expr*> Builder::store_indices(const Operation* op) {
  if (!op->place.empty()) return op->place;
  std::vector<const Expr*> out;
  for (const IterVar& a : op->axes) out.push_back(a.var);
  return out;
}

namespace {

bool has_indices(const Stmt* body) {
  bool found = false;
  ir::walk(body, [&](const ir::Node* n) {
    const auto* load = ir::as<ir::BufferLoad>(n);
    found = found || (load && !load->indices.empty());
    return !found;
  });
  return found;
}

}  // namespace

namespace {

// Axes of int32 become int64. A conversion to int64 goes where it is part of an index or of a comparison of indices;
// elsewhere it stays, as TVM leaves it.
class Widened final : public ir::Rewriter {
 public:
  Widened(ir::Context& ctx, const ir::VarMap& wide) : Rewriter(ctx), wide_(wide) {}

 private:
  const Expr* visit_expr(const Expr* e) override {
    if (const auto* c = ir::as<ir::CastExpr>(e)) {
      const auto* v = ir::as<ir::Var>(c->value);
      const auto it = v ? wide_.find(v) : wide_.end();
      if (it != wide_.end()) return index_ ? it->second : ctx_.cast(DType::Int(64), it->second);
    }
    if (ir::isa<ir::BufferLoad>(e)) return within(index_, true, [&] { return default_expr(e); });
    if (const auto* s = ir::as<ir::SelectExpr>(e))
      return ctx_.select(condition(s->cond), rewrite(s->true_value), rewrite(s->false_value));
    if (const auto* c = ir::as<ir::Call>(e); c && ir::is_call_of(c, ir::intrin::IfThenElse))
      return ctx_.intrin(e->dtype(), ir::intrin::IfThenElse,
                         {condition(c->args[0]), rewrite(c->args[1]), rewrite(c->args[2])});
    const auto* b = ir::as<ir::BinaryExpr>(e);
    if (b && ir::comparison_of(b) && b->a->dtype().is_int())
      return within(index_, in_condition_, [&] { return default_expr(e); });
    return default_expr(e);
  }
  template <class Body>
  const Expr* within(bool& flag, bool value, Body body) {
    const bool before = std::exchange(flag, value);
    const Expr* made = body();
    flag = before;
    return made;
  }
  const Expr* condition(const Expr* e) {
    return within(in_condition_, true, [&] { return rewrite(e); });
  }

  const ir::VarMap& wide_;
  bool index_ = false;
  bool in_condition_ = false;
};

}  // namespace

const Stmt* Builder::block_in_loops(const Operation* op, const Stmt* init, const Stmt* body, std::string_view name) {
  std::vector<IterVar> axes = op->axes;
  axes.insert(axes.end(), op->reduce_axes.begin(), op->reduce_axes.end());
  // Buffers have their shapes as the operator wrote them; loops use the simplified extents.
  for (IterVar& a : axes)
    if (!ir::isa<ir::IntImm>(a.dom.extent) && !ir::isa<ir::Var>(a.dom.extent))
      a.dom.extent = ir::Analyzer(ctx_).simplify(a.dom.extent);
  std::vector<const Expr*> values;
  std::vector<const ir::Var*> loops;
  if (axes.empty()) {
    // TVM widens its value to int64, and its domain only together with indices in the body.
    const ir::DType t = ir::DType::Int(has_indices(body) ? 64 : 32);
    axes.push_back({ctx_.var("vi", ctx_.int64()), {ctx_.int_imm(t, 0), ctx_.int_imm(t, 1)}, ir::IterKind::Spatial});
    values.push_back(ctx_.i64(0));
  } else {
    std::vector<const ir::Var*> dims;
    for (const IterVar& a : axes) ir::collect_vars(a.dom.extent, dims);
    for (const IterVar& a : axes) {
      std::string_view name_of = a.var->name;
      if (name_of.starts_with("v_")) name_of.remove_prefix(2);
      // Named as it is printed beside a dim of that name.
      const bool taken = std::any_of(dims.begin(), dims.end(), [&](const ir::Var* d) { return d->name == name_of; });
      loops.push_back(ctx_.var(taken ? std::string(name_of) + "_1" : std::string(name_of), ctx_.int64()));
      values.push_back(loops.back());
    }
  }
  const ir::Regions regions = ir::infer_regions(ctx_, {axes, init, body, {}, {}});
  ir::SBlock fields{};
  fields.name = ctx_.str(block_names_.take(name));
  fields.iter_vars = ctx_.list(axes);
  fields.reads = ctx_.list(regions.reads);
  fields.writes = ctx_.list(regions.writes);
  std::vector<ir::NamedAttr> annotations = op->attrs;
  if (op->layout_free) {
    const ir::Attr* items[] = {ctx_.attr_node(buffer_of(op->layout_free))};
    annotations.push_back(ctx_.named("layout_free_placeholders", ctx_.attr_list(items)));
  }
  fields.annotations = ctx_.list(annotations);
  fields.init = init;
  fields.body = body;
  const Stmt* s = ctx_.realize(values, ctx_.bool_imm(true), ctx_.sblock(fields));
  for (std::size_t i = loops.size(); i-- > 0;)
    s = ctx_.for_stmt(loops[i], axes[i].dom.min, axes[i].dom.extent, ir::ForKind::Serial, s);
  return s;
}

const Stmt* Builder::compute(const Operation* op) {
  // The ranges of the axes are not used: TVM simplifies without their ranges too, and lowered programs compare equal.
  ir::Analyzer ana(ctx_);
  std::vector<const Stmt*> parts;
  for (std::size_t i = 0; i < op->bodies.size(); ++i) {
    const Stmt* store = ctx_.store(buffer_of(op->outputs[i]), lower(op->bodies[i], ana), store_indices(op));
    parts.push_back(block_in_loops(op, nullptr, store, op->outputs[i]->name));
  }
  return ctx_.seq_stmt(parts);
}

const Stmt* Builder::reduce(const Operation* narrow) {
  ir::Analyzer ana(ctx_);
  ir::VarMap wide;
  Operation widened = *narrow;
  for (IterVar& a : widened.reduce_axes) {
    if (a.var->dtype() != DType::Int(32)) continue;
    const ir::Var* v = ctx_.var(a.var->name, ctx_.int64());
    wide[a.var] = v;
    a = {v, {ctx_.i64(0), ir::cast_to(ctx_, DType::Int(64), a.dom.extent)}, a.kind};
  }
  const Operation* op = &widened;
  std::vector<const Expr*> indices = store_indices(op);
  std::size_t n = op->bodies.size();
  ir::VarMap map;
  std::vector<const Stmt*> init;
  for (std::size_t i = 0; i < n; ++i) {
    const ir::Buffer* b = buffer_of(op->outputs[i]);
    map[op->reducer->lhs[i]] = ctx_.load(b, indices);
    map[op->reducer->rhs[i]] = lower(op->bodies[i], ana);
    init.push_back(ctx_.store(b, op->reducer->identities[i], indices));
  }
  std::vector<const Stmt*> body;
  std::vector<const Expr*> results;
  for (std::size_t i = 0; i < n; ++i) {
    const Expr* r = ir::substitute(ctx_, op->reducer->results[i], map);
    if (n > 1) {
      // All results are computed before the first is stored.
      const ir::Var* v = ctx_.var("v_" + std::string(op->outputs[i]->name), r->type);
      body.push_back(ctx_.bind(v, r));
      r = v;
    }
    results.push_back(r);
  }
  for (std::size_t i = 0; i < n; ++i) body.push_back(ctx_.store(buffer_of(op->outputs[i]), results[i], indices));
  const Stmt* all = ctx_.seq_stmt(body);
  if (!wide.empty()) all = Widened(ctx_, wide).rewrite(all);
  if (op->condition) all = ctx_.if_stmt(lower(op->condition, ana), all);
  return block_in_loops(op, ctx_.seq_stmt(init), all, op->name);
}

const Stmt* Builder::extern_block(const Operation* op) {
  std::vector<const ir::Buffer*> in;
  std::vector<const ir::Buffer*> out;
  for (Tensor t : op->inputs) in.push_back(buffer_of(t));
  for (Tensor t : op->outputs) out.push_back(buffer_of(t));
  // As in TVM, the block of an extern states no reads and writes: its body does.
  ir::SBlock fields{};
  fields.name = ctx_.str(block_names_.take(op->name));
  fields.body = op->write(in, out);
  return ctx_.realize({}, ctx_.bool_imm(true), ctx_.sblock(fields));
}

const Stmt* Builder::stage(const Operation* op) {
  switch (op->kind) {
    case OperationKind::Placeholder:
      return nullptr;
    case OperationKind::Compute:
      return compute(op);
    case OperationKind::Reduce:
      return reduce(op);
    case OperationKind::Extern:
      return extern_block(op);
  }
  return nullptr;
}

const Stmt* Builder::root_around(const std::vector<const Stmt*>& stages, const std::vector<const ir::Buffer*>& local) {
  ir::SBlock root{};
  root.name = "root";
  root.alloc_buffers = ctx_.list(local);
  root.body = ctx_.seq_stmt(stages);
  return ctx_.realize({}, ctx_.bool_imm(true), ctx_.sblock(root));
}

const ir::PrimFunc* Builder::build(std::span<const Param> params) {
  for (const Param& p : params)
    if (p.tensor) order(p.tensor->op);
  std::vector<ir::PrimParam> out;
  for (const Param& p : params) {
    if (!p.tensor) {
      out.push_back({p.var, nullptr});
      continue;
    }
    // A tensor that is both an input and an output has two parameters; the second is copied to below.
    const ir::Buffer* b = make_buffer(p.tensor);
    buffers_.emplace(p.tensor, b);
    out.push_back({b->data, b});
  }
  std::vector<const ir::Buffer*> local;
  for (const Operation* op : stages_)
    for (Tensor t : op->outputs)
      if (!buffers_.count(t)) {
        const ir::Buffer* b = make_buffer(t);
        buffers_.emplace(t, b);
        local.push_back(b);
      }
  std::vector<const Stmt*> body;
  for (const Operation* op : stages_)
    if (const Stmt* s = stage(op)) body.push_back(s);
  // The block of an extern alone is the root.
  const auto* only = body.size() == 1 && local.empty() ? ir::as<ir::SBlockRealize>(body[0]) : nullptr;
  const Stmt* whole = only && only->block->iter_vars.empty() ? only : root_around(body, local);
  ir::NamedAttr attrs[] = {ctx_.named(attr_name::NoAlias, ctx_.attr(true))};
  return ctx_.prim_func(out, ctx_.void_type(), whole, attrs, true);
}

}  // namespace

const ir::PrimFunc* create_prim_func(ir::Context& ctx, std::span<const Param> params) {
  return Builder(ctx).build(params);
}

}  // namespace rldb::te
