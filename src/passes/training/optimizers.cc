// The steps follow TVM's, binding by binding. Numbers are constants of the parameter's dtype.
#include "passes/training/optimizers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "rldb/ir/block_builder.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/scalar.h"
#include "rldb/runtime/value.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;
using pipeline::WrittenValue;
using source::message;
using support::Failure;

namespace {

constexpr std::string_view kOptimizers = "`SGD(lr)`, `MomentumSGD(lr, momentum)` or `Adam(lr)`";

enum class Method : std::uint8_t { Sgd, Momentum, Adam };
struct MethodRow {
  std::string_view name;
  Method method;
  std::vector<std::string_view> options;  // in TVM's order
  std::size_t needed;
};
const std::vector<MethodRow>& methods() {
  static const std::vector<MethodRow> rows = {
      {"SGD", Method::Sgd, {"lr", "weight_decay"}, 1},
      {"MomentumSGD", Method::Momentum, {"lr", "momentum", "dampening", "weight_decay", "nesterov"}, 2},
      {"Adam", Method::Adam, {"lr", "betas", "eps", "weight_decay"}, 1}};
  return rows;
}

struct OptimizerText {
  Method method{};
  std::map<std::string_view, double> options;  // `betas` as beta0 and beta1
};

std::optional<double> number(const WrittenValue& v) {
  using Kind = WrittenValue::Kind;
  return v.is(Kind::Int) || v.is(Kind::Float) || v.is(Kind::Bool) ? std::optional(v.number) : std::nullopt;
}

std::optional<OptimizerText> parse_optimizer(const WrittenValue& written) {
  if (!written.is(WrittenValue::Kind::Call)) return std::nullopt;
  const std::string name = last_part(written.text);
  const auto row = std::find_if(methods().begin(), methods().end(), [&](const MethodRow& r) { return r.name == name; });
  if (row == methods().end()) return std::nullopt;
  OptimizerText out{row->method, {{"beta0", 0.9}, {"beta1", 0.999}, {"eps", 1e-8}}};
  std::size_t position = 0, given = 0;
  for (std::size_t i = 0; i < written.items.size(); ++i) {
    const WrittenValue& value = written.items[i];
    if (written.keys[i].empty() && position >= row->options.size()) return std::nullopt;
    const auto at = written.keys[i].empty() ? row->options.begin() + std::ptrdiff_t(position++)
                                            : std::find(row->options.begin(), row->options.end(), written.keys[i]);
    if (at == row->options.end()) return std::nullopt;
    if (std::size_t(at - row->options.begin()) < row->needed) ++given;
    if (*at == "betas") {
      const bool two = value.is(WrittenValue::Kind::List) && value.items.size() == 2;
      const auto a = two ? number(value.items[0]) : std::nullopt, b = two ? number(value.items[1]) : std::nullopt;
      if (!a || !b) return std::nullopt;
      out.options["beta0"] = *a;
      out.options["beta1"] = *b;
      continue;
    }
    const auto read = number(value);
    if (!read) return std::nullopt;
    out.options[*at] = *read;
  }
  return given == row->needed ? std::optional(out) : std::nullopt;
}

class StepBuilder {
 public:
  StepBuilder(Context& ctx, const OptimizerText& text, const std::vector<const Var*>& parameters)
      : ctx_(ctx), blocks_(ctx), text_(text), parameters_(parameters) {}

  Result<Optimizer> build() {
    std::vector<const Type*> types;
    for (const Var* p : parameters_) types.push_back(p->type);
    add_states();
    std::vector<const Type*> state_types;
    for (const Constant* c : initial_) state_types.push_back(c->type);
    const Type* of_params = ctx_.tuple_type(types);
    const Var* params = ctx_.var("params", of_params);
    gradients_ = ctx_.var("gradients", of_params);
    states_ = ctx_.var("optim_states", ctx_.tuple_type(state_types));
    blocks_.begin_scope();
    blocks_.begin_dataflow();
    common_states();
    for (std::size_t i = 0; i < parameters_.size() && !error_; ++i) step(params, i);
    if (error_) {
      blocks_.end_dataflow();
      blocks_.end_scope(params);
      return Failure(*error_);
    }
    const Var* new_params = blocks_.emit_output(ctx_.tuple(new_params_), "params_new");
    // The states of one kind are adjacent.
    std::vector<const Expr*> all(new_common_.begin(), new_common_.end());
    for (const auto* kind : {&new_first_, &new_second_}) all.insert(all.end(), kind->begin(), kind->end());
    const Var* new_states = blocks_.emit_output(ctx_.tuple(all), "optim_states_new");
    blocks_.end_dataflow();
    const Expr* const both[] = {new_params, new_states};
    const Expr* result = ctx_.tuple(both);
    const SeqExpr* body = blocks_.end_scope(result);
    return Optimizer{ctx_.function(std::vector{params, gradients_, states_}, body, result->type, true, {}), initial_};
  }

 private:
  double option(std::string_view name) const {
    const auto found = text_.options.find(name);
    return found == text_.options.end() ? 0 : found->second;
  }

  // ---- states: the step count, products of betas, and for each parameter its momentum or moments ----

  void add_states() {
    initial_.push_back(tensor({}, DType::Int(64), 0));
    if (text_.method == Method::Adam)
      for (int i = 0; i < 2; ++i) initial_.push_back(tensor({}, as<TensorType>(parameters_[0]->type)->dtype, 1));
    const int kinds = text_.method == Method::Sgd ? 0 : text_.method == Method::Momentum ? 1 : 2;
    for (int kind = 0; kind < kinds; ++kind)
      for (const Var* p : parameters_) {
        const auto* t = as<TensorType>(p->type);
        std::vector<std::int64_t> shape;
        for (const Expr* d : t->shape) shape.push_back(const_int(d).value_or(0));
        initial_.push_back(tensor(shape, t->dtype, 0));
      }
  }

  // Filled with zeros, or with one number.
  const Constant* tensor(const std::vector<std::int64_t>& shape, DType dtype, double value) {
    auto made = runtime::Tensor::empty(shape, dtype);
    if (!made.ok()) {
      error_ = message(diag::PassUnsupported, "`optimizer`", made.error().message);
      made = runtime::Tensor::empty({}, dtype);
    }
    std::memset((*made)->data(), 0, (*made)->byte_size());
    if (value != 0) runtime::store_double((*made)->data(), dtype, value);  // of one element
    return ctx_.constant(runtime::Value(*made));
  }

  void common_states() {
    const Var* steps = field(states_, 0, "num_steps");
    new_common_.push_back(apply(op::Add, {steps, tensor({}, DType::Int(64), 1)}, "num_steps_new"));
    if (text_.method != Method::Adam) return;
    for (int i = 0; i < 2; ++i) {
      const std::string beta = fmt::format("beta{}", i);
      const Var* product = field(states_, std::size_t(i) + 1, beta + "_prod");
      new_common_.push_back(apply(op::Multiply, {product, num(option(beta))}, beta + "_prod_new"));
    }
  }

  // ---- one parameter ----

  void step(const Var* params, std::size_t i) {
    const std::string name(parameters_[i]->name);
    dtype_ = as<TensorType>(parameters_[i]->type)->dtype;
    const Var* p = field(params, i, name);
    const Expr* g = field(gradients_, i, name + "_grad");
    if (option("weight_decay") != 0)
      g = apply(op::Add, {apply(op::Multiply, {num(option("weight_decay")), p}), g}, name + "_grad_new");
    const Expr* change = nullptr;
    switch (text_.method) {
      case Method::Sgd:
        change = apply(op::Multiply, {num(option("lr")), g});
        break;
      case Method::Momentum:
        change = apply(op::Multiply, {num(option("lr")), with_momentum(g, i, name)});
        break;
      case Method::Adam:
        change = by_moments(g, i, name);
        break;
    }
    new_params_.push_back(apply(op::Subtract, {p, change}, name + "_new"));
  }

  const Expr* with_momentum(const Expr* g, std::size_t i, const std::string& name) {
    const Var* v = field(states_, 1 + i, name + "_v");
    const Expr* damped = option("dampening") != 0 ? apply(op::Multiply, {num(1 - option("dampening")), g}) : g;
    const Expr* v_new = apply(op::Add, {apply(op::Multiply, {num(option("momentum")), v}), damped}, name + "_v_new");
    new_first_.push_back(v_new);
    if (option("nesterov") == 0) return v_new;
    return apply(op::Add, {g, apply(op::Multiply, {num(option("momentum")), v_new})}, name + "_g_nest");
  }

  const Expr* by_moments(const Expr* g, std::size_t i, const std::string& name) {
    const Var* m = field(states_, 3 + i, name + "_m");
    const Var* v = field(states_, 3 + parameters_.size() + i, name + "_v");
    const double beta0 = option("beta0"), beta1 = option("beta1");
    const auto blend = [&](double beta, const Expr* old, const Expr* now, const std::string& hint) {
      const Expr* kept = apply(op::Multiply, {num(beta), old});
      return apply(op::Add, {kept, apply(op::Multiply, {num(1 - beta), now})}, hint);
    };
    const Expr* m_new = blend(beta0, m, g, name + "_m_new");
    const Expr* v_new = blend(beta1, v, apply(op::Multiply, {g, g}), name + "_v_new");
    new_first_.push_back(m_new);
    new_second_.push_back(v_new);
    const Expr* m_hat = apply(op::Divide, {m_new, apply(op::Subtract, {num(1), new_common_[1]})}, name + "_m_hat");
    const Expr* v_hat = apply(op::Divide, {v_new, apply(op::Subtract, {num(1), new_common_[2]})}, name + "_v_hat");
    const Expr* scaled = apply(op::Multiply, {num(option("lr")), m_hat});
    return apply(op::Divide, {scaled, apply(op::Add, {apply(op::Sqrt, {v_hat}), num(option("eps"))})});
  }

  const Expr* num(double value) { return tensor({}, dtype_, value); }

  const Var* field(const Var* tuple, std::size_t index, const std::string& name) {
    auto get = ctx_.tuple_get(tuple, std::int64_t(index));
    return get.ok() ? blocks_.emit(*get, name) : fail(std::move(get).error());
  }
  const Expr* apply(std::string_view op, std::initializer_list<const Expr*> args, const std::string& name = "lv") {
    auto call = ctx_.call(op, args);
    return call.ok() ? blocks_.emit(*call, name) : fail(std::move(call).error());
  }
  const Var* fail(source::Message why) {
    if (!error_) error_ = std::move(why);
    return parameters_[0];
  }

  Context& ctx_;
  BlockBuilder blocks_;
  const OptimizerText& text_;
  const std::vector<const Var*>& parameters_;
  const Var* gradients_ = nullptr;
  const Var* states_ = nullptr;
  DType dtype_ = DType::Float(32);
  std::vector<const Constant*> initial_;
  std::vector<const Expr*> new_params_, new_common_, new_first_, new_second_;
  std::optional<source::Message> error_;
};

}  // namespace

Result<Optimizer> optimizer_of(Context& ctx, const WrittenValue& written, const std::vector<const Var*>& parameters) {
  const auto parsed = parse_optimizer(written);
  if (!parsed) return Failure(message(diag::PassOptionValue, "optimizer", kOptimizers, written.written));
  for (const Var* p : parameters) {
    const auto* t = as<TensorType>(p->type);
    const bool known = t && t->has_shape && t->dtype.is_float() && all_int_literals(t->shape);
    if (!known)
      return Failure(message(diag::PassUnsupported, fmt::format("parameter `{}`", p->name),
                             "an optimizer needs float tensors of known shape"));
  }
  if (parameters.empty()) return Failure(message(diag::PassUnsupported, "`optimizer`", "the model has no parameters"));
  return StepBuilder(ctx, *parsed, parameters).build();
}

}  // namespace rldb::passes
