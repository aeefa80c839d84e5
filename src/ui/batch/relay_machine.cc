// The Relay VM on the command line: check, print, run of executables; run, build, disasm of Relay text.
#include "ui/batch/relay_machine.h"

#include <fmt/format.h>

#include <csignal>

#include "rldb/relay/run/program.h"
#include "rldb/relay/vm/object.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_input.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "ui/batch/relay.h"
#include "ui/tensor_output.h"

namespace rldb::ui {

using runtime::Value;

namespace {

// Adds the error of a run at the instruction's place in the Relay text, when it has one.
void add_fault(const relay_vm::Fault& fault, const relay_bytecode::Executable& exe, source::Diagnostics& out) {
  source::Message m = source::message(diag::RunFailed, fault.error.message);
  source::Span span;
  if (fault.pc >= 0) {
    if (const bytecode::InstructionDebug* debug = exe.debug.instruction(fault.pc)) span = debug->span;
    m.notes.push_back({{}, fmt::format("in function `{}`, at `{}`", fault.function_name, fault.instruction)});
  }
  for (const std::string& note : fault.error.notes) m.notes.push_back({{}, note});
  out.add(span, std::move(m));
}

struct Parameter {
  std::string name;
  const relay::Type* type = nullptr;
};

// Values for the parameters from `--input` texts, by position or `name=...`; missing ones are generated.
std::optional<std::vector<Value>> arguments(const std::vector<Parameter>& params, const CommandLine& line,
                                            Console& console, source::Diagnostics& out) {
  std::vector<std::string> texts(params.size());
  std::size_t next = 0;
  for (const std::string& text : line.inputs) {
    std::size_t at = params.size();
    for (std::size_t i = 0; i < params.size(); ++i)
      if (text.starts_with(params[i].name + "=")) at = i;
    const bool named = at < params.size();
    if (!named) at = next++;
    if (at >= params.size()) {
      out.add({},
              source::message(diag::BadInput, text, fmt::format("the function takes {} argument(s)", params.size())));
      return std::nullopt;
    }
    texts[at] = named ? text.substr(params[at].name.size() + 1) : text;
  }
  std::vector<Value> values;
  for (std::size_t i = 0; i < params.size(); ++i) {
    Value given;
    if (!texts[i].empty()) {
      auto parsed = runtime::parse_value_literal(texts[i]);
      if (parsed.ok())
        given = std::move(parsed).value();
      else
        out.add({}, source::message(diag::BadInput, texts[i], parsed.error().message));
    }
    if (out.has_errors()) return std::nullopt;
    auto value = relay_run::argument(given, params[i].type, line.options, line.options.seed + i);
    if (!value.ok()) {
      out.add({}, source::message(diag::BadInput, params[i].name, value.error().message));
      return std::nullopt;
    }
    if (texts[i].empty() && line.format == Format::Text)
      console.print_error("note: made up {} = {}\n", params[i].name, runtime::describe(*value));
    values.push_back(std::move(value).value());
  }
  return values;
}

int run_program(const relay_run::Program& program, const std::vector<Parameter>& params, const CommandLine& line,
                Console& console, const source::SourceManager& sources) {
  source::Diagnostics found;
  const auto values = arguments(params, line, console, found);
  if (!values) return fail(found, sources, line, console, kUsage);
  const relay_vm::Outcome o = program.run(line.function.empty() ? "main" : line.function, *values);
  if (support::cancel_cause() == support::CancelCause::Timeout) {
    found.add({}, source::message(diag::TimedOut, line.timeout));
    return fail(found, sources, line, console, kTimeout);
  }
  if (o.stopped()) return 128 + SIGINT;
  if (o.faulted()) {
    add_fault(*o.fault, program.executable(), found);
    return fail(found, sources, line, console, kFailed);
  }
  if (line.output.empty() && line.expected_output.empty()) {
    console.print("{}\n", relay_vm::to_text(o.value, &program.executable()));
    return kGood;
  }
  std::vector<Value> tensors;
  std::string why;
  if (!flatten_tensors(o.value, tensors, why)) {
    found.add({}, source::message(diag::OutputKind, line.output.empty() ? line.expected_output : line.output, why));
    return fail(found, sources, line, console, kUsage);
  }
  const auto session = open_session(line, console);
  return session ? give_tensors(tensors, *session, line, console) : kUsage;
}

}  // namespace

std::optional<std::string> relay_executable_bytes(const std::string& path) {
  auto read = support::read_file(path, source::kMaxBytes);
  if (!read.ok() || !relay_bytecode::is_executable_file(*read)) return std::nullopt;
  return std::move(read).value();
}

std::optional<relay_bytecode::Executable> load_relay_executable(const std::string& path, const std::string& bytes,
                                                                source::Diagnostics& out) {
  auto loaded = relay_bytecode::load(bytes);
  if (loaded.ok()) return std::move(loaded).value();
  out.add({}, source::message(diag::BadExecutable, path, loaded.error().message));
  return std::nullopt;
}

int batch_print_relay_executable(const std::string& bytes, const CommandLine& line, Console& console) {
  source::Diagnostics found;
  const auto exe = load_relay_executable(line.files[0], bytes, found);
  if (!exe) return fail(found, {}, line, console, kBadText);
  console.write(relay_bytecode::as_text(*exe));
  return kGood;
}

int batch_run_relay_executable(const std::string& bytes, const CommandLine& line, Console& console) {
  source::Diagnostics found;
  auto exe = load_relay_executable(line.files[0], bytes, found);
  auto program = exe ? relay_run::Program::open(*std::move(exe), line.options, nullptr, found) : nullptr;
  if (!program) return fail(found, {}, line, console, kBadText);
  const auto index = program->executable().find_function(line.function.empty() ? "main" : line.function);
  std::vector<Parameter> params;
  if (index >= 0)
    for (const std::string& name : program->executable().functions[std::size_t(index)].params) params.push_back({name});
  return run_program(*program, params, line, console, {});
}

int batch_run_relay(RelayProgram& relay, const source::Diagnostics& read, const CommandLine& line, Console& console) {
  if (!read.all().empty()) report(read, relay.sources, line, console);
  const relay::Module* m = relay.parsed.module;
  if (!m) return kBadText;
  source::Diagnostics found;
  const std::string name = line.function.empty() ? "main" : line.function;
  const relay::Function* f = m->find(name);
  if (!f) {
    found.add({}, source::message(diag::NoFunctionToRun, name));
    return fail(found, relay.sources, line, console, kUsage);
  }
  const auto program = relay_run::Program::compile(relay.ctx, m, line.options, nullptr, found, name);
  if (!program) return fail(found, relay.sources, line, console, kFailed);
  std::vector<Parameter> params;
  for (const relay::Var* p : f->params) params.push_back({std::string(p->name), relay.typing.of(p)});
  return run_program(*program, params, line, console, relay.sources);
}

int batch_build_relay(RelayProgram& relay, source::Diagnostics& found, const CommandLine& line, Console& console,
                      bool listing) {
  const relay::Module* m = relay.parsed.module;
  const auto program = m ? relay_run::Program::compile(relay.ctx, m, line.options, nullptr, found) : nullptr;
  auto bytes = program ? relay_bytecode::serialise(program->executable()) : runtime::Result<std::string>(std::string());
  if (!bytes.ok()) found.add({}, source::message(diag::NotSerialisable, bytes.error().message));
  if (!found.all().empty()) report(found, relay.sources, line, console);
  if (!program || !bytes.ok()) return m ? kFailed : kBadText;
  if (!listing) return write_output(line.output, *bytes, console) ? kGood : kUsage;
  console.write(relay_bytecode::as_text(program->executable()));
  return kGood;
}

}  // namespace rldb::ui
