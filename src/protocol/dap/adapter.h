// Adapter: a debug session of a client: its requests, done one after the other on a session of the prompt.
//
// Nothing is decided here that the debugger decides: stops, positions and times are its data. A request that makes the
// program run is answered first; what follows, up to the stop, comes as events. Numbers of frames and variables are of
// one stop: afterwards they are refused. Used by `rldb dap`; docs/dap.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/dap/client_console.h"
#include "protocol/dap/points.h"
#include "protocol/dap/rank_runs.h"
#include "protocol/dap/sources.h"
#include "protocol/dap/traffic.h"
#include "protocol/dap/variables.h"
#include "rldb/ui/prompt/start_run.h"

namespace rldb::protocol::dap {

class Fields;

// The arguments of `launch` and `attach` (docs/dap.md).
struct Launch {
  std::string program, function, passes, sanitize;
  std::vector<std::string> inputs, commands;
  std::int64_t ranks = 1, rank = 0, groups = 1;
  bool stop_on_entry = false, stop_on_exit = false, no_debug = false, is_script = false;
  std::vector<std::string> words() const;  // of `:run`
  std::string call() const;                // the same as one text
};

class Adapter {
 public:
  Adapter(const ui::CommandLine& line, Channel& channel, Traffic& traffic);
  ~Adapter();

  // Replies, and does what the request asks for.
  void handle(const Request& request);
  // The client has ended the session.
  bool is_over() const { return over_; }

 private:
  using Verb = std::function<debug::StopReport()>;
#define RLDB_DAP_REQUEST(id, name, needs, while_running) Answer on_##id(const Request& request);
#include "rldb/protocol/dap_request.def"

  Answer dispatch(const Request& request);
  std::optional<Failure> missing(const RequestRow& row) const;
  // Is done when the reply has been sent.
  void then(std::function<void()> work) { then_.push_back(std::move(work)); }

  // ---- lifecycle.cc ----
  Answer begin(const Request& request, bool attach);
  std::optional<Failure> read_launch(const Json& arguments);
  std::optional<Failure> load();
  std::optional<Failure> execute(const std::string& entry);
  void start();
  void run_script();
  std::optional<Failure> read_again();
  void sanitize();
  void start_other_ranks();
  void end_program(int exit_code);
  void end_rank(int exit_code);

  // The entry of `break` for the code of a line; nullopt: the line became no instruction, no statement of a kernel.
  std::optional<std::string> code_at(const SourceRef& source, std::uint32_t line);

  // ---- running.cc ----
  // `again`: what goes on with it after an interruption for other requests. False: the session ends.
  bool run(std::string_view what, const Verb& verb, const Verb& again);
  bool serve_between(const debug::StopReport& stop);
  Verb resume_verb();
  Verb from_its_beginning(Verb step);
  void report(const debug::StopReport& stop, bool paused);
  void report_end(const debug::StopReport& stop);
  void send_stopped(const debug::StopReport& stop, std::string_view reason, std::string description);
  // Without `again` an interrupted verb begins again where it began.
  Answer resume_with(std::string_view what, Verb verb, Verb again = {});
  // ---- ranks.cc: the ranks of a program are the threads of a client ----
  Json threads() const;
  void begin_ranks();
  void select_rank(std::size_t rank);
  // The rank of the argument `threadId` is the present one from now on.
  std::optional<Failure> select_thread(Fields& fields);
  void select_rank_of_variables(std::int64_t reference);
  std::string rank_text() const;
  // `a@1`: the rank, which is taken from the text. None: the present one.
  std::optional<std::size_t> take_rank(std::string& text) const;
  void follow_group();
  void show_rank(std::size_t rank);

  void forget_stop();
  bool is_fault_caught(const debug::StopReport& stop) const;
  Verb stepping_in(std::int64_t target, std::string& problem);
  debug::StopReport on_to(const std::string& spec);
  debug::StopReport back_to(const std::string& spec);
  void tell(const source::Diagnostics& diagnostics);

  // ---- frames.cc ----
  const std::vector<debug::FrameInfo>& frames();
  std::optional<int> frame_number(std::int64_t id);
  Json frame_json(const debug::FrameInfo& frame);
  Json end_frame();
  void put_place(Json& out, const debug::FrameInfo& frame);
  void put_span(Json& out, const source::Span& span);
  // The frame of the arguments; the innermost without one.
  std::optional<int> frame_of(Fields& fields);

  // ---- evaluate.cc ----
  struct Moment {
    bool active = false;
    debug::StopKind kind = debug::StopKind::None;
    std::uint64_t time = 0;
    std::size_t version = 0;
    std::string call;
    bool operator==(const Moment&) const = default;
  };
  Moment moment() const;
  Answer evaluate_in_console(const std::string& text);
  void after_entry(const Moment& before, bool values_changed);
  Answer assign(const std::string& target, const std::string& value, int frame);
  Answer evaluate_text(const std::string& text, std::string_view context, int frame);

  // ---- memory.cc ----
  std::optional<Failure> write_elements(const Variables::Memory& memory, std::int64_t offset, std::string_view bytes);
  std::optional<Failure> write_value(const std::string& target, int frame, std::optional<runtime::Value> value);

  std::uint32_t line_to_client(std::uint32_t line) const { return lines_from_1_ ? line : line - 1; }
  std::uint32_t line_from_client(std::int64_t line) const;
  std::uint32_t column_to_client(std::uint32_t column) const { return columns_from_1_ ? column : column - 1; }

  ui::CommandLine line_;
  Channel& channel_;
  Traffic& traffic_;
  ClientConsole console_;
  std::unique_ptr<ui::Repl> repl_;
  std::unique_ptr<Sources> sources_;
  std::unique_ptr<Variables> variables_;
  std::unique_ptr<Points> points_;
  Launch launch_;
  std::optional<ui::PreparedCall> call_;
  std::vector<std::function<void()>> then_;

  bool pause_at_entry_ = false;  // asked for while the program was being started
  bool initialized_ = false, loaded_ = false, configured_ = false, ended_ = false, over_ = false;
  bool lines_from_1_ = true, columns_from_1_ = true, takes_invalidated_ = false;
  std::unique_ptr<RankRuns> runs_;
  int exit_code_ = 0;        // of the ranks that have ended
  bool starting_ = false;    // not all ranks have begun
  bool quiet_stop_ = false;  // the next stop takes no focus
  bool restarting_ = false;  // the next stop is the beginning of a frame
  struct GotoTarget {
    std::string spec;
    std::uint32_t line = 0;
    bool back = false;
  };
  std::vector<GotoTarget> goto_targets_;
};

}  // namespace rldb::protocol::dap
