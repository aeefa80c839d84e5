// Patterns as text: in the Python syntax that users write, and as TVM prints them.
//
//   is_op("relax.nn.relu")(is_op("relax.nn.conv2d")(wildcard(), is_const())) | is_op("relax.add")(*, *)
//   is_tuple_get_item(is_op("relax.split")(wildcard()), 0).has_dtype("float32")
#include <cctype>

#include "passes/common.h"
#include "rldb/passes/pattern.h"
#include "rldb/source/diagnostic_pattern.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using source::message;
using support::Failure;

namespace {

constexpr int kMaxDepth = 200;

class PatternParser {
 public:
  // State shared by the statements of a query: names, and who reads whom.
  struct Query {
    std::vector<std::pair<std::string_view, Pattern>> names;
    PatternGraph graph;
    bool tied = false;
  };
  explicit PatternParser(std::string_view text, Query* query = nullptr) : text_(text), query_(query) {}

  ir::Result<Pattern> parse() {
    RLDB_TRY(Pattern p, sequence());
    blanks();
    if (at_ != text_.size()) return fail("expected the end of the text");
    return p;
  }

 private:
  struct Argument {
    std::string_view name;   // of a keyword
    std::string_view value;  // as written
  };

  Failure<source::Message> fail(std::string_view what) const {
    return Failure(message(diag::PatternSyntax, at_ + 1, what));
  }

  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view word() {
    blanks();
    const std::size_t begin = at_;
    const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // The arguments in parentheses, split at commas.
  ir::Result<std::vector<Argument>> arguments() {
    const std::size_t begin = at_;
    int depth = 0;
    for (char quote = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != 0) {
        if (c == quote) quote = 0;
        continue;
      }
      if (c == '"' || c == '\'') quote = c;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth < 0) break;
    }
    if (at_ == text_.size()) return fail("expected `)`");
    std::vector<Argument> found;
    for (const std::string_view item : split_items(text_.substr(begin, at_++ - begin))) {
      std::size_t end = 0;
      while (end < item.size() && (std::isalnum(static_cast<unsigned char>(item[end])) || item[end] == '_')) ++end;
      const bool keyword = end > 0 && end < item.size() && item[end] == '=';
      found.push_back(keyword ? Argument{item.substr(0, end), support::trim(item.substr(end + 1))}
                              : Argument{{}, item});
    }
    return found;
  }

  ir::Result<Pattern> nested(std::string_view text) {
    PatternParser inner(text, query_);
    inner.depth_ = depth_ + 1;
    if (inner.depth_ > kMaxDepth) return fail("nested too deeply");
    return inner.parse();
  }

  ir::Result<std::vector<Pattern>> patterns(const std::vector<Argument>& args) {
    std::vector<Pattern> found;
    for (const Argument& a : args) {
      RLDB_TRY(Pattern p, nested(a.value));
      found.push_back(std::move(p));
    }
    return found;
  }

  ir::Result<std::vector<Pattern>> pattern_list(std::string_view text) {
    if (text.size() < 2 || (text.front() != '[' && text.front() != '(')) return fail("expected a list of patterns");
    std::vector<Argument> items;
    for (const std::string_view item : split_items(text.substr(1, text.size() - 2))) items.push_back({{}, item});
    return patterns(items);
  }

  // `a >> b ^ c`: returns the last one.
  ir::Result<Pattern> sequence() {
    RLDB_TRY(Pattern p, alternatives());
    while (query_ && depth_ == 0) {
      const bool only = take_word(">>");
      if (!only && !take('^')) break;
      RLDB_TRY(const Pattern reader, alternatives());
      tie(p, reader, -1, only);
      p = reader;
    }
    return p;
  }

  void tie(const Pattern& producer, const Pattern& reader, std::int64_t index, bool only) {
    query_->tied = true;
    if (only)
      query_->graph.only_used_by(producer, reader, int(index));
    else
      query_->graph.used_by(producer, reader, int(index));
  }

  bool take_word(std::string_view text) {
    blanks();
    if (text_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  ir::Result<Pattern> alternatives() {
    RLDB_TRY(Pattern p, conjunction());
    while (take('|')) {
      RLDB_TRY(Pattern q, conjunction());
      p = p | q;
    }
    return p;
  }
  ir::Result<Pattern> conjunction() {
    RLDB_TRY(Pattern p, postfix());
    while (take('&')) {
      RLDB_TRY(Pattern q, postfix());
      p = p & q;
    }
    return p;
  }

  // A pattern, followed by calls of it, fields of it, and its properties.
  ir::Result<Pattern> postfix() {
    RLDB_TRY(Pattern p, primary());
    while (true) {
      if (take('(')) {
        RLDB_TRY(const std::vector<Argument> args, arguments());
        if (args.size() == 1 && args[0].value == "...") {
          p = p.any_call();
          continue;
        }
        RLDB_TRY(std::vector<Pattern> parts, patterns(args));
        p = p.call(std::move(parts));
      } else if (take('[')) {
        RLDB_TRY(const std::int64_t index, integer(word()));
        if (!take(']')) return fail("expected `]`");
        p = p[index];
      } else if (take('.')) {
        RLDB_TRY(p, with_property(p, word()));
      } else {
        return p;
      }
    }
  }

  ir::Result<Pattern> with_property(const Pattern& p, std::string_view name) {
    if (!take('(')) return fail("expected `(`");
    RLDB_TRY(const std::vector<Argument> args, arguments());
    if (query_ && (name == "used_by" || name == "only_used_by")) {
      if (args.empty() || args.size() > 2) return fail("expected a pattern and an index before this");
      RLDB_TRY(const Pattern reader, nested(args[0].value));
      std::int64_t index = -1;
      if (args.size() == 2) {
        RLDB_TRY(index, integer(args[1].value));
      }
      tie(p, reader, index, name == "only_used_by");
      return reader;
    }
    if (args.size() != 1) return fail("expected one argument before this");
    const std::string_view value = args[0].value;
    if (name == "has_dtype") {
      const auto dtype = runtime::parse_dtype(unquote(value));
      if (!dtype) return fail("expected a dtype before this");
      return p.has_dtype(*dtype);
    }
    if (name == "has_shape") {
      std::vector<std::int64_t> shape;
      for (const std::string_view item : split_items(value.substr(1, value.size() - 2))) {
        RLDB_TRY(const std::int64_t d, integer(item));
        shape.push_back(d);
      }
      return p.has_shape(std::move(shape));
    }
    if (name != "has_attr") return fail("`has_dtype`, `has_shape` or `has_attr` wanted before this");
    const auto dict = split_dict(value);
    if (!dict || dict->empty()) return fail("a dictionary `{name: value}` wanted before this");
    Pattern all = p;
    for (const KeyValue& item : *dict) all = all.has_attr(std::string(item.key), std::string(item.value));
    return all;
  }

  ir::Result<std::int64_t> integer(std::string_view text) {
    if (text.empty() || text.size() > 18 || text.find_first_not_of("-0123456789") != std::string_view::npos)
      return fail("expected an integer");
    return std::int64_t(std::strtoll(std::string(text).c_str(), nullptr, 10));
  }

  ir::Result<Pattern> primary() {
    if (take('*')) return wildcard();
    if (take('~')) {
      if (++depth_ > kMaxDepth) return fail("nested too deeply");
      RLDB_TRY(const Pattern p, postfix());
      return ~p;
    }
    if (take('(')) {
      if (++depth_ > kMaxDepth) return fail("nested too deeply");
      RLDB_TRY(Pattern p, alternatives());
      if (!take(')')) return fail("expected `)`");
      return p;
    }
    const std::size_t begin = at_;
    std::string_view name = word();
    if (name.empty()) return fail("expected a pattern");
    if (query_)
      for (const auto& [known, p] : query_->names)
        if (known == name.substr(0, name.find('.'))) {
          at_ -= name.size() - known.size();  // the name after the dot is a property
          return p;
        }
    if (!take('(')) return fail("expected `(`");
    RLDB_TRY(const std::vector<Argument> args, arguments());
    if (const std::size_t dot = name.rfind('.'); dot != std::string_view::npos) name = name.substr(dot + 1);
    auto made = named_pattern(name, args);
    if (!made.ok() && made.error().id == diag::PatternUnknown) at_ = begin;
    return made;
  }

  ir::Result<Pattern> named_pattern(std::string_view name, const std::vector<Argument>& args) {
    const auto text = [&](std::size_t i) { return i < args.size() ? unquote(args[i].value) : std::string_view(); };
    if (name == "wildcard") return wildcard();
    if (name == "is_const") return is_const();
    if (name == "is_var") return is_var(text(0));
    if (name == "is_gv") return is_gv(text(0));
    if (name == "is_op") return is_op(text(0));
    if (name == "Op") {  // as TVM prints an operator
      for (const Argument& a : args)
        if (a.name == "name") return is_op(unquote(a.value));
      return fail("an operator without a name");
    }
    if (name == "ExternFunc" || name == "is_extern") return is_extern(text(0));
    if (name == "is_tuple" || name == "Tuple") {
      if (args.size() != 1) return fail("expected one list of patterns before this");
      RLDB_TRY(std::vector<Pattern> fields, pattern_list(args[0].value));
      return is_tuple(std::move(fields));
    }
    if (name == "is_tuple_get_item" || name == "TupleGetItemPattern") {
      if (args.empty() || args.size() > 2) return fail("expected a tuple and an index before this");
      RLDB_TRY(const Pattern tuple, nested(args[0].value));
      if (args.size() == 1) return is_tuple_get_item(tuple);
      RLDB_TRY(const std::int64_t index, integer(args[1].value));
      return is_tuple_get_item(tuple, index);
    }
    if (name == "is_call_tir" || name == "is_call_dps_packed") {
      if (args.size() != 2) return fail("expected a name and a list of patterns before this");
      RLDB_TRY(std::vector<Pattern> parts, pattern_list(args[1].value));
      return name == "is_call_tir" ? is_call_tir(text(0), std::move(parts))
                                   : is_call_dps_packed(text(0), std::move(parts));
    }
    return Failure(message(diag::PatternUnknown, name));
  }

  std::string_view text_;
  Query* query_ = nullptr;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

ir::Result<Pattern> parse_pattern(std::string_view text) { return PatternParser(text).parse(); }

namespace {

// Splits statements at `;` and line ends outside brackets and quotes.
std::vector<std::string_view> split_statements(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ';';
    if (i < text.size() && quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (i < text.size() && (depth > 0 || (c != ';' && c != '\n'))) continue;
    const std::string_view statement = support::trim(text.substr(begin, i - begin));
    if (!statement.empty()) out.push_back(statement);
    begin = i + 1;
  }
  return out;
}

// The name assigned by `name = pattern`; empty if there is none.
std::string_view assigned_name(std::string_view statement) {
  std::size_t end = 0;
  while (end < statement.size() && (std::isalnum(static_cast<unsigned char>(statement[end])) || statement[end] == '_'))
    ++end;
  const std::string_view rest = support::trim(statement.substr(end));
  return end > 0 && rest.starts_with('=') ? statement.substr(0, end) : std::string_view();
}

}  // namespace

ir::Result<PatternQuery> parse_query(std::string_view text) {
  PatternParser::Query query;
  std::optional<Pattern> last;
  for (const std::string_view statement : split_statements(text)) {
    const std::string_view name = assigned_name(statement);
    const std::string_view value = name.empty() ? statement : statement.substr(statement.find('=') + 1);
    RLDB_TRY(const Pattern p, PatternParser(value, &query).parse());
    if (!name.empty()) query.names.insert(query.names.begin(), {name, p});
    last = p;
  }
  if (!last) return Failure(message(diag::PatternSyntax, 1, "expected a pattern"));
  if (query.tied) return PatternQuery{std::nullopt, std::move(query.graph)};
  return PatternQuery{last, {}};
}

}  // namespace rldb::passes
