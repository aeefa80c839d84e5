// Semantic tokens: full, as a difference, and of a range.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "protocol/lsp/methods.h"

namespace rldb::protocol::lsp {

using frontend::kNoName;
using frontend::MarkKind;
using frontend::NameKind;
using frontend::NameMark;
using frontend::TextIndex;
using frontend::TextRange;

namespace {

// The legend: the order is that of the arrays below.
enum class Token : std::uint8_t {
  Namespace,
  Class,
  Function,
  Macro,
  Parameter,
  Variable,
  TypeParameter,
  Type,
  Property,
  Decorator,
  Number,
  String,
  None
};
constexpr std::array<const char*, std::size_t(Token::None)> kTokens = {
    "namespace",     "class", "function", "macro",     "parameter", "variable",
    "typeParameter", "type",  "property", "decorator", "number",    "string"};
constexpr std::uint32_t kDeclaration = 1, kModification = 2, kLibrary = 4, kReadonly = 8;
constexpr std::array<const char*, 4> kModifiers = {"declaration", "modification", "defaultLibrary", "readonly"};

Token token_of(NameKind kind) {
  switch (kind) {
    case NameKind::Module:
      return Token::Class;
    case NameKind::RelaxFunction:
    case NameKind::PrimFunc:
    case NameKind::PythonFunction:
    case NameKind::External:
      return Token::Function;
    case NameKind::Macro:
      return Token::Macro;
    case NameKind::Parameter:
    case NameKind::LoopVariable:
      return Token::Parameter;
    case NameKind::Variable:
    case NameKind::DataflowVariable:
    case NameKind::Buffer:
    case NameKind::Constant:
      return Token::Variable;
    case NameKind::Symbol:
      return Token::TypeParameter;
    case NameKind::Block:
      return Token::Namespace;
  }
  return Token::Variable;
}

Token token_of(const TextIndex& index, const NameMark& m, std::uint32_t& modifiers) {
  modifiers = m.kind == MarkKind::Definition || m.kind == MarkKind::Declaration ? kDeclaration
              : m.kind == MarkKind::Write                                       ? kModification
                                                                                : 0;
  if (m.name != kNoName) {
    const NameKind kind = index.definitions()[m.name].kind;
    if (kind == NameKind::DataflowVariable) modifiers |= kReadonly;
    return token_of(kind);
  }
  switch (m.kind) {
    case MarkKind::Definition:
    case MarkKind::Declaration:
    case MarkKind::Read:
    case MarkKind::Write:
      return Token::Variable;
    case MarkKind::Namespace:
      return Token::Namespace;
    case MarkKind::Builtin:
      modifiers = kLibrary;
      return Token::Function;
    case MarkKind::Type:
      modifiers = kLibrary;
      return Token::Type;
    case MarkKind::Keyword:
      return Token::Property;
    case MarkKind::Attribute:
      return Token::Property;
    case MarkKind::Decorator:
      return Token::Decorator;
    case MarkKind::Number:
      return Token::Number;
    case MarkKind::String:
      return Token::String;
  }
  return Token::None;
}

// Lines and columns of ascending offsets; quicker than to ask the buffer for each.
class Cursor {
 public:
  Cursor(const source::Buffer& buffer, source::ColumnUnit unit) : buffer_(buffer), unit_(unit) { enter(1); }
  // 0-based.
  std::pair<std::uint32_t, std::uint32_t> at(std::uint32_t offset) {
    while (line_ < buffer_.line_count() && buffer_.line_start(line_ + 1) <= offset) enter(line_ + 1);
    if (plain_) return {line_ - 1, offset - buffer_.line_start(line_)};
    const source::LineColumn place = buffer_.line_column(offset, unit_);
    return {place.line - 1, place.column - 1};
  }
  // Where the line ends, without its break.
  std::uint32_t line_end() const {
    return buffer_.line_start(line_) + static_cast<std::uint32_t>(buffer_.line(line_).size());
  }
  std::uint32_t next_line() const { return buffer_.line_start(line_ + 1); }

 private:
  void enter(std::uint32_t line) {
    line_ = line;
    const std::string_view text = buffer_.line(line);
    plain_ = unit_ == source::ColumnUnit::Bytes ||
             std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
  }
  const source::Buffer& buffer_;
  source::ColumnUnit unit_;
  std::uint32_t line_ = 1;
  bool plain_ = false;
};

std::vector<std::uint32_t> tokens_in(Server& server, TextFile& file, TextRange range) {
  std::vector<std::uint32_t> data;
  const TextIndex& index = file.index();
  Cursor cursor(file.buffer(), server.client().unit);
  std::uint32_t last_line = 0, last_column = 0, last_end = 0;
  for (const NameMark& m : index.marks()) {
    if (m.at.end <= range.begin || m.at.begin < last_end) continue;
    if (m.at.begin >= range.end) break;
    std::uint32_t modifiers = 0;
    const Token token = token_of(index, m, modifiers);
    // A string over several lines is one token a line.
    for (std::uint32_t begin = m.at.begin; begin < m.at.end;) {
      const auto [line, column] = cursor.at(begin);
      const std::uint32_t end = std::min(m.at.end, cursor.line_end());
      if (end > begin) {
        const std::uint32_t width = cursor.at(end).second - column;
        data.insert(data.end(), {line - last_line, line == last_line ? column - last_column : column, width,
                                 std::uint32_t(token), modifiers});
        last_line = line, last_column = column;
      }
      if (end == m.at.end || cursor.next_line() <= begin) break;
      begin = cursor.next_line();
    }
    last_end = m.at.end;
  }
  return data;
}

void read_whole(Server& server, TextFile& file) {
  file.tokens.data = tokens_in(server, file, {0, static_cast<std::uint32_t>(file.text().size())});
  ++file.tokens.id;
}

// As JSON has a list.
std::string list(std::span<const std::uint32_t> numbers) {
  std::string out = "[";
  for (const std::uint32_t n : numbers) {
    if (out.size() > 1) out += ',';
    out += fmt::format_int(n).c_str();
  }
  return out + "]";
}

Text whole(Server& server, TextFile& file) {
  read_whole(server, file);
  return fmt::format(R"({{"resultId":"{}","data":{}}})", file.tokens.id, list(file.tokens.data));
}

}  // namespace

Json token_legend() { return {{"tokenTypes", kTokens}, {"tokenModifiers", kModifiers}}; }

RpcResult<Text> tokens_full(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  return whole(server, **file);
}

// One edit: what is between the common beginning and the common end.
RpcResult<Text> tokens_delta(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  TextFile::Tokens& kept = (*file)->tokens;
  if (kept.id == 0 || text_at(params, {"previousResultId"}) != std::to_string(kept.id)) return whole(server, **file);
  const std::vector<std::uint32_t> before = std::move(kept.data);
  read_whole(server, **file);
  const std::vector<std::uint32_t>& after = kept.data;
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t head = 0, tail = 0;
  while (head < shorter && before[head] == after[head]) ++head;
  while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
  std::string edit;
  if (head + tail < before.size() || head + tail < after.size())
    edit = fmt::format(R"({{"start":{},"deleteCount":{},"data":{}}})", head, before.size() - head - tail,
                       list({after.begin() + std::ptrdiff_t(head), after.end() - std::ptrdiff_t(tail)}));
  return fmt::format(R"({{"resultId":"{}","edits":[{}]}})", kept.id, edit);
}

RpcResult<Text> tokens_range(Server& server, const Json& params) {
  auto file = server.file_of(params);
  if (!file.ok()) return support::Failure(file.error());
  auto range = server.range_of(**file, params);
  if (!range.ok()) return support::Failure(range.error());
  return fmt::format(R"({{"data":{}}})", list(tokens_in(server, **file, *range)));
}

}  // namespace rldb::protocol::lsp
