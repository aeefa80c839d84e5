// Reducer: tries the moves until none makes the program smaller while it still shows the symptom.
#include "rldb/repro/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <unordered_set>

#include "repro/other_ranks.h"
#include "repro/read_again.h"
#include "repro/reduce/child.h"
#include "repro/reduce/moves.h"
#include "repro/reduce/names.h"
#include "repro/reduce/resize.h"
#include "repro/relay/relay_ranks.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::repro {

namespace {

using Clock = std::chrono::steady_clock;

// Candidates made before they are tried: enough for the child processes, and the same number however many there are, so
// that the result does not depend on it.
constexpr std::size_t kBatch = 16;

// Of the limit of a question about time.
constexpr double kChildTimes = 25;

class Reducer {
 public:
  Reducer(session::Session& session, Question question, const ReduceOptions& options, Reduction& out)
      : session_(session), question_(std::move(question)), options_(options), out_(out) {
    limits_.seconds = options.candidate_seconds;
    // A run is measured several times, and stopped only far above the limit.
    if (question_.kind == OracleKind::Time && question_.time.seconds > 0)
      limits_.seconds = std::max(limits_.seconds, kChildTimes * question_.time.seconds);
    if (options.ranks) ranks_.emplace(*options.ranks);
  }

  void run(const ir::Module* module) {
    original_ = module;
    out_.before = out_.after = size_of(session_.context(), module);
    out_.passes = question_.passes;
    if (question_.keep_defined) keep_defined_if_it_is(module);
    const auto symptom = ask_in_child(limits_, [&] { return ask_or_why(module); });
    if (!symptom || symptom->kind == SymptomKind::None) {
      out_.why = symptom ? symptom->text : fmt::format("it has no answer within {} s", limits_.seconds);
      return;
    }
    out_.symptom = *symptom;
    out_.module = module;
    allowed_ = broken_rules(module);
    out_.ill_formed = !allowed_.empty();
    start_ = Clock::now();
    try {
      to_fixed_point();
    } catch (const Stopped&) {
    } catch (const support::Cancelled&) {
      support::acknowledge_cancel();  // the progress so far is kept, and reported
    }
    out_.inputs = inputs_for(out_.module);
    out_.after = size_of(session_.context(), out_.module);
    if (out_.module != module) tell_anew();
  }

 private:
  struct Stopped {};

  // A program that is undefined to begin with has nothing to keep.
  void keep_defined_if_it_is(const ir::Module* module) {
    Question q = question_;
    q.keep_defined = false;
    const auto with = ask_in_child(limits_, [&] { return Oracle(session_, question_).ask(module); });
    if (!with && ask_in_child(limits_, [&] { return Oracle(session_, q).ask(module); })) question_.keep_defined = false;
  }

  // By rule and message. Candidates of a program that breaks rules may break the same ones.
  std::set<std::string> broken_rules(const ir::Module* module) const {
    source::Diagnostics found;
    std::set<std::string> out;
    if (ir::verify(session_.context(), module, found)) return out;
    for (const source::Diagnostic& d : found.all()) out.insert(form_of(d.message));
    return out;
  }

  bool is_well_formed(const ir::Module* module) const {
    const std::set<std::string> broken = broken_rules(module);
    return std::includes(allowed_.begin(), allowed_.end(), broken.begin(), broken.end());
  }

  // The symptom in terms of the smaller program.
  void tell_anew() {
    try {
      const auto answer = ask_in_child(limits_, [&] { return ask(out_.module, out_.passes); });
      if (answer && shows(*answer)) out_.symptom = *answer;
    } catch (const support::Cancelled&) {
      support::acknowledge_cancel();
    }
  }

  std::optional<Symptom> ask(const ir::Module* module, const std::string& passes) {
    Question q = question_;
    q.passes = passes;
    q.inputs = inputs_for(module);
    return Oracle(session_, q).ask(module);
  }

  // Without those given by name to parameters that are removed.
  std::vector<std::string> inputs_for(const ir::Module* module) const {
    const auto parameters = [&](const ir::Module* m) {
      std::set<std::string_view> names;
      if (const auto* f = ir::as<ir::Function>(m->find(question_.function)))
        for (const ir::Var* p : f->params) names.insert(p->name);
      return names;
    };
    const auto before = parameters(original_), now = parameters(module);
    std::vector<std::string> kept = question_.inputs;
    std::erase_if(kept, [&](const std::string& text) {
      const std::string_view name = std::string_view(text).substr(0, text.find('='));
      return name.size() < text.size() && before.contains(name) && !now.contains(name);
    });
    return kept;
  }

  // A symptom without a kind explains why there is none.
  std::optional<Symptom> ask_or_why(const ir::Module* module) {
    Oracle oracle(session_, question_);
    if (auto symptom = oracle.ask(module)) return symptom;
    std::string why = "the program shows no symptom";
    for (const std::string& reason : {oracle.why(), oracle.unseen()})
      if (!reason.empty()) return Symptom{{}, {}, {}, why + ": it cannot be compared: " + reason};
    return Symptom{{}, {}, {}, why};
  }

  void check_time() const {
    support::poll();
    if (options_.seconds > 0 && std::chrono::duration<double>(Clock::now() - start_).count() > options_.seconds)
      throw Stopped{};
  }

  void to_fixed_point() {
    ir::Context& ctx = session_.context();
    for (bool again = true; again;) {
      const std::size_t before = out_.accepted;
      out_.refused = {};
      shorten_pipeline();
      for (const std::string& name : functions()) simplify(name);
      repeat([&] { return fewer_functions(ctx, out_.module); });
      shrink_dims();
      repeat([&] { return simpler_kernels(ctx, out_.module); });
      repeat([&] { return fewer_attributes(ctx, out_.module); });
      repeat([&] { return plain_blocks(ctx, out_.module); });
      again = out_.accepted != before;
    }
    plain_names();
    simplify_inputs();
    out_.complete = true;
  }

  // The first to be tried; a pass may fail on another.
  std::vector<std::string> functions() const {
    std::vector<std::string> names;
    for (const ir::ModuleEntry& e : out_.module->entries)
      if (ir::as<ir::Function>(e.function)) names.emplace_back(e.name);
    std::stable_partition(names.begin(), names.end(), [&](const std::string& n) { return n == question_.function; });
    return names;
  }

  using Moves = std::vector<Candidate> (*)(ir::Context&, const ir::Module*, const std::string&);
  void simplify(const std::string& name) {
    constexpr Moves kFirst[] = {simpler_signatures, other_results, cuts, simpler_values, decided_branches, fewer_calls};
    constexpr Moves kThen[] = {bindings_to_operands, fewer_parameters, same_operands,
                               fewer_symbols,        fewer_constants,  usual_options};
    for (const Moves moves : kFirst) repeat_in(name, moves);
    for (std::size_t size = std::max<std::size_t>(count_bindings(out_.module, name) / 2, 1);; size /= 2) {
      repeat_in(name, [size](ir::Context& ctx, const ir::Module* module, const std::string& function) {
        return bindings_to_parameters(ctx, module, function, size);  // long runs of bindings first
      });
      if (size <= 1) break;
    }
    for (std::size_t size = count_unread(name); size > 0; size /= 2)
      repeat_in(name, [size](ir::Context& ctx, const ir::Module* module, const std::string& function) {
        return fewer_unread(ctx, module, function, size);
      });
    for (std::size_t size = count_inner_bindings(out_.module, name); size > 0; size /= 2)
      repeat_in(name, [size](ir::Context& ctx, const ir::Module* module, const std::string& function) {
        return inner_bindings(ctx, module, function, size);
      });
    for (const Moves moves : kThen) repeat_in(name, moves);
  }

  std::size_t count_unread(const std::string& name) const {
    const auto* f = ir::as<ir::Function>(out_.module->find(name));
    return f ? unread_bindings(f).size() : 0;
  }

  // As long as there is a function with this name.
  template <class Make>
  void repeat_in(const std::string& name, const Make& make) {
    repeat([&] {
      const bool there = ir::as<ir::Function>(out_.module->find(name));
      return there ? make(session_.context(), out_.module, name) : std::vector<Candidate>();
    });
  }

  template <class Make>
  void repeat(const Make& moves) {
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

  // Different from the current module and all tried before, and well-formed.
  bool is_new(const ir::Module* made) {
    if (made == out_.module || !tried_.insert(ir::structural_hash(made)).second) return false;
    if (!is_smaller(size_of(session_.context(), made), size_of(session_.context(), out_.module))) {
      ++out_.refused.not_smaller;
      return false;
    }
    if (is_well_formed(made)) return true;
    ++out_.refused.ill_formed;
    return false;
  }

  bool shows(const Symptom& found) const { return still_shows(out_.symptom, found, question_); }

  void note_answer(const std::optional<Symptom>& answer) {
    if (!answer) {
      ++out_.refused.without_symptom;
    } else if (!shows(*answer)) {
      ++out_.refused.other_symptom;
      if (out_.refused.other.empty()) out_.refused.other = std::string(to_string(answer->kind)) + ": " + answer->text;
    }
  }

  static bool is_smaller(const ProgramSize& a, const ProgramSize& b) {
    if (a.bindings != b.bindings) return a.bindings < b.bindings;
    if (a.functions != b.functions) return a.functions < b.functions;
    if (a.statements != b.statements) return a.statements < b.statements;
    if (a.constants != b.constants) return a.constants < b.constants;
    if (a.elements != b.elements) return a.elements < b.elements;
    if (a.parameters != b.parameters) return a.parameters < b.parameters;
    if (a.symbols != b.symbols) return a.symbols < b.symbols;
    if (a.nodes != b.nodes) return a.nodes < b.nodes;
    if (a.attributes != b.attributes) return a.attributes < b.attributes;
    return a.blocks < b.blocks;
  }

  bool accept_of(const std::vector<const ir::Module*>& batch, const std::vector<std::string>& moves) {
    if (batch.empty()) return false;
    const auto found = first_with([&](const Symptom& s) { return shows(s); }, batch.size(), options_.jobs, limits_,
                                  [&](std::size_t i) { return ask(batch[i], out_.passes); },
                                  [&](const std::optional<Symptom>& answer) {
                                    ++out_.tried;
                                    note_answer(answer);
                                    tell({});
                                  },
                                  elsewhere(batch));
    if (found) {  // later ones were not tried
      for (std::size_t i = *found + 1; i < batch.size(); ++i) tried_.erase(ir::structural_hash(batch[i]));
      accept(batch[*found]);
    }
    if (found) tell(moves[*found]);
    return found.has_value();
  }

  // Candidates as texts, for other ranks.
  Elsewhere elsewhere(const std::vector<const ir::Module*>& batch) {
    if (!ranks_) return {};
    return {
        &*ranks_, [this, &batch](std::size_t i) {
          ir::PrintOptions print;
          print.show_meta = true;
          std::vector<std::string> parts{out_.passes, question_.keep_defined ? "1" : "0", ir::print(batch[i], print)};
          const std::vector<std::string> inputs = inputs_for(batch[i]);
          parts.insert(parts.end(), inputs.begin(), inputs.end());
          return to_parts(parts);
        }};
  }

  void accept(const ir::Module* made) {
    out_.module = made;
    ++out_.accepted;
    if (options_.better) options_.better(made);
  }

  // `move`: of an accepted candidate; otherwise one was tried.
  void tell(const std::string& move) {
    if (!options_.progress) return;
    if (!move.empty() || !size_) size_ = size_of(session_.context(), out_.module);
    options_.progress(*size_, out_.tried, move);
  }

  // It makes nothing smaller, and runs once.
  void plain_names() {
    constexpr std::pair<const char*, const ir::Module* (*)(ir::Context&, const ir::Module*)> kMoves[] = {
        {"function names", plain_functions}, {"parameter names", plain_parameters}, {"binding names", plain_bindings}};
    // Given values may refer to the parameters' names.
    const bool by_name = std::any_of(question_.inputs.begin(), question_.inputs.end(),
                                     [](const std::string& text) { return text.find('=') != std::string::npos; });
    for (const auto& [move, make] : kMoves) {
      check_time();
      if (make == plain_parameters && by_name) continue;
      const ir::Module* made = make(session_.context(), out_.module);
      if (!made || !is_well_formed(made)) continue;
      ++out_.tried;
      const auto answer = ask_in_child(limits_, [&] { return ask(made, out_.passes); });
      if (!answer || !shows(*answer)) continue;
      accept(made);
      tell(move);
    }
  }

  // Readable numbers: ones, or 0, 1, 2, ... for each parameter of known shape.
  void simplify_inputs() {
    if (!question_.inputs.empty() || !question_.expected.empty()) return;
    const auto* f = ir::as<ir::Function>(out_.module->find(question_.function));
    if (!f) return;
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
        if (answer && shows(*answer)) break;
        std::swap(inputs, question_.inputs);
      }
    }
  }

  // Drops passes that are not needed for it, the last ones first.
  void shorten_pipeline() {
    auto parsed = passes::parse_pipeline(out_.passes);
    if (!parsed.ok()) return;
    std::vector<passes::PassInvocation> list = *parsed;
    for (std::size_t i = list.size(); i-- > 0 && list.size() > 1;) {
      check_time();
      std::vector<passes::PassInvocation> shorter = list;
      shorter.erase(shorter.begin() + std::ptrdiff_t(i));
      if (accept_pipeline(shorter)) list = std::move(shorter);
    }
    for (passes::PassInvocation& pass : list)
      for (std::size_t i = pass.arguments.size(); i-- > 0;) {
        check_time();
        const passes::PassInvocation before = pass;
        pass.arguments.erase(pass.arguments.begin() + std::ptrdiff_t(i));
        if (!accept_pipeline(list)) pass = before;
      }
  }

  bool accept_pipeline(const std::vector<passes::PassInvocation>& list) {
    const std::string text = passes::to_string(list);
    if (!tried_pipelines_.insert(fmt::format("{} {}", ir::structural_hash(out_.module), text)).second) return false;
    ++out_.tried;
    const auto answer = ask_in_child(limits_, [&] { return ask(out_.module, text); });
    if (!answer || !shows(*answer)) return false;
    out_.passes = text;
    ++out_.accepted;
    return true;
  }

  session::Session& session_;
  Question question_;
  const ir::Module* original_ = nullptr;
  const ReduceOptions& options_;
  Reduction& out_;
  ChildLimits limits_;
  Clock::time_point start_;
  std::optional<ProgramSize> size_;  // as last reported
  std::optional<OtherRanks> ranks_;
  std::set<std::string> allowed_;  // rules that the first program breaks
  std::unordered_set<std::uint64_t> tried_;
  std::unordered_set<std::string> tried_pipelines_;
};

}  // namespace

namespace {

// A scalar printed in the text has none.
std::size_t elements_of(const ir::Constant* c) {
  const auto* t = ir::as<ir::TensorType>(c->type);
  if (!t || t->ndim == 0 || !c->value->is(runtime::ValueKind::Tensor)) return 0;
  return std::size_t(c->value->as_tensor().element_count());
}

}  // namespace

ProgramSize size_of(ir::Context& ctx, const ir::Module* module) {
  ProgramSize s;
  s.functions = module->entries.size();
  for (const ir::ModuleEntry& e : module->entries) {
    ir::walk(e.function, [&](const ir::Node* n) {
      s.bindings += ir::as<ir::Binding>(n) != nullptr;
      s.statements += ir::as<ir::Stmt>(n) != nullptr;
      if (const auto* c = ir::as<ir::Constant>(n)) s.constants += elements_of(c);
      if (const auto* block = ir::as<ir::BindingBlock>(n)) s.blocks += block->is_dataflow();
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
    s.attributes += f->attrs.size() + count_unusual_options(ctx, f);
    s.symbols += count_symbols(f);
    s.parameters += f->params.size();
    for (const ir::Var* p : f->params)
      if (const auto* t = ir::as<ir::TensorType>(p->type); t && t->has_shape)
        for (const ir::Expr* d : t->shape)
          if (const auto* i = ir::as<ir::IntImm>(d)) s.elements += std::size_t(i->value);
  }
  return s;
}

std::string to_string(const ProgramSize& s) {
  using support::counted;
  std::string text = counted(s.bindings, "binding") + ", " + counted(s.functions, "function");
  if (s.statements > 0) text += ", " + counted(s.statements, "statement");
  return text;
}

std::string minimality(const ReductionFacts& r) {
  const Reduction::Refused& no = r.refused;
  std::string why;
  const auto add = [&](std::size_t n, std::string_view what) {
    if (n > 0) why += fmt::format("{}{} {}", why.empty() ? "" : ", ", n, what);
  };
  add(no.without_symptom, "without the symptom");
  add(no.other_symptom, fmt::format("with another one ({})", no.other));
  add(no.ill_formed, "not well-formed");
  add(no.not_smaller, "not smaller");
  if (why.empty()) why = "none";
  const std::string head = !r.complete       ? "it may not be minimal: the reduction was stopped"
                           : r.accepted == 0 ? "nothing could be removed"
                                             : "it is minimal: no single change that rldb knows makes it smaller";
  return fmt::format("{}; changes refused in the last round: {}", head, why);
}

void answer_other_ranks(session::Session& session, const Question& question, support::Ranks& ranks,
                        double candidate_seconds) {
  ChildLimits limits;
  limits.seconds = candidate_seconds;
  const session::RelayText* relay = session::relay_text(session.program());
  answer_rank_0(ranks, [&](const std::string& asked) {
    const auto program = from_parts(asked);
    if (program && relay)
      return to_wire(ask_in_child(limits, [&] { return answer_relay_rank_0(session, *relay, question, *program); }));
    if (!program || program->size() < 3) return to_wire(std::nullopt);
    Question q = question;
    q.passes = (*program)[0];
    q.keep_defined = (*program)[1] == "1";
    q.inputs.assign(program->begin() + 3, program->end());
    return to_wire(ask_in_child(limits, [&]() -> std::optional<Symptom> {
      const ir::Module* module = read_again_unchecked(session, (*program)[2]);
      return module ? Oracle(session, q).ask(module) : std::nullopt;
    }));
  });
}

Reduction reduce(session::Session& session, const ir::Module* module, const Question& question,
                 const ReduceOptions& options) {
  Reduction out;
  Reducer(session, question, options, out).run(module);
  return out;
}

}  // namespace rldb::repro
