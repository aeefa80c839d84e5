// Arguments of tools: reading them by their rows, and files below the roots.
#include "protocol/mcp/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <memory>

namespace rldb::protocol::mcp {

namespace {

constexpr ArgumentRow kRows[] = {
#define RLDB_MCP_ARGUMENT(id, name, kind, needed, values, doc) \
  {ToolId::id, name, ArgumentKind::kind, needed, values, doc},
#include "protocol/mcp/tool.def"
};

constexpr std::size_t kMaxWord = 10'000;  // bytes
const std::string kNothing;

support::Failure<RpcError> invalid(std::string_view name, std::string_view rule) {
  return rpc_failure(RpcCode::InvalidParams, fmt::format("argument `{}`: {}", name, rule));
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// `-inf`, `-np.inf`, `--5`: no option begins like these.
bool is_negated_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('-'), text.size()));
  return text.starts_with("inf") || text.starts_with("np.") ||
         (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])));
}

// Options of commands would reach what the tools leave out: a shell, other files, other engines.
bool has_option(std::string_view word) {
  for (std::size_t i = 0; i + 1 < word.size(); ++i)
    if (word[i] == '-' && (i == 0 || is_blank(word[i - 1])) && !is_negated_number(word.substr(i)) &&
        (word[i + 1] == '-' || std::isalpha(static_cast<unsigned char>(word[i + 1]))))
      return true;
  return false;
}

// The word with the files after `@` resolved. With a blank after it `@` is the product of matrices.
RpcResult<std::string> with_files(std::string_view word, const Roots& roots) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '@' || (i + 1 < word.size() && is_blank(word[i + 1]))) {
      out += word[i];
      continue;
    }
    const std::size_t end = std::min(word.find_first_of(" \t,)}]:\"'", i + 1), word.size());
    RLDB_TRY(const std::string path, roots.resolve(word.substr(i + 1, end - i - 1)));
    out += "@" + path;
    i = end - 1;
  }
  return out;
}

RpcResult<std::string> read_word(const ArgumentRow& row, const Json& given, const Roots& roots) {
  if (!given.is_string()) return invalid(row.name, "a string is needed");
  const auto& text = given.get_ref<const std::string&>();
  if (text.size() > kMaxWord) return invalid(row.name, "too long");
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }))
    return invalid(row.name, "one line without control characters is needed");
  if (has_option(text)) return invalid(row.name, "options are not accepted");
  if (text.starts_with('!')) return invalid(row.name, "`!` is not accepted");
  return with_files(text, roots);
}

RpcResult<std::string> read_words(const ArgumentRow& row, const Json& given, const Roots& roots) {
  if (!given.is_array()) return invalid(row.name, "a list of strings is needed");
  std::string all;
  for (const Json& one : given) {
    RLDB_TRY(const std::string word, read_word(row, one, roots));
    if (word.empty()) return invalid(row.name, "a value is empty");
    all += (all.empty() ? "" : " ") + word;
  }
  return all;
}

RpcResult<std::string> read_choice(const ArgumentRow& row, const Json& given) {
  if (given.is_string())
    for (const std::string_view choice : choices_of(row))
      if (given.get_ref<const std::string&>() == choice) return std::string(choice);
  return invalid(row.name, fmt::format("one of {} is needed", fmt::join(choices_of(row), ", ")));
}

// A handle is a letter and a number.
RpcResult<std::string> read_handle(const ArgumentRow& row, const Json& given) {
  if (given.is_string()) {
    const auto& text = given.get_ref<const std::string&>();
    const bool digits = text.size() > 1 && text.size() < 20 &&
                        std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (digits && std::isalpha(static_cast<unsigned char>(text[0]))) return text;
  }
  return invalid(row.name, "a handle such as \"p1\" is needed");
}

RpcResult<std::string> read_one(const ArgumentRow& row, const Json& given, const Roots& roots) {
  switch (row.kind) {
    case ArgumentKind::Handle:
      return read_handle(row, given);
    case ArgumentKind::Word:
      return read_word(row, given, roots);
    case ArgumentKind::Words:
      return read_words(row, given, roots);
    case ArgumentKind::Text:
      if (!given.is_string()) return invalid(row.name, "a string is needed");
      return given.get<std::string>();
    case ArgumentKind::Path:
      if (!given.is_string()) return invalid(row.name, "a string is needed");
      return roots.resolve(given.get_ref<const std::string&>());
    case ArgumentKind::Count:
      if (!given.is_number_integer() || given.get<std::int64_t>() < 0)
        return invalid(row.name, "an integer of at least 0 is needed");
      return std::to_string(given.get<std::int64_t>());
    case ArgumentKind::Choice:
      return read_choice(row, given);
  }
  return invalid(row.name, "not taken");
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> found(::realpath(path.c_str(), nullptr), std::free);
  return found ? std::string(found.get()) : std::string();
}

}  // namespace

std::vector<ArgumentRow> arguments_of(ToolId tool) {
  std::vector<ArgumentRow> rows;
  std::copy_if(std::begin(kRows), std::end(kRows), std::back_inserter(rows),
               [&](const ArgumentRow& row) { return row.tool == tool; });
  return rows;
}

std::vector<std::string_view> choices_of(const ArgumentRow& row) {
  std::vector<std::string_view> choices;
  for (std::string_view rest = row.values; !rest.empty();) {
    const std::size_t end = std::min(rest.find('|'), rest.size());
    choices.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return choices;
}

Roots::Roots(const std::vector<std::string>& folders, std::string& missing) {
  for (const std::string& folder : folders) {
    std::string found = real_path(folder);
    if (found.empty())
      missing = folder;
    else
      folders_.push_back(found == "/" ? found : found + "/");
  }
}

RpcResult<std::string> Roots::resolve(std::string_view path) const {
  if (path.empty() || path.find('\0') != std::string_view::npos ||
      path.find_first_of("\n\r \t") != std::string_view::npos)
    return rpc_failure(RpcCode::InvalidParams, "a file name without blanks is needed");
  if (folders_.empty())
    return rpc_failure(RpcCode::InvalidParams, "no files can be read: rldb mcp was started without a folder");
  // A relative name is looked for below each root.
  std::vector<std::string> candidates;
  if (path[0] == '/')
    candidates.emplace_back(path);
  else
    for (const std::string& folder : folders_) candidates.push_back(folder + std::string(path));
  for (const std::string& candidate : candidates) {
    const std::string found = real_path(candidate);
    if (found.find_first_of("\n\r \t") != std::string::npos) continue;
    for (const std::string& folder : folders_)
      if (found.starts_with(folder)) return found;
  }
  return rpc_failure(RpcCode::InvalidParams,
                     fmt::format("`{}` is not a file below the folders given to rldb mcp", path));
}

RpcResult<Arguments> Arguments::read(ToolId tool, const Json& given, const Roots& roots) {
  const std::vector<ArgumentRow> rows = arguments_of(tool);
  if (!given.is_object()) return rpc_failure(RpcCode::InvalidParams, "`arguments` must be an object");
  for (const auto& [name, value] : given.items())
    if (std::none_of(rows.begin(), rows.end(), [&](const ArgumentRow& row) { return row.name == name; }))
      return invalid(name, "the tool has no such argument");
  Arguments read;
  for (const ArgumentRow& row : rows) {
    const auto at = given.find(std::string(row.name));
    if (at == given.end() || at->is_null()) {
      if (row.needed) return invalid(row.name, "it is missing");
      continue;
    }
    RLDB_TRY(std::string value, read_one(row, *at, roots));
    read.values_.emplace_back(row.name, std::move(value));
  }
  return read;
}

const std::string& Arguments::text(std::string_view name) const {
  for (const auto& [given, value] : values_)
    if (given == name) return value;
  return kNothing;
}

}  // namespace rldb::protocol::mcp
