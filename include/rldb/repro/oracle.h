// The fault of a program that goes through a pipeline, as a symptom that can be told from another: bisection
// looks for the step that brings it, reduction keeps it.
//
// A symptom is its kind, the pass that it shows in, and the diagnostic or error; its text (values, names) may change
// while a program shrinks. Users: bisect, reduce, the commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/compare.h"

namespace rldb::repro {

enum class OracleKind : std::uint8_t {
  Any,         // values, or a pass that fails
  Values,      // the result is another one than before the first pass, or than the expected one
  Nan,         // the result holds a NaN or an infinity that it did not hold before the first pass
  Diagnostic,  // a pass refuses the program, or what it leaves does not verify
  Command,     // a command that is given the module's file says so by exit code 0
};
std::optional<OracleKind> parse_oracle(std::string_view word);

// Runs a command on a file with this text: its exit code. None: a signal ended it, or it could not be started.
std::optional<int> run_test_command(const std::string& command, std::string_view text);

struct Question {
  OracleKind kind = OracleKind::Any;
  std::string passes;  // the pipeline
  std::string function = "main";
  std::vector<std::string> inputs;       // as texts; the others are made up
  std::vector<runtime::Value> expected;  // of the result, leaf by leaf; empty: the result before the first pass
  std::string command;                   // Command; the file's path is added
  Tolerances tolerances;
};

struct Symptom {
  std::string kind;  // "values", "nan", "diagnostic", "command"
  std::string pass;  // Diagnostic: that fails
  std::string id;    // of the diagnostic or error
  std::string text;  // for the reader
  friend bool operator==(const Symptom& a, const Symptom& b) {
    return a.kind == b.kind && a.pass == b.pass && a.id == b.id;
  }
};

// One question, asked of many modules of a session. What it gives when the program before the first pass cannot be run
// is in `why`.
class Oracle {
 public:
  Oracle(session::Session& session, const Question& question) : session_(session), question_(question) {}

  // Of a program before its pipeline: its result is the reference. False: it cannot be run, for `why`.
  bool start(const ir::Module* module);
  // Of a version of the program that was given to `start`.
  std::optional<Symptom> look(const ir::Module* version);
  // All of it: the program, its pipeline, the result.
  std::optional<Symptom> ask(const ir::Module* module);
  // One pass after the other; the symptom when one fails. `after` is null then.
  std::optional<Symptom> apply(const passes::PassInvocation& pass, const ir::Module* before, const ir::Module*& after);

  const std::string& why() const { return why_; }
  const std::vector<runtime::Value>& arguments() const { return arguments_; }
  const Question& question() const { return question_; }

 private:
  bool wants_values() const {
    return question_.kind != OracleKind::Diagnostic && question_.kind != OracleKind::Command;
  }
  std::optional<Symptom> run_command(const ir::Module* version);

  session::Session& session_;
  Question question_;
  std::string why_;
  std::vector<runtime::Value> arguments_;
  std::vector<runtime::Value> reference_;  // leaves of the result
};

}  // namespace rldb::repro
