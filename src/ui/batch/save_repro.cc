// Scripts that reproduce the findings of batch commands: the entry, the values and the expectations of each.
#include "ui/batch/save_repro.h"

#include <fmt/format.h>

#include "rldb/repro/cut_pair.h"
#include "rldb/session/default_function.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/support/entry_function.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/command_line/subcommand.h"
#include "rldb/ui/prompt/tvm_script.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kSuccess = ":expect success";
// The value that a correct program returns; the printer gives no parameter this name.
constexpr std::string_view kExpected = "expected_result";

std::string oracle_flags(const repro::Question& q) {
  std::string text;
  const std::string_view word = repro::word_of(q.kind);
  if (!word.empty() && q.kind != repro::OracleKind::Any) text += fmt::format(" --oracle={}", word);
  if (q.kind == repro::OracleKind::Memory) text += " --memory-limit=" + repro::to_string(q.memory);
  if (q.kind == repro::OracleKind::Time) text += " --time-limit=" + repro::to_string(q.time);
  if (!q.command.empty()) text += " " + quoted_word("--test=" + q.command);
  if (!q.expected.empty()) text += fmt::format(" --expected={}", kExpected);
  return text + tolerance_flags(q.tolerances);
}

std::string with_function(std::string entry, const std::string& function) {
  return function == support::kEntryFunction ? entry : entry + " " + function;
}

void add_expected(ReproFile& repro, const std::vector<runtime::Value>& leaves) {
  if (leaves.empty()) return;
  repro.values.push_back(
      {std::string(kExpected), leaves.size() == 1 ? leaves[0] : runtime::Value::of_tuple(leaves), false});
}

}  // namespace

std::string quoted_word(const std::string& word) {
  if (word.find_first_of(" \t'\"") == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\"'\"'") : std::string(1, c);
  return out + "'";
}

std::string function_of(const CommandLine& line, const session::Session& session) {
  if (!line.function.empty()) return line.function;
  return session::default_function(session);
}

ReproFile repro_of(const CommandLine& line, const session::Options& options, const ir::Module* module) {
  ReproFile repro;
  repro.seed = options.seed;
  repro.settings = settings_of(options);
  for (const std::string& plugin : line.plugins) repro.settings.push_back(":plugin " + plugin);
  repro.module = module_text(module, line.options.print);
  return repro;
}

void add_values(ReproFile& repro, session::Session& session, const ir::Module* module, const std::string& function,
                const std::vector<std::string>& inputs) {
  auto before = session.snapshot();
  session.set_program(module);
  source::Diagnostics ignored;  // the script will report values that cannot be generated, too
  if (auto made = session.arguments(function, inputs, ignored))
    repro.values.insert(repro.values.end(), made->begin(), made->end());
  session.restore(std::move(before));
}

// The values used in the question. Empty: there are none, or it cannot be asked.
static std::vector<session::Argument> values_of_question(session::Session& session, const ir::Module* module,
                                                         const repro::Question& question) {
  const auto* f = ir::as<ir::Function>(module->find(question.function));
  repro::Oracle oracle(session, question);
  std::vector<session::Argument> out;
  if (!f || !oracle.start(module) || oracle.arguments().size() != f->params.size()) return out;
  for (std::size_t i = 0; i < f->params.size(); ++i)
    out.push_back({std::string(f->params[i]->name), oracle.arguments()[i], true});
  return out;
}

static void add_values_of(ReproFile& repro, session::Session& session, const ir::Module* module,
                          const repro::Question& question) {
  const auto values = values_of_question(session, module, question);
  if (values.empty()) return add_values(repro, session, module, question.function, question.inputs);
  repro.values.insert(repro.values.end(), values.begin(), values.end());
}

// The result of the unchanged module, and the arguments that it wrote to; empty: it does not run.
static std::vector<runtime::Value> result_of_module(session::Session& session, const ir::Module* module,
                                                    const std::string& function,
                                                    const std::vector<session::Argument>& values) {
  repro::Program program;
  program.module = module;
  program.function = function;
  program.kernels = session.options().engine;
  for (const session::Argument& a : values) program.args.push_back(a.value);
  const repro::Trace trace = repro::record(session, program);
  std::vector<runtime::Value> leaves;
  if (!trace.error.empty()) return leaves;
  std::vector<runtime::Value> open{trace.result};
  while (!open.empty()) {
    const runtime::Value next = std::move(open.back());
    open.pop_back();
    if (!next.is(runtime::ValueKind::Tuple)) {
      leaves.push_back(next);
      continue;
    }
    const auto& fields = next.as_tuple().fields;
    open.insert(open.end(), fields.rbegin(), fields.rend());
  }
  for (const repro::GivenTensor& argument : trace.arguments)
    if (!argument.after.is_null()) leaves.push_back(argument.after);
  return leaves;
}

bool save_tvm_script(const std::string& path, const CommandLine& line, session::Session& session,
                     const ir::Module* module, const repro::Question& question, const repro::Symptom& symptom,
                     const std::string& seen, Console& console) {
  TvmScript script;
  script.seen = seen;
  script.module = module;
  script.passes = question.passes;
  script.function = question.function;
  script.tolerances = question.tolerances;
  script.seed = line.options.seed;
  if (symptom.is_failure()) script.checks = TvmScript::Checks::Passes;
  if (symptom.kind == repro::SymptomKind::NotFinite) script.checks = TvmScript::Checks::Finite;
  if (script.checks != TvmScript::Checks::Passes) {
    repro::Question asked = question;  // a command's question has no values
    if (asked.kind == repro::OracleKind::Command) asked.kind = repro::OracleKind::Values;
    script.inputs = values_of_question(session, module, asked);
    script.expected = question.expected;
    const auto* f = ir::as<ir::Function>(module->find(question.function));
    const bool runs = f && script.inputs.size() == f->params.size();
    if (runs && script.expected.empty() && script.checks == TvmScript::Checks::Values)
      script.expected = result_of_module(session, module, question.function, script.inputs);
    if (!runs) script.checks = TvmScript::Checks::Passes;  // it cannot be run here: that is all that is known
  }
  return write_tvm_script(path, script, session.context(), console);
}

bool save_tvm_script(const CommandLine& line, const repro::Program& a, const ir::Module* other,
                     const std::string& passes, const std::vector<session::Argument>& values, const std::string& seen,
                     session::Session& session, Console& console) {
  TvmScript script;
  script.seen = seen;
  script.module = a.module;
  script.other = other;
  script.passes = passes;
  script.function = a.function;
  script.inputs = values;
  script.expected = result_of_module(session, a.module, a.function, values);
  script.tolerances = line.tolerances;
  script.seed = line.options.seed;
  return write_tvm_script(line.tvm_script, script, session.context(), console);
}

bool save_tvm_script(const CommandLine& line, const repro::RecordedDifference& d, const std::string& seen,
                     session::Session& session, Console& console) {
  const auto* f = ir::as<ir::PrimFunc>(d.module->find(d.prim_func));
  TvmScript script;
  script.seen = seen;
  const std::string_view roots[] = {d.prim_func};
  script.module = ir::reachable_from(session.context(), d.module, roots);
  script.function = d.prim_func;
  for (std::size_t i = 0; f && i < d.before.size(); ++i)
    script.inputs.push_back(
        {i < f->params.size() ? std::string(f->params[i].var->name) : std::to_string(i), d.before[i], false});
  for (const runtime::Value& v : d.ours)
    if (v.is(runtime::ValueKind::Tensor)) script.expected.push_back(v);
  script.tolerances = line.tolerances;
  script.seed = line.options.seed;
  if (f) return write_tvm_script(line.tvm_script, script, session.context(), console);
  source::Diagnostics found;
  found.add({}, source::message(diag::NoTvmScript, fmt::format("`{}` is not a kernel of the module", d.name)));
  report(found, session.sources(), line, console);
  return false;
}

bool has_entry(const repro::Question& question) {
  return !question.passes.empty() || !question.expected.empty() || question.partner || !question.command.empty();
}

ReproFile repro_of_pipeline(const CommandLine& line, session::Session& session, const ir::Module* module,
                            const repro::Question& question, const std::string& seen) {
  ReproFile repro = repro_of(line, session.options(), module);
  repro.seen = seen;
  const bool runs = question.partner ||
                    (question.kind != repro::OracleKind::Command && question.kind != repro::OracleKind::Diagnostic);
  if (runs) add_values_of(repro, session, module, question);
  add_expected(repro, question.expected);
  if (!question.passes.empty()) {
    repro.entry = with_function(":bisect " + quoted_word(question.passes), question.function) + oracle_flags(question);
    repro.expectations = {":expect not error \"introduces the fault\"", std::string(kSuccess)};
  } else if (!question.expected.empty()) {
    repro.entry = with_function(":run", question.function);
    repro.expectations = {fmt::format(":expect value ~= {}", kExpected)};
  } else {  // wrong to begin with, and only a command can tell
    repro.entry = ":verify " + quoted_word(question.partner ? "--test-server=" + question.partner->options().command
                                                            : "--test=" + question.command);
    if (question.partner && !question.partner->options().passes.empty())
      repro.entry += " " + quoted_word("--partner-passes=" + question.partner->options().passes);
    repro.expectations = {":expect not error \"finds the fault in the module\"", std::string(kSuccess)};
  }
  return repro;
}

ReproFile repro_of_kernel(const CommandLine& line, session::Session& session, const ir::Module* module,
                          const repro::Question& question, const std::string& seen) {
  ReproFile repro = repro_of(line, session.options(), module);
  repro.seen = seen;
  add_values(repro, session, module, question.function, question.inputs);
  repro.entry = with_function(":bisect --by=kernel", question.function) + tolerance_flags(question.tolerances);
  if (!question.passes.empty()) repro.entry += " " + quoted_word("--passes=" + question.passes);
  repro.expectations = {":expect not error \"goes wrong when compiled by the JIT\"", std::string(kSuccess)};
  return repro;
}

ReproFile repro_of_comparison(const CommandLine& line, const session::Session& session, const repro::Program& a,
                              const ir::Module* other, const std::vector<session::Argument>& values,
                              const std::string& seen) {
  ReproFile repro = repro_of(line, session.options(), a.module);
  repro.seen = seen;
  repro.values = values;
  std::string entry = ":compare";
  if (a.function != support::kEntryFunction) entry += " --function=" + a.function;
  if (!line.passes.empty()) entry += " " + quoted_word("--passes=" + line.passes);
  if (!line.compare.other_passes.empty()) entry += " " + quoted_word("--other-passes=" + line.compare.other_passes);
  if (line.compare.other_engine)
    entry += fmt::format(" --other-engine={}", session::to_string(*line.compare.other_engine));
  if (line.compare.shadow) entry += " --shadow";
  entry += tolerance_flags(line.tolerances);
  repro.entry = other ? with_document(entry + " ", module_text(other, line.options.print)) : entry;
  repro.expectations = {":expect not output \"differs:\"", ":expect success"};
  return repro;
}

// Two programs that take these arguments.
static bool save_pair(const repro::Program& a, const repro::Program& b, const std::vector<session::Argument>& values,
                      const std::string& seen, const CommandLine& line, session::Session& session, Console& console) {
  CommandLine plain = line;
  plain.function = a.function;
  if (!line.tvm_script.empty() && !save_tvm_script(line, a, b.module, {}, values, seen, session, console)) return false;
  return line.save_repro.empty() ||
         write_repro(line.save_repro, repro_of_comparison(plain, session, a, b.module, values, seen), console);
}

bool save_stages(const repro::Program& a, const repro::Program& b, const std::string& seen, const CommandLine& line,
                 session::Session& session, Console& console) {
  std::string why;
  if (const auto cut = repro::cut_pair(session, a, b, line.tolerances, why))
    return save_pair(cut->a, cut->b, cut->values, seen, line, session, console);
  if (a.module && ir::as<ir::PrimFunc>(a.module->find(a.function))) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::NoScriptOfKernel, why));
    report(diagnostics, session.sources(), line, console);
    return true;
  }
  const bool same_call = a.module && b.module && a.function == b.function && a.args.size() == b.args.size() &&
                         a.outputs == 0 && b.outputs == 0;
  const auto* f = same_call ? ir::as<ir::Function>(a.module->find(a.function)) : nullptr;
  if (!f || f->params.size() != a.args.size()) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::StagesCalledDifferently, a.label, b.label));
    report(diagnostics, session.sources(), line, console);
    return true;
  }
  console.print_error("note: the whole stages are written, not their part that differs: {}\n", why);
  std::vector<session::Argument> values;
  for (std::size_t i = 0; i < a.args.size(); ++i) values.push_back({std::string(f->params[i]->name), a.args[i], false});
  return save_pair(a, b, values, seen, line, session, console);
}

bool save_memory_fault(const repro::Program& stage, const repro::Finding& fault, const std::string& seen,
                       const CommandLine& line, session::Session& session, Console& console) {
  if (!line.tvm_script.empty()) {
    source::Diagnostics refused;
    refused.add({}, source::message(diag::NoTvmScript, "the values are right, and memory is used wrongly"));
    report(refused, session.sources(), line, console);
    if (line.save_repro.empty()) return true;
  }
  if (!fault.is_about_storage()) {
    console.print_error(
        "note: no script is written: a run of one stage does not show that a storage has another size\n");
    return true;
  }
  ReproFile repro = repro_of(line, session.options(), stage.module);
  repro.seen = seen;
  repro.entry = ":sanitize storage " + stage.function;
  repro.expectations = {std::string(kSuccess)};
  return line.save_repro.empty() || write_repro(line.save_repro, repro, console);
}

// The program as it was before a pass.
static ReproFile repro_before(const CommandLine& line, const session::Session& session,
                              const pipeline::Record& record) {
  if (session.module()) return repro_of(line, session.options(), record.before.as<ir::Module>());
  ReproFile repro;
  repro.seed = session.options().seed;
  repro.settings = settings_of(session.options());
  repro.module = *session.program()->text_of(record.before, session::TextFor::Saving) + "\n";
  return repro;
}

ReproFile repro_of_failed_pass(const CommandLine& line, const session::Session& session, const pipeline::Record& record,
                               const std::string& seen) {
  ReproFile repro = repro_before(line, session, record);
  repro.seen = seen;
  repro.entry = ":run-pass " + pipeline::to_string(record.pass);
  repro.expectations = {not_error(seen), std::string(kSuccess)};
  return repro;
}

ReproFile repro_of_changed_values(const CommandLine& line, const session::Session& session,
                                  const pipeline::Record& record, const std::string& seen) {
  ReproFile repro = repro_before(line, session, record);
  repro.seen = seen;
  repro.before = {":run-pass " + pipeline::to_string(record.pass)};
  repro.entry = ":validate";
  repro.expectations = {":expect not error \"values differ from\"", std::string(kSuccess)};
  return repro;
}

std::string prompt_entry(const CommandLine& line) {
  const std::string passes = quoted_word(line.passes);
  switch (line.subcommand) {
    case Subcommand::Check:
      return line.check.roundtrip ? ":verify --roundtrip" : ":verify";
    case Subcommand::Print:
      return ":show";
    case Subcommand::Opt:
      return line.passes.empty() ? std::string() : ":pipeline " + passes;
    case Subcommand::Build:
    case Subcommand::Disasm:
      return ":disasm";
    case Subcommand::Run:
      return line.function.empty() ? ":run" : ":run " + line.function;
    case Subcommand::Compare:
      return line.passes.empty() ? std::string() : ":compare --passes=" + passes;
    case Subcommand::Bisect:
      return line.passes.empty() ? std::string() : ":bisect " + passes;
    case Subcommand::Reduce:
      return line.passes.empty() ? std::string() : ":reduce " + passes;
    case Subcommand::Repl:
    case Subcommand::Diff:
    case Subcommand::Fuzz:
    case Subcommand::Test:
#define RLDB_SUBCOMMAND(...)
#define RLDB_SERVER(id, ...) case Subcommand::id:
#include "rldb/ui/command_line/subcommand.def"
      return {};
  }
  return {};
}

}  // namespace rldb::ui
