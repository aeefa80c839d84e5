// Instruments of `rldb opt`: what its flags print, write and compare after each pass, for programs of any kind.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rldb/pipeline/run.h"
#include "rldb/session/session.h"
#include "rldb/ui/command_line/cli.h"
#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

// --print-ir-before, --print-ir-after, --print-ir-after-change, --print-changed.
class PrintIr : public pipeline::Instrument {
 public:
  PrintIr(const CommandLine& line, const session::Session& session, Console& console)
      : line_(line), session_(session), console_(console) {}
  void before(const pipeline::Invocation& pass, pipeline::ModuleRef module) override;
  pipeline::Result<support::Unit> after(const pipeline::Record& record) override;

 private:
  void print(std::string_view when, const pipeline::Invocation& pass, pipeline::ModuleRef module);
  void print_diff(const pipeline::Record& record);
  const CommandLine& line_;
  const session::Session& session_;
  Console& console_;
};

// --dump-ir-to.
class DumpIr : public pipeline::Instrument {
 public:
  DumpIr(const CommandLine& line, const session::Session& session, Console& console)
      : line_(line), session_(session), console_(console) {}
  pipeline::Result<support::Unit> after(const pipeline::Record& record) override;
  bool ok() const { return ok_; }

 private:
  const CommandLine& line_;
  const session::Session& session_;
  Console& console_;
  std::size_t count_ = 0;
  bool ok_ = true;
};

// --validate-each.
class ValidateEach : public pipeline::Instrument {
 public:
  ValidateEach(session::Session& session, Console& console) : session_(session), console_(console) {}
  pipeline::Result<support::Unit> after(const pipeline::Record& record) override;
  // Values of the first pass after which they differ, and how; null: of none.
  const pipeline::Record* changed_values() const { return first_.pass.pass ? &first_ : nullptr; }
  const std::string& difference() const { return difference_; }
  // False: a pass left no function that ran on both sides.
  bool could_tell() const { return could_tell_; }
  // By the number of the pass, from 0: the result of comparing values.
  const std::vector<std::pair<std::size_t, std::string>>& results() const { return results_; }

 private:
  session::Session& session_;
  Console& console_;
  std::size_t count_ = 0;
  pipeline::Record first_;
  std::string difference_;
  bool could_tell_ = true;
  std::vector<std::pair<std::size_t, std::string>> results_;
};

// --time-passes, of the passes that ran.
void print_times(const std::vector<pipeline::Record>& records, const CommandLine& line, const session::Session& session,
                 Console& console);

}  // namespace rldb::ui
