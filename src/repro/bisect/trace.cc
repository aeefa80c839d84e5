// TraceBisector: the first module of a dump whose results differ from those before.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "repro/bisect/signature.h"
#include "repro/borrow.h"
#include "repro/values.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/bisect.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::Value;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kDims[] = {7, 1, 16, 2};
// After so long no other dims are tried.
constexpr auto kEnough = std::chrono::seconds(4);
// Of what is evaluated in one run (kernels that cannot be compiled): some tenths of a second.
constexpr std::uint64_t kStatements = 5'000'000;

// What came of one stage.
struct Outcome {
  bool ran = false;
  std::string error;
  std::string not_run;  // it could not be run, for a reason that is not the program's
  Value result;
};

class TraceBisector {
 public:
  TraceBisector(session::Session& session, const Tolerances& tolerances, TraceBisection& out)
      : session_(session), tolerances_(tolerances), out_(out) {}

  void run() {
    const auto first = std::find_if(out_.stages.begin(), out_.stages.end(), runs);
    if (first == out_.stages.end()) {
      out_.why = "no stage can be run";
      return;
    }
    const bool open = has_open_dims(first->module);
    for (const std::string& name : functions_of(first->module))
      for (const std::int64_t dim : open ? std::span(kDims) : std::span(kDims).first(1)) {
        if (dim != kDims[0] && Clock::now() - start_ > kEnough) break;
        session_.options().default_dim = dim;
        if (look_at(name)) {
          out_.dim = open ? dim : 0;
          return;
        }
      }
    if (!out_.compared.empty()) look_at_memory(record(session_, previous_program_));
    out_.verdict = out_.compared.empty() ? TraceBisection::Verdict::CannotTell : TraceBisection::Verdict::Agree;
    if (out_.compared.empty() && out_.why.empty()) out_.why = "no two stages could be compared";
  }

 private:
  static bool runs(const Stage& s) { return s.module && s.not_runnable.empty(); }

  static std::vector<std::string> functions_of(const ir::Module* module) {
    std::vector<std::string> names;
    for (const ir::ModuleEntry& e : module->entries) {
      const auto* f = ir::as<ir::Function>(e.function);
      if (f && !f->is_private()) names.emplace_back(e.name);
    }
    std::stable_partition(names.begin(), names.end(), [](const std::string& n) { return n == "main"; });
    return names;
  }

  static bool has_open_dims(const ir::Module* module) {
    return std::any_of(module->entries.begin(), module->entries.end(), [](const ir::ModuleEntry& e) {
      const auto* f = ir::as<ir::Function>(e.function);
      return f && std::any_of(f->params.begin(), f->params.end(), [](const ir::Var* p) { return p->type->has_vars; });
    });
  }

  // By its name, or by the symbol that it is exported under.
  static const ir::Function* find(const ir::Module* module, const std::string& name, std::string& there) {
    there = name;
    if (const auto* f = ir::as<ir::Function>(module->find(name))) return f;
    for (const ir::ModuleEntry& e : module->entries) {
      const auto* f = ir::as<ir::Function>(e.function);
      const ir::Attr* symbol = f ? ir::find_attr(f->attrs, "global_symbol") : nullptr;
      if (!symbol || symbol->string != name) continue;
      there = e.name;
      return f;
    }
    return nullptr;
  }

  // ---- one function through all stages ----

  // True: a stage differs.
  bool look_at(const std::string& name) {
    baseline_ = kNone;
    previous_ = kNone;
    for (std::size_t i = 0; i < out_.stages.size(); ++i) {
      support::poll();
      Stage& stage = out_.stages[i];
      if (!runs(stage)) continue;
      if (step(i, name)) return true;
    }
    return false;
  }

  bool step(std::size_t i, const std::string& name) {
    Stage& stage = out_.stages[i];
    if (previous_ != kNone && ir::structural_equal(out_.stages[previous_].module, stage.module)) {
      previous_ = i;
      return false;
    }
    Program program;
    program.module = stage.module;
    program.label = stage.file;
    program.kernels = session_.options().engine;
    const ir::Function* f = find(stage.module, name, program.function);
    if (!f) return false;
    if (!prepare(i, f, program)) {
      stage.not_runnable = out_.why;
      return false;
    }
    Outcome outcome = execute(program);
    if (!outcome.not_run.empty() && previous_ != kNone)
      if (const ir::Module* other = with_earlier_kernels(stage)) {
        program.module = other;
        outcome = execute(program);
        if (outcome.not_run.empty() && !earlier_kernels_)
          note(fmt::format("from {} on kernels are run as they were in {}", stage.file, out_.stages[previous_].file));
        earlier_kernels_ = earlier_kernels_ || outcome.not_run.empty();
      }
    if (!outcome.not_run.empty()) {
      stage.not_runnable = outcome.not_run;
      return false;
    }
    if (baseline_ == kNone) {
      if (!outcome.ran) {
        stage.not_runnable = "it fails: " + outcome.error;
        return false;
      }
      baseline_ = i;
      reference_ = outcome;
    } else {
      note_compared(name);
      if (differs(outcome)) return found(i, program);
    }
    previous_ = i;
    previous_program_ = std::move(program);
    return false;
  }

  // Kernels that were scheduled for another machine do what those of the same name did before. Null: none is the same.
  const ir::Module* with_earlier_kernels(const Stage& stage) {
    const ir::Module* earlier = previous_program_.module;
    ir::ModuleBuilder builder(session_.context(), *stage.module);
    bool changed = false;
    for (const ir::ModuleEntry& e : stage.module->entries) {
      const auto* f = ir::as<ir::PrimFunc>(e.function);
      const auto* before = f ? ir::as<ir::PrimFunc>(earlier->find(e.name)) : nullptr;
      if (!before || before == f || ir::print_type(before->type) != ir::print_type(f->type)) continue;
      builder.set(e.name, before);
      changed = true;
    }
    return changed ? builder.build() : nullptr;
  }

  void note(const std::string& text) {
    if (std::find(out_.notes.begin(), out_.notes.end(), text) == out_.notes.end()) out_.notes.push_back(text);
  }

  // Arguments for the stage: those of the first one, or new ones where these do not fit.
  bool prepare(std::size_t i, const ir::Function* f, Program& program) {
    const Stage& stage = out_.stages[i];
    std::string why;
    if (baseline_ != kNone && out_.stages[baseline_].made_up != stage.made_up)
      why = "it has other constants, whose data the dump left out";
    if (baseline_ != kNone && why.empty()) {
      auto adapted = adapt_arguments(session_, arguments_, stage.module, program.function, f, why);
      if (adapted) {
        program.args = std::move(*adapted);
        return true;
      }
    }
    if (baseline_ != kNone) {
      note(fmt::format("compared anew from {} on: {}", stage.file, why));
    }
    baseline_ = kNone;
    return make_arguments(f, program);
  }

  bool make_arguments(const ir::Function* f, Program& program) {
    session_.history().start(program.module);
    source::Diagnostics found;
    auto made = session_.arguments(program.function, {}, found);
    if (!made) {
      out_.why = found.all().empty() ? "its inputs cannot be made up" : found.all()[0].message;
      return false;
    }
    for (const session::Argument& a : *made) program.args.push_back(a.value);
    arguments_ = {f, program.args};
    return true;
  }

  Outcome execute(const Program& program) {
    ++out_.runs;
    Outcome o;
    eval::Watcher nobody;
    source::Diagnostics found;
    const session::RunResult run =
        session_.run_watched(program.module, program.function, copies(program.args), nobody, found);
    support::poll_cause();
    o.ran = run.ok;
    o.result = run.value;
    if (o.ran) return o;
    for (const source::Diagnostic& d : found.all())
      if (d.severity == source::Severity::Error && o.error.empty()) o.error = d.message;
    using runtime::ErrorKind;
    const auto kind = run.fault ? run.fault->error.kind : ErrorKind::Unsupported;
    if (kind == ErrorKind::Unsupported || kind == ErrorKind::UnknownFunction || kind == ErrorKind::TooLong ||
        kind == ErrorKind::OutOfMemory)
      o.not_run = o.error;
    return o;
  }

  bool differs(const Outcome& o) const {
    if (!o.ran) return true;
    std::vector<Value> a, b;
    flatten(reference_.result, a);
    flatten(o.result, b);
    if (a.size() != b.size()) return true;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!is_opaque(a[i]) && difference(a[i], b[i], tolerances_)) return true;
    return false;
  }

  void note_compared(const std::string& name) {
    if (std::find(out_.compared.begin(), out_.compared.end(), name) == out_.compared.end())
      out_.compared.push_back(name);
  }

  bool found(std::size_t i, const Program& program) {
    out_.verdict = TraceBisection::Verdict::Found;
    out_.good = previous_;
    out_.bad = i;
    out_.function = program.function;
    const Trace good = record(session_, previous_program_);
    const Trace bad = record(session_, program);
    out_.comparison = compare(session_.context(), good, bad, tolerances_);
    look_at_memory(bad);
    return true;
  }

  void look_at_memory(const Trace& trace) {
    Sanitizers which;
    which.storage = which.unwritten = true;
    out_.memory = sanitize(trace, which);
  }

  static constexpr std::size_t kNone = std::size_t(-1);
  session::Session& session_;
  const Tolerances& tolerances_;
  TraceBisection& out_;
  Clock::time_point start_ = Clock::now();
  std::size_t baseline_ = kNone;  // the stage that the others are compared with
  std::size_t previous_ = kNone;  // the last one that agreed with it
  Arguments arguments_;
  Outcome reference_;
  Program previous_program_;
  bool earlier_kernels_ = false;  // it was noted that they stand in
};

}  // namespace

TraceBisection bisect_trace(session::Session& session, const std::string& folder, const Tolerances& tolerances) {
  TraceBisection out;
  out.stages = read_dump(session, folder, out.why);
  if (out.stages.empty()) return out;
  const Borrow borrow(session);
  session.options().eval_statements = kStatements;
  TraceBisector(session, tolerances, out).run();
  return out;
}

}  // namespace rldb::repro
