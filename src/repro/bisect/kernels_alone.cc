// KernelChecker: the versions of each kernel, run on the same arguments.
#include "repro/bisect/kernels_alone.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <set>

#include "repro/bisect/meant.h"
#include "repro/bisect/rounds.h"
#include "repro/bisect/signature.h"
#include "repro/bisect/stage_functions.h"
#include "repro/borrow.h"
#include "repro/dims.h"
#include "repro/values.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using ir::as;
using runtime::Value;
using runtime::ValueKind;

namespace {

// With larger dims than those for every kernel, a kernel that iterates more often, or takes more elements, is not run.
constexpr double kMostIterations = 2e8;
constexpr std::int64_t kMostElements = 1 << 22;
// For one run on the evaluator; after that the session's engine runs the kernel.
constexpr std::uint64_t kKernelStatements = 400'000;
// Of one kernel, so that a large one does not take all of the time: more if they are few.
constexpr double kForOneKernel = 0.4, kForOneOfFew = 1.5;
// More, while none of its versions has run.
constexpr double kUntilOneRuns = 2;

// Of this process, in seconds: other work on the machine makes no check shorter.
double spent() { return double(std::clock()) / CLOCKS_PER_SEC; }

// The part of a kernel that its callers rely on: its parameters and result, without the names.
std::string interface_of(const ir::PrimFunc* f) {
  std::string text = call_signature(f);
  for (const ir::PrimParam& p : f->params) text += p.buffer ? fmt::format(";{}", p.buffer->scope) : ";";
  return text;
}

// Apart from their attributes, which do not change what they compute.
bool same_code(ir::Context& ctx, const ir::PrimFunc* a, const ir::PrimFunc* b) {
  const auto bare = [&](const ir::PrimFunc* f) { return ctx.prim_func(f->params, f->ret_type, f->body, {}, f->s_tir); };
  return ir::structural_equal(bare(a), bare(b));
}

// Functions of `now` that are not as they were: a kernel that they call may have got another meaning under its name.
std::set<const ir::Expr*> rewritten(const ir::Module* before, const ir::Module* now) {
  std::set<const ir::Expr*> out;
  for (const ir::ModuleEntry& e : now->entries) {
    if (!as<ir::Function>(e.function)) continue;
    const ir::Expr* old = before->find(e.name);
    if (!old || (old != e.function && !ir::structural_equal(old, e.function))) out.insert(e.function);
  }
  return out;
}

bool has_symbols(const ir::PrimFunc* f) {
  const auto* type = as<ir::FuncType>(f->type);
  return type && std::any_of(type->params.begin(), type->params.end(), [](const ir::Type* t) { return t->has_vars; });
}

// Iterations of its loops where these dims are given, as far as they are known.
class Iterations {
 public:
  Iterations(ir::Context& ctx, const ir::PrimFunc* f, const session::Options& options) : analyzer_(ctx) {
    std::vector<const ir::Var*> dims;
    if (const auto* type = as<ir::FuncType>(f->type))
      for (const ir::Type* t : type->params) ir::collect_vars(t, dims);
    for (const ir::Var* v : dims) {
      const auto given = options.dims.find(std::string(v->name));
      const std::int64_t value = given == options.dims.end() ? options.default_dim : given->second;
      analyzer_.bind(v, {value, value});
    }
    count_ = of(f->body, 0);
  }
  double count() const { return count_; }

 private:
  double of(const ir::Node* n, int depth) {
    constexpr int kDeepest = 100;
    if (depth > kDeepest) return 1;
    double times = 1, inside = 0;
    if (const auto* loop = as<ir::ForStmt>(n)) {
      const auto most = analyzer_.bounds(loop->extent).max;
      if (most && *most > 0) times = double(*most), analyzer_.bind(loop->var, {0, *most - 1});
    }
    ir::for_each_use(n, [&](const ir::Node* child) {
      if (as<ir::Stmt>(child)) inside += of(child, depth + 1);
    });
    return times * std::max(1.0, inside);
  }

  ir::Analyzer analyzer_;
  double count_ = 0;
};

// The first buffer in which two runs differ, and how.
void describe(const Value& good, const Value& bad, const ir::PrimFunc* f, KernelDifference& out) {
  const auto &a = good.as_tuple().fields, &b = bad.as_tuple().fields;
  Tolerances exact;
  exact.exact = true;
  for (const Tolerances& t : {Tolerances{}, exact})
    for (std::size_t i = 0; i < a.size() && i < b.size() && !out.difference; ++i) {
      if (is_opaque(a[i])) continue;
      out.difference = difference(a[i], b[i], t);
      if (out.difference && i < f->params.size())
        out.buffer = f->params[i].buffer ? f->params[i].buffer->name : f->params[i].var->name;
    }
}

}  // namespace

void KernelChecker::collect() {
  std::map<std::string, std::vector<Versions>> kernels;
  std::map<std::string, std::size_t> last_seen;  // the index of the module in which a kernel was met last
  std::vector<std::pair<std::size_t, const ir::Module*>> modules;
  for (std::size_t i = 0; i < stages_.size(); ++i)
    if (stages_[i].kernels) modules.emplace_back(i, stages_[i].kernels);
  for (std::size_t k = 0; k < modules.size(); ++k) {
    support::poll();
    const auto& [stage, module] = modules[k];
    const bool exact = meant_by(stages_[stage].pass) == Meant::Exact;
    std::optional<std::set<const ir::Expr*>> changed;
    for (const ir::ModuleEntry& e : module->entries) {
      const auto* f = as<ir::PrimFunc>(e.function);
      if (!f) continue;
      const std::string name(e.name);
      std::vector<Versions>& all = kernels[name];
      const bool follows = k > 0 && !all.empty() && last_seen[name] + 1 == k && exact;
      last_seen[name] = k;
      const ir::PrimFunc* before = follows ? all.back().back().kernel : nullptr;
      if (before == f || (before && ir::structural_equal(before, f))) continue;
      const bool same_interface = before && interface_of(before) == interface_of(f);
      // In a stage of PrimFuncs alone no caller tells what the other parameters mean.
      const Stage& s = stages_[stage];
      if (before && !same_interface && (!s.module || !s.completed_by.empty()))
        not_run_.push_back({name, stage, "it takes other parameters than before"});
      bool callers_rewritten = false;
      if (same_interface) {
        if (!changed) changed = rewritten(modules[k - 1].second, module);
        callers_rewritten = std::any_of(changed->begin(), changed->end(),
                                        [&](const ir::Expr* caller) { return calls_function(caller, name); });
      }
      if (callers_rewritten && same_code(session_.context(), before, f)) continue;
      if (!same_interface) all.emplace_back();
      all.back().push_back({stage, module, f, callers_rewritten});
    }
  }
  for (auto& [name, all] : kernels)
    for (Versions& versions : all)
      if (versions.size() > 1) changed_.emplace_back(name, std::move(versions));
}

void KernelChecker::start(double seconds) {
  if (started_) return;
  started_ = true;
  until_ = spent() + seconds;
  collect();
}

// Of a kernel: the stage of its first wrong version (or nothing), whether all were compared, and those that were not
// run, stage and reason.
std::string KernelChecker::answer_to(const std::string& question, double seconds) {
  start(seconds);
  std::size_t index = 0;
  std::from_chars(question.data(), question.data() + question.size(), index);
  if (index >= changed_.size()) return {};
  const Checked c = check_in_time(index);
  if (c.difference) found_[index] = *c.difference;
  std::vector<std::string> parts{c.difference ? std::to_string(c.difference->bad) : std::string(),
                                 c.compared ? "1" : "0"};
  for (const KernelNotRun& k : c.not_run) {
    parts.push_back(std::to_string(k.stage));
    parts.push_back(k.why);
  }
  return to_parts(parts);
}

KernelChecker::Checked KernelChecker::check_in_time(std::size_t index) {
  const auto& [name, versions] = changed_[index];
  if (spent() > until_) return {std::nullopt, {{name, versions[1].stage, "no time was left for it"}}, false};
  return check_one(index, std::clamp(kForKernels / double(changed_.size()), kForOneKernel, kForOneOfFew));
}

std::optional<KernelDifference> KernelChecker::check(double seconds, const KeptMeaning& kept, OtherRanks* others,
                                                     std::string_view kind) {
  start(seconds);
  std::vector<std::string> questions;
  for (std::size_t i = 0; i < changed_.size(); ++i)
    questions.push_back(to_parts({std::string(kind), std::to_string(i)}));
  const std::vector<std::string> answers = ask_all(others, questions, [&](const std::string& q) {
    const auto parts = from_parts(q);
    return answer_to(parts->back(), seconds);
  });
  std::map<std::size_t, std::size_t> differ;  // by index: the stage
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto parts = from_parts(answers[i]);
    if (!parts || parts->size() < 2) continue;
    const auto number = [](const std::string& text) { return std::size_t(std::stoull(text)); };
    if ((*parts)[1] == "1") compared_.push_back(changed_[i].first);
    for (std::size_t k = 2; k + 1 < parts->size(); k += 2)
      not_run_.push_back({changed_[i].first, number((*parts)[k]), (*parts)[k + 1]});
    if (!(*parts)[0].empty()) differ[i] = number((*parts)[0]);
  }
  return first_of(std::move(differ), seconds, kept);
}

// A difference that does not count: it is no agreement either.
void KernelChecker::leave_open(std::size_t index, std::size_t stage, const std::string& why) {
  const std::string& name = changed_[index].first;
  if (const auto it = std::find(compared_.begin(), compared_.end(), name); it != compared_.end()) compared_.erase(it);
  not_run_.push_back({name, stage, why});
}

// The earliest of these differences. One that comes with another meaning is none: the versions from there on are
// compared with each other.
std::optional<KernelDifference> KernelChecker::first_of(std::map<std::size_t, std::size_t> differ, double seconds,
                                                        const KeptMeaning& kept) {
  while (!differ.empty()) {
    support::poll();
    const auto first = std::min_element(differ.begin(), differ.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto [index, stage] = *first;
    differ.erase(first);
    const auto known = found_.find(index);
    auto found = known != found_.end() ? known->second : check_one(index, seconds).difference;  // another rank found it
    if (!found) {
      leave_open(index, stage, "another process found a difference that was not met again");
      continue;
    }
    if (!found->callers_rewritten || (kept && kept(*found))) return found;
    leave_open(index, stage,
               "by itself it differs, but its callers changed with it, and the whole programs do not show that its "
               "meaning is the same");
    const auto& [name, versions] = changed_[index];
    const auto from =
        std::find_if(versions.begin(), versions.end(), [&](const Version& v) { return v.stage == found->bad; });
    if (versions.end() - from < 2) continue;
    changed_.emplace_back(std::string(name), Versions(from, versions.end()));
    const Checked rest = check_in_time(changed_.size() - 1);
    not_run_.insert(not_run_.end(), rest.not_run.begin(), rest.not_run.end());
    if (rest.difference) {
      found_[changed_.size() - 1] = *rest.difference;
      differ[changed_.size() - 1] = rest.difference->bad;
    }
  }
  return std::nullopt;
}

Program KernelChecker::program(const std::string& name, const Version& version, const std::vector<Value>& args) const {
  Program p;
  const std::string_view roots[] = {name};
  p.module = ir::reachable_from(session_.context(), version.module, roots);
  p.function = name;
  p.args = copies(args);
  p.kernels = session_.options().engine;
  p.label = stages_[version.stage].file;
  return p;
}

KernelChecker::Outcome KernelChecker::execute(const std::string& name, const Version& version,
                                              const std::vector<Value>& args) {
  const Program p = program(name, version, args);
  const session::Engine given = session_.options().engine;
  const std::uint64_t limit = session_.options().eval_statements;
  Outcome o;
  for (const session::Engine engine : {session::Engine::Eval, given}) {
    std::vector<Value> written = copies(args);
    session_.options().engine = engine;
    session_.options().eval_statements = kKernelStatements;
    eval::Watcher nobody;
    source::Diagnostics found;
    const Muted muted(session_);
    const session::RunResult run = session_.run_watched(p.module, name, written, nobody, found);
    session_.options().engine = given;
    session_.options().eval_statements = limit;
    support::poll_cause();
    o.ran = run.ok;
    if (o.ran && !run.value.is_null()) written.push_back(run.value);
    if (o.ran) o.results = Value::of_tuple(std::move(written));
    if (o.ran) return o;
    o.why = found.first_error();
    using runtime::ErrorKind;
    const auto kind = run.fault ? run.fault->error.kind : ErrorKind::Unsupported;
    o.fails = kind != ErrorKind::Unsupported && kind != ErrorKind::UnknownFunction && kind != ErrorKind::TooLong &&
              kind != ErrorKind::OutOfMemory;
    if (kind != ErrorKind::TooLong || given == session::Engine::Eval) return o;
  }
  return o;
}

// Generated ones; empty: there are none, or they are more than is worth a run.
std::vector<Value> KernelChecker::arguments(const std::string& name, const Version& first, std::string& why) {
  const bool large = session_.options().default_dim > std::end(kDimsAlone)[-1];
  if (large && Iterations(session_.context(), first.kernel, session_.options()).count() > kMostIterations) return {};
  session_.set_program(program(name, first, {}).module);
  source::Diagnostics found;
  const auto made = session_.arguments(name, {}, found);
  if (!made) {
    if (why.empty()) why = found.first_error();
    return {};
  }
  std::vector<Value> generated;
  std::int64_t elements = 0;
  for (const session::Argument& a : *made) {
    generated.push_back(a.value);
    for_each_tensor(a.value, [&](const runtime::Tensor& t) { elements += t.element_count(); });
  }
  if (large && elements > kMostElements) return {};
  return generated;
}

// Arguments of each kind, one after the other until `look` has seen enough: all of them together may not fit into
// memory.
void KernelChecker::attempt(const std::string& name, const Versions& versions, std::string& why,
                            const std::function<bool(const Attempt&)>& look) {
  std::vector<const ir::Module*> modules;
  for (const Version& v : versions) modules.push_back(program(name, v, {}).module);
  const NamedNumbers named = named_numbers(modules);
  const NumberMaker maker(named, std::any_of(modules.begin(), modules.end(), has_loops_by_data));
  const std::vector<std::int64_t> dims = dims_alone(named, has_symbols(versions[0].kernel));
  const session::Options given = session_.options();
  std::vector<Value> generated;
  std::string text;
  std::optional<std::size_t> made;  // for these dims
  for (const auto& [k, numbers] : order_of_attempts(dims.size())) {
    support::poll();
    if (made != k) {
      session_.options().default_dim = dims[k];
      if (k < 2) tell_dims_apart(session_.options(), versions[0].kernel);
      generated = arguments(name, versions[0], why);
      text = has_symbols(versions[0].kernel) ? dims_text(session_.options(), versions[0].kernel) : std::string();
      session_.options() = given;
      made = k;
    }
    if (generated.empty()) continue;
    const std::int64_t rounds = k > 0 && numbers != Numbers::OneSign ? 1 : maker.rounds(generated, numbers);
    for (std::int64_t round = 0; round < rounds; ++round) {
      Attempt a{copies(generated), numbers, text};
      maker.refill(a.args, numbers, round);
      if (!look(a)) return;
    }
  }
}

std::optional<KernelDifference> KernelChecker::compare_on(const std::string& name, const Versions& versions,
                                                          const Attempt& attempt, std::vector<Seen>& seen) {
  const Outcome good = execute(name, versions[0], attempt.args);
  if (!good.ran) {
    if (seen[0].why.empty()) seen[0].why = good.why;
    return std::nullopt;
  }
  std::size_t before = 0;
  for (std::size_t i = 1; i < versions.size(); ++i) {
    support::poll();
    const Outcome now = execute(name, versions[i], attempt.args);
    if (!now.ran && !now.fails) {
      if (seen[i].why.empty()) seen[i].why = now.why;
      continue;
    }
    seen[i].ran = true;
    if (now.ran && !differ(good.results, now.results, attempt.numbers, tolerances_)) {
      before = i;
      continue;
    }
    KernelDifference d;
    d.kernel = name;
    d.callers_rewritten =
        std::any_of(versions.begin() + std::ptrdiff_t(before) + 1, versions.begin() + std::ptrdiff_t(i) + 1,
                    [](const Version& v) { return v.callers_rewritten; });
    d.good = versions[i].stage;
    while (d.good > versions[before].stage && (--d.good, !stages_[d.good].kernels)) {
    }
    d.bad = versions[i].stage;
    d.numbers = text_of(attempt.numbers);
    d.dims = attempt.dims;
    d.large = attempt.numbers == Numbers::Large;
    d.why = now.ran ? std::string() : now.why;
    d.good_program = program(name, versions[before], attempt.args);
    d.bad_program = program(name, versions[i], attempt.args);
    if (now.ran) describe(good.results, now.results, versions[i].kernel, d);
    return d;
  }
  return std::nullopt;
}

KernelChecker::Checked KernelChecker::check_one(std::size_t index, double seconds) {
  const auto& [name, versions] = changed_[index];
  std::vector<Seen> seen(versions.size());
  const double until = spent() + seconds;
  std::string problem;
  Checked out;
  std::optional<KernelDifference>& first = out.difference;
  attempt(name, versions, problem, [&](const Attempt& a) {
    const bool ran = std::any_of(seen.begin(), seen.end(), [](const Seen& v) { return v.ran; });
    if (spent() > (ran ? until : until + kUntilOneRuns)) return false;
    auto found = compare_on(name, versions, a, seen);
    if (found && (!first || found->bad < first->bad)) first = std::move(found);
    return !first || first->bad != versions[1].stage;
  });
  for (std::size_t i = 1; i < versions.size(); ++i) {
    if (seen[i].ran) continue;
    const std::string& reason = !seen[i].why.empty() ? seen[i].why : !seen[0].why.empty() ? seen[0].why : problem;
    out.not_run.push_back({name, versions[i].stage, reason});
  }
  out.compared = out.not_run.empty();
  return out;
}

}  // namespace rldb::repro
