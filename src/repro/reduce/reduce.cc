// Reducer: tries the moves until none makes the program smaller that still shows the symptom.
#include "rldb/repro/reduce.h"

#include <fmt/format.h>

#include <chrono>
#include <unordered_set>

#include "repro/reduce/child.h"
#include "repro/reduce/moves.h"
#include "repro/reduce/resize.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using Clock = std::chrono::steady_clock;

// Candidates that are made before they are tried: enough for the children at work, and as many however many these are,
// so that the result is the same.
constexpr std::size_t kBatch = 16;

class Reducer {
 public:
  Reducer(session::Session& session, Question question, const ReduceOptions& options, Reduction& out)
      : session_(session), question_(std::move(question)), options_(options), out_(out) {
    limits_.seconds = options.candidate_seconds;
  }

  void run(const ir::Module* module) {
    out_.before = out_.after = size_of(module);
    out_.passes = question_.passes;
    const auto symptom = ask_in_child(limits_, [&] { return ask(module, question_.passes); });
    if (!symptom) {
      out_.why = "the program shows no symptom";
      return;
    }
    out_.symptom = *symptom;
    out_.module = module;
    start_ = Clock::now();
    try {
      to_fixed_point();
    } catch (const Stopped&) {
    } catch (const support::Cancelled&) {  // what was reached is kept
    }
    out_.after = size_of(out_.module);
  }

 private:
  struct Stopped {};

  std::optional<Symptom> ask(const ir::Module* module, const std::string& passes) {
    Question q = question_;
    q.passes = passes;
    return Oracle(session_, q).ask(module);
  }

  void check_time() const {
    support::poll();
    if (options_.seconds > 0 && std::chrono::duration<double>(Clock::now() - start_).count() > options_.seconds)
      throw Stopped{};
  }

  void to_fixed_point() {
    for (bool again = true; again;) {
      const std::size_t before = out_.accepted;
      shorten_pipeline();
      const std::string& name = question_.function;
      repeat([&] { return simpler_signatures(session_.context(), out_.module, name); });
      repeat([&] { return cuts(session_.context(), out_.module, name); });
      repeat([&] { return simpler_values(session_.context(), out_.module, name); });
      repeat([&] { return decided_branches(session_.context(), out_.module, name); });
      thin_out();
      repeat([&] { return bindings_to_operands(session_.context(), out_.module, name); });
      repeat([&] { return fewer_parameters(session_.context(), out_.module, name); });
      shrink_dims();
      repeat([&] { return simpler_kernels(session_.context(), out_.module); });
      repeat([&] { return fewer_attributes(session_.context(), out_.module); });
      again = out_.accepted != before;
    }
    simplify_inputs();
    out_.complete = true;
  }

  // Long runs of bindings first, single ones last.
  void thin_out() {
    const std::string& name = question_.function;
    for (std::size_t size = std::max<std::size_t>(count_bindings(out_.module, name) / 2, 1);; size /= 2) {
      repeat([&] { return bindings_to_parameters(session_.context(), out_.module, name, size); });
      if (size <= 1) return;
    }
  }

  template <class Moves>
  void repeat(const Moves& moves) {
    while (accept_one(moves())) {
    }
  }

  void shrink_dims() {
    repeat([&] { return smaller_dims(session_, out_.module); });
  }

  // ---- trying ----

  bool accept_one(const std::vector<Candidate>& candidates) {
    std::vector<const ir::Module*> batch;
    std::vector<std::string> moves;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      check_time();
      if (const ir::Module* made = candidates[i].make(); made && is_new(made)) {
        batch.push_back(made);
        moves.push_back(candidates[i].move);
      }
      if (batch.size() < kBatch && i + 1 < candidates.size()) continue;
      if (accept_of(batch, moves)) return true;
      batch.clear();
      moves.clear();
    }
    return false;
  }

  // Not what there is, nothing that was tried, and a program that is well-formed.
  bool is_new(const ir::Module* made) {
    if (made == out_.module || !tried_.insert(ir::structural_hash(made)).second) return false;
    if (!is_smaller(size_of(made), size_of(out_.module))) return false;
    source::Diagnostics ignored;
    return ir::verify(session_.context(), made, ignored);
  }

  static bool is_smaller(const ProgramSize& a, const ProgramSize& b) {
    if (a.bindings != b.bindings) return a.bindings < b.bindings;
    if (a.functions != b.functions) return a.functions < b.functions;
    if (a.statements != b.statements) return a.statements < b.statements;
    if (a.elements != b.elements) return a.elements < b.elements;
    if (a.parameters != b.parameters) return a.parameters < b.parameters;
    if (a.nodes != b.nodes) return a.nodes < b.nodes;
    return a.attributes < b.attributes;
  }

  bool accept_of(const std::vector<const ir::Module*>& batch, const std::vector<std::string>& moves) {
    if (batch.empty()) return false;
    const auto found = first_with(out_.symptom, batch.size(), options_.jobs, limits_,
                                  [&](std::size_t i) { return ask(batch[i], out_.passes); });
    out_.tried += found ? *found + 1 : batch.size();
    if (found) {  // those behind it were not tried
      for (std::size_t i = *found + 1; i < batch.size(); ++i) tried_.erase(ir::structural_hash(batch[i]));
      out_.module = batch[*found];
      ++out_.accepted;
    }
    if (options_.progress) options_.progress(size_of(out_.module), out_.tried, found ? moves[*found] : std::string());
    return found.has_value();
  }

  // Numbers that can be read: ones, or 0, 1, 2, ... for each parameter of a known shape.
  void simplify_inputs() {
    if (!question_.inputs.empty() || !question_.expected.empty()) return;
    const auto* f = ir::as<ir::Function>(out_.module->find(question_.function));
    for (const ir::Var* p : f->params) {
      const auto* t = ir::as<ir::TensorType>(p->type);
      if (!t || !t->has_shape || t->dtype.is_void() || t->dtype.is_bool()) continue;
      std::string shape;
      bool known = true;
      for (const ir::Expr* d : t->shape) {
        const auto* n = ir::as<ir::IntImm>(d);
        known = known && n;
        if (n) shape += fmt::format("{}x", n->value);
      }
      for (const char* value : {"ones", "arange"}) {
        if (!known) break;
        check_time();
        std::vector<std::string> inputs = question_.inputs;
        inputs.push_back(fmt::format("{}={}{}={}", p->name, shape, runtime::to_string(t->dtype), value));
        std::swap(inputs, question_.inputs);
        ++out_.tried;
        const auto answer = ask_in_child(limits_, [&] { return ask(out_.module, out_.passes); });
        if (answer && *answer == out_.symptom) break;
        std::swap(inputs, question_.inputs);
      }
    }
    out_.inputs = question_.inputs;
  }

  // Passes that are not needed for it, the last ones first.
  void shorten_pipeline() {
    auto parsed = passes::parse_pipeline(out_.passes);
    if (!parsed.ok()) return;
    std::vector<passes::PassInvocation> list = *parsed;
    for (std::size_t i = list.size(); i-- > 0 && list.size() > 1;) {
      check_time();
      std::vector<passes::PassInvocation> shorter = list;
      shorter.erase(shorter.begin() + std::ptrdiff_t(i));
      const std::string text = text_of(shorter);
      if (!tried_pipelines_.insert(fmt::format("{} {}", ir::structural_hash(out_.module), text)).second) continue;
      ++out_.tried;
      const auto answer = ask_in_child(limits_, [&] { return ask(out_.module, text); });
      if (!answer || !(*answer == out_.symptom)) continue;
      list = std::move(shorter);
      out_.passes = text;
      ++out_.accepted;
    }
  }

  static std::string text_of(const std::vector<passes::PassInvocation>& list) {
    std::string text;
    for (const passes::PassInvocation& p : list) text += (text.empty() ? "" : ",") + passes::to_string(p);
    return text;
  }

  session::Session& session_;
  Question question_;
  const ReduceOptions& options_;
  Reduction& out_;
  ChildLimits limits_;
  Clock::time_point start_;
  std::unordered_set<std::uint64_t> tried_;
  std::unordered_set<std::string> tried_pipelines_;
};

}  // namespace

ProgramSize size_of(const ir::Module* module) {
  ProgramSize s;
  s.functions = module->entries.size();
  for (const ir::ModuleEntry& e : module->entries) {
    ir::walk(e.function, [&](const ir::Node* n) {
      s.bindings += ir::as<ir::Binding>(n) != nullptr;
      s.statements += ir::as<ir::Stmt>(n) != nullptr;
      return true;
    });
    if (const auto* kernel = ir::as<ir::PrimFunc>(e.function)) {
      s.attributes += kernel->attrs.size();
      ir::walk(kernel->body, [&](const ir::Node*) {
        ++s.nodes;
        return true;
      });
    }
    const auto* f = ir::as<ir::Function>(e.function);
    if (!f) continue;
    s.attributes += f->attrs.size();
    s.parameters += f->params.size();
    for (const ir::Var* p : f->params)
      if (const auto* t = ir::as<ir::TensorType>(p->type); t && t->has_shape)
        for (const ir::Expr* d : t->shape)
          if (const auto* i = ir::as<ir::IntImm>(d)) s.elements += std::size_t(i->value);
  }
  return s;
}

std::string to_string(const ProgramSize& s) {
  std::string text = fmt::format("{} bindings, {} functions", s.bindings, s.functions);
  if (s.statements > 0) text += fmt::format(", {} statements", s.statements);
  return text;
}

Reduction reduce(session::Session& session, const ir::Module* module, const Question& question,
                 const ReduceOptions& options) {
  Reduction out;
  Reducer(session, question, options, out).run(module);
  return out;
}

}  // namespace rldb::repro
