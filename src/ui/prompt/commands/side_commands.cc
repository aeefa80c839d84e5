// Two runs next to each other: in lockstep, on other inputs, and which of them is the present one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "rldb/ir/module.h"
#include "rldb/ir/walk.h"
#include "rldb/repro/dump.h"
#include "rldb/session/generated.h"
#include "rldb/session/lent_program.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_input.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/named_stage.h"
#include "rldb/ui/prompt/provenance_data.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/repro_flags.h"
#include "ui/prompt/commands/versions.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

using runtime::Value;

namespace {

// One side of `:lockstep`, as requested.
struct SideRequest {
  std::unique_ptr<session::Program> program;
  const ir::Module* stage = nullptr;  // of a folder of IR files, in place of a program
  std::string passes;
  session::Engine engine = session::Engine::Jit;
  std::string label;
};

// A version, or a stage `FOLDER:STAGE`. False: diagnosed.
bool request_side(Repl& repl, const std::string& text, SideRequest& out) {
  session::Session& session = repl.session();
  if (const auto name = repro::parse_stage_name(text)) {
    source::Diagnostics diagnostics;
    const auto stage = read_runnable_stage(session, *name, diagnostics);
    if (repl.report(diagnostics) == Status::Failed || !stage) return false;
    out.stage = stage->module;
    out.label = stage->file;
    return true;
  }
  const auto version = version_of(repl, text);
  if (!version) return false;
  out.program = session.program()->copy();
  (void)out.program->go_to(*version);
  out.label = session.program()->version_name(*version);
  return true;
}

bool request_version(Repl& repl, std::size_t version, SideRequest& out) {
  return request_side(repl, fmt::to_string(version), out);
}

// False: diagnosed.
bool request_sides(Repl& repl, const std::vector<std::string>& words, const ReproFlags& flags, SideRequest& a,
                   SideRequest& b) {
  const std::size_t now = repl.session().program()->position();
  const bool same = !flags.passes.empty() || !flags.other_passes.empty() || flags.other_engine;
  a.engine = b.engine = repl.session().options().engine;
  if (!words.empty() && !request_side(repl, words[0], a)) return false;
  if (words.empty() && same && !request_version(repl, now, a)) return false;
  if (words.empty() && !same) {
    const auto before = previous_version(repl);
    if (!before || !request_version(repl, *before, a)) return false;
  }
  if (words.size() > 1 ? !request_side(repl, words[1], b)
                       : !(words.size() == 1 && same ? request_side(repl, words[0], b) : request_version(repl, now, b)))
    return false;
  // One pipeline is that of the second side.
  const bool both = !flags.other_passes.empty();
  if (both) a.passes = flags.passes;
  b.passes = both ? flags.other_passes : flags.passes;
  for (SideRequest* side : {&a, &b})
    if (!side->passes.empty()) side->label += " after " + side->passes;
  if (flags.other_engine) {
    b.engine = *flags.other_engine;
    b.label += fmt::format(" with kernels by {}", session::to_string(b.engine));
  }
  return true;
}

// Until the end of the scope the session has the side's program and engine.
class AtRequest {
 public:
  AtRequest(session::Session& session, SideRequest& side)
      : session_(session),
        engine_(session.options().engine),
        program_(side.stage ? std::make_unique<session::LentProgram>(session, side.stage)
                            : std::make_unique<session::LentProgram>(session, std::move(side.program))) {
    session.options().engine = side.engine == session::Engine::Eval ? session::Engine::Vm : side.engine;
  }
  ~AtRequest() { session_.options().engine = engine_; }
  AtRequest(const AtRequest&) = delete;
  AtRequest& operator=(const AtRequest&) = delete;

 private:
  session::Session& session_;
  session::Engine engine_;
  std::unique_ptr<session::LentProgram> program_;
};

// `args`: of both sides; empty: they are made for this one. Nullopt: diagnosed.
std::optional<debug::Side> side_of_request(Repl& repl, SideRequest& request, const std::string& function,
                                           const std::vector<std::string>& inputs,
                                           std::optional<std::vector<Value>>& args) {
  source::Diagnostics diagnostics;
  const AtRequest at(repl.session(), request);
  std::optional<debug::Side> side;
  const bool passed = request.passes.empty() || repl.session().run_passes(request.passes, diagnostics);
  if (passed && !args) {
    if (const auto made = repl.session().arguments(function, inputs, diagnostics)) {
      if (!repl.wants_json())
        for (const std::string& line : session::generated_lines(*made)) repl.print("{}\n", line);
      args.emplace();
      for (const session::Argument& a : *made) args->push_back(a.value);
    }
  }
  if (passed && args) side = debug::prepare_side(repl.debugger(), request.label, function, *args, diagnostics);
  if (repl.report(diagnostics) == Status::Failed) return std::nullopt;
  return side;
}

void tell_cause(Repl& repl, const debug::Lockstep& result, int side) {
  const auto pair = debug::pair_of(repl.debugger());
  if (!result.first || result.first->element.empty() || result.binding.empty() || !pair) return;
  debug::select_side(repl.debugger(), side);
  source::Diagnostics diagnostics;
  repl.print("{}:\n", pair->labels[side]);
  const auto steps = repl.debugger().why(result.first->name + result.first->element, 0, 1, diagnostics);
  for (const std::string& line : debug::lines_of(steps)) repl.print("  {}\n", line);
  for (const source::Diagnostic& d : diagnostics.all()) repl.print("  {}\n", d.message);
}

void tell_lockstep(Repl& repl, const debug::Lockstep& result, const std::string& left, const std::string& right) {
  repl.print("left:  {}\nright: {}\n", left, right);
  const std::string alone =
      result.only_left + result.only_right == 0
          ? ""
          : fmt::format(" ({} only on the left, {} only on the right)", result.only_left, result.only_right);
  const std::string equal = fmt::format("{} {}{}", support::counted(result.compared, "value"),
                                        result.compared == 1 ? "agrees" : "agree", alone);
  if (result.verdict == debug::Lockstep::Verdict::Equal) {
    repl.print("no difference: {}, and the results\n", equal);
    return;
  }
  repl.print("{}\n", equal);
  if (!result.why.empty()) repl.print("{}\n", result.why);
  if (!result.first) return;
  const debug::ValueDifference& d = *result.first;
  const std::string times = result.occurrence > 1 ? fmt::format(", value {} of that name", result.occurrence) : "";
  const std::string where = result.binding.empty() ? "" : fmt::format(" of {}{}", result.function, times);
  repl.print("{}{}{} differs: {} on the left, {} on the right\n", d.name, d.element, where, d.left, d.right);
  if (!d.summary.empty()) repl.print("{}\n", d.summary);
  for (const int side : {0, 1}) tell_cause(repl, result, side);
}

}  // namespace

Status command_Lockstep(Repl& repl, std::string_view rest) {
  std::vector<std::string> words = split_values(rest);
  const auto flags = take_repro_flags(repl, words);
  if (!flags) return Status::Failed;
  // At most two versions, or stages of folders, come first; a number behind them is a value.
  std::size_t sides = 0;
  const auto first_input = std::find_if(words.begin(), words.end(), [&](const std::string& w) {
    const bool value = w.find_first_of("=@") != std::string::npos || w.find_first_of("[({-'\"") == 0;
    return value || sides++ == 2;
  });
  const std::vector<std::string> inputs(first_input, words.end());
  words.erase(first_input, words.end());
  if (words.size() > 2) return Status::Usage;
  SideRequest a, b;
  if (!request_sides(repl, words, *flags, a, b)) return Status::Failed;
  if (!repl.may_end_run("`:lockstep`")) return Status::Failed;
  std::optional<std::vector<Value>> args;
  auto left = side_of_request(repl, a, flags->function, inputs, args);
  auto right = left ? side_of_request(repl, b, flags->function, inputs, args) : std::nullopt;
  if (!right) return Status::Failed;
  repl.debugger().kill();
  repl.begin_run();
  repl.frame() = 0;
  const std::string labels[] = {left->label, right->label};
  const debug::Lockstep result =
      debug::run_in_lockstep(repl.debugger(), *std::move(left), *std::move(right),
                             [&](runtime::DType dtype) { return flags->tolerances.of(dtype); });
  if (result.verdict == debug::Lockstep::Verdict::CannotTell)
    return repl.fail(source::message(diag::CannotTell, result.why));
  if (repl.wants_json()) {
    repl.give(lockstep_json(result, labels[0], labels[1]));
  } else {
    tell_lockstep(repl, result, labels[0], labels[1]);
  }
  if (result.verdict == debug::Lockstep::Verdict::Equal) return Status::Good;
  debug::select_side(repl.debugger(), 1);
  if (!repl.wants_json()) {
    repl.print("both runs are stopped there; `:side left` and `:side right` choose one\n");
    repl.show_stop(repl.debugger().last_stop());
  }
  return Status::Failed;
}

namespace {

std::vector<std::string> parameters_of_run(Repl& repl) {
  const vm::Machine* m = repl.debugger().machine();
  if (!m) return {};
  const bytecode::Executable& exe = m->executable();
  const bytecode::FunctionIndex f = exe.find_function(repl.debugger().run_function());
  return f < 0 ? std::vector<std::string>() : exe.functions[std::size_t(f)].param_names;
}

// The symbolic variables in the type of a parameter.
std::vector<std::string> symbols_of(const ir::Var* parameter) {
  std::vector<const ir::Var*> vars;
  ir::collect_vars(parameter->type, vars);
  std::vector<std::string> names;
  for (const ir::Var* v : vars) names.emplace_back(v->name);
  return names;
}

// Other arguments for the function of the run: `n=8`, `x=2x3xf32=ones`.
class OtherArguments {
 public:
  explicit OtherArguments(Repl& repl) : repl_(repl), names_(parameters_of_run(repl)) {}

  // Nullopt: diagnosed.
  std::optional<std::vector<Value>> read(const std::vector<std::string>& words) {
    const auto present = repl_.debugger().run_arguments();
    const ir::Module* module = repl_.debugger().written_module();
    const auto* f = module ? ir::as<ir::Function>(module->find(repl_.debugger().run_function())) : nullptr;
    if (names_.empty() && f && !f->params.empty()) {
      repl_.fail(source::message(diag::NotStopped));
      return std::nullopt;
    }
    if (!present || !f || f->params.size() != names_.size() || present->size() != names_.size()) {
      const char* why = !present ? "its run has no history"
                        : !f     ? "it is not a Relax function as it was written, but made by a pass"
                                 : "its parameters are no longer those that were written";
      repl_.fail(source::message(diag::CannotRerun, repl_.debugger().run_function(), why));
      return std::nullopt;
    }
    for (const std::string& word : words)
      if (!sort(word, f)) return std::nullopt;
    session::Session& session = repl_.session();
    auto before = session.snapshot();
    auto values = made(*present, f);
    session.restore(std::move(before));
    return values;
  }

 private:
  bool sort(const std::string& word, const ir::Function* f) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
      texts_.push_back(word);
      given_.push_back(name);
      return true;
    }
    bool known = false;
    for (const ir::Var* p : f->params) {
      const auto symbols = symbols_of(p);
      known = known || std::find(symbols.begin(), symbols.end(), name) != symbols.end();
    }
    std::int64_t value = 0;
    const std::string text = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (!known) {
      repl_.fail(source::message(diag::NoSuchThing,
                                 fmt::format("parameter or dimension of `{}`", repl_.debugger().run_function()), name));
      return false;
    }
    if (problem != std::errc() || end != text.data() + text.size() || value < 0) {
      repl_.fail(source::message(diag::BadInput, text, "a dimension is a number that is not negative"));
      return false;
    }
    dims_[name] = value;
    texts_.push_back(word);  // a value that does not fit it is refused
    return true;
  }

  // Dimensions that are not given stay those of the run.
  void keep_dims(const ir::Var* parameter, const Value& value) {
    const auto* t = ir::as<ir::TensorType>(parameter->type);
    if (!t || !t->has_shape || !value.is(runtime::ValueKind::Tensor)) return;
    const auto& shape = value.as_tensor().shape();
    for (std::size_t i = 0; i < t->shape.size() && i < shape.size(); ++i)
      if (const auto* v = ir::as<ir::Var>(t->shape[i])) repl_.session().options().dims[std::string(v->name)] = shape[i];
  }

  // Values of the run stay where they do not depend on a dimension that changes; the others are generated.
  std::optional<std::vector<Value>> made(const std::vector<Value>& present, const ir::Function* f) {
    session::Session& session = repl_.session();
    auto without = session.snapshot();
    for (const std::string& name : names_) without.values.erase(name);
    session.restore(std::move(without));
    for (std::size_t i = 0; i < names_.size(); ++i) keep_dims(f->params[i], present[i]);
    for (const auto& [name, value] : dims_) session.options().dims[name] = value;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto symbols = symbols_of(f->params[i]);
      const bool depends =
          std::any_of(symbols.begin(), symbols.end(), [&](const std::string& s) { return dims_.contains(s); });
      const bool given = std::find(given_.begin(), given_.end(), names_[i]) != given_.end();
      if (!given && !depends) session.set_value(names_[i], present[i]);
    }
    source::Diagnostics diagnostics;
    const auto arguments = session.arguments(repl_.debugger().run_function(), texts_, diagnostics);
    if (repl_.report(diagnostics) == Status::Failed || !arguments) return std::nullopt;
    if (!repl_.wants_json())
      for (const std::string& line : session::generated_lines(*arguments)) repl_.print("{}\n", line);
    std::vector<Value> values;
    for (const session::Argument& a : *arguments) {
      auto copy = runtime::deep_copy(a.value);
      if (!copy.ok()) {
        repl_.fail(source::message(diag::BadInput, a.parameter, copy.error().message));
        return std::nullopt;
      }
      values.push_back(*std::move(copy));
    }
    return values;
  }

  Repl& repl_;
  std::vector<std::string> names_, texts_, given_;
  std::map<std::string, std::int64_t> dims_;
};

void tell_rerun(Repl& repl, const debug::Rerun& result) {
  for (const std::string& change : result.left_out) repl.print("note: this run is without {}\n", change);
  if (!result.arrived) {
    repl.print("it did not reach the same place{}\n",
               result.times > 1 ? fmt::format(" on attempt {}", result.times) : "");
    return;
  }
  repl.print("at the same place, {} of {} differ\n", result.differences.size(),
             support::counted(result.compared, "value"));
  for (const debug::ValueDifference& d : result.differences) {
    repl.print("  {}{}: {}, now {}\n", d.name, d.element, d.left, d.right);
    if (!d.summary.empty()) repl.print("    {}\n", d.summary);
  }
}

}  // namespace

Status command_Rerun(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  if (words.empty()) return Status::Usage;
  if (!repl.debugger().active() && !repl.debugger().finished()) return repl.fail(source::message(diag::NotStopped));
  if (repl.ranks > 1)
    return repl.fail(source::message(diag::CannotRerun, repl.debugger().run_function(), "it is one of several ranks")
                         .with_hint("`run` runs all of them"));
  const auto values = OtherArguments(repl).read(words);
  if (!values) return Status::Failed;
  source::Diagnostics diagnostics;
  const auto result = debug::rerun(repl.debugger(), std::string(rest), *values, diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !result) return Status::Failed;
  std::vector<RunChange> changes = repl.run_changes;
  repl.begin_run();
  for (RunChange& change : changes)
    for (const auto& [there, here] : result->repeated)
      if (change.time == there) {
        change.time = here;
        repl.run_changes.push_back(std::move(change));
        break;
      }
  repl.frame() = 0;
  if (repl.wants_json()) return repl.give(rerun_json(*result));
  tell_rerun(repl, *result);
  return repl.show_stop(result->stop);
}

Status command_Side(Repl& repl, std::string_view rest) {
  const auto pair = debug::pair_of(repl.debugger());
  if (!pair)
    return repl.fail(
        source::message(diag::NoSuchThing, "second run", "side").with_hint("`:lockstep` and `:rerun` make one"));
  if (!rest.empty() && rest != "left" && rest != "right") return Status::Usage;
  if (!rest.empty()) debug::select_side(repl.debugger(), rest == "left" ? 0 : 1);
  repl.frame() = 0;
  const int present = debug::pair_of(repl.debugger())->present;
  if (repl.wants_json())
    return repl.give(
        {{"left", pair->labels[0]}, {"right", pair->labels[1]}, {"present", present == 0 ? "left" : "right"}});
  for (const int side : {0, 1})
    repl.print("{} {}: {}\n", side == present ? "=>" : "  ", side == 0 ? "left" : "right", pair->labels[side]);
  return repl.show_stop(repl.debugger().last_stop());
}

}  // namespace rldb::ui
