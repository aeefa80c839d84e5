// Patterns as text: as a user writes them in Python, and as TVM prints them.
//
//   is_op("relax.nn.relu")(is_op("relax.nn.conv2d")(wildcard(), is_const())) | is_op("relax.add")(*, *)
//   is_tuple_get_item(is_op("relax.split")(wildcard()), 0).has_dtype("float32")
#include <cctype>

#include "passes/common.h"
#include "rldb/passes/pattern.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using source::message;
using support::Failure;

namespace {

constexpr int kMaxDepth = 200;

class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  ir::Result<Pattern> parse() {
    RLDB_TRY(Pattern p, alternatives());
    blanks();
    if (at_ != text_.size()) return fail("the end wanted here");
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

  // What stands in parentheses, at its commas.
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
    if (at_ == text_.size()) return fail("`)` wanted here");
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
    PatternParser inner(text);
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
    if (text.size() < 2 || (text.front() != '[' && text.front() != '(')) return fail("a list of patterns wanted here");
    std::vector<Argument> items;
    for (const std::string_view item : split_items(text.substr(1, text.size() - 2))) items.push_back({{}, item});
    return patterns(items);
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

  // A pattern, then calls of it, fields of it, and what it has.
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
        if (!take(']')) return fail("`]` wanted here");
        p = p[index];
      } else if (take('.')) {
        RLDB_TRY(p, with_property(p, word()));
      } else {
        return p;
      }
    }
  }

  ir::Result<Pattern> with_property(const Pattern& p, std::string_view name) {
    if (!take('(')) return fail("`(` wanted here");
    RLDB_TRY(const std::vector<Argument> args, arguments());
    if (args.size() != 1) return fail("one argument wanted before this");
    const std::string_view value = args[0].value;
    if (name == "has_dtype") {
      const auto dtype = runtime::parse_dtype(unquote(value));
      if (!dtype) return fail("a dtype wanted before this");
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
      return fail("an integer wanted here");
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
      if (!take(')')) return fail("`)` wanted here");
      return p;
    }
    const std::size_t begin = at_;
    std::string_view name = word();
    if (name.empty()) return fail("a pattern wanted here");
    if (!take('(')) return fail("`(` wanted here");
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
      if (args.size() != 1) return fail("one list of patterns wanted before this");
      RLDB_TRY(std::vector<Pattern> fields, pattern_list(args[0].value));
      return is_tuple(std::move(fields));
    }
    if (name == "is_tuple_get_item" || name == "TupleGetItemPattern") {
      if (args.empty() || args.size() > 2) return fail("a tuple and an index wanted before this");
      RLDB_TRY(const Pattern tuple, nested(args[0].value));
      if (args.size() == 1) return is_tuple_get_item(tuple);
      RLDB_TRY(const std::int64_t index, integer(args[1].value));
      return is_tuple_get_item(tuple, index);
    }
    if (name == "is_call_tir" || name == "is_call_dps_packed") {
      if (args.size() != 2) return fail("a name and a list of patterns wanted before this");
      RLDB_TRY(std::vector<Pattern> parts, pattern_list(args[1].value));
      return name == "is_call_tir" ? is_call_tir(text(0), std::move(parts))
                                   : is_call_dps_packed(text(0), std::move(parts));
    }
    return Failure(message(diag::PatternUnknown, name));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

ir::Result<Pattern> parse_pattern(std::string_view text) { return PatternParser(text).parse(); }

}  // namespace rldb::passes
