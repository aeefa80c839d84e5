// Mutation: bindings of the generator added to a module that exists, operands exchanged for others of their type.
#include "repro/fuzz/mutate.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "repro/fuzz/solve.h"
#include "repro/read_again.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/entry_function.h"
#include "rldb/support/file.h"

namespace rldb::repro {

using ir::as;

namespace {

constexpr std::size_t kMostSeeds = 400, kMostBytes = 1 << 18;
constexpr std::int64_t kDimOfSeeds = 4;
// Nothing is known about the values of a module that was not generated, but that they are moderate as a rule.
constexpr Range kUnknown{-1e4, 1e4};

// A use of a variable becomes that of an earlier one of the same type.
class Swap : public ir::Rewriter {
 public:
  Swap(ir::Context& ctx, Random& random) : Rewriter(ctx), random_(random) {}
  bool done() const { return done_; }

 protected:
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override {
    std::vector<const ir::Binding*> out = Rewriter::visit_binding(b);
    seen_[b->var->type].push_back(b->var);
    return out;
  }
  const ir::Expr* visit_call(const ir::Call* call) override {
    if (done_ || !as<ir::Op>(call->callee) || !random_.one_in(4)) return Rewriter::visit_call(call);
    std::vector<const ir::Expr*> args(call->args.begin(), call->args.end());
    for (const ir::Expr*& a : args) {
      const auto it = as<ir::Var>(a) ? seen_.find(a->type) : seen_.end();
      if (it == seen_.end() || done_) continue;
      const ir::Var* other = it->second[random_.below(it->second.size())];
      done_ = other != a;
      a = other;
    }
    return done_ ? ctx_.call_typed(call->callee, args, call->type, call->attrs, call->ty_args)
                 : Rewriter::visit_call(call);
  }

 private:
  Random& random_;
  std::unordered_map<const ir::Type*, std::vector<const ir::Var*>> seen_;
  bool done_ = false;
};

bool is_wanted(const ir::Module* module) {
  const auto* f = module ? as<ir::Function>(module->find(support::kEntryFunction)) : nullptr;
  return f && as<ir::SeqExpr>(f->body) && std::all_of(f->params.begin(), f->params.end(), [](const ir::Var* p) {
           const auto* t = as<ir::TensorType>(p->type);
           return t && t->has_shape;
         });
}

}  // namespace

std::vector<const ir::Module*> read_seeds(session::Session& session, const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const std::string& folder : folders)
    for (fs::recursive_directory_iterator it(folder, ignored), end; it != end; it.increment(ignored))
      if (it->path().extension() == ".py" && it->is_regular_file(ignored) && it->file_size(ignored) < kMostBytes)
        paths.push_back(it->path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<const ir::Module*> out;
  for (const std::string& path : paths) {
    support::poll();
    if (out.size() >= kMostSeeds) break;
    auto text = support::read_regular_file(path);
    const ir::Module* module = text.ok() ? read_again(session, std::move(text).value()) : nullptr;
    const std::string_view roots[] = {support::kEntryFunction};
    if (is_wanted(module)) out.push_back(ir::reachable_from(session.context(), module, roots));
  }
  return out;
}

std::optional<Generated> mutate(session::Session& session, const std::vector<const ir::Module*>& from,
                                std::uint64_t seed) {
  ir::Context& ctx = session.context();
  Random random(seed);
  const ir::Module* module = from[random.below(from.size())];
  const auto* f = as<ir::Function>(module->find(support::kEntryFunction));
  if (random.one_in(2)) {
    Swap swap(ctx, random);
    f = swap.rewrite_function(f);
  }
  ir::ModuleBuilder builder(ctx, *module);
  Setting setting{builder, random, {1, 4, 7}, {ir::DType::Float(32)}, {ir::DType::Int(32)}, {}, 0, 0, {}};
  Maker m(ctx, setting);
  const auto* body = as<ir::SeqExpr>(f->body);
  m.continue_function(f->params, body->blocks, kUnknown);
  const std::vector<op::Id> all = solvable();
  for (std::size_t i = 0, n = 1 + random.below(5); i < n; ++i) {
    m.maybe_open_dataflow();
    for (int tries = 0; tries < 12; ++tries)
      if (solve(m, all[random.below(all.size())])) break;
  }
  m.close_block();
  std::vector<const ir::Expr*> results{body->body};
  for (std::size_t i = m.pool().size(); i-- > 0 && results.size() < 3;)
    if (m.is_expressible(m.pool()[i].type)) results.push_back(m.pool()[i].var);
  builder.set(support::kEntryFunction, m.finish(ctx.tuple(results), support::kEntryFunction));
  ir::PrintOptions print;
  print.show_meta = true;
  Generated out;
  out.seed = seed;
  out.text = ir::print(builder.build(), print);
  out.module = read_again(session, out.text);
  if (!out.module) return std::nullopt;
  out.dim = kDimOfSeeds;
  out.operators = setting.operators;
  out.solved = setting.solved;
  out.refused = setting.refused;
  out.why_refused = setting.why;
  return out;
}

}  // namespace rldb::repro
