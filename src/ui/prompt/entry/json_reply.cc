// `--format=json`: the reply to a command as one object on one line.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "rldb/runtime/device_error.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/handlers.h"
#include "ui/prompt/entry/lost_tensor.h"

namespace rldb::ui {

using Json = nlohmann::ordered_json;

struct Repl::JsonReply {
  Json data;  // null: the command gave none
  source::Diagnostics diagnostics;
  std::string text;  // text that it wrote nevertheless
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

// The option as the first word or the last one; empty: it is absent.
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

// These execute entries of their own, each with its own reply.
bool executes_entries(const Command& command) {
  return command.run == command_Source || command.run == command_Resume || command.run == command_Tour;
}

// These are followed by an entry, or part of one: an option in it is not theirs. On its own, it is.
bool takes_texts(const Command& command, std::string_view rest) {
  const bool text = command.run == command_Alias || command.run == command_Expect || command.run == command_Help;
  return text && !is_option(rest);
}

}  // namespace

bool Repl::choose_format(const Command& command, std::string_view& rest, bool& json) {
  const bool has_data = (command.flags & kData) != 0;
  json = line_.format == Format::Json && !executes_entries(command);
  text_asked_ = false;
  if (takes_texts(command, rest)) return true;
  const std::string_view option = take_option(rest);
  if (option.empty()) return true;
  const std::string_view value = option.substr(kOption.size());
  const auto refuse = [&](source::Message m) {
    if (line_.format == Format::Json)
      in_json(&command, [&] { return fail(std::move(m)); });
    else
      fail(std::move(m));
    return false;
  };
  if (value != "json" && value != "text") {
    return refuse(source::message(diag::BadOption, value, "--format").with_hint("values: text, json"));
  }
  json = value == "json";
  text_asked_ = !json;
  if (!json || has_data) return true;
  return refuse(source::message(diag::NoJsonForm, command.name));
}

// `command`: null for an entry that is not a command.
Status Repl::in_json(const Command* command, const std::function<Status()>& work) {
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
    status = work();
    if (const auto lost = runtime::take_device_error()) status = fail(lost_tensor(*lost));
    if (status == Status::Usage && command) fail(source::message(diag::CommandUsage, usage_of(*command)));
  }
  Json object{{"command", command ? Json(command->name) : Json()},
              {"ok", status == Status::Good || status == Status::Quit},
              {"data", std::move(reply.data)}};
  if (!reply.text.empty()) object["text"] = reply.text;
  object["diagnostics"] = Json::parse(source::render_json(reply.diagnostics, session_->sources()));
  ++replies_;
  // Names may contain bytes that are not UTF-8; JSON may not.
  console_->write(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return status;
}

Status Repl::run_for_json(const Command& command, std::string_view rest) {
  const Status status = in_json(&command, [&] { return run_handler(command, rest); });
  repeatable_.clear();
  if (command.flags & kRepeat) repeatable_ = fmt::format(":{} {} {}json", command.name, rest, kOption);
  return status;
}

void Repl::show_result(const runtime::Value& value, std::string_view name) {
  // A value that cannot be shown fails the entry when it is over.
  if (auto read = runtime::read_back(value); !read.ok()) runtime::note_device_error(std::move(read).error());
  if (!json_) return show_value(value, name);
  json_->data["values"].push_back(
      {{"name", name.empty() ? Json() : Json(name)}, {"value", value_json(value, print_format.max_elements)}});
}

void Repl::show_defined(std::string_view name, std::string_view text) {
  if (!json_) return print("{}\n", text);
  json_->data["defined"].push_back(name);
}

}  // namespace rldb::ui
