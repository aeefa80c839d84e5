// Reduction of Relay text: smaller and smaller modules that show the same symptom.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "repro/other_ranks.h"
#include "repro/reduce/child.h"
#include "repro/relay/relay_oracle.h"
#include "repro/relay/relay_ranks.h"
#include "rldb/frontend/relay.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/repro/relay_passes.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using relay::Expr;

// A function's expressions, each once, operands before the expressions that use them.
std::vector<const Expr*> expressions_of(const relay::Function* f) {
  std::vector<const Expr*> order;
  std::unordered_set<const Expr*> seen;
  std::vector<std::pair<const Expr*, bool>> open{{f->body, false}};
  while (!open.empty()) {
    const auto [e, done] = open.back();
    open.pop_back();
    if (done) {
      order.push_back(e);
      continue;
    }
    if (!seen.insert(e).second) continue;
    open.emplace_back(e, true);
    relay::for_each_operand(e, [&](const Expr* x) { open.emplace_back(x, false); });
  }
  return order;
}

// The variables that a function's expressions bind and use.
struct Scope {
  std::unordered_set<const Expr*> bound, used;

  explicit Scope(const relay::Function* f) {
    bind(f);
    for (const Expr* e : expressions_of(f)) {
      if (relay::as<relay::Var>(e)) used.insert(e);
      if (const auto* inner = relay::as<relay::Function>(e)) bind(inner);
      if (const auto* let = relay::as<relay::Let>(e)) bound.insert(let->var);
      if (const auto* match = relay::as<relay::Match>(e))
        for (const relay::Arm& arm : match->arms) bind(arm.pattern);
    }
  }
  bool closed() const {
    return std::all_of(used.begin(), used.end(), [&](const Expr* v) { return bound.contains(v); });
  }

 private:
  void bind(const relay::Function* f) { bound.insert(f->params.begin(), f->params.end()); }
  void bind(const relay::Pattern* p) {
    if (p->var) bound.insert(p->var);
    for (const relay::Pattern* part : p->parts) bind(part);
  }
};

// A function with one of its expressions replaced, wherever it is used.
class Replaced {
 public:
  Replaced(relay::Context& ctx, const Expr* from, const Expr* to) : ctx_(ctx) { made_[from] = to; }

  const Expr* of(const Expr* e) {
    if (const auto it = made_.find(e); it != made_.end()) return it->second;
    const Expr* made = rebuilt(e);
    if (made != e) ctx_.set_span(made, ctx_.span(e));
    return made_[e] = made;
  }

 private:
  std::vector<const Expr*> all(relay::Span<const Expr*> list) {
    std::vector<const Expr*> out;
    for (const Expr* e : list) out.push_back(of(e));
    return out;
  }
  const Expr* rebuilt(const Expr* e) {
    bool changed = false;
    relay::for_each_operand(e, [&](const Expr* x) { changed = of(x) != x || changed; });
    if (!changed) return e;
    using relay::ExprKind;
    switch (e->kind) {
      case ExprKind::Var:
      case ExprKind::GlobalVar:
      case ExprKind::Constant:
      case ExprKind::Op:
      case ExprKind::Constructor:
        return e;
      case ExprKind::Call: {
        const auto& c = relay::cast<relay::Call>(e);
        return ctx_.call(of(c.callee), all(c.args), c.attrs, c.attrs_object);
      }
      case ExprKind::Function: {
        const auto& f = relay::cast<relay::Function>(e);
        return ctx_.function(f.type_params, f.params, nullptr, of(f.body), f.attrs);
      }
      case ExprKind::Let: {
        const auto& l = relay::cast<relay::Let>(e);
        return ctx_.let(l.var, of(l.value), of(l.body));
      }
      case ExprKind::If: {
        const auto& i = relay::cast<relay::If>(e);
        return ctx_.if_expr(of(i.condition), of(i.consequence), of(i.alternative));
      }
      case ExprKind::Tuple:
        return ctx_.tuple(all(relay::cast<relay::Tuple>(e).fields));
      case ExprKind::Projection: {
        const auto& p = relay::cast<relay::Projection>(e);
        return ctx_.projection(of(p.tuple), p.index);
      }
      case ExprKind::Match: {
        const auto& m = relay::cast<relay::Match>(e);
        std::vector<relay::Arm> arms;
        for (const relay::Arm& arm : m.arms) arms.push_back({arm.pattern, of(arm.body)});
        return ctx_.match(of(m.value), arms, m.complete);
      }
      case ExprKind::RefCreate:
        return ctx_.ref_create(of(relay::cast<relay::RefCreate>(e).value));
      case ExprKind::RefRead:
        return ctx_.ref_read(of(relay::cast<relay::RefRead>(e).reference));
      case ExprKind::RefWrite: {
        const auto& w = relay::cast<relay::RefWrite>(e);
        return ctx_.ref_write(of(w.reference), of(w.value));
      }
    }
    return e;
  }

  relay::Context& ctx_;
  std::unordered_map<const Expr*, const Expr*> made_;
};

// Candidates made before they are tried, as in the reduction of modules: the result does not depend on how many are
// tried at once.
constexpr std::size_t kRelayBatch = 16;

struct RelayCandidate {
  const relay::Module* module;
  std::vector<pipeline::Invocation> passes;
  std::string move;
};

// It has types and reads back.
bool is_valid(relay::Context& ctx, const relay::Module* m) {
  relay::Typing typing;
  source::Diagnostics ignored;
  if (!relay::infer_types(ctx, m, typing, ignored)) return false;
  relay::Context other;
  source::SourceManager sources;
  return frontend::parse_relay(other, sources, sources.add("candidate.relay", relay::print(m)), ignored).module;
}

class RelayReducer {
 public:
  RelayReducer(session::Session& session, const session::RelayText& program, const Question& question,
               const ReduceOptions& options)
      : ctx_(program.source().ctx),
        question_(question),
        options_(options),
        oracle_(session, program, question),
        start_(std::chrono::steady_clock::now()) {
    limits_.seconds = options.candidate_seconds;
    if (options.ranks) ranks_.emplace(*options.ranks);
  }

  RelayReduction run(const relay::Module* m, std::vector<pipeline::Invocation> passes) {
    const auto symptom = ask_in_child(limits_, [&] { return ask_or_why(m, passes); });
    if (!symptom || symptom->kind == SymptomKind::None) {
      out_.why = symptom ? symptom->text : fmt::format("it has no answer within {} s", limits_.seconds);
      return std::move(out_);
    }
    out_.symptom = *symptom;
    out_.module = m;
    out_.before = out_.after = size_of(m);
    passes_ = std::move(passes);
    try {
      for (bool smaller = true; smaller && !late();)
        smaller = drop_passes() || drop_functions() || cut_functions() || drop_parameters();
      out_.complete = !late();
    } catch (const support::Cancelled&) {
      support::acknowledge_cancel();  // the progress so far is kept, and reported
    }
    out_.passes = pipeline::to_string(passes_);
    return std::move(out_);
  }

 private:
  static ProgramSize size_of(const relay::Module* m) {
    ProgramSize s;
    s.functions = m->functions.size();
    for (const relay::Definition& d : m->functions) {
      s.parameters += d.function->params.size();
      for (const Expr* e : expressions_of(d.function)) s.bindings += !relay::is_leaf(e);
    }
    return s;
  }
  bool late() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    return options_.seconds > 0 && spent.count() > options_.seconds;
  }

  // A symptom without a kind explains why there is none.
  std::optional<Symptom> ask_or_why(const relay::Module* m, const std::vector<pipeline::Invocation>& passes) {
    if (auto symptom = oracle_.ask(m, passes)) return symptom;
    for (const std::string& reason : {oracle_.why(), oracle_.unseen()})
      if (!reason.empty()) return Symptom{{}, {}, {}, reason};
    return Symptom{{}, {}, {}, "the program shows no symptom"};
  }

  // Whether one of those that wait shows the symptom: the first is kept.
  bool offers(const relay::Module* m, const std::vector<pipeline::Invocation>& passes, const std::string& move) {
    support::poll();
    if (late()) return false;
    waiting_.push_back({m, passes, move});
    return waiting_.size() == kRelayBatch && keeps_one();
  }

  bool keeps_one() {
    const std::vector<RelayCandidate> batch = std::exchange(waiting_, {});
    if (batch.empty() || late()) return false;
    std::optional<Symptom> last;
    const auto found =
        first_with([&](const Symptom& s) { return s == out_.symptom; }, batch.size(), options_.jobs, limits_,
                   [&](std::size_t i) -> std::optional<Symptom> {
                     if (!is_valid(ctx_, batch[i].module)) return std::nullopt;
                     return oracle_.ask(batch[i].module, batch[i].passes);
                   },
                   [&](const std::optional<Symptom>& answer) {
                     ++out_.tried;
                     last = answer;
                     tell({});
                   },
                   elsewhere(batch));
    if (!found) return false;
    out_.symptom.text = last->text;
    out_.module = batch[*found].module;
    out_.after = size_of(out_.module);
    passes_ = batch[*found].passes;
    ++out_.accepted;
    tell(batch[*found].move);
    return true;
  }

  Elsewhere elsewhere(const std::vector<RelayCandidate>& batch) {
    if (!ranks_) return {};
    return {&*ranks_, [&batch](std::size_t i) {
              return to_parts({pipeline::to_string(batch[i].passes), relay::print(batch[i].module)});
            }};
  }

  void tell(const std::string& move) const {
    if (options_.progress) options_.progress(out_.after, out_.tried, move);
  }

  bool drop_passes() {
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      auto fewer = passes_;
      fewer.erase(fewer.begin() + std::ptrdiff_t(i));
      if (offers(out_.module, fewer, "a pass fewer")) return true;
    }
    return keeps_one();
  }

  const relay::Module* with(std::string_view name, const relay::Function* f) const {  // null: without it
    std::vector<relay::Definition> functions;
    for (const relay::Definition& d : out_.module->functions) {
      if (d.name->name != name)
        functions.push_back(d);
      else if (f)
        functions.push_back({d.name, f});
    }
    return ctx_.module({out_.module->types.begin(), out_.module->types.end()}, std::move(functions));
  }

  bool drop_functions() {
    std::unordered_set<const Expr*> used;
    for (const relay::Definition& d : out_.module->functions)
      for (const Expr* e : expressions_of(d.function))
        if (relay::as<relay::GlobalVar>(e)) used.insert(e);
    for (const relay::Definition& d : out_.module->functions)
      if (d.name->name != question_.function && !used.contains(d.name) &&
          offers(with(d.name->name, nullptr), passes_, "a function fewer"))
        return true;
    return keeps_one();
  }

  bool cut_functions() {
    for (const relay::Definition& d : out_.module->functions) {
      relay::Typing typing;
      source::Diagnostics ignored;
      if (!relay::infer_types(ctx_, out_.module, typing, ignored)) return false;
      if (cut(d, typing)) return true;
    }
    return keeps_one();
  }

  bool offers_body(const relay::Definition& d, std::vector<const relay::Var*> params, const Expr* body,
                   const std::string& move) {
    const relay::Function* f = ctx_.function(d.function->type_params, params, nullptr, body, d.function->attrs);
    return Scope(f).closed() && offers(with(d.name->name, f), passes_, move);
  }

  // The result becomes an expression on the way to it; a `let` its body with the value in place of the name; an
  // expression one of its own parts, or a parameter.
  bool cut(const relay::Definition& d, const relay::Typing& typing) {
    const bool entry = d.name->name == question_.function;
    const std::vector<const relay::Var*> params(d.function->params.begin(), d.function->params.end());
    std::vector<const Expr*> all = expressions_of(d.function);
    if (entry)
      for (const Expr* e : all)  // small ones first
        if (e != d.function->body && !relay::is_leaf(e) && relay::as<relay::TensorType>(typing.of(e)) &&
            offers_body(d, params, e, "an earlier result"))
          return true;
    std::reverse(all.begin(), all.end());
    for (const Expr* e : all) {
      const relay::Type* type = typing.of(e);
      if (!type || relay::is_leaf(e)) continue;
      if (const auto* let = relay::as<relay::Let>(e)) {
        const Expr* inlined = Replaced(ctx_, let->var, let->value).of(let->body);
        if (offers_body(d, params, Replaced(ctx_, e, inlined).of(d.function->body), "a value in place of its name"))
          return true;
      }
      const Expr* part = nullptr;
      relay::for_each_operand(e, [&](const Expr* x) { part = !part && typing.of(x) == type ? x : part; });
      if (part && offers_body(d, params, Replaced(ctx_, e, part).of(d.function->body), "a part in its place"))
        return true;
      if (!entry || e == d.function->body || !relay::as<relay::TensorType>(type)) continue;
      auto more = params;
      more.push_back(ctx_.var("cut" + std::to_string(names_++), type));
      if (offers_body(d, more, Replaced(ctx_, e, more.back()).of(d.function->body), "a parameter in its place"))
        return true;
    }
    return false;
  }

  bool drop_parameters() {
    const relay::Function* f = out_.module->find(question_.function);
    if (!f || !question_.inputs.empty()) return false;
    const Scope scope(f);
    std::vector<const relay::Var*> used;
    for (const relay::Var* p : f->params)
      if (scope.used.contains(p)) used.push_back(p);
    if (used.size() == f->params.size()) return false;
    const relay::Function* made = ctx_.function(f->type_params, used, f->result, f->body, f->attrs);
    return offers(with(question_.function, made), passes_, "fewer parameters") || keeps_one();
  }

  relay::Context& ctx_;
  const Question& question_;
  const ReduceOptions& options_;
  RelayOracle oracle_;
  std::chrono::steady_clock::time_point start_;
  ChildLimits limits_;
  std::optional<OtherRanks> ranks_;
  std::vector<pipeline::Invocation> passes_;
  std::vector<RelayCandidate> waiting_;
  RelayReduction out_;
  int names_ = 0;
};

}  // namespace

RelayReduction reduce_relay(session::Session& session, const session::RelayText& program,
                            const std::vector<pipeline::Invocation>& passes, const Question& question,
                            const ReduceOptions& options) {
  return RelayReducer(session, program, question, options).run(program.module(), passes);
}

std::optional<Symptom> answer_relay_rank_0(session::Session& session, const session::RelayText& program,
                                           const Question& question, const std::vector<std::string>& parts) {
  if (parts.size() != 2) return std::nullopt;
  std::vector<pipeline::Invocation> passes;
  if (!parts[0].empty()) {  // an empty text is no pipeline, but a question may have no passes
    auto parsed = pipeline::parse(program.passes(), parts[0]);
    if (!parsed.ok()) return std::nullopt;
    passes = *std::move(parsed);
  }
  relay::Context& ctx = program.source().ctx;
  source::SourceManager sources;
  source::Diagnostics ignored;
  const relay::Module* m =
      frontend::parse_relay(ctx, sources, sources.add("candidate.relay", parts[1]), ignored).module;
  if (!m || !is_valid(ctx, m)) return std::nullopt;
  return RelayOracle(session, program, question).ask(m, passes);
}

}  // namespace rldb::repro
