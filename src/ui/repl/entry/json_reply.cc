// `--format=json`: the reply to a command as one object on one line.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rldb/source/diagnostic_command.h"
#include "ui/repl/entry/state.h"

namespace rldb::ui {

using Json = nlohmann::ordered_json;

struct Repl::JsonReply {
  Json data;  // null: the command gave none
  source::Diagnostics diagnostics;
  std::string text;  // what it wrote all the same
};

Status Repl::give(const Json& data) {
  json_->data = data;
  return Status::Good;
}

void Repl::keep_for_json(const source::Diagnostics& diagnostics) {
  for (const source::Diagnostic& d : diagnostics.all()) json_->diagnostics.add(d);
}

namespace {

constexpr std::string_view kOption = "--format=";

bool is_option(std::string_view word) {
  return word.starts_with(kOption) &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz", kOption.size()) == std::string_view::npos;
}

// The option as the first word or the last one; empty: it is not there.
std::string_view take_option(std::string_view& rest) {
  const std::string_view first = rest.substr(0, rest.find_first_of(" \t\n"));
  if (is_option(first)) {
    rest = trim(rest.substr(first.size()));
    return first;
  }
  const auto blank = rest.find_last_of(" \t\n");
  const std::string_view last = blank == std::string_view::npos ? rest : rest.substr(blank + 1);
  if (!is_option(last)) return {};
  rest = trim(rest.substr(0, rest.size() - last.size()));
  return last;
}

// What follows these is an entry, or text of one: the option in it is not theirs. Alone, it is.
bool takes_texts(const Command& command, std::string_view rest) {
  const bool text = command.run == command_Alias || command.run == command_Expect || command.run == command_Help;
  return text && !is_option(rest);
}

}  // namespace

bool Repl::choose_format(const Command& command, std::string_view& rest, bool& json) {
  const bool has_data = (command.flags & kData) != 0;
  json = has_data && line_.format == Format::Json;
  if (takes_texts(command, rest)) return true;
  const std::string_view option = take_option(rest);
  if (option.empty()) return true;
  const std::string_view value = option.substr(kOption.size());
  if (value != "json" && value != "text") {
    fail(source::message(diag::BadOption, value, "--format").with_hint("values: text, json"));
    return false;
  }
  json = value == "json";
  if (!json || has_data) return true;
  fail(source::message(diag::NoJsonForm, command.name));
  return false;
}

Status Repl::run_for_json(const Command& command, std::string_view rest) {
  JsonReply reply;
  struct Scope {
    Scope(Repl& repl, JsonReply& reply) : repl(repl) {
      repl.json_ = &reply;
      repl.divert(&reply.text);
    }
    ~Scope() {
      repl.json_ = nullptr;
      repl.divert(nullptr);
    }
    Repl& repl;
  };
  Status status = Status::Failed;
  {
    const Scope scope(*this, reply);
    status = command.run(*this, rest);
    if (status == Status::Usage) fail(source::message(diag::CommandUsage, usage_of(command)));
  }
  repeatable_.clear();
  if (command.flags & kRepeat) repeatable_ = fmt::format(":{} {} {}json", command.name, rest, kOption);
  Json object{{"command", command.name}, {"ok", status == Status::Good}, {"data", std::move(reply.data)}};
  if (!reply.text.empty()) object["text"] = reply.text;
  object["diagnostics"] = Json::parse(source::render_json(reply.diagnostics, session_->sources()));
  // Names may carry bytes that are no UTF-8; JSON may not.
  console_->write(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return status;
}

}  // namespace rldb::ui
