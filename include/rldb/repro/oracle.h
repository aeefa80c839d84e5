// The fault of a program that goes through a pipeline, as a symptom that can be told from others: bisection
// looks for the step that causes it, reduction preserves it.
//
// A symptom is its kind, the pass that it shows in, and the diagnostic or error; its text (values, names) may change
// while a program shrinks. Users: bisect, reduce, the commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/repro/compare.h"
#include "rldb/repro/partner.h"
#include "rldb/repro/settings.h"
#include "rldb/support/entry_function.h"

namespace rldb::repro {

std::optional<OracleKind> parse_oracle(std::string_view word);
std::string_view word_of(OracleKind kind);  // empty: another option than `--oracle` chooses it
std::vector<std::string> oracle_words();    // all of `--oracle`
std::string oracle_doc();                   // each word with its meaning

// Memory held by a run on the machine: the bytes of the storages and tensors that its instructions allocated and that
// are alive at once. Arguments and constants are not counted, nor is memory of a kernel or a packed function itself.
struct MemoryUse {
  std::size_t bytes = 0;
  std::string place;  // the variable after which it is held, and its function
};

std::optional<MemoryLimit> parse_memory_limit(std::string_view text);  // `64K`, `1.5x`
std::string to_string(const MemoryLimit& limit);
std::optional<TimeLimit> parse_time_limit(std::string_view text);  // `2s`, `0.5`, `100ms`, `3x`
std::string to_string(const TimeLimit& limit);

// The same, with the last line that it wrote to its error stream: what failed.
struct CommandAnswer {
  std::optional<int> code;
  std::string last_line;
  std::string form;  // without what is specific to one program or run
};
CommandAnswer ask_test_command(const std::string& command, std::string_view text);
// Why it says neither that the fault is there nor that it is not: a signal, or an exit code from 125 on. Empty: it
// does.
std::string why_no_answer(const std::string& command, const CommandAnswer& answer);

struct Question {
  OracleKind kind = OracleKind::Any;
  std::string passes;  // the pipeline
  std::string function{support::kEntryFunction};
  std::vector<std::string> inputs;       // as texts; the others are generated
  std::vector<runtime::Value> values;    // of all parameters, in order, in the place of `inputs`; empty: not given
  std::vector<runtime::Value> expected;  // of the result, leaf by leaf; empty: the result before the first pass
  std::string command;                   // Command; the file's path is added
  const Partner* partner = nullptr;      // Command: is asked instead; its results have to be those of the module
  MemoryLimit memory;                    // Memory
  TimeLimit time;                        // Time
  bool keep_defined = false;             // programs with accesses out of bounds show no symptom
  Tolerances tolerances;
};

enum class SymptomKind : std::uint8_t {
#define RLDB_SYMPTOM(Kind, name, is_failure) Kind,
#include "rldb/repro/symptom.def"
};
std::string_view to_string(SymptomKind kind);
std::optional<SymptomKind> parse_symptom_kind(std::string_view name);
bool is_failure(SymptomKind kind);

// A message without the parts specific to one program: quoted names other than operators', and numbers.
std::string form_of(std::string_view message);

struct Symptom {
  SymptomKind kind = SymptomKind::None;
  std::string pass;  // that fails
  std::string id;    // of the diagnostic or error; the place of an internal error; the signal
  std::string text;  // for the reader
  std::string form;  // of the diagnostic or error: its text without the names and numbers of this program
  std::size_t amount = 0, limit = 0;  // Memory: bytes held, and the limit; Time: microseconds
  bool is_failure() const { return repro::is_failure(kind); }
  friend bool operator==(const Symptom& a, const Symptom& b) {
    return a.kind == b.kind && a.pass == b.pass && a.id == b.id && a.form == b.form;
  }
};

// The symptom of a smaller program is that of the first one: the same, and where it is about memory or time, at least
// half as much more than the limit, if that is a multiple of what the program itself needs.
bool still_shows(const Symptom& wanted, const Symptom& found, const Question& question);

// One question, asked of many versions of a session's program, of any kind. If the program cannot be run before the
// first pass, the reason is in `why`.
class VersionOracle {
 public:
  VersionOracle(session::Session& session, const Question& question) : session_(session), question_(question) {}
  virtual ~VersionOracle() = default;

  // For a program before its pipeline: its result, or the memory it takes, is the reference. False: there is none, see
  // `why`.
  virtual bool start(pipeline::ModuleRef module) = 0;
  // For a version of the program that was given to `start`. A version that cannot be compared also has none: `unseen`.
  virtual std::optional<Symptom> look(pipeline::ModuleRef version) = 0;
  // Whether the pass changes values by its nature (ToMixedPrecision).
  virtual bool changes_values(const pipeline::Invocation&) const { return false; }
  // The last version that `look` saw differs as such a pass makes it: what it gives is the reference from now on.
  // False: nothing changed. True, and `unseen()` is not empty: it cannot be told whether it does.
  virtual bool accept_as_meant(const pipeline::Invocation&) { return false; }
  // One pass; the symptom when it fails. `after` is null then.
  std::optional<Symptom> apply(const pipeline::Invocation& pass, pipeline::ModuleRef before,
                               pipeline::ModuleRef& after);
  // All of them, and a look at the result; without a symptom also when a pass fails that was not asked about.
  std::optional<Symptom> ask(pipeline::ModuleRef module, const std::vector<pipeline::Invocation>& passes);
  // Whether two versions are equal in structure.
  bool is_same(pipeline::ModuleRef a, pipeline::ModuleRef b);

  // Also looks for passes that fail: that needs no values.
  bool wants_failures() const { return question_.kind == OracleKind::Any || question_.kind == OracleKind::Diagnostic; }
  const std::string& why() const { return why_; }
  // Why the values could not be compared in the last call of `look`; empty: they were, or values were not
  // requested.
  const std::string& unseen() const { return unseen_; }
  const std::vector<runtime::Value>& arguments() const { return arguments_; }
  const Question& question() const { return question_; }
  // The last one, to a question with a partner.
  const std::optional<PartnerAnswer>& partner_answer() const { return partner_answer_; }
  const std::vector<runtime::Value>& reference() const { return reference_; }
  // The inputs on which values were compared.
  const TriedInputs& tried() const { return tried_; }
  // A part of the reference is NaN throughout, so that equal results prove nothing; empty: it is not.
  const std::string& blind() const { return blind_; }

 protected:
  bool wants_run() const {
    return question_.partner || (question_.kind != OracleKind::Diagnostic && question_.kind != OracleKind::Command);
  }
  // Makes the version the session's program; the caller has borrowed the session.
  virtual void hold(pipeline::ModuleRef version) = 0;

  session::Session& session_;
  Question question_;
  std::string why_, unseen_, blind_;
  TriedInputs tried_;
  std::optional<PartnerAnswer> partner_answer_;
  std::vector<runtime::Value> arguments_;
  std::vector<runtime::Value> reference_;  // leaves of the result
};

// Of Relax modules.
class Oracle : public VersionOracle {
 public:
  using VersionOracle::VersionOracle;
  bool start(pipeline::ModuleRef module) override;
  std::optional<Symptom> look(pipeline::ModuleRef version) override;
  bool changes_values(const pipeline::Invocation& pass) const override;
  bool accept_as_meant(const pipeline::Invocation& pass) override;
  // The arguments as that version takes them.
  std::vector<runtime::Value> arguments_of(const ir::Module* version);
  // Which of the arguments were generated.
  const std::vector<bool>& generated() const { return generated_; }
  // Everything: the program, the question's pipeline, the result.
  std::optional<Symptom> ask(const ir::Module* module);

 private:
  void hold(pipeline::ModuleRef version) override { session_.set_program(version.as<ir::Module>()); }
  bool start_with_dims(const ir::Module* module);
  std::optional<std::vector<session::Argument>> given_values(const ir::Module* module) const;
  void note_tried(const ir::Module* module, const std::vector<session::Argument>& arguments);
  void note_written(const ir::Module* module);
  runtime::Value find_finite(const ir::Module* module, const std::vector<bool>& generated, runtime::Value result);
  bool start_memory(const ir::Module* module);
  std::optional<Symptom> look_at_memory(const ir::Module* version);
  bool start_time(const ir::Module* module);
  std::optional<Symptom> look_at_time(const ir::Module* version);
  std::optional<Symptom> look_at_values(const ir::Module* version);
  std::optional<Symptom> symptom_of_arguments() const;
  std::optional<Symptom> run_command(const ir::Module* version);
  std::optional<Symptom> ask_partner(const ir::Module* version);
  bool accesses_out_of_bounds(const ir::Module* module);

  const ir::Module* first_ = nullptr;  // whose arguments they are
  std::vector<bool> generated_;
  std::vector<runtime::Value> last_;                 // of the version seen last, if it ran
  std::vector<GivenTensor> written_, last_written_;  // the arguments after the reference, and after that version
  bool only_written_ = false;                        // its result is that of the reference
  const ir::Module* last_version_ = nullptr;
  const ir::Module* reference_version_ = nullptr;  // whose result the reference is
  std::size_t most_ = 0;                           // bytes that may be held, or microseconds that a run may take
  bool over_before_ = false;                       // the limit is exceeded already before the first pass
};

}  // namespace rldb::repro
