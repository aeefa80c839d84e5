// A partner: another compiler beside rldb, a command that stays up, takes a module and inputs as a line of JSON and
// answers with the results, or with how it failed (docs/repro.md, "Partners").
//
// The command may crash or hang. A broker, a process of ours, starts it, limits its time and memory, and starts it
// again; whoever has a question, a child process too, connects to the broker. Users: Question, the commands.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/runtime/value.h"
#include "rldb/support/entry_function.h"

namespace rldb::repro {

struct PartnerOptions {
  std::string command;                        // of a shell
  std::string passes;                         // a pipeline by a name that it knows; empty: its own
  double seconds = 60;                        // for one answer
  double start_seconds = 120;                 // until its greeting
  std::size_t memory = std::size_t(4) << 30;  // bytes of data of each of its processes
  unsigned jobs = 1;                          // so many of the command at once
};

struct PartnerAnswer {
  enum class Kind : std::uint8_t {
    Results,  // it ran: `results`, leaf by leaf
    Verdict,  // it decided by itself: `fault`
    Failed,   // it says that it failed: `text`, `pass`
    Ended,    // the process ended without an answer: `text`, `signal`
    TooLong,  // no answer within the time limit
    Refused,  // it does not take this program: `text`
    Useless,  // it cannot be started, or does not keep to the protocol: `text`
  } kind = Kind::Useless;
  std::vector<runtime::Value> results;
  bool fault = false;
  std::string text;  // one line
  std::string pass;  // that failed, if it says so
  int signal = 0;
};

struct PartnerQuestion {
  const ir::Module* module = nullptr;
  std::string function{support::kEntryFunction};
  std::string passes;                                      // empty: the partner's own
  const std::vector<runtime::Value>* arguments = nullptr;  // null: it only compiles
  std::string ir_folder;                                   // where to leave the module after each pass; empty: nowhere
};

class Partner {
 public:
  // Starts the broker and waits for the greeting of the command. Null: see `why`.
  static std::unique_ptr<Partner> start(const PartnerOptions& options, std::string& why);
  ~Partner();
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

  // Also from a child process. Throws Cancelled.
  PartnerAnswer ask(const PartnerQuestion& question) const;
  const PartnerOptions& options() const { return options_; }
  const std::string& name() const { return name_; }  // from its greeting: what it is, and its version

 private:
  explicit Partner(const PartnerOptions& options) : options_(options) {}
  std::string exchange(std::string_view line, double seconds) const;

  PartnerOptions options_;
  std::string name_, folder_;
  pid_t broker_ = -1, owner_ = -1;
  int lifeline_ = -1;  // the broker ends when it closes, or on SIGTERM
};

}  // namespace rldb::repro
