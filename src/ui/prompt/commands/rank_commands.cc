// `:rank`: the run of another rank at the same place. `:threads`: those of a GPU kernel.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rldb/debug/kernel_threads.h"
#include "rldb/debug/rank_values.h"
#include "rldb/debug/side_by_side.h"
#include "rldb/expression/expression.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/session/group.h"
#include "rldb/session/process_group.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_rank.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/rank_job.h"
#include "ui/prompt/commands/at_rank.h"
#include "ui/prompt/entry/frame_scope.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

// Unless it is kept, the group is at the rank before again.
class Turn {
 public:
  explicit Turn(Repl& repl) : repl_(repl) {}
  ~Turn() {
    if (!kept_) repl_.group->be_again(repl_.rank);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  void keep(std::size_t rank) {
    kept_ = true;
    repl_.rank = rank;
    repl_.group->be_again(rank);
  }

 private:
  Repl& repl_;
  bool kept_ = false;
};

}  // namespace

bool switch_rank(Repl& repl, std::size_t rank, source::Diagnostics& out) {
  if (rank == repl.rank) return true;
  Turn turn(repl);
  if (debug::exchange_run(repl.debugger(), int(repl.rank), int(rank))) {
    turn.keep(rank);
    return true;
  }
  if (rank >= repl.group->arguments().size()) {
    out.add({}, source::message(diag::NotStopped));
    return false;
  }
  source::Diagnostics problems;
  const auto begun = debug::begin_beside(
      repl.debugger(), int(repl.rank), repl.group->arguments()[rank], [&] { repl.group->be(rank); }, problems);
  for (const source::Diagnostic& d : problems.all()) out.add(d);
  if (problems.has_errors() || !begun) return false;
  turn.keep(rank);
  if (!begun->arrived && !repl.wants_json()) repl.print("rank {} does not reach the same place\n", rank);
  return true;
}

namespace {

// `(a + a)`, not `(a) + (a)`.
bool is_in_parentheses(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return false;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (open == 0) return i + 1 == text.size();
  }
  return false;
}

// Not `a + a`: there the rank belongs to a part.
bool is_one_operand(std::string_view text) {
  text = trim(text);
  const auto parsed = expression::parse(text);
  if (!parsed.ok()) return true;
  using Kind = expression::TermKind;
  const Kind kind = parsed->root().kind;
  const std::vector<std::string> names = expression::names_of(*parsed);
  const bool of_ranks =
      std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.find('@') != std::string::npos; });
  const bool several = kind == Kind::Unary || kind == Kind::Binary || kind == Kind::Compare || kind == Kind::And ||
                       kind == Kind::Or || kind == Kind::Not;
  return !of_ranks && (!several || is_in_parentheses(text));
}

}  // namespace

AtRank::AtRank(Repl& repl, std::string_view& text, About about) : repl_(repl), before_(repl.rank), about_(about) {
  source::Diagnostics diagnostics;
  enter(text, diagnostics);
  (void)repl.report(diagnostics);
}

AtRank::AtRank(Repl& repl, std::string_view& text, source::Diagnostics& out)
    : repl_(repl), before_(repl.rank), about_(About::Value) {
  enter(text, out);
}

// The ranks are other processes, without a debugger: they tell what their variables hold now.
void AtRank::ask(session::ProcessGroup& job, std::size_t rank, std::string_view& text, std::string_view operand,
                 source::Diagnostics& out) {
  const auto parsed = expression::parse(trim(operand));
  if (about_ == About::Past) {
    out.add({}, source::message(diag::RanksOfJob, fmt::format("the past of `{}`", text), job.size())
                    .with_hint("`:ranks N` in one process keeps the history of each"));
    failed_ = true;
  }
  if (failed_ || !parsed.ok()) return;  // what reads it says what is wrong
  std::map<std::string, runtime::Value, std::less<>> values;
  for (const std::string& name : expression::names_of(*parsed)) {
    auto value = job.ask(rank, name);
    failed_ = !value.ok();
    if (failed_) return out.add({}, source::message(diag::RankFailed, rank, value.error().message)), void();
    values.emplace(name, *std::move(value));
  }
  text = trim(operand);
  asked_ = true;
  debug::set_rank_values(repl_.debugger(), std::move(values));
}

void AtRank::enter(std::string_view& text, source::Diagnostics& out) {
  const auto at = text.rfind('@');
  if (session::ProcessGroup* job = prompt_ranks(); job && at != std::string_view::npos && at > 0) {
    const std::string_view operand = text.substr(0, at);
    const auto rank = parse_count(text.substr(at + 1));
    if (!rank || !is_one_operand(operand)) return;
    const bool own = *rank == 0, name = is_one_name(trim(operand));
    if (*rank >= job->size() && !name) {
      out.add({}, source::message(diag::NoSuchRank, text.substr(at + 1), text, job->size()));
      failed_ = true;
    } else if (*rank > 0 && *rank < job->size()) {
      ask(*job, std::size_t(*rank), text, operand, out);
    } else if (own && !name) {
      text = trim(operand);
    }
    return;
  }
  if (!repl_.group || at == std::string_view::npos || at == 0) return;
  const auto rank = parse_count(text.substr(at + 1));
  if (!rank || !is_one_operand(text.substr(0, at))) return;  // the operator `@`, a part of an expression
  if (*rank >= repl_.ranks) {
    out.add({}, source::message(diag::NoSuchRank, text.substr(at + 1), text, repl_.ranks));
    failed_ = true;
    return;
  }
  text = trim(text.substr(0, at));
  failed_ = !switch_rank(repl_, std::size_t(*rank), out);
}

AtRank::~AtRank() {
  if (asked_) debug::set_rank_values(repl_.debugger(), {});
  if (repl_.rank == before_ || !repl_.group) return;
  // An abandoned question: the debugger has, or gets, the run of before in another way.
  (void)debug::exchange_run(repl_.debugger(), int(repl_.rank), int(before_));
  repl_.rank = before_;
  repl_.group->be_again(before_);
}

namespace {

// With the rank's number before the messages.
void add_of_rank(const source::Diagnostics& found, std::string_view name, source::Diagnostics& out) {
  for (source::Diagnostic d : found.all()) {
    d.message = source::message(diag::RankFailed, name.substr(name.find('@') + 1), d.message).text;
    out.add(std::move(d));
  }
}

}  // namespace

RankValues::RankValues(Repl& repl, std::string_view text, source::Diagnostics& out) : repl_(repl) {
  const auto parsed = expression::parse(text);
  if (!repl.group || !parsed.ok()) return;
  std::map<std::string, runtime::Value, std::less<>> values;
  for (const std::string& name : expression::names_of(*parsed)) {
    std::string_view asked = name;
    if (name.find('@') == std::string::npos) continue;
    const AtRank rank(repl, asked, out);
    source::Diagnostics problems;
    const auto value = rank.failed() ? std::nullopt : repl.debugger().evaluate(asked, repl.frame(), problems);
    failed_ = !value;
    if (!value) add_of_rank(problems, name, out);
    if (!value) return;
    values.emplace(name, *value);
  }
  debug::set_rank_values(repl.debugger(), std::move(values));
}

RankValues::~RankValues() {
  if (repl_.group) debug::set_rank_values(repl_.debugger(), {});
}

std::optional<runtime::Value> evaluate_in_ranks(Repl& repl, std::string_view text, source::Diagnostics& out) {
  const AtRank rank(repl, text, out);
  if (rank.failed()) return std::nullopt;
  const RankValues others(repl, text, out);
  return others.failed() ? std::nullopt : repl.debugger().evaluate(text, repl.frame(), out);
}

Status command_Threads(Repl& repl, std::string_view rest) {
  std::vector<debug::KernelThread> threads = debug::kernel_threads(repl.debugger());
  if (threads.empty())
    return repl.fail(source::message(diag::NoSuchThing, "thread", rest.empty() ? ir::kThreadIdxX : rest)
                         .with_hint("the threads of a kernel with barriers are listed while it is stepped (`stept`)"));
  if (!rest.empty()) {
    const auto number = parse_count(rest);
    if (!number) return Status::Usage;
    if (!debug::look_at_thread(repl.debugger(), std::size_t(*number)))
      return repl.fail(source::message(diag::NoSuchThing, "thread that has begun and is not done", rest));
    threads = debug::kernel_threads(repl.debugger());
  }
  if (repl.wants_json()) {
    Json rows = Json::array();
    for (const debug::KernelThread& t : threads)
      rows.push_back({{"name", t.name},
                      {"state", t.state},
                      {"line", t.line ? Json(t.line) : Json()},
                      {"statement", or_null(t.statement)},
                      {"chosen", t.chosen}});
    return repl.give(rows);
  }
  constexpr std::size_t kMost = 64;
  for (std::size_t i = 0; i < threads.size() && i < kMost; ++i) {
    const debug::KernelThread& t = threads[i];
    repl.print("{} {:>3}  {}  {}{}{}\n", t.chosen ? "=>" : "  ", i, t.name, t.state,
               t.line ? fmt::format(" at line {}: ", t.line) : "", t.statement);
  }
  if (threads.size() > kMost) repl.print("and {} more\n", threads.size() - kMost);
  return Status::Good;
}

Status command_Rank(Repl& repl, std::string_view rest) {
  if (!rest.empty()) {
    const auto rank = parse_count(rest);
    if (!rank) return Status::Usage;
    if (const auto* job = prompt_ranks(); job && *rank > 0 && *rank < job->size())
      return repl.fail(source::message(diag::RanksOfJob, fmt::format("`rank {}`", *rank), job->size())
                           .with_hint(fmt::format("the prompt is rank 0's; `print a@{}` asks another", *rank)));
    if (!repl.group && !(prompt_ranks() && *rank == 0))
      return repl.fail(source::message(diag::NoSuchRank, rest, rest, repl.ranks));
    if (repl.group && *rank >= repl.ranks) return repl.fail(source::message(diag::NoSuchRank, rest, rest, repl.ranks));
    if (!repl.debugger().active() && !repl.debugger().finished()) return repl.fail(source::message(diag::NotStopped));
    source::Diagnostics problems;
    const bool switched = *rank == repl.rank || switch_rank(repl, std::size_t(*rank), problems);
    if (repl.report(problems) == Status::Failed || !switched) return Status::Failed;
    repl.frame() = 0;
  }
  if (repl.wants_json()) return repl.give({{"ranks", repl.ranks}, {"rank", repl.rank}});
  repl.print("rank {} of {}\n", repl.rank, repl.ranks);
  return rest.empty() ? Status::Good : repl.show_stop(repl.debugger().last_stop());
}

}  // namespace rldb::ui
