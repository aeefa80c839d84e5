// Generator: a program, binding by binding, from what there is so far.
#include "repro/fuzz/generate.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using ir::as;
using ir::DType;

namespace {

constexpr std::size_t kMaxArity = 3;
constexpr std::size_t kTries = 40;  // for one binding
constexpr std::int64_t kColumns = 4;
constexpr std::size_t kMaxNdim = 4;

// Of what it computes elements: no effect, no memory of its own, nothing that depends on the machine.
bool is_plain(const op::Row& row) {
  constexpr auto kViews = op::Trait::View | op::Trait::Identity;
  return row.pure && (row.traits == op::Trait::None || (row.traits & kViews) == row.traits);
}

const ir::Call* call_of(ir::Context& ctx, op::Id id, std::span<const ir::Expr* const> args) {
  auto made = ctx.call({ctx.op(op::row(id).name), args, {}, {}});
  return made.ok() ? *made : nullptr;
}

// A tensor whose size is known, of a dtype that every engine has.
bool is_usable(const ir::Type* type) {
  const auto* t = as<ir::TensorType>(type);
  if (!t || !t->has_shape || t->shape.size() > kMaxNdim) return false;
  return t->dtype == DType::Float(32) || t->dtype == DType::Int(32) || t->dtype == DType::Int(64) || t->dtype.is_bool();
}

class Generator {
 public:
  Generator(ir::Context& ctx, const std::vector<Building>& blocks, std::uint64_t seed)
      : ctx_(ctx), blocks_(blocks), random_(seed), builder_(ctx) {}

  const ir::Module* run() {
    if (random_.one_in(2)) make_helper();
    make_main();
    return builder_.build();
  }

 private:
  // ---- functions ----

  void begin() {
    pool_.clear();
    params_.clear();
    done_.clear();
    current_.clear();
    counter_ = 0;
    rows_ = random_.one_in(2) ? static_cast<const ir::Expr*>(ctx_.var("n", ctx_.int64()))
                              : ctx_.i64(std::int64_t(1 + random_.below(8)));
  }

  const ir::Var* add_param(std::string_view name, std::span<const ir::Expr* const> shape, DType dtype) {
    const ir::Var* p = ctx_.var(name, ctx_.tensor(shape, dtype));
    params_.push_back(p);
    return p;
  }

  void add_params(std::size_t floats) {
    const ir::Expr* columns = ctx_.i64(kColumns);
    const ir::Expr* matrix[] = {rows_, columns};
    const ir::Expr* square[] = {columns, columns};
    const ir::Expr* vector[] = {columns};
    for (std::size_t i = 0; i < floats; ++i)
      pool_.push_back(add_param(fmt::format("x{}", i), matrix, DType::Float(32)));
    pool_.push_back(add_param("w", square, DType::Float(32)));
    pool_.push_back(add_param("b", vector, DType::Float(32)));
    if (random_.one_in(3)) pool_.push_back(add_param("i", matrix, DType::Int(32)));
    condition_ = random_.one_in(3) ? add_param("c", {}, DType::Bool()) : nullptr;
  }

  void make_helper() {
    begin();
    add_params(1);
    fill(1 + random_.below(4));
    const ir::Var* result = pick_result();
    const ir::Function* f = finish(result, {});
    helper_ = ctx_.global_var("helper", f->type);
    builder_.set("helper", f);
  }

  void make_main() {
    begin();
    add_params(1 + random_.below(3));
    fill(3 + random_.below(12));
    std::vector<const ir::Expr*> results{pick_result()};
    if (random_.one_in(3)) results.push_back(params_[random_.below(params_.size())]);
    const ir::Expr* result = results.size() == 1 ? results[0] : ctx_.tuple(results);
    const ir::NamedAttr symbol{"global_symbol", ctx_.attr("main")};
    builder_.set("main", finish(result, {&symbol, 1}));
  }

  const ir::Function* finish(const ir::Expr* result, std::span<const ir::NamedAttr> attrs) {
    close_block();
    const ir::SeqExpr* body = ctx_.seq(done_, result);
    return ctx_.function(params_, body, body->type, true, attrs);
  }

  // ---- bindings ----

  void fill(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      support::poll();
      switch (random_.below(12)) {
        case 0:
          add_cast();
          break;
        case 1:
          add_tuple();
          break;
        case 2:
          add_helper_call();
          break;
        case 3:
          add_branch();
          break;
        default:
          add_operator();
      }
      if (random_.one_in(6)) close_block();
    }
  }

  void close_block() {
    if (!current_.empty()) done_.push_back(ctx_.block(current_));
    current_.clear();
  }

  const ir::Var* bind(const ir::Expr* value, const ir::Type* cast = nullptr) {
    const ir::Var* v = ctx_.var(fmt::format("v{}", counter_++), cast ? cast : value->type);
    current_.push_back(cast ? ctx_.match_cast(v, value, cast) : ctx_.binding(v, value));
    return v;
  }

  // Newer values are taken more often: chains are what passes work on.
  const ir::Var* pick() {
    const std::size_t n = pool_.size();
    return pool_[n - 1 - std::min(random_.below(n), random_.below(n))];
  }

  // The newest value whose type the signature can say: sizes that were named on the way are not known outside.
  const ir::Var* pick_result() const {
    const auto is_known = [&](const ir::Var* v) {
      std::vector<const ir::Var*> sizes;
      ir::collect_vars(v->type, sizes);
      return std::all_of(sizes.begin(), sizes.end(), [&](const ir::Var* s) { return s == rows_; });
    };
    return *std::find_if(pool_.rbegin(), pool_.rend(), is_known);
  }

  void add_operator() {
    for (std::size_t i = 0; i < kTries; ++i) {
      const Building& block = blocks_[random_.below(blocks_.size())];
      std::vector<const ir::Expr*> args;
      for (std::size_t k = 0; k < block.arity; ++k) args.push_back(pick());
      const ir::Call* call = call_of(ctx_, block.op, ctx_.list(std::span<const ir::Expr* const>(args)));
      if (!call || !is_usable(call->type)) continue;
      pool_.push_back(bind(call));
      return;
    }
  }

  // The rows have a name of their own from here on.
  void add_cast() {
    const ir::Var* v = pick();
    const auto* t = as<ir::TensorType>(v->type);
    if (t->shape.empty()) return;
    std::vector<const ir::Expr*> shape(t->shape.begin(), t->shape.end());
    shape[0] = ctx_.var(fmt::format("m{}", counter_), ctx_.int64());
    pool_.push_back(bind(v, ctx_.tensor(shape, t->dtype)));
  }

  void add_tuple() {
    const ir::Expr* items[] = {pick(), pick()};
    const ir::Var* pair = bind(ctx_.tuple(items));
    auto field = ctx_.tuple_get(pair, std::int64_t(random_.below(2)));
    if (field.ok()) pool_.push_back(bind(*field));
  }

  // An operator that keeps the type of what it is given; null: none was met.
  const ir::Call* same_type_call(const ir::Var* v) {
    for (std::size_t i = 0; i < kTries; ++i) {
      const Building& block = blocks_[random_.below(blocks_.size())];
      if (block.arity > 2) continue;
      const std::vector<const ir::Expr*> args(block.arity, v);
      const ir::Call* call = call_of(ctx_, block.op, ctx_.list(std::span<const ir::Expr* const>(args)));
      if (call && call->type == v->type) return call;
    }
    return nullptr;
  }

  const ir::SeqExpr* branch(const ir::Var* v) {
    const ir::Call* call = same_type_call(v);
    if (!call) return nullptr;
    const ir::Binding* b = ctx_.binding(ctx_.var(fmt::format("v{}", counter_++), call->type), call);
    const ir::BindingBlock* block = ctx_.block({&b, 1});
    return ctx_.seq({&block, 1}, b->var);
  }

  void add_branch() {
    const ir::Var* v = pick();
    const ir::SeqExpr* then_branch = condition_ ? branch(v) : nullptr;
    const ir::SeqExpr* else_branch = then_branch ? branch(v) : nullptr;
    if (!else_branch) return add_operator();
    pool_.push_back(bind(ctx_.if_expr(condition_, then_branch, else_branch, v->type)));
  }

  void add_helper_call() {
    const auto* type = helper_ ? as<ir::FuncType>(helper_->type) : nullptr;
    if (!type) return add_operator();
    std::vector<const ir::Expr*> args;
    for (const ir::Type* wanted : type->params) {
      const auto fits = [&](const ir::Var* v) { return v->type == wanted; };
      const auto it = std::find_if(pool_.rbegin(), pool_.rend(), fits);
      if (it == pool_.rend()) return add_operator();
      args.push_back(*it);
    }
    auto call = ctx_.call({helper_, ctx_.list(std::span<const ir::Expr* const>(args)), {}, {}});
    if (call.ok() && is_usable((*call)->type)) pool_.push_back(bind(*call));
  }

  ir::Context& ctx_;
  const std::vector<Building>& blocks_;
  Random random_;
  ir::ModuleBuilder builder_;
  const ir::GlobalVar* helper_ = nullptr;
  const ir::Expr* rows_ = nullptr;
  const ir::Var* condition_ = nullptr;
  std::vector<const ir::Var*> params_;
  std::vector<const ir::Var*> pool_;
  std::vector<const ir::BindingBlock*> done_;
  std::vector<const ir::Binding*> current_;
  std::size_t counter_ = 0;
};

}  // namespace

std::vector<Building> building_blocks(ir::Context& ctx) {
  const ir::Expr* four = ctx.i64(kColumns);
  const ir::Expr* square[] = {four, four};
  const ir::Expr* vector[] = {four};
  std::vector<const ir::Var*> values;
  for (const DType dtype : {DType::Float(32), DType::Int(32), DType::Bool()}) {
    values.push_back(ctx.var("x", ctx.tensor(square, dtype)));
    values.push_back(ctx.var("b", ctx.tensor(vector, dtype)));
  }
  const auto takes = [&](op::Id id, std::size_t arity) {
    std::size_t combinations = 1;
    for (std::size_t i = 0; i < arity; ++i) combinations *= values.size();
    for (std::size_t c = 0; c < combinations; ++c) {
      std::vector<const ir::Expr*> args;
      for (std::size_t i = 0, left = c; i < arity; ++i, left /= values.size())
        args.push_back(values[left % values.size()]);
      const ir::Call* call = call_of(ctx, id, ctx.list(std::span<const ir::Expr* const>(args)));
      if (call && is_usable(call->type)) return true;
    }
    return false;
  };
  std::vector<Building> out;
  for (std::size_t i = 0; i < op::kCount; ++i) {
    support::poll();
    if (!is_plain(op::row(op::Id(i)))) continue;
    for (std::size_t arity = 1; arity <= kMaxArity; ++arity)
      if (takes(op::Id(i), arity)) out.push_back({op::Id(i), arity});
  }
  return out;
}

const ir::Module* generate(ir::Context& ctx, const std::vector<Building>& blocks, std::uint64_t seed) {
  return Generator(ctx, blocks, seed).run();
}

}  // namespace rldb::repro
