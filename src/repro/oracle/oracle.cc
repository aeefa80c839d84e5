// Oracle: does a module still show a symptom (an error, a wrong value, a fault)?
#include "rldb/repro/oracle.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "repro/argument_writes.h"
#include "repro/bisect/meant.h"
#include "repro/bisect/numbers.h"
#include "repro/bisect/signature.h"
#include "repro/borrow.h"
#include "repro/device_functions.h"
#include "repro/dims.h"
#include "repro/finite.h"
#include "repro/oracle/ask_about_file.h"
#include "repro/oracle/leaves.h"
#include "repro/oracle/memory.h"
#include "repro/oracle/time.h"
#include "repro/partner/symptom.h"
#include "repro/values.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/passes/pass.h"
#include "rldb/support/cancel.h"
#include "rldb/support/check.h"
#include "rldb/support/file.h"
#include "rldb/support/folder.h"
#include "rldb/support/shell.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

struct SymptomRow {
  std::string_view name;
  bool is_failure;
};
constexpr SymptomRow kSymptoms[] = {
#define RLDB_SYMPTOM(Kind, name, is_failure) {name, is_failure},
#include "rldb/repro/symptom.def"
};

struct OracleRow {
  std::string_view word, doc;
};
constexpr OracleRow kOracles[] = {
#define RLDB_ORACLE_KIND(Kind, word, doc) {word, doc},
#include "rldb/repro/oracle_kind.def"
};

// Limit for kernels evaluated in one run: some tenths of a second.
constexpr std::uint64_t kStatements = 5'000'000;

std::string first_error(const source::Diagnostics& found, std::string* id = nullptr) {
  for (const source::Diagnostic& d : found.all()) {
    if (d.severity != source::Severity::Error) continue;
    if (id) *id = std::string(d.id.row().name);
    return d.message;
  }
  return "it does not end";
}

// `file.cc:12`: the text after it is about this program.
std::string place_of(const support::InternalError& error) {
  const std::string what = error.what();
  return what.substr(0, what.find(": "));
}

}  // namespace

std::string form_of(std::string_view message) {
  std::string out;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    const auto end = c == '`' ? message.find('`', i + 1) : std::string_view::npos;
    if (end != std::string_view::npos) {
      const std::string_view name = message.substr(i + 1, end - i - 1);
      out += op::find(name) ? name : "_";
      i = end;
    } else if (!std::isdigit(static_cast<unsigned char>(c)) && c != '-' && c != '.') {
      out += c;
    }
  }
  return out;
}

std::string_view to_string(SymptomKind kind) { return kSymptoms[std::size_t(kind)].name; }

std::optional<SymptomKind> parse_symptom_kind(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kSymptoms); ++i)
    if (kSymptoms[i].name == name) return SymptomKind(i);
  return std::nullopt;
}

bool is_failure(SymptomKind kind) { return kSymptoms[std::size_t(kind)].is_failure; }

std::string_view word_of(OracleKind kind) { return kOracles[std::size_t(kind)].word; }

std::optional<OracleKind> parse_oracle(std::string_view word) {
  for (std::size_t i = 0; i < std::size(kOracles); ++i)
    if (!word.empty() && kOracles[i].word == word) return OracleKind(i);
  return std::nullopt;
}

std::vector<std::string> oracle_words() {
  std::vector<std::string> out;
  for (const OracleRow& row : kOracles)
    if (!row.word.empty()) out.emplace_back(row.word);
  return out;
}

std::string oracle_doc() {
  std::string out;
  for (const OracleRow& row : kOracles)
    if (!row.word.empty()) out += fmt::format("\n  {:<11} {}", row.word, row.doc);
  return out;
}

bool Oracle::start(pipeline::ModuleRef version) {
  const auto* module = version.as<ir::Module>();
  why_.clear();
  if (!wants_run()) return true;
  const auto* f = ir::as<ir::Function>(module->find(question_.function));
  {
    const Borrow borrow(session_);
    if (f && tell_dims_apart(session_.options(), f) && start_with_dims(module)) return true;
  }
  why_.clear();
  const Borrow borrow(session_);
  return start_with_dims(module);
}

bool Oracle::start_with_dims(const ir::Module* module) {
  arguments_.clear();
  reference_.clear();
  session_.options().eval_statements = kStatements;
  session_.set_program(module);
  source::Diagnostics found;
  auto made = given_values(module);
  if (!made) made = session_.arguments(question_.function, question_.inputs, found);
  if (!made) {
    why_ = first_error(found);
    return false;
  }
  generated_.clear();
  for (const session::Argument& a : *made) {
    arguments_.push_back(a.value);
    generated_.push_back(a.generated);
  }
  first_ = reference_version_ = module;
  note_tried(module, *made);
  if (question_.kind == OracleKind::Memory) return start_memory(module);
  if (question_.kind == OracleKind::Time) return start_time(module);
  if (!question_.expected.empty() && question_.kind != OracleKind::Nan) {
    reference_ = question_.expected;
    return true;
  }
  eval::Watcher nobody;
  const std::vector<Value> args = copies(arguments_);
  const session::RunResult run = session_.run_watched(module, question_.function, args, nobody, found);
  support::poll_cause();
  written_ = given_tensors(module, question_.function, arguments_, args, 0);
  if (!run.ok) {
    why_ = first_error(found);
    return false;
  }
  const Value result = question_.kind == OracleKind::Nan ? run.value : find_finite(module, generated_, run.value);
  flatten(result, reference_);
  why_ = nothing_to_compare(reference_);
  return why_.empty();
}

std::optional<std::vector<session::Argument>> Oracle::given_values(const ir::Module* module) const {
  const auto* f = ir::as<ir::Function>(module->find(question_.function));
  if (!f || question_.values.empty() || question_.values.size() != f->params.size()) return std::nullopt;
  std::vector<session::Argument> out;
  for (std::size_t i = 0; i < f->params.size(); ++i)
    out.push_back({std::string(f->params[i]->name), question_.values[i]});
  return out;
}

void Oracle::note_tried(const ir::Module* module, const std::vector<session::Argument>& arguments) {
  const auto* f = ir::as<ir::Function>(module->find(question_.function));
  tried_ = {};
  tried_.inputs = question_.inputs;
  std::vector<Value> values;
  for (const session::Argument& a : arguments) values.push_back(a.value);
  if (f && has_symbolic_dims(f)) tried_.add_dims(dims_text(session_.options(), f, values));
  for (const session::Argument& a : arguments)
    if (a.of_model) tried_.add_weight(a.parameter);
  if (std::none_of(arguments.begin(), arguments.end(), [](const auto& a) { return a.generated; })) return;
  tried_.add_numbers(f ? kUsualNumbers : kUsualNumbersUnfollowed);
  tried_.add_seed(session_.options().seed);
}

// By another run, on the present arguments.
void Oracle::note_written(const ir::Module* module) {
  eval::Watcher nobody;
  source::Diagnostics ignored;
  const std::vector<Value> args = copies(arguments_);
  (void)session_.run_watched(module, question_.function, args, nobody, ignored);
  written_ = given_tensors(module, question_.function, arguments_, args, 0);
}

// Where results are NaN, numbers for which they are not. The result on these.
Value Oracle::find_finite(const ir::Module* module, const std::vector<bool>& generated, Value result) {
  blind_.clear();
  if (not_finite(result) == 0) return result;
  const RunForFinite again = [&](const std::vector<Value>& args) {
    return run_for_finite(session_, module, question_.function, args);
  };
  if (auto run = again(arguments_)) {
    const std::string numbers = prefer_finite(arguments_, generated, *run, again);
    tried_.add_numbers(numbers);
    result = run->result;
    if (!numbers.empty()) note_written(module);
  }
  if (const NanOnBoth nan = nan_on_both(result, result); nan.whole_leaf)
    blind_ = fmt::format("its result is NaN ({} of {} elements)", nan.elements, nan.total);
  return result;
}

std::optional<Symptom> Oracle::look(pipeline::ModuleRef seen) {
  const auto* version = seen.as<ir::Module>();
  if (question_.partner) return ask_partner(version);
  if (question_.kind == OracleKind::Command) return run_command(version);
  unseen_ = wants_run() ? why_ : std::string();
  if (!wants_run() || !unseen_.empty()) return std::nullopt;
  if (question_.kind == OracleKind::Memory) return look_at_memory(version);
  return question_.kind == OracleKind::Time ? look_at_time(version) : look_at_values(version);
}

bool Oracle::start_memory(const ir::Module* module) {
  const MeasuredMemory before = measure_memory(session_, module, question_.function, arguments_);
  why_ = before.why;
  if (!before.use) return false;
  const MemoryLimit& limit = question_.memory;
  most_ = limit.bytes > 0 ? limit.bytes : std::size_t(limit.times * double(before.use->bytes));
  over_before_ = limit.bytes > 0 && before.use->bytes > most_;  // a multiple is of what the program itself needs
  return true;
}

std::optional<Symptom> Oracle::look_at_memory(const ir::Module* version) {
  const MeasuredMemory now = measure_memory(session_, version, question_.function, arguments_);
  unseen_ = now.why;
  if (!now.use || now.use->bytes <= most_) return std::nullopt;
  // Memory exceeded because of the passes is a different symptom from memory exceeded before them.
  Symptom s{SymptomKind::Memory, {}, over_before_ ? "before the first pass" : "after the passes", {}, {}};
  s.text = fmt::format("{} bytes are held at once, {}; the limit is {}", now.use->bytes, now.use->place, most_);
  s.amount = now.use->bytes;
  s.limit = most_;
  return s;
}

namespace {

constexpr double kMicroseconds = 1e6;
// A multiple of less than this says nothing: the clock and the machine are not that regular.
constexpr double kShortestRun = 1e-3;

std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1000) : fmt::format("{:.3g} s", seconds);
}

Symptom too_slow(std::string pass, std::string id, std::string_view what, const MeasuredTime& took, double limit) {
  Symptom s{SymptomKind::Time, std::move(pass), std::move(id), {}, {}};
  s.text = took.stopped ? fmt::format("{} was stopped after {} of processor time; the limit is {}", what,
                                      seconds_text(*took.seconds), seconds_text(limit))
                        : fmt::format("{} takes {} of processor time; the limit is {}", what,
                                      seconds_text(*took.seconds), seconds_text(limit));
  s.amount = std::size_t(*took.seconds * kMicroseconds);
  s.limit = std::size_t(limit * kMicroseconds);
  return s;
}

}  // namespace

bool Oracle::start_time(const ir::Module* module) {
  const double limit = question_.time.seconds;
  const MeasuredTime before = measure_time(session_, module, question_.function, arguments_, limit);
  why_ = before.why;
  if (!before.seconds) return false;
  const double most = limit > 0 ? limit : question_.time.times * std::max(*before.seconds, kShortestRun);
  most_ = std::size_t(most * kMicroseconds);
  over_before_ = limit > 0 && *before.seconds > limit;
  return true;
}

std::optional<Symptom> Oracle::look_at_time(const ir::Module* version) {
  const double limit = double(most_) / kMicroseconds;
  const MeasuredTime now = measure_time(session_, version, question_.function, arguments_of(version), limit);
  unseen_ = now.why;
  if (!now.seconds || *now.seconds <= limit) return std::nullopt;
  // As for memory: whether the passes make it slow is a part of the symptom.
  return too_slow({}, over_before_ ? "before the first pass" : "after the passes", "a run", now, limit);
}

std::optional<Symptom> Oracle::look_at_values(const ir::Module* version) {
  const Borrow borrow(session_);
  session_.options().eval_statements = kStatements;
  eval::Watcher nobody;
  source::Diagnostics found;
  last_.clear();
  const std::vector<Value> given = arguments_of(version), args = copies(given);
  const session::RunResult run = session_.run_watched(version, question_.function, args, nobody, found);
  support::poll_cause();
  if (!run.ok) {
    using runtime::ErrorKind;
    const auto kind = run.fault ? run.fault->error.kind : ErrorKind::Unsupported;
    const bool for_device = kind == ErrorKind::UnknownFunction && needs_a_device(session_, version);
    if (for_device || kind == ErrorKind::TooLong || kind == ErrorKind::Unsupported || kind == ErrorKind::OutOfMemory) {
      unseen_ = first_error(found);
      return std::nullopt;
    }
    const std::string error = first_error(found);
    return Symptom{SymptomKind::Values, {}, fmt::format("error {}", int(kind)), "it fails: " + error, form_of(error)};
  }
  std::vector<Value> leaves;
  flatten(run.value, leaves);
  last_ = leaves;
  last_version_ = version;
  last_written_ = given_tensors(version, question_.function, given, args, 0);
  auto symptom = symptom_of_leaves(leaves, reference_, question_);
  only_written_ = !symptom;
  return symptom ? symptom : symptom_of_arguments();
}

std::optional<Symptom> Oracle::symptom_of_arguments() const {
  if (question_.kind == OracleKind::Nan) return std::nullopt;
  const auto d = difference_of_arguments(written_, last_written_, question_.tolerances);
  return d ? std::optional(Symptom{SymptomKind::Values, {}, "arguments", to_string(*d)}) : std::nullopt;
}

bool Oracle::changes_values(const pipeline::Invocation& pass) const { return meant_by(pass.name()) != Meant::Exact; }

bool Oracle::accept_as_meant(const pipeline::Invocation& pass) {
  if (!changes_values(pass) || last_.empty() || !question_.expected.empty()) return false;
  if (are_given(question_.tolerances)) return false;
  // Which version writes to its arguments is no matter of precision; what it writes is not judged.
  const auto apart = difference_of_arguments(written_, last_written_, question_.tolerances);
  if (apart && !apart->both_write()) return false;
  const auto accept = [&](std::string unseen) {
    unseen_ = std::move(unseen);
    reference_ = last_;
    reference_version_ = last_version_;
    written_ = last_written_;
    return true;
  };
  if (apart && only_written_) return accept(to_string(*apart));
  const Borrow borrow(session_);
  session_.options().eval_statements = kStatements;
  const Changed changed{reference_version_,          last_version_,
                        question_.function,          arguments_of(reference_version_),
                        Value::of_tuple(reference_), Value::of_tuple(last_)};
  const AsMeant as_meant = is_as_meant(session_, pass.name(), changed);
  if (as_meant.verdict == AsMeant::Verdict::No) return false;
  return accept(as_meant.why);
}

std::vector<Value> Oracle::arguments_of(const ir::Module* version) {
  if (!first_ || version == first_) return arguments_;
  const Borrow borrow(session_);
  const auto* f = ir::as<ir::Function>(first_->find(question_.function));
  return arguments_for(session_, {first_, f, arguments_}, version, question_.function);
}

std::optional<Symptom> VersionOracle::apply(const pipeline::Invocation& pass, pipeline::ModuleRef before,
                                            pipeline::ModuleRef& after) {
  const Borrow borrow(session_);
  hold(before);
  source::Diagnostics found;
  bool ok = false;
  after = {};
  const double limit = question_.kind == OracleKind::Time ? question_.time.seconds : 0;
  std::optional<CpuLimit> timer;
  if (limit > 0) timer.emplace(limit * kHopeless);
  try {
    session_.options().verify_each = true;
    ok = session_.program()->run_passes(std::vector{pass}, found);
    support::poll_cause();
  } catch (const support::InternalError& error) {
    return Symptom{SymptomKind::Internal, std::string(pass.name()), place_of(error), error.what()};
  } catch (const support::Cancelled&) {
    const double spent = timer ? timer->spent() : 0;
    if (!timer || !timer->take_expiry()) throw;
    return too_slow(std::string(pass.name()), "a pass", "the pass", {spent, true, {}}, limit);
  }
  if (timer && timer->spent() > limit)
    return too_slow(std::string(pass.name()), "a pass", "the pass", {timer->spent(), false, {}}, limit);
  if (ok) after = session_.program()->history().current();
  if (ok) return std::nullopt;
  Symptom s{SymptomKind::Fails, std::string(pass.name()), {}, {}};
  s.text = first_error(found, &s.id);
  s.form = form_of(s.text);
  return s;
}

std::optional<Symptom> VersionOracle::ask(pipeline::ModuleRef version,
                                          const std::vector<pipeline::Invocation>& passes) {
  if (!start(version) && !wants_failures()) return std::nullopt;
  for (const pipeline::Invocation& pass : passes) {
    pipeline::ModuleRef after;
    if (auto failed = apply(pass, version, after))
      return wants_failures() || failed->kind == SymptomKind::Time ? failed : std::nullopt;
    version = after;
    if (changes_values(pass) && look(version)) accept_as_meant(pass);
  }
  return look(version);
}

bool VersionOracle::is_same(pipeline::ModuleRef a, pipeline::ModuleRef b) {
  const Borrow borrow(session_);
  hold(a);
  return a == b || session_.program()->changed_between(a, b).empty();
}

bool still_shows(const Symptom& wanted, const Symptom& found, const Question& question) {
  if (!(wanted == found)) return false;
  const bool by_factor = (wanted.kind == SymptomKind::Memory && question.memory.bytes == 0) ||
                         (wanted.kind == SymptomKind::Time && question.time.seconds == 0);
  if (!by_factor || wanted.limit == 0) return true;
  const double excess = double(wanted.amount) / double(wanted.limit) - 1;
  return found.limit > 0 && double(found.amount) / double(found.limit) - 1 >= excess / 2;
}

// On generated inputs, by the evaluator. A program that cannot be called may do so.
bool Oracle::accesses_out_of_bounds(const ir::Module* module) {
  const Borrow borrow(session_);
  session_.options().eval_statements = kStatements;
  session_.options().check_bounds = true;
  session_.set_program(module);
  source::Diagnostics found;
  const auto made = session_.arguments(question_.function, question_.inputs, found);
  if (!made) return true;
  std::vector<Value> args;
  for (const session::Argument& a : *made) args.push_back(a.value);
  eval::Watcher nobody;
  const session::RunResult run = session_.run_watched(module, question_.function, args, nobody, found);
  support::poll_cause();
  return run.fault && run.fault->error.kind == runtime::ErrorKind::OutOfBounds;
}

std::optional<Symptom> Oracle::ask(const ir::Module* module) {
  if (question_.keep_defined && accesses_out_of_bounds(module)) {
    why_ = "it accesses a tensor out of bounds";
    return std::nullopt;
  }
  if (question_.partner) {
    start(module);  // a program that rldb cannot run is compiled all the same
    return ask_partner(module);
  }
  if (question_.kind == OracleKind::Command) return run_command(module);
  std::vector<passes::PassInvocation> pipeline;  // none: the unchanged program
  if (!question_.passes.empty()) {
    auto read = passes::parse_pipeline(question_.passes);
    if (!read.ok()) return std::nullopt;
    pipeline = std::move(read).value();
  }
  return VersionOracle::ask(module, pipeline);
}

namespace {

constexpr std::size_t kMostOfErrors = 1 << 16;  // bytes at the end of what a command says

std::string last_line_of(const std::string& path) {
  auto text = support::read_regular_file(path);
  if (!text.ok()) return {};
  std::string_view rest(*text);
  if (rest.size() > kMostOfErrors) rest.remove_prefix(rest.size() - kMostOfErrors);
  while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.back()))) rest.remove_suffix(1);
  const auto line = rest.rfind('\n');
  return std::string(line == std::string_view::npos ? rest : rest.substr(line + 1));
}

// Without the names of temporary files.
std::string form_of_output(std::string line, const std::string& path) {
  for (std::size_t at = 0; (at = line.find(path, at)) != std::string::npos;) line.erase(at, path.size());
  return form_of_line(std::move(line));
}

}  // namespace

std::string form_of_line(std::string line) {
  for (std::size_t at = 0; (at = line.find("0x", at)) != std::string::npos;) {
    std::size_t end = at + 2;
    while (end < line.size() && std::isxdigit(static_cast<unsigned char>(line[end]))) ++end;
    line.erase(at, end - at);
  }
  return form_of(line);
}

std::optional<int> run_test_command(const std::string& command, std::string_view text) {
  return ask_test_command(command, text).code;
}

std::string why_no_answer(const std::string& command, const CommandAnswer& answer) {
  constexpr int kSkip = 125;  // as `git bisect run` has it; a shell has 126 and 127 for what it cannot run
  if (answer.code && *answer.code < kSkip) return {};
  const std::string how =
      !answer.code ? std::string("a signal ended it") : fmt::format("its exit code is {}", *answer.code);
  return fmt::format("`{}` gives no answer: {}{}{}", command, how, answer.last_line.empty() ? "" : ", ",
                     answer.last_line);
}

CommandAnswer ask_test_command(const std::string& command, std::string_view text) {
  return ask_about_file(command, text, "module.py");
}

CommandAnswer ask_about_file(const std::string& command, std::string_view text, std::string_view file_name) {
  CommandAnswer answer;
  const support::TemporaryFolder folder("test");
  if (folder.path().empty()) return answer;
  const std::string path = fmt::format("{}/{}", folder.path(), file_name), errors = folder.path() + "/errors";
  int status = -1;
  if (support::write_file(path, text, support::Durable::No).ok())
    status = support::run_shell("{ " + command + " '" + path + "'\n} 2>'" + errors + "'");
  answer.last_line = last_line_of(errors);
  answer.form = form_of_output(answer.last_line, path);
  support::poll();
  if (status != -1 && WIFEXITED(status)) answer.code = WEXITSTATUS(status);
  return answer;
}

std::optional<Symptom> Oracle::ask_partner(const ir::Module* version) {
  PartnerQuestion q;
  q.module = version;
  q.function = question_.function;
  q.passes = question_.partner->options().passes;
  if (why_.empty()) q.arguments = &arguments_;
  partner_answer_ = question_.partner->ask(q);
  unseen_.clear();
  return symptom_of_answer(*partner_answer_, reference_, question_.tolerances, unseen_);
}

std::optional<Symptom> Oracle::run_command(const ir::Module* version) {
  ir::PrintOptions print = session_.options().print;
  print.show_meta = true;
  const CommandAnswer answer = ask_test_command(question_.command, ir::print(version, print));
  unseen_ = why_no_answer(question_.command, answer);
  if (answer.code != 0) return std::nullopt;
  return Symptom{SymptomKind::Command,
                 {},
                 {},
                 answer.last_line.empty() ? "the test command reports the fault" : answer.last_line,
                 answer.form};
}

}  // namespace rldb::repro
