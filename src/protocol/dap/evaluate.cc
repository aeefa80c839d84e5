// Expressions, the console, changes of values.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/dap/adapter.h"
#include "protocol/dap/fields.h"
#include "protocol/entry_reply.h"
#include "rldb/ui/prompt/completion.h"
#include "rldb/ui/terminal/exit_code.h"

namespace rldb::protocol::dap {

using runtime::Value;

namespace {

// A name, or elements or fields of one: what cannot have an effect.
bool is_harmless(std::string_view text) {
  return text.find_first_of("(=:!?;\n") == std::string_view::npos && !ui::trim(text).empty();
}

// Output of functions that an expression calls is not the program's.
class Quiet {
 public:
  explicit Quiet(session::Session& session) : session_(session) { session_.mute(true); }
  ~Quiet() { session_.mute(false); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  session::Session& session_;
};

std::string whole_text(const Value& value) {
  constexpr std::int64_t kMost = 100'000;
  runtime::FormatOptions options;
  options.max_elements = kMost;
  return runtime::format_value(value, options);
}

}  // namespace

Adapter::Moment Adapter::moment() const {
  const debug::StopReport& stop = repl_->debugger().last_stop();
  const session::Program* program = repl_->session().program();
  return {repl_->debugger().active(), stop.kind, stop.time, program ? program->position() : 0, repl_->last_call};
}

// The effects of an entry, as events.
void Adapter::after_entry(const Moment& before, bool values_changed) {
  const Moment now = moment();
  const debug::StopReport stop = repl_->debugger().last_stop();
  const bool was_stopped = before.kind != debug::StopKind::None;
  follow_group();
  if (const auto rank = runs_->take_back()) return show_rank(*rank);
  if (configured_ && was_stopped && now.kind == debug::StopKind::None) return end_rank(ui::kGood);
  points_->refresh();
  if (now.version != before.version || now.call != before.call) sources_->tell(channel_);
  const bool moved = now.active != before.active || now.kind != before.kind || now.time != before.time ||
                     (now.call != before.call && now.active);
  if (configured_ && moved && now.kind != debug::StopKind::None) {
    forget_stop();
    return report(stop, false);
  }
  if (now == before && !values_changed) return;
  if (takes_invalidated_) channel_.event("invalidated", {{"areas", {"all"}}});
}

Answer Adapter::evaluate_in_console(const std::string& text) {
  const Moment before = moment();
  const bool changes = repl_->replay_of(text) == ui::Replay::Yes && !is_harmless(text);
  console_.set_category("console");
  console_.hold();
  const ui::Status status = repl_->execute(text);
  ClientConsole::Held held = console_.release();
  const std::optional<Value> value = status == ui::Status::Good ? repl_->last().value : std::nullopt;
  Json body{{"result", ""}, {"variablesReference", 0}};
  if (value && !value->is_null() && moment() == before) {
    // The value is the result; what else was written stays.
    const std::string shown = runtime::format_value(*value, repl_->print_format) + "\n";
    const std::size_t at = held.text.find(shown);
    const bool is_line = at == 0 || (at != std::string::npos && held.text[at - 1] == '\n');
    if (is_line && !held.text.substr(0, at).ends_with("=\n")) {
      held.text.erase(at, shown.size());
      body =
          variables_->shown(*value, is_harmless(text) ? std::string(ui::trim(text)) : std::string("_"), repl_->frame());
      body["result"] = body["value"];
      body.erase("value");
    }
  }
  channel_.output("console", held.text);
  if (status == ui::Status::Quit) {
    then([this] { end_program(ui::kGood); });
    return body;
  }
  const bool abandoned = status == ui::Status::Failed || status == ui::Status::Usage;
  if (!abandoned) channel_.output("stderr", held.errors);
  then([this, before, changes] { after_entry(before, changes); });
  if (!abandoned) return body;
  while (held.errors.ends_with('\n')) held.errors.pop_back();
  return refused(held.errors.empty() ? "it failed" : held.errors);
}

Answer Adapter::on_evaluate(const Request& request) {
  Fields fields(request.arguments);
  std::string text = fields.text("expression");
  const std::string context = fields.text_or("context", "watch");
  const bool running_needed = fields.has("frameId");
  if (running_needed && repl_->debugger().last_stop().kind == debug::StopKind::None)
    fields.fail("the program is not stopped");
  const auto frame = fields.failure() ? std::optional(0) : frame_of(fields);
  if (fields.failure()) return support::Failure(*fields.failure());
  const std::size_t at_hand = runs_->current();
  const auto other = take_rank(text);
  if (other) select_rank(*other);
  const auto back = [this, at_hand, other] {
    if (other && !ended_ && runs_->is_live(at_hand)) select_rank(at_hand);
  };
  if (context == "repl") {
    if (running_needed && !other) repl_->frame() = *frame;
    Answer answer = evaluate_in_console(text);
    then(back);
    return answer;
  }
  Answer answer = evaluate_text(text, context, other ? 0 : *frame);
  back();
  return answer;
}

Answer Adapter::evaluate_text(const std::string& text, std::string_view context, int frame) {
  if (context == "hover" && !is_harmless(text))
    return refused("only names, elements and fields are evaluated by pointing at them");
  source::Diagnostics diagnostics;
  std::vector<std::string> notes;
  const Quiet quiet(repl_->session());
  const auto value = repl_->debugger().evaluate(text, frame, diagnostics, &notes);
  if (!value) return refused(reason_in(diagnostics, "it has no value"));
  Json body = variables_->shown(*value, text, frame);
  body["result"] = context == "clipboard" ? Json(whole_text(*value)) : body["value"];
  body.erase("value");
  if (!notes.empty()) body["type"] = fmt::format("{}; {}", body["type"].get<std::string>(), fmt::join(notes, "; "));
  return body;
}

// Ours: the data of a command, for views of an editor.
Answer Adapter::on_command(const Request& request) {
  Fields fields(request.arguments);
  std::string text(ui::trim(fields.text("command")));
  const auto frame = fields.has("frameId") ? frame_of(fields) : std::nullopt;
  const bool as_text = fields.flag("text");
  if (fields.failure()) return support::Failure(*fields.failure());
  if (frame) repl_->frame() = *frame;
  const std::string_view body = ui::trim(std::string_view(text).substr(text.starts_with(':') ? 1 : 0));
  const std::string_view word = body.substr(0, body.find_first_of(" \t"));
  const ui::Command* command = ui::find_command(word).command;
  const bool as_data = command && !as_text && (command->flags & ui::kData);
  const std::string entry =
      as_data ? fmt::format(":{} --format=json {}", command->name, body.substr(word.size())) : text;
  const Moment before = moment();
  const bool changes = repl_->replay_of(entry) == ui::Replay::Yes;
  console_.hold();
  const ui::Status status = repl_->execute(entry);
  const ClientConsole::Held held = console_.release();
  Json reply = as_data ? reply_in(held.text)
                       : Json{{"command", command ? Json(command->name) : Json()},
                              {"ok", status == ui::Status::Good || status == ui::Status::Quit},
                              {"data", nullptr},
                              {"text", held.text},
                              {"diagnostics", Json::array()}};
  if (!held.errors.empty()) reply["text"] = reply.value("text", "") + held.errors;
  then([this, before, changes] { after_entry(before, changes); });
  return reply;
}

Answer Adapter::on_completions(const Request& request) {
  Fields fields(request.arguments);
  const std::string text = fields.text("text");
  const std::int64_t column = fields.integer("column"), line = fields.integer_or("line", lines_from_1_ ? 1 : 0);
  if (fields.has("frameId"))
    if (const auto frame = frame_of(fields)) repl_->frame() = *frame;
  if (fields.failure()) return support::Failure(*fields.failure());
  const source::Buffer buffer("", text);
  const source::LineColumn at{line_from_client(line), std::uint32_t(std::clamp<std::int64_t>(
                                                          columns_from_1_ ? column : column + 1, 1, 1 << 30))};
  const std::size_t cursor = buffer.offset(at, source::ColumnUnit::Utf16);
  std::size_t start = cursor;
  const ui::Candidates candidates = ui::complete_entry(*repl_, text, cursor, start);
  constexpr std::size_t kMost = 500;
  const std::uint32_t begin = buffer.line_column(std::uint32_t(start), source::ColumnUnit::Utf16).column;
  const std::uint32_t end = buffer.line_column(std::uint32_t(cursor), source::ColumnUnit::Utf16).column;
  Json targets = Json::array();
  for (std::size_t i = 0; i < candidates.size() && i < kMost; ++i) {
    Json target{
        {"label", candidates[i].text}, {"start", column_to_client(begin)}, {"length", end - std::min(begin, end)}};
    if (!candidates[i].about.empty()) target["detail"] = candidates[i].about;
    targets.push_back(std::move(target));
  }
  return Json{{"targets", std::move(targets)}};
}

// ---- changes ----

Answer Adapter::assign(const std::string& target, const std::string& value, int frame) {
  std::optional<std::string> done;
  source::Diagnostics diagnostics;
  repl_->guard(fmt::format("set {} = {}", target, value), [&] {
    done = repl_->debugger().assign(target, value, frame, diagnostics);
    return done ? ui::Status::Good : ui::Status::Failed;
  });
  if (!done) return refused(reason_in(diagnostics, "it has no value"));
  source::Diagnostics ignored;
  const auto now = repl_->debugger().evaluate(target, frame, ignored);
  Json body = now ? variables_->shown(*now, target, frame) : Json{{"value", value}, {"variablesReference", 0}};
  then([this] {
    if (takes_invalidated_) channel_.event("invalidated", {{"areas", {"variables"}}});
  });
  return body;
}

Answer Adapter::on_setVariable(const Request& request) {
  Fields fields(request.arguments);
  const std::int64_t reference = fields.integer("variablesReference");
  const std::string name = fields.text("name"), value = fields.text("value");
  if (fields.failure()) return support::Failure(*fields.failure());
  select_rank_of_variables(reference);
  auto target = variables_->target_of(reference, name);
  if (!target.ok()) return support::Failure(target.error());
  return assign(target->expression, value, target->frame);
}

Answer Adapter::on_setExpression(const Request& request) {
  Fields fields(request.arguments);
  const std::string target = fields.text("expression"), value = fields.text("value");
  const auto frame = frame_of(fields);
  if (fields.failure()) return support::Failure(*fields.failure());
  return assign(target, value, *frame);
}

}  // namespace rldb::protocol::dap
