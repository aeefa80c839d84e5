// Fuzz target: a module that parses without errors goes through passes in random order, verified after each, and runs
// on the three engines before and after them; values are compared. Whatever the passes make is printed and read back.
#include <fmt/format.h>

#include <algorithm>

#include "fuzz/mutate.h"
#include "rldb/ir/module.h"
#include "rldb/ir/walk.h"
#include "rldb/repro/roundtrip.h"
#include "rldb/session/session.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/support/cancel.h"
#include "rldb/support/check.h"
#include "rldb/support/memory.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".py"};

namespace {

using runtime::Value;
using session::Engine;
using session::Session;

constexpr double kSeconds = 8;
constexpr std::size_t kMostFunctions = 3;
constexpr std::size_t kMostPasses = 5;
constexpr runtime::Tolerance kTolerance{.atol = 1e-3, .rtol = 1e-3};

struct Silent : runtime::Output {
  void write(std::string_view) override {}
};

struct Ran {
  bool ok = false;
  bool refused = false;  // never started: a pass or code generation names what it does not support
  Value value;
  std::string error;
};

std::vector<Value> copies(const std::vector<Value>& values) {
  std::vector<Value> out;
  for (const Value& v : values) {
    auto copy = runtime::deep_copy(v);
    out.push_back(copy.ok() ? std::move(copy).value() : v);
  }
  return out;
}

Ran run(Session& session, Engine engine, std::string_view function, const std::vector<Value>& args) {
  session.options().engine = engine;
  source::Diagnostics found;
  const session::RunResult result = session.run(function, copies(args), found);
  Ran ran{result.ok, !result.ok && !result.fault, result.value, {}};
  for (const source::Diagnostic& d : found.all())
    if (d.severity == source::Severity::Error) ran.error += d.message + "; ";
  support::poll_cause();  // a run that was stopped is none
  return ran;
}

// Arguments of a caller: passes such as LazyGetInput change the parameters, and the old arguments mean nothing then.
std::vector<ir::TypeKind> parameters(const Session& session, std::string_view name) {
  const auto* f = session.module() ? ir::as<ir::Function>(session.module()->find(name)) : nullptr;
  std::vector<ir::TypeKind> kinds;
  if (f)
    for (const ir::Var* v : f->params) kinds.push_back(v->type->kind);
  return kinds;
}

std::string difference(const Ran& a, std::string_view a_name, const Ran& b, std::string_view b_name) {
  // The evaluator runs programs that the lowering passes refuse.
  if (a.refused || b.refused) return {};
  if (a.ok != b.ok)
    return fmt::format("{} {}, {} {}", a_name, a.ok ? "runs" : "fails (" + a.error + ")", b_name,
                       b.ok ? "runs" : "fails (" + b.error + ")");
  if (!a.ok) return {};
  const std::string text = runtime::compare(b.value, a.value, kTolerance);
  return text.empty() ? text : fmt::format("{} and {} differ: {}", a_name, b_name, text);
}

struct Function {
  std::string name;
  std::vector<Value> args;
  Ran expected;
  std::vector<ir::TypeKind> params;
};

// Runs the functions for which inputs can be made. Empty, or how engines differ.
std::string run_engines(Session& session, std::vector<Function>& functions) {
  for (const std::string& name : session.function_names()) {
    if (functions.size() >= kMostFunctions) break;
    source::Diagnostics ignored;
    auto made = session.arguments(name, {}, ignored);
    if (!made) continue;
    Function f{name, {}, {}, parameters(session, name)};
    for (session::Argument& a : *made) f.args.push_back(a.value);
    f.expected = run(session, Engine::Eval, name, f.args);
    for (const Engine engine : {Engine::Vm, Engine::Jit}) {
      const std::string wrong =
          difference(f.expected, "eval", run(session, engine, name, f.args), session::to_string(engine));
      if (!wrong.empty()) return fmt::format("{}: {}", name, wrong);
    }
    functions.push_back(std::move(f));
  }
  return {};
}

// Runs one pass, verified. Empty, or what it left broken.
std::string run_pass(Session& session, const passes::PassInfo& pass, std::string& applied) {
  source::Diagnostics found;
  if (session.run_passes(pass.name, found)) applied += fmt::format("{}{}", applied.empty() ? "" : ",", pass.name);
  for (const source::Diagnostic& d : found.all())
    if (d.id == diag::PassVerifyFailed)
      return fmt::format("{} after {}: {}", pass.name, applied, found.all()[0].message);
  return {};
}

// A text has no place above the root block of a function: what DecorateDeviceScope and InstrumentProfileIntrinsics put
// there reads back inside of it, in TVM as well.
bool has_more_than_root(const ir::Module* module) {
  const auto has_more = [](const ir::ModuleEntry& e) {
    const auto* f = ir::as<ir::PrimFunc>(e.function);
    if (!f || !f->s_tir || ir::isa<ir::SBlockRealize>(f->body)) return false;
    bool blocks = false;
    ir::walk(f->body, [&](const ir::Node* n) { return !(blocks = blocks || ir::isa<ir::SBlockRealize>(n)); });
    return blocks;
  };
  return std::any_of(module->entries.begin(), module->entries.end(), has_more);
}

std::string run_passes(Session& session, const std::vector<Function>& functions, Rng& rng) {
  std::string applied;
  const std::size_t count = 1 + below(rng, kMostPasses);
  for (std::size_t i = 0; i < count; ++i) {
    const passes::PassInfo& pass = passes::all_passes()[below(rng, passes::all_passes().size())];
    if (std::string broken = run_pass(session, pass, applied); !broken.empty()) return broken;
  }
  if (applied.empty()) return {};
  source::Diagnostics found;
  const bool readable = !has_more_than_root(session.module());
  if (std::string wrong = readable ? repro::roundtrip(session, session.options().print, found) : ""; !wrong.empty())
    return fmt::format("the text after {} does not read back: {}{}", applied, wrong,
                       found.all().empty() ? "" : ": " + found.all()[0].message);
  for (const Function& f : functions) {
    if (!ir::isa<ir::Function>(session.module()->find(f.name)) || parameters(session, f.name) != f.params) continue;
    if (f.name.ends_with("transform_params")) continue;  // LiftTransformParams adds to one that there is
    const Ran after = run(session, Engine::Vm, f.name, f.args);
    const std::string wrong = difference(f.expected, "before", after, "after " + applied);
    if (!wrong.empty()) return fmt::format("{}: {}", f.name, wrong);
  }
  return {};
}

std::string try_program(const std::string& input) {
  Silent silent;
  Session session({}, &silent);
  session.options().default_dim = 3;
  source::Diagnostics found;
  if (!session.load_text("fuzz.py", input, found) || !session.check_well_formed()) return {};
  std::vector<Function> functions;
  if (std::string wrong = run_engines(session, functions); !wrong.empty()) return wrong;
  Rng rng(std::hash<std::string>()(input));
  return run_passes(session, functions, rng);
}

}  // namespace

std::string run_one(const std::string& input) {
  support::clear_cancel();
  const support::Deadline deadline(kSeconds);
  try {
    return try_program(input);
  } catch (const support::Cancelled&) {
    return {};
  } catch (const std::bad_alloc&) {
    return {};
  }
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) { return mutate_text(input, pool, rng); }

}  // namespace rldb::fuzz
