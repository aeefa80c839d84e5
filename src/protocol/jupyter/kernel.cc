// Requests about a notebook's session, answered by the prompt.
#include "protocol/jupyter/kernel.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "protocol/jupyter/output.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/command.h"
#include "rldb/ui/render/page.h"
#include "rldb/ui/render/version.h"

namespace rldb::protocol::jupyter {

namespace {

using ui::Status;

constexpr std::size_t kMaxCells = 10000;  // of the history

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// Jupyter counts characters, the prompt bytes.
std::size_t bytes_of(std::string_view text, std::int64_t characters) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && characters-- <= 0) break;
  return at;
}

std::int64_t characters_of(std::string_view text, std::size_t bytes) {
  return std::count_if(text.begin(), text.begin() + std::ptrdiff_t(std::min(bytes, text.size())), begins_character);
}

bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

std::string_view name_at(std::string_view text, std::size_t at) {
  std::size_t begin = std::min(at, text.size()), end = begin;
  while (begin > 0 && is_name_part(text[begin - 1])) --begin;
  while (end < text.size() && is_name_part(text[end])) ++end;
  return text.substr(begin, end - begin);
}

Json good(Json content) {
  content["status"] = "ok";
  return content;
}

Json failed(std::string_view name, const std::string& text, const std::string& shown) {
  Json lines = Json::array();
  std::istringstream all(shown.empty() ? text : shown);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return {{"status", "error"}, {"ename", name}, {"evalue", text}, {"traceback", std::move(lines)}};
}

// While it lives, the output of the session is collected here, and what `:expect` and `_` refer to stays as it was.
class Collected {
 public:
  explicit Collected(ui::Repl& repl) : repl_(repl), before_(std::move(repl.on_output)), last_(repl.last()) {
    repl.on_output = [this](const ui::OutputPiece&, std::string_view text) { this->text += text; };
  }
  ~Collected() {
    repl_.on_output = std::move(before_);
    repl_.last() = std::move(last_);
  }
  Collected(const Collected&) = delete;
  Collected& operator=(const Collected&) = delete;
  std::string text;

 private:
  ui::Repl& repl_;
  std::function<void(const ui::OutputPiece&, std::string_view)> before_;
  ui::LastResult last_;
};

}  // namespace

Json kernel_info() {
  return good({{"protocol_version", kProtocolVersion},
               {"implementation", "rldb"},
               {"implementation_version", ui::kVersion},
               {"language_info",
                {{"name", "tvmscript"},
                 {"version", ui::kVersion},
                 {"mimetype", "text/x-python"},
                 {"file_extension", ".py"},
                 {"pygments_lexer", "python3"},
                 {"codemirror_mode", "python"}}},
               {"banner", fmt::format("rldb {}: a REPL and debugger for Relax IR", ui::kVersion)},
               {"help_links", Json::array()}});
}

Kernel::Kernel(const ui::CommandLine& line, Client& client) : client_(client) {
  console_.set_color(line.color != ui::Color::Never);
  ui::CommandLine own = line;
  own.format = ui::Format::Text;
  own.files.clear();
  repl_ = std::make_unique<ui::Repl>(own, console_);
  hooks_ = ui::editor_hooks(*repl_, false);
  for (const std::string& plugin : line.plugins) repl_->execute(":plugin " + plugin);
}

std::optional<Json> Kernel::answer(const Message& request) {
  leaves_out_others_ = false;
  const std::string type = request.type();
  if (type == "kernel_info_request") return kernel_info();
  if (type == "execute_request") return execute(request.content);
  if (type == "complete_request") return complete(request.content);
  if (type == "inspect_request") return inspect(request.content);
  if (type == "is_complete_request") return is_complete(request.content);
  if (type == "history_request") return history(request.content);
  if (type == "comm_info_request") return good({{"comms", Json::object()}});
  return std::nullopt;
}

Json Kernel::left_out() { return {{"status", "aborted"}}; }
Json Kernel::failure(std::string_view name, const std::string& text) { return failed(name, text, {}); }

// ---- cells ----

Status Kernel::run_cell(const std::string& code) {
  const std::string name = fmt::format("cell [{}]", count_);
  return repl_->guard(code, [&] { return repl_->run_script(hooks_.clean(code), name); });
}

Json Kernel::execute(const Json& content) {
  const std::string code = text_in(content, "code");
  const bool silent = flag_in(content, "silent", false);
  const bool is_kept = !silent && flag_in(content, "store_history", true);
  if (is_kept) {
    ++count_;
    if (cells_.size() == kMaxCells) cells_.erase(cells_.begin());
    cells_.push_back({count_, code, {}});
  }
  if (!silent) client_.publish("execute_input", {{"code", code}, {"execution_count", count_}});

  CellOutput output(
      [&](std::string_view type, Json message) {
        if (!silent) client_.publish(type, std::move(message));
      },
      count_);
  repl_->on_output = [&](const ui::OutputPiece& piece, std::string_view text) {
    client_.publish_standard_streams();
    output.take(piece, text);
  };
  const auto confirm = [&](const std::string& question) {
    const std::string answer = client_.ask(question).value_or("");
    return answer == "y" || answer == "yes";
  };
  const auto next = [&] {
    const auto answer = client_.ask("Enter: continue, q: quit the tour ");
    return answer && !answer->starts_with('q');
  };
  repl_->ask = nullptr;
  repl_->go_on = nullptr;
  if (flag_in(content, "allow_stdin", false)) repl_->ask = confirm, repl_->go_on = next;

  const Status status = run_cell(code);
  const bool is_interrupted = support::cancel_cause() == support::CancelCause::Interrupt;
  const bool is_failure = status == Status::Failed || status == Status::Usage;
  client_.publish_standard_streams();
  const std::string shown = output.finish(is_failure);
  repl_->on_output = nullptr;
  if (is_kept) cells_.back().result = output.result();

  Json reply = good(Json::object());
  if (is_failure) {
    const auto& errors = repl_->last().errors;
    reply = failed(is_interrupted ? "KeyboardInterrupt" : "Error", errors.empty() ? "the entry failed" : errors.back(),
                   shown);
    if (!silent) {
      Json error = reply;
      error.erase("status");
      client_.publish("error", std::move(error));
    }
    leaves_out_others_ = flag_in(content, "stop_on_error", true);
  } else {
    reply["user_expressions"] = evaluate(content.value("user_expressions", Json::object()));
    reply["payload"] = Json::array();
    if (status == Status::Quit) reply["payload"].push_back({{"source", "ask_exit"}, {"keepkernel", false}});
  }
  reply["execution_count"] = count_;
  return reply;
}

Json Kernel::evaluate(const Json& expressions) {
  Json values = Json::object();
  if (!expressions.is_object()) return values;
  for (const auto& [name, expression] : expressions.items())
    values[name] = expression.is_string() ? evaluate_one(expression.get<std::string>())
                                          : failed("Error", "an expression is a text", {});
  return values;
}

Json Kernel::evaluate_one(const std::string& expression) {
  Collected output(*repl_);
  const Status status = repl_->execute(expression);
  const std::string text = ui::without_colors(output.text);
  if (status != Status::Good) {
    const auto& errors = repl_->last().errors;
    return failed("Error", errors.empty() ? "the expression failed" : errors.back(), text);
  }
  return good({{"data", {{"text/plain", text}}}, {"metadata", Json::object()}});
}

// ---- about the text of a cell ----

Json Kernel::complete(const Json& content) {
  const std::string code = text_in(content, "code");
  const std::size_t cursor = bytes_of(code, number_in(content, "cursor_pos", std::int64_t(code.size())));
  std::size_t start = cursor;
  // The prompt completes one entry, which is the last one before the cursor.
  const std::size_t entry = code.rfind("\n:", cursor) == std::string::npos ? 0 : code.rfind("\n:", cursor) + 1;
  std::vector<std::string> matches;
  for (ui::Candidate& c : hooks_.complete(std::string_view(code).substr(entry), cursor - entry, start))
    matches.push_back(std::move(c.text));
  start = matches.empty() ? cursor : entry + start;
  return good({{"matches", matches},
               {"cursor_start", characters_of(code, start)},
               {"cursor_end", characters_of(code, cursor)},
               {"metadata", Json::object()}});
}

Json Kernel::inspect(const Json& content) {
  const std::string code = text_in(content, "code");
  const std::size_t cursor = bytes_of(code, number_in(content, "cursor_pos", std::int64_t(code.size())));
  std::string text;
  for (const ui::HintLine& line : hooks_.hints(code, cursor))
    if (line.kind != ui::HintLine::Kind::Problem) text += line.text + "\n";
  if (const std::string_view name = name_at(code, cursor); !name.empty()) {
    Collected output(*repl_);
    const ui::Command* help = ui::find_command_named("help");
    if (help && repl_->guard(name, [&] { return help->run(*repl_, name); }) == Status::Good)
      text += ui::without_colors(output.text);
  }
  Json data = Json::object();
  if (!text.empty()) data["text/plain"] = text;
  return good({{"found", !text.empty()}, {"data", std::move(data)}, {"metadata", Json::object()}});
}

Json Kernel::is_complete(const Json& content) {
  const std::string code = text_in(content, "code");
  const std::size_t line = code.rfind('\n');
  const bool ends_empty = line != std::string::npos && support::trim(std::string_view(code).substr(line + 1)).empty();
  if (!hooks_.wants_more(code, ends_empty)) return {{"status", "complete"}};
  return {{"status", "incomplete"}, {"indent", std::string(std::size_t(std::max(0, hooks_.indent(code))), ' ')}};
}

Json Kernel::history(const Json& content) const {
  const std::string kind = text_in(content, "hist_access_type"), pattern = text_in(content, "pattern");
  const auto start = number_in(content, "start", 0), stop = number_in(content, "stop", std::int64_t(count_) + 1);
  const auto most = std::size_t(std::max<std::int64_t>(0, number_in(content, "n", std::int64_t(cells_.size()))));
  const bool unique = flag_in(content, "unique", false), with_output = flag_in(content, "output", false);
  std::vector<const Cell*> found;
  for (const Cell& cell : cells_) {
    if (kind == "range" && (std::int64_t(cell.count) < start || std::int64_t(cell.count) >= stop)) continue;
    if (kind == "search" && ::fnmatch(pattern.c_str(), cell.text.c_str(), 0) != 0) continue;
    // Of equal ones the last.
    if (unique) std::erase_if(found, [&](const Cell* before) { return before->text == cell.text; });
    found.push_back(&cell);
  }
  Json list = Json::array();
  for (std::size_t i = kind == "range" ? 0 : found.size() - std::min(most, found.size()); i < found.size(); ++i)
    list.push_back({0, found[i]->count, with_output ? Json({found[i]->text, found[i]->result}) : Json(found[i]->text)});
  return good({{"history", std::move(list)}});
}

}  // namespace rldb::protocol::jupyter
