// Observer: detects hits of watchpoints and numeric catchpoints while a run continues.
//
// It checks only after single instructions: those that define a watched name, and calls, which may write tensors. A
// call is skipped at once unless it was given storage from which a watched expression was last read, behind a tuple or
// an object too, or is of a packed function, which may have kept some.
// Going forward the first hit stops the run; going back (`record`) the last hit of a window is kept. Values are
// compared with those from when the run was resumed, or at the window's start. Users: the forward and backward loops.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "debug/impl.h"
#include "debug/watch/numeric.h"
#include "debug/watch/watched.h"

namespace rldb::debug {

class Observer : public vm::Hook {
 public:
  // For the enabled points that need one. `active()` false: there are none. `backward`: for parts of the run that begin
  // before the activations that exist now.
  Observer(Debugger::Impl& d, const Run& run, bool backward = false);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  bool active() const { return !watches_.empty() || !catches_.empty(); }
  const vm::StopSet& observed() const { return observed_; }

  // Records current values; discards hits.
  void begin(const vm::Machine& m, bool record);
  bool after_instruction(const vm::Machine& m, std::size_t frame_depth, Pc pc) override;
  // After values were set, before the next instruction; `by`: what set them. True: the run stops there.
  bool after_command(const vm::Machine& m, std::string_view by);

  struct Seen {
    int number = 0;
    std::string text;     // the change, and its cause
    bool over = false;    // no change: the frame that it belongs to has returned
    std::string element;  // as in StopReport
    bool by_command = false;
  };
  // Hits of one instruction; when recording, of the last one with any.
  const std::vector<Seen>& seen() const { return seen_; }
  std::vector<Seen> take() { return std::exchange(seen_, {}); }
  bool hit() const { return !seen_.empty(); }
  bool stops() const { return !record_ && hit(); }
  // Before that instruction; of a command, which has no moment before it, when it was given.
  std::uint64_t time() const { return time_; }

 private:
  struct Catch {
    int number;
    NumericEvent event;
  };
  void add_calls(bool backward);
  runtime::NumericEvents events() const;
  void look_for(runtime::NumericEvents events);
  Reached reached(const vm::Machine& m, std::size_t frame, Pc pc) const;
  void note(const vm::Machine& m, std::uint64_t before, Seen seen);
  void keep(std::uint64_t before, Seen seen);
  std::string instruction(Pc pc) const;

  Debugger::Impl& d_;
  const CodeMap& map_;
  const Run& run_;
  vm::StopSet observed_;
  std::vector<Watched> watches_;
  std::vector<Catch> catches_;
  bool record_ = false;
  bool fresh_ = true;  // the next hit is the first of its instruction: those of an earlier one are discarded
  std::vector<Seen> seen_;
  std::uint64_t time_ = 0;
};

}  // namespace rldb::debug
