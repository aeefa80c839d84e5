// Generator: a program of operators, kernels, tuples, casts, branches, calls and a recursion, from one seed.
#include "rldb/repro/generate.h"

#include <fmt/format.h>

#include "repro/borrow.h"
#include "repro/fuzz/kernel.h"
#include "repro/fuzz/solve.h"
#include "repro/read_again.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/entry_function.h"

namespace rldb::repro {

using ir::as;
using ir::DType;

namespace {

constexpr std::size_t kTries = 12;  // for one binding
constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 7, 16, 17, 33, 64};
constexpr std::int64_t kDims[] = {7, 1, 2, 16, 17, 33};
// These map any number to a moderate one and keep the type, so that a function may call itself with the result.
constexpr op::Id kContracting[] = {op::Id::Sin, op::Id::Cos, op::Id::Tanh, op::Id::Sigmoid, op::Id::Erf, op::Id::Atan};
constexpr op::Id kSameType[] = {op::Id::Sin,    op::Id::Cos,  op::Id::Tanh,   op::Id::Sigmoid, op::Id::Abs,
                                op::Id::NnRelu, op::Id::Atan, op::Id::NnGelu, op::Id::NnSilu,  op::Id::Negative};

class Generator {
 public:
  Generator(ir::Context& ctx, std::uint64_t seed, const GenerateOptions& options)
      : options_(options),
        random_(seed),
        builder_(ctx),
        setting_{builder_, random_, {}, {}, {}, {}, 0, 0, {}},
        m_(ctx, setting_),
        ctx_(ctx) {}

  // Null: no value of the program can be its result.
  const ir::Module* run() {
    choose();
    m_.begin(!random_.one_in(3));
    start();
    const std::size_t count = options_.bindings ? options_.bindings : 3 + random_.below(12);
    for (std::size_t i = 0; i < count; ++i) add_something();
    std::vector<const ir::Expr*> results = pick_results();
    if (results.empty()) return nullptr;
    builder_.set(support::kEntryFunction,
                 m_.finish(results.size() == 1 ? results[0] : ctx_.tuple(results), support::kEntryFunction));
    return builder_.build();
  }
  const Setting& setting() const { return setting_; }
  double error() const { return error_; }

 private:
  // Few sizes and dtypes, so that values fit together.
  void choose() {
    for (std::size_t i = 0; i < 3; ++i) setting_.sizes.push_back(kSizes[random_.below(std::size(kSizes))]);
    setting_.floats = {DType::Float(32), DType::Float(32), DType::Float(32)};
    if (random_.one_in(4)) setting_.floats = {random_.one_in(3) ? DType::BFloat16() : DType::Float(16)};
    if (random_.one_in(8)) setting_.floats = {DType::Float(64)};
    const DType ints[] = {DType::Int(32), DType::Int(64), DType::Int(8), DType::UInt(8), DType::Int(32)};
    setting_.ints = {ints[random_.below(std::size(ints))], ints[random_.below(std::size(ints))]};
  }

  void start() {
    for (std::size_t i = 0, n = 1 + random_.below(3); i < n; ++i)
      m_.add_param(fmt::format("x{}", m_.params().size()), ctx_.tensor(m_.shape(1, 4), m_.dtype(Kind::Float)));
  }

  void add_something() {
    support::poll();
    m_.maybe_open_dataflow();
    const std::size_t kind = options_.operators.empty() ? random_.below(24) : 23;
    bool done = false;
    switch (kind) {
      case 0:
        done = add_cast();
        break;
      case 1:
        done = add_tuple();
        break;
      case 2:
        done = add_call();
        break;
      case 3:
        done = add_branch();
        break;
      case 4:
        done = add_recursion();
        break;
      case 5:
        done = add_in_place();
        break;
      case 6:
      case 7:
        done = add_kernel();
        break;
      case 8:  // and an operator that may be asked to follow its layout
        done = solve(m_, random_.one_in(3) ? op::Id::NnConv1d : op::Id::NnConv2d);
        if (done) add_operator();
        break;
      default:
        break;
    }
    if (!done) add_operator();
    if (random_.one_in(6)) m_.close_block();
  }

  void add_operator() {
    const std::vector<op::Id>& from = options_.operators.empty() ? all_ : options_.operators;
    for (std::size_t i = 0; i < kTries; ++i)
      if (solve(m_, from[random_.below(from.size())])) return;
  }

  // The first dim gets a name of its own from here on.
  bool add_cast() {
    const auto v = m_.find([](const Known& k) { return k.ndim() > 0; });
    if (!v) return false;
    Dims dims = dims_of(v->type);
    dims[0] = ctx_.var(fmt::format("c{}", m_.next_name()), ctx_.int64());
    const ir::TensorType* type = ctx_.tensor(dims, v->dtype());
    Known cast = *v;
    cast.var = m_.bind(v->var, type);
    cast.type = type;
    m_.pool().push_back(cast);
    return true;
  }

  bool add_tuple() {
    const auto a = m_.find([](const Known&) { return true; }), b = m_.find([](const Known&) { return true; });
    if (!a) return false;
    const ir::Expr* inner[] = {b->var, a->var};
    const ir::Var* pair = m_.bind(ctx_.tuple(inner));
    if (random_.one_in(3)) {
      const ir::Expr* outer[] = {pair, a->var};
      const auto first = ctx_.tuple_get(m_.bind(ctx_.tuple(outer)), 0);
      if (!first.ok()) return false;
      pair = m_.bind(*first);
    }
    const bool second = m_.flip();
    const Known& chosen = second ? *a : *b;
    const auto field = ctx_.tuple_get(pair, second ? 1 : 0);
    return field.ok() && m_.add(*field, {chosen.range, chosen.exact, chosen.error});
  }

  std::optional<Known> same_type(Maker& m, const Known& x, std::span<const op::Id> from) {
    std::optional<Known> last = x;
    for (std::size_t i = 0, n = 1 + random_.below(3); i < n; ++i) {
      m.prefer(*last);
      if (!solve(m, from[random_.below(from.size())])) return std::nullopt;
      const Known& made = m.pool().back();
      if (made.type != x.type) return std::nullopt;
      last = made;
    }
    return last;
  }

  static bool is_plain_float(const Known& v) { return v.dtype().is_float() && v.range.largest() < 20; }

  bool add_branch() {
    m_.close_block();
    const auto x = m_.find(is_plain_float);
    if (!x) return false;
    const auto given = m_.find([](const Known& v) { return v.dtype().is_bool() && v.ndim() == 0; });
    const Known condition =
        given ? *given : m_.add_param(fmt::format("x{}", m_.params().size()), ctx_.tensor({}, DType::Bool()));
    Image a, b;
    const auto body = [&] { return same_type(m_, *x, kSameType); };
    const ir::SeqExpr* then_branch = m_.nested(body, &a);
    const ir::SeqExpr* else_branch = then_branch ? m_.nested(body, &b) : nullptr;
    if (!else_branch) return false;
    const Image either{a.range | b.range, a.exact && b.exact, std::max(a.error, b.error)};
    return m_.add(ctx_.if_expr(condition.var, then_branch, else_branch, x->type), either).has_value();
  }

  // The types of values as parameters of another function: with variables of its own.
  struct Renamed {
    ir::Context& ctx;
    std::vector<std::pair<const ir::Var*, const ir::Var*>> vars = {};
    const ir::TensorType* operator()(const ir::TensorType* t) {
      Dims dims;
      for (const ir::Expr* d : t->shape) {
        const auto* v = as<ir::Var>(d);
        if (!v) {
          if (!as<ir::IntImm>(d)) return nullptr;
          dims.push_back(d);
          continue;
        }
        const auto it = std::find_if(vars.begin(), vars.end(), [&](const auto& p) { return p.first == v; });
        const ir::Var* own = it == vars.end() ? ctx.var(v->name, v->type) : it->second;
        dims.push_back(own);
        if (it == vars.end()) vars.emplace_back(v, own);
      }
      return ctx.tensor(dims, t->dtype);
    }
  };

  // A private function of a few operators, and a call of it.
  bool add_call() {
    Renamed renamed{ctx_};
    std::vector<Known> given;
    std::vector<const ir::TensorType*> types;
    for (std::size_t i = 0, n = 1 + random_.below(2); i < n; ++i) {
      const auto v = m_.find([](const Known& k) { return k.range.largest() < 100; });
      const ir::TensorType* t = v ? renamed(v->type) : nullptr;
      if (!t) return false;
      given.push_back(*v);
      types.push_back(t);
    }
    Maker inner(ctx_, setting_);
    inner.begin(false);
    for (std::size_t i = 0; i < given.size(); ++i) {
      inner.add_param(fmt::format("p{}", i), types[i]);
      inner.pool().back().range = given[i].range;
      inner.pool().back().exact = given[i].exact;
      inner.pool().back().error = given[i].error;
    }
    const std::size_t params = inner.params().size();
    for (std::size_t i = 0, n = 1 + random_.below(4); i < n; ++i) {
      inner.maybe_open_dataflow();
      solve(inner, all_[random_.below(all_.size())]);
    }
    inner.close_block();
    const auto result = inner.find([&](const Known& v) { return inner.is_expressible(v.type); });
    if (!result || inner.params().size() != params) return false;  // it asked for a parameter that nobody passes
    const std::string_view name = builder_.unique_name(random_.one_in(2) ? "helper" : "part");
    const ir::Function* f = inner.finish(result->var, {});
    builder_.set(name, f);
    std::vector<const ir::Expr*> args;
    for (const Known& g : given) args.push_back(g.var);
    auto call = ctx_.call({ctx_.global_var(name, f->type), ctx_.list(args), {}, {}});
    if (call.ok() && m_.add(*call, {result->range, result->exact, result->error})) return true;
    builder_.remove(name);
    return false;
  }

  // def loop(i, x): if i < k: loop(i + 1, f(x)) else: x
  bool add_recursion() {
    Renamed renamed{ctx_};
    const auto x = m_.find(is_plain_float);
    const ir::TensorType* type = x ? renamed(x->type) : nullptr;
    if (!type) return false;
    const ir::TensorType* counter = ctx_.tensor({}, DType::Int(32));
    Maker inner(ctx_, setting_);
    inner.begin(false);
    const Known i = inner.add_param("i", counter), carried = inner.add_param("carried", type);
    const std::size_t at = inner.pool().size() - 1;
    inner.pool()[at].range = x->range | Range{-2, 2};
    inner.pool()[at].error = x->error + 1e-5 + 20 * rounding_of(type->dtype);
    inner.pool()[at].exact = false;
    const Known start = inner.pool()[at];
    const auto number = [&](double v) {
      return inner.constant({}, DType::Int(32), [v](std::size_t) { return v; }, {v, v});
    };
    const auto condition =
        inner.emit(op::Less, {i.var, number(double(1 + random_.below(4))).var}, {}, {{0, 1}, true, 0});
    const std::string_view name = builder_.unique_name("loop");
    const ir::Type* params[] = {counter, type};
    const ir::GlobalVar* self = ctx_.global_var(name, ctx_.func_type(params, type));
    const auto again = [&]() -> std::optional<Known> {
      const auto next = same_type(inner, start, kContracting);
      const auto count = inner.emit(op::Add, {i.var, number(1).var}, {}, {{0, 9}, true, 0});
      if (!next || !count) return std::nullopt;
      const ir::Expr* args[] = {count->var, next->var};
      auto call = ctx_.call({self, ctx_.list(std::span<const ir::Expr* const>(args)), {}, {}});
      return call.ok() ? inner.add(*call, {start.range, false, start.error}) : std::nullopt;
    };
    const auto stop = [&]() -> std::optional<Known> { return inner.add(carried.var, {start.range, false, 0}); };
    const ir::SeqExpr* then_branch = condition ? inner.nested(again, nullptr) : nullptr;
    const ir::SeqExpr* else_branch = then_branch ? inner.nested(stop, nullptr) : nullptr;
    if (!else_branch || inner.params().size() != 2) return false;
    const ir::Var* result = inner.bind(ctx_.if_expr(condition->var, then_branch, else_branch, type));
    const ir::Function* f = inner.finish(result, {});
    builder_.set(name, f);
    const Known first = m_.constant({}, DType::Int(32), [](std::size_t) { return 0.0; }, {0, 0});
    const ir::Expr* args[] = {first.var, x->var};
    auto call = ctx_.call({ctx_.global_var(name, f->type), ctx_.list(std::span<const ir::Expr* const>(args)), {}, {}});
    if (call.ok() && m_.add(*call, {start.range, false, start.error})) return true;
    builder_.remove(name);
    return false;
  }

  bool add_kernel() {
    std::vector<const ir::Var*> inputs;
    double error = 0;
    for (std::size_t i = 0, n = 1 + random_.below(2); i < n; ++i) {
      const auto v = m_.find([&](const Known& k) {
        return k.dtype() == DType::Float(32) && k.range.largest() <= 4 && (inputs.empty() || k.ndim() <= 3);
      });
      if (!v) break;
      inputs.push_back(v->var);
      error += v->error;
    }
    if (inputs.empty()) return false;
    const ir::Call* call = random_kernel_call(ctx_, random_, builder_, inputs);
    // Eight factors of at most 4, summed over 64 elements, at the very most; a few units as a rule.
    return call && m_.add(call, {{-400, 400}, false, 300 * error + 1e-4});
  }

  // A kernel that writes over its argument, which nobody else reads.
  bool add_in_place() {
    const auto x =
        m_.find([](const Known& v) { return v.dtype() == DType::Float(32) && v.ndim() > 0 && v.range.largest() < 50; });
    if (!x) return false;
    const auto copy = m_.emit(op::Add, {x->var, x->var}, {}, {x->range + x->range, false, 2 * x->error});
    if (!copy) return false;
    std::erase_if(m_.pool(), [&](const Known& v) { return v.var == copy->var; });
    const ir::Call* call = random_in_place_call(ctx_, random_, builder_, copy->var);
    return call && m_.add(call, {copy->range.hull() + Range{-5, 5}, false, copy->error});
  }

  // The newest values whose types the signature can express: dims named on the way are not known outside.
  std::vector<const ir::Expr*> pick_results() {
    m_.close_block();
    std::vector<const ir::Expr*> out;
    const std::vector<Known>& pool = m_.pool();
    const std::size_t wanted = random_.one_in(3) ? 2 + random_.below(2) : 1;
    for (std::size_t i = pool.size(); i-- > 0 && out.size() < wanted;) {
      if (!m_.is_expressible(pool[i].type)) continue;
      const bool is_param = std::find(m_.params().begin(), m_.params().end(), pool[i].var) != m_.params().end();
      if (is_param && (out.empty() || !random_.one_in(3))) continue;
      out.push_back(pool[i].var);
      error_ = std::max(error_, pool[i].error);
    }
    return out;
  }

  const GenerateOptions& options_;
  Random random_;
  ir::ModuleBuilder builder_;
  Setting setting_;
  Maker m_;
  ir::Context& ctx_;
  std::vector<op::Id> all_ = solvable();
  double error_ = 0;
};

// The dims that the inputs have; 1 and 2 are where kernels have the fewest elements, 17 and 33 leave a rest.
std::int64_t some_dim(std::uint64_t seed) { return kDims[Random(seed ^ 0xd1u).below(std::size(kDims))]; }

}  // namespace

std::optional<Generated> generate(session::Session& session, std::uint64_t seed, const GenerateOptions& options) {
  Generator generator(session.context(), seed, options);
  const ir::Module* made = generator.run();
  const Setting& setting = generator.setting();
  if (!made) return std::nullopt;
  ir::PrintOptions print;
  print.show_meta = true;
  Generated out;
  out.seed = seed;
  out.text = ir::print(made, print);
  out.module = read_again(session, out.text);
  if (!out.module) return std::nullopt;
  out.dim = some_dim(seed);
  out.error = generator.error();
  out.operators = setting.operators;
  out.solved = setting.solved;
  out.refused = setting.refused;
  out.why_refused = setting.why;
  return out;
}

std::vector<std::pair<std::string, runtime::Value>> inputs_of(session::Session& session, const Generated& program) {
  const Borrow borrow(session);
  session.options().default_dim = program.dim;
  session.options().seed = program.seed;
  session.set_program(program.module);
  source::Diagnostics ignored;
  std::vector<std::pair<std::string, runtime::Value>> out;
  if (const auto made = session.arguments(support::kEntryFunction, {}, ignored))
    for (const session::Argument& a : *made) out.emplace_back(a.parameter, a.value);
  return out;
}

std::vector<std::string_view> generated_operators() {
  std::vector<std::string_view> out;
  for (const op::Id id : solvable()) out.push_back(op::row(id).name);
  return out;
}

std::string_view not_generated_because(std::string_view name) {
  const op::Row* row = op::find(name);
  return row ? unsolved_reason(row->id) : std::string_view();
}

}  // namespace rldb::repro
