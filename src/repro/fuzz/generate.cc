// Generator: builds a program binding by binding, from the values available so far.
#include "repro/fuzz/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "repro/fuzz/arguments.h"
#include "repro/fuzz/kernel.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using ir::as;
using ir::DType;

namespace {

constexpr std::size_t kTries = 40;         // for one binding
constexpr std::size_t kTriesToType = 400;  // for an operator to be typed at all
constexpr std::int64_t kColumns = 4;
constexpr std::size_t kMaxNdim = 4;

// An operator that computes elements: no effect, no memory of its own, nothing that depends on the machine.
bool is_plain(const op::Row& row) {
  constexpr auto kViews = op::Trait::View | op::Trait::Identity;
  return row.pure && (row.traits == op::Trait::None || (row.traits & kViews) == row.traits);
}

// Its result is the first argument with a property that the typer ignores (a device).
bool says_something(const op::Row& row, const ops::OpInfo& info) {
  return row.has(op::Trait::Identity) && !info.attrs.empty();
}

// A tensor of known size with a dtype that every engine supports; or a tuple of them.
bool is_usable(const ir::Type* type) {
  const auto* tuple = as<ir::TupleType>(type);
  if (tuple) return !tuple->fields.empty() && std::all_of(tuple->fields.begin(), tuple->fields.end(), is_usable);
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
    inner_.clear();
    dataflow_ = false;
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
    if (random_.one_in(4)) add_image();
    condition_ = random_.one_in(3) ? add_param("c", {}, DType::Bool()) : nullptr;
  }

  // An input for convolutions and pools.
  void add_image() {
    const ir::Expr* image[] = {random_.one_in(2) ? rows_ : ctx_.i64(1), ctx_.i64(kColumns), ctx_.i64(6), ctx_.i64(6)};
    const ir::Expr* filter[] = {ctx_.i64(kColumns), ctx_.i64(kColumns), ctx_.i64(3), ctx_.i64(3)};
    pool_.push_back(add_param("image", image, DType::Float(32)));
    pool_.push_back(add_param("filter", filter, DType::Float(32)));
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
    const ir::NamedAttr symbol{attr_name::GlobalSymbol, ctx_.attr("main")};
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
      if (current_.empty()) dataflow_ = random_.one_in(2);
      switch (random_.below(14)) {
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
        case 4:
        case 5:
          add_kernel();
          break;
        default:
          add_operator();
      }
      if (random_.one_in(6)) close_block();
    }
  }

  void close_block() {
    if (!current_.empty()) done_.push_back(ctx_.block(current_, dataflow_));
    current_.clear();
    std::erase_if(pool_, [&](const ir::Var* v) { return inner_.contains(v); });
    inner_.clear();
    dataflow_ = false;
  }

  // A variable in a dataflow block may be visible outside it or not.
  const ir::Var* bind(const ir::Expr* value, const ir::Type* cast = nullptr) {
    const std::string name = fmt::format("v{}", counter_++);
    const ir::Type* type = cast ? cast : value->type;
    const bool inner = dataflow_ && !random_.one_in(3);
    const ir::Var* v = inner ? ctx_.dataflow_var(name, type) : ctx_.var(name, type);
    if (inner) inner_.insert(v);
    current_.push_back(cast ? ctx_.match_cast(v, value, cast) : ctx_.binding(v, value));
    return v;
  }

  // Newer values are chosen more often: passes work on chains.
  const ir::Var* pick() {
    const std::size_t n = pool_.size();
    return pool_[n - 1 - std::min(random_.below(n), random_.below(n))];
  }

  // The newest value whose type the signature can express: sizes named on the way are not known outside.
  const ir::Var* pick_result() const {
    const auto is_known = [&](const ir::Var* v) {
      std::vector<const ir::Var*> sizes;
      ir::collect_vars(v->type, sizes);
      return std::all_of(sizes.begin(), sizes.end(), [&](const ir::Var* s) { return s == rows_; });
    };
    return *std::find_if(pool_.rbegin(), pool_.rend(), is_known);
  }

  // An existing tensor, or now and then a constant: folding works on these.
  const ir::Expr* operand() {
    if (!random_.one_in(10)) return pick();
    std::vector<std::int64_t> shape(random_.below(3), kColumns);
    auto made = runtime::random_tensor(std::move(shape), DType::Float(32), random_.next());
    return made.ok() ? static_cast<const ir::Expr*>(ctx_.constant(std::move(made).value())) : pick();
  }

  Choices choices() {
    return {[this] { return operand(); }, {rows_, ctx_.i64(kColumns), ctx_.i64(1), ctx_.i64(2)}};
  }

  void add_operator() {
    const Choices from = choices();
    for (std::size_t i = 0; i < kTries; ++i) {
      const ir::Call* call = random_call(ctx_, random_, *blocks_[random_.below(blocks_.size())], from);
      if (call && is_usable(call->type)) return add_value(call);
    }
  }

  // For a tuple, each field.
  void add_value(const ir::Expr* value) {
    const ir::Var* v = bind(value);
    const auto* tuple = as<ir::TupleType>(v->type);
    if (!tuple) return pool_.push_back(v);
    for (std::size_t i = 0; i < tuple->fields.size(); ++i)
      if (auto field = ctx_.tuple_get(v, std::int64_t(i)); field.ok() && is_usable((*field)->type)) add_value(*field);
  }

  void add_kernel() {
    std::vector<const ir::Var*> inputs;
    for (std::size_t i = 0, n = 1 + random_.below(2); i < n; ++i) inputs.push_back(pick());
    const ir::Call* call = random_kernel_call(ctx_, random_, builder_, inputs);
    if (!call) return add_operator();
    pool_.push_back(bind(call));
  }

  // The rows get a name of their own from here on.
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

  // An operator that preserves the type of its argument; null: none was found.
  const ir::Call* same_type_call(const ir::Var* v) {
    const Choices from{[v] { return v; }, {rows_, ctx_.i64(kColumns)}};
    for (std::size_t i = 0; i < kTries; ++i) {
      const ir::Call* call = random_call(ctx_, random_, *blocks_[random_.below(blocks_.size())], from);
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

  // Outside of dataflow blocks.
  void add_branch() {
    if (dataflow_) close_block();
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
  std::unordered_set<const ir::Var*> inner_;  // of the current block, not visible outside it
  bool dataflow_ = false;                     // the current block
  std::size_t counter_ = 0;
};

}  // namespace

std::vector<Building> building_blocks(ir::Context& ctx) {
  const ir::Expr *four = ctx.i64(kColumns), *three = ctx.i64(3), *six = ctx.i64(6);
  const ir::Expr* shapes[][4] = {{four, four}, {four}, {four, four, six, six}, {four, four, three, three}};
  constexpr std::size_t kRanks[] = {2, 1, 4, 4};
  std::vector<const ir::Var*> values;
  for (std::size_t i = 0; i < std::size(kRanks); ++i)
    for (const DType dtype : {DType::Float(32), DType::Int(32), DType::Bool()})
      if (kRanks[i] <= 2 || dtype.is_float())
        values.push_back(ctx.var("x", ctx.tensor(std::span<const ir::Expr* const>(shapes[i], kRanks[i]), dtype)));
  Random random(0);
  const Choices from{[&] { return values[random.below(values.size())]; }, {four, ctx.i64(1), ctx.i64(2)}};
  std::vector<Building> out;
  for (const op::Row& row : op::rows()) {
    support::poll();
    const Building info = is_plain(row) ? ops::find(row.name) : nullptr;
    if (!info || says_something(row, *info)) continue;
    for (std::size_t k = 0; k < kTriesToType; ++k) {
      const ir::Call* call = random_call(ctx, random, *info, from);
      if (!call || !is_usable(call->type)) continue;
      out.push_back(info);
      break;
    }
  }
  return out;
}

const ir::Module* generate(ir::Context& ctx, const std::vector<Building>& blocks, std::uint64_t seed) {
  return Generator(ctx, blocks, seed).run();
}

}  // namespace rldb::repro
