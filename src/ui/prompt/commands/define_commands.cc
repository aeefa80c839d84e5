// Commands and printers of the user: entries kept under a word, or for values of a type.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

using runtime::Value;
using runtime::ValueKind;

namespace {

// The first line of a block, and the lines below it up to its mark.
struct EntryBlock {
  std::string_view head;
  std::string body;
};

EntryBlock block_of(std::string_view rest) {
  const auto first_end = rest.find('\n');
  EntryBlock block{trim(rest.substr(0, first_end)), {}};
  std::string mark = "end";
  if (const auto at = block.head.rfind("<<"); at != std::string_view::npos) {
    mark = trim(block.head.substr(at + 2));
    block.head = trim(block.head.substr(0, at));
  }
  for (std::string_view left = first_end == std::string_view::npos ? std::string_view() : rest.substr(first_end + 1);
       !left.empty();) {
    const auto end = left.find('\n');
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    if (left.empty() && trim(line) == mark) break;
    block.body += std::string(line) + "\n";
  }
  return block;
}

bool is_command_word(std::string_view name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

// The entries with the arguments in their places. Nullopt: `missing` was not given.
std::optional<std::string> with_arguments(std::string_view body, std::string_view rest, std::size_t& missing) {
  const std::vector<std::string> words = split_words(rest);
  std::string out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char next = i + 1 < body.size() ? body[i + 1] : '\0';
    if (body[i] != '$' || !(next == '*' || next == '#' || (next >= '1' && next <= '9'))) {
      out += body[i];
      continue;
    }
    ++i;
    if (next == '*') {
      out += rest;
    } else if (next == '#') {
      out += std::to_string(words.size());
    } else if (missing = std::size_t(next - '0'); missing <= words.size()) {
      out += words[missing - 1];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

Json entries_json(std::string_view key, const std::string& name, const debug::StoredEntry& entry) {
  return {{key, name}, {"entries", entry.text}};
}

void list_entries(Repl& repl, const std::string& head, std::string_view body) {
  repl.print("{}\n", head);
  while (!body.empty()) {
    const auto end = body.find('\n');
    repl.print("  {}\n", body.substr(0, end));
    body.remove_prefix(end == std::string_view::npos ? body.size() : end + 1);
  }
}

Status list_defined(Repl& repl) {
  Json rows = Json::array();
  for (const auto& [name, entry] : repl.defined) {
    if (repl.wants_json())
      rows.push_back(entries_json("name", name, entry));
    else
      list_entries(repl, name, entry.text);
  }
  if (repl.wants_json()) return repl.give(rows);
  if (repl.defined.empty()) repl.print("no commands are defined\n");
  return Status::Good;
}

Status list_printers(Repl& repl) {
  Json rows = Json::array();
  for (const ValuePrinter& p : repl.printers) {
    if (repl.wants_json())
      rows.push_back(entries_json("type", p.type, p.body));
    else
      list_entries(repl, p.type, p.body.text);
  }
  if (repl.wants_json()) return repl.give(rows);
  if (repl.printers.empty()) repl.print("no printers\n");
  return Status::Good;
}

}  // namespace

Status command_Define(Repl& repl, std::string_view rest) {
  if (rest.empty()) return list_defined(repl);
  const EntryBlock block = block_of(rest);
  const std::string name(block.head);
  if (!is_command_word(name)) return repl.fail(source::message(diag::BadDefinition, name, "it is not one word"));
  if (find_command_named(name)) return repl.fail(source::message(diag::BadDefinition, name, "it is a command"));
  if (trim(block.body).empty())
    repl.defined.erase(name);
  else
    repl.defined.insert_or_assign(name, debug::StoredEntry{block.body, repl.author()});
  return repl.wants_json() ? list_defined(repl) : Status::Good;
}

Status Repl::run_defined(std::string_view name, std::string_view rest) {
  constexpr int kMostNested = 16;
  const std::string word(name);
  const debug::StoredEntry entry = defined.find(name)->second;  // its entries may define it anew
  std::size_t missing = 0;
  const auto body = with_arguments(entry.text, rest, missing);
  if (!body) {
    const std::size_t given = split_words(rest).size();
    const std::string_view verb = given == 1 ? "was" : "were";
    return fail(source::message(diag::DefinedArguments, word, missing, support::counted(given, "argument"), verb));
  }
  if (script_.depth >= kMostNested) return fail(source::message(diag::ScriptsNested, word));
  struct Deeper {
    explicit Deeper(int& depth) : depth(depth) { ++depth; }
    ~Deeper() { --depth; }
    int& depth;
  } deeper(script_.depth);
  const WrittenBy by(*this, author_.is_user() ? entry.author : author_);
  ScriptReader reader(*body);
  while (const auto line = reader.next()) {
    support::poll();
    const Status status = dispatch(line->text);
    if (status != Status::Good) return status;
  }
  return Status::Good;
}

// ---- printers ----

namespace {

bool is_kind(std::string_view word) {
  for (int k = 0; k <= int(ValueKind::Object); ++k)
    if (to_string(ValueKind(k)) == word) return true;
  return false;
}

std::optional<int> rank_word(std::string_view word) {
  constexpr std::string_view kRank = "ndim=";
  if (!word.starts_with(kRank) || word.size() != kRank.size() + 1) return std::nullopt;
  const char digit = word.back();
  return digit >= '0' && digit <= '9' ? std::optional(digit - '0') : std::nullopt;
}

// Why the text names no type; empty: it does.
std::string problem_of_type(const std::vector<std::string>& words) {
  if (!is_kind(words[0])) {
    std::vector<std::string_view> kinds;
    for (int k = 1; k <= int(ValueKind::Object); ++k) kinds.push_back(to_string(ValueKind(k)));
    return fmt::format("it begins with one of {}", fmt::join(kinds, ", "));
  }
  if (words[0] == to_string(ValueKind::Object) || words.size() == 1) return {};
  if (words[0] != to_string(ValueKind::Tensor)) return "only tensors and objects have more words";
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!rank_word(words[i]) && !runtime::parse_dtype(words[i]))
      return fmt::format("`{}` is neither a dtype nor a rank", words[i]);
  return {};
}

bool fits(const ValuePrinter& p, const Value& v) {
  const std::vector<std::string> words = split_words(p.type);
  if (words[0] != to_string(v.kind())) return false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!v.is(ValueKind::Tensor)) {
      if (runtime::describe(v).find(words[i]) == std::string::npos) return false;
    } else if (const auto rank = rank_word(words[i])) {
      if (v.as_tensor().ndim() != *rank) return false;
    } else if (to_string(v.as_tensor().dtype()) != words[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

Status command_Printer(Repl& repl, std::string_view rest) {
  if (rest.empty()) return list_printers(repl);
  const EntryBlock block = block_of(rest);
  const std::vector<std::string> words = split_words(block.head);
  const std::string type = fmt::format("{}", fmt::join(words, " "));
  if (words.empty()) return Status::Usage;
  if (const std::string why = problem_of_type(words); !why.empty())
    return repl.fail(source::message(diag::BadPrinter, type, why));
  std::erase_if(repl.printers, [&](const ValuePrinter& p) { return p.type == type; });
  if (!trim(block.body).empty()) repl.printers.push_back({type, {block.body, repl.author()}});
  return repl.wants_json() ? list_printers(repl) : Status::Good;
}

bool Repl::show_by_printer(const Value& value, std::string_view name) {
  if (printing_ || printers.empty() || json_) return false;
  const auto found =
      std::find_if(printers.rbegin(), printers.rend(), [&](const ValuePrinter& p) { return fits(p, value); });
  if (found == printers.rend()) return false;
  const ValuePrinter printer = *found;
  struct Printing {
    explicit Printing(Repl& repl) : repl(repl), last(repl.last_), repeatable(repl.repeatable_) {
      repl.printing_ = true;
    }
    // The values of its entries are not the result of the entry that shows the value.
    ~Printing() {
      repl.printing_ = false;
      repl.last_ = std::move(last);
      repl.repeatable_ = std::move(repeatable);
    }
    Repl& repl;
    LastResult last;
    std::string repeatable;
  };
  const session::ValueTable values = session_->values();
  bool good = true;
  {
    const Printing scope(*this);
    session_->set_value("$value", value);
    session_->set_value("$name", Value::of_string(std::string(name)));
    const WrittenBy by(*this, author_.is_user() ? printer.body.author : author_);
    ScriptReader reader(printer.body.text);
    while (const auto line = reader.next()) {
      support::poll();
      good = dispatch(line->text) == Status::Good && good;
      if (!good) break;
    }
  }
  session::Session::Snapshot after = session_->snapshot();
  after.values = values;
  session_->restore(std::move(after));
  if (good) return true;
  source::Diagnostics warning;
  warning.add({}, source::message(diag::PrinterFailed, printer.type));
  console_->diagnose(warning, session_->sources());
  return false;
}

}  // namespace rldb::ui
