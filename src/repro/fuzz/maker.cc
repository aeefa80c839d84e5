// Maker: functions, blocks and bindings of a random program. Operands are in operands.cc.
#include "repro/fuzz/maker.h"

#include <fmt/format.h>

#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;
using ir::DType;

namespace {

constexpr std::int64_t kMostElements = 6000;
constexpr int kMostNdim = 5;
constexpr double kMostError = 0.02;  // values that may be off by more are not used any further
constexpr std::size_t kMostReasons = 8;

}  // namespace

void Maker::begin(bool symbolic) {
  params_.clear();
  symbols_.clear();
  pool_.clear();
  preferred_.reset();
  done_.clear();
  current_.clear();
  inner_.clear();
  dataflow_ = false;
  depth_ = 0;
  counter_ = 0;
  if (!symbolic) return;
  symbols_.push_back(ctx.var("n", ctx.int64()));
  if (random.one_in(3)) symbols_.push_back(ctx.var("m", ctx.int64()));
}

void Maker::continue_function(std::span<const ir::Var* const> params, std::span<const ir::BindingBlock* const> blocks,
                              Range range) {
  begin(false);
  for (const ir::Var* p : params) {
    if (const auto* t = as<ir::TensorType>(p->type); t && t->has_shape)
      add_param(p->name, t);
    else
      params_.push_back(p);
    if (!pool_.empty() && pool_.back().var == params_.back()) {
      params_.back() = p;
      pool_.back().var = p;
    }
  }
  for (const ir::BindingBlock* block : blocks) {
    done_.push_back(block);
    for (const ir::Binding* b : block->bindings) {
      ++counter_;
      const auto* t = as<ir::TensorType>(b->var->type);
      if (b->var->kind == ir::NodeKind::DataflowVar || !t || !has_room(t) || t->dtype.is_void()) continue;
      pool_.push_back({b->var, t, t->dtype.is_bool() ? Range{0, 1} : range, t->dtype.is_integral(), 0});
    }
  }
  counter_ += 1000;  // names of its own
}

Known Maker::add_param(std::string_view name, const ir::TensorType* type) {
  const ir::Var* v = ctx.var(name, type);
  params_.push_back(v);
  Known known{v, type, {}, true, 0};
  if (type->dtype.is_bool()) known.range = {0, 1};
  if (type->dtype.is_int() || type->dtype.is_uint()) known.range = {0, 9};
  pool_.push_back(known);
  return known;
}

const ir::Function* Maker::finish(const ir::Expr* result, std::string_view symbol) {
  close_block();
  const ir::SeqExpr* body = ctx.seq(done_, result);
  const ir::NamedAttr named{attr_name::GlobalSymbol, ctx.attr(symbol)};
  const std::span<const ir::NamedAttr> attrs(&named, symbol.empty() ? 0 : 1);
  return ctx.function(params_, body, body->type, true, attrs);
}

void Maker::maybe_open_dataflow() {
  if (current_.empty() && depth_ == 0) dataflow_ = random.one_in(2);
}

void Maker::close_block() {
  if (!current_.empty()) done_.push_back(ctx.block(current_, dataflow_));
  current_.clear();
  std::erase_if(pool_, [&](const Known& v) { return inner_.contains(v.var); });
  inner_.clear();
  dataflow_ = false;
}

const ir::SeqExpr* Maker::nested(const std::function<std::optional<Known>()>& body, Image* image) {
  const std::vector<Known> visible = pool_;
  std::vector<const ir::BindingBlock*> outer_done = std::exchange(done_, {});
  std::vector<const ir::Binding*> outer = std::exchange(current_, {});
  const bool dataflow = std::exchange(dataflow_, false);
  ++depth_;
  const std::optional<Known> result = body();
  --depth_;
  if (!current_.empty()) done_.push_back(ctx.block(current_, false));
  const ir::SeqExpr* seq = result && !done_.empty() ? ctx.seq(done_, result->var) : nullptr;
  if (seq && image) *image = {result->range, result->exact, result->error};
  pool_ = visible;
  done_ = std::move(outer_done);
  current_ = std::move(outer);
  dataflow_ = dataflow;
  return seq;
}

const ir::Var* Maker::bind(const ir::Expr* value, const ir::Type* cast) {
  const std::string name = fmt::format("v{}", counter_++);
  const ir::Type* type = cast ? cast : value->type;
  const bool inner = dataflow_ && !random.one_in(3);
  const ir::Var* v = inner ? ctx.dataflow_var(name, type) : ctx.var(name, type);
  if (inner) inner_.insert(v);
  current_.push_back(cast ? ctx.match_cast(v, value, cast) : ctx.binding(v, value));
  return v;
}

bool Maker::has_room(const ir::TensorType* t) const {
  return t && t->has_shape && t->ndim <= kMostNdim && most_elements(t) <= kMostElements;
}

std::optional<Known> Maker::add(const ir::Expr* value, const Image& image) {
  if (const auto* tuple = as<ir::TupleType>(value->type)) {
    for (const ir::Type* f : tuple->fields)
      if (!has_room(as<ir::TensorType>(f))) return std::nullopt;
    const ir::Var* v = bind(value);
    std::optional<Known> first;
    for (std::size_t i = 0; i < tuple->fields.size(); ++i) {
      auto field = ctx.tuple_get(v, std::int64_t(i));
      if (!field.ok()) return std::nullopt;
      if (const auto known = add(*field, image); known && !first) first = known;
    }
    return first;
  }
  const auto* t = as<ir::TensorType>(value->type);
  if (!has_room(t)) return std::nullopt;
  Known known{bind(value), t, image.range, image.exact, image.error};
  if (t->dtype.is_integral()) known.exact = true;
  if (known.exact)
    known.error = 0;
  else
    known.error += 2 * rounding_of(t->dtype) * std::max(1e-3, image.range.largest());
  if (known.error <= kMostError * std::max(1.0, image.range.largest())) pool_.push_back(known);
  return known;
}

std::optional<Known> Maker::emit(const ops::OpInfo& op, std::span<const ir::Expr* const> args,
                                 std::vector<ir::NamedAttr> attrs, const Image& image) {
  for (const ir::Expr* a : args)
    if (!a) return std::nullopt;
  auto call = ctx.call({ctx.op(op.name), ctx.list(args), ctx.list(attrs), {}});
  if (!call.ok()) {
    ++setting_.refused;
    if (setting_.why.size() < kMostReasons) setting_.why.push_back(call.error().text);
    return std::nullopt;
  }
  ++setting_.solved;
  const auto known = add(*call, image);
  if (known) setting_.operators.push_back(op.name);
  return known;
}

std::optional<Known> Maker::emit(std::string_view op, std::initializer_list<const ir::Expr*> args,
                                 std::vector<ir::NamedAttr> attrs, const Image& image) {
  const ops::OpInfo* info = ops::find(op);
  return info ? emit(*info, args, std::move(attrs), image) : std::nullopt;
}

bool Maker::is_expressible(const ir::Type* type) const {
  std::vector<const ir::Var*> used;
  ir::collect_vars(type, used);
  std::vector<const ir::Var*> given;
  for (const ir::Var* p : params_)
    if (const auto* t = as<ir::TensorType>(p->type))
      for (const ir::Expr* d : t->shape)
        if (const auto* v = as<ir::Var>(d)) given.push_back(v);
  return std::all_of(used.begin(), used.end(),
                     [&](const ir::Var* v) { return std::find(given.begin(), given.end(), v) != given.end(); });
}

}  // namespace rldb::repro
