// Patterns as text: in the Python syntax that users write, and as TVM prints them. The grammar is that of modules.
//
//   is_op("relax.nn.relu")(is_op("relax.nn.conv2d")(wildcard(), is_const())) | is_op("relax.add")(*, *)
//   is_tuple_get_item(is_op("relax.split")(wildcard()), 0).has_dtype("float32")
#include <limits>

#include "passes/common.h"
#include "passes/pattern/named_pattern.h"
#include "rldb/frontend/syntax.h"
#include "rldb/passes/pattern.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_pattern.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using frontend::SyntaxKind;
using frontend::SyntaxNode;
using source::message;
using support::Failure;

namespace {

constexpr int kMaxDepth = 200;

// The end of `<...>`, whose parts may have such brackets of their own; the end of the text if it is not closed.
std::size_t end_of_angles(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '<' ? 1 : text[i] == '>' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return text.size();
}

// Operands that TVM prints and the grammar lacks: `*` for a wildcard, between brackets and commas, and an object of
// Python, `<function check at 0x7f01>`.
std::vector<frontend::OwnWord> own_words(std::string_view text) {
  std::vector<frontend::OwnWord> found;
  const auto blank_until = [&](std::size_t i) {
    while (i < text.size() && support::is_blank(text[i])) ++i;
    return i;
  };
  bool at_operand = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (support::is_blank(c)) continue;
    if (c == '"' || c == '\'') i = frontend::end_of_string(text, i) - 1;
    if (c == '<' && at_operand) {
      const std::size_t end = end_of_angles(text, i);
      found.push_back({std::uint32_t(i), std::uint32_t(end)});
      i = end - 1;
    }
    const std::size_t next = blank_until(i + 1);
    const bool ends = next == text.size() || std::string_view(",)]|&^>.;").find(text[next]) != std::string_view::npos;
    if (c == '*' && at_operand && ends) found.push_back({std::uint32_t(i), std::uint32_t(i + 1)});
    at_operand = std::string_view("([,|&^>~=;").find(c) != std::string_view::npos;
  }
  return found;
}

class PatternReader {
 public:
  // A query has names, and ties between patterns.
  explicit PatternReader(std::string_view text, PatternQuery* query = nullptr)
      : text_(text), words_(own_words(text)), query_(query) {}

  ir::Result<Pattern> pattern() {
    const auto read = frontend::read_syntax(text_, words_);
    if (!read.ok()) return fault(read.error());
    return of(*read);
  }

  ir::Result<PatternQuery> lines() {
    const auto read = frontend::read_syntax_lines(text_, words_);
    if (!read.ok()) return fault(read.error());
    std::optional<Pattern> last;
    for (const frontend::SyntaxLine& line : *read) {
      RLDB_TRY(const Pattern p, chain(line.value));
      if (!line.target.empty()) names_.insert(names_.begin(), {line.target, p});
      last = p;
    }
    if (!last) return fail(text_.size(), "expected a pattern");
    if (tied_) return std::move(*query_);
    return PatternQuery{last, {}};
  }

  ir::Result<std::vector<NamedPattern>> named_patterns() {
    if (support::trim(text_).empty()) return no_list("nothing");
    const auto read = frontend::read_syntax(text_, words_);
    if (!read.ok()) return fault(read.error());
    if (!is_sequence(*read)) return no_list(text_);
    std::vector<NamedPattern> found;
    for (const SyntaxNode& item : read->parts) {
      RLDB_TRY(NamedPattern p, named_pattern(item));
      found.push_back(std::move(p));
    }
    return found;
  }

 private:
  Failure<source::Message> fail(std::size_t at, std::string_view why) const {
    return Failure(message(diag::PatternSyntax, at + 1, why));
  }
  Failure<source::Message> fault(const frontend::SyntaxFault& f) const { return fail(f.begin, f.text); }

  // As written, without quotes.
  std::string text_of(const SyntaxNode& n) const {
    return n.kind == SyntaxKind::String ? n.text : std::string(text_.substr(n.begin, n.end - n.begin));
  }
  static bool is_sequence(const SyntaxNode& n) { return n.kind == SyntaxKind::List || n.kind == SyntaxKind::Tuple; }
  static std::span<const SyntaxNode> arguments_of(const SyntaxNode& call) { return std::span(call.parts).subspan(1); }

  ir::Result<std::int64_t> integer(const SyntaxNode& n) const {
    if (n.kind == SyntaxKind::Integer) return n.integer;
    if (n.kind == SyntaxKind::Unary && n.text == "-" && n.parts[0].kind == SyntaxKind::Integer)
      return -n.parts[0].integer;
    return fail(n.begin, "expected an integer");
  }
  ir::Result<int> index(const SyntaxNode& n) const {
    RLDB_TRY(const std::int64_t at, integer(n));
    if (at < -1 || at > std::numeric_limits<int>::max()) return fail(n.begin, "no such field or argument");
    return int(at);
  }

  // ---- queries ----

  static bool is_tie(const SyntaxNode& n) { return n.kind == SyntaxKind::Binary && (n.text == ">>" || n.text == "^"); }

  // The patterns that a line connects, in its order.
  struct Link {
    const SyntaxNode* pattern;
    bool only;  // the pattern before is read by this one only
  };
  static std::vector<Link> links(const SyntaxNode& line) {
    std::vector<Link> out, pending{{&line, false}};
    while (!pending.empty()) {
      const Link link = pending.back();
      pending.pop_back();
      if (!is_tie(*link.pattern)) {
        out.push_back(link);
        continue;
      }
      pending.push_back({&link.pattern->parts[1], link.pattern->text == ">>"});
      pending.push_back({&link.pattern->parts[0], link.only});
    }
    return out;
  }

  // `a >> b ^ c`: returns the last one.
  ir::Result<Pattern> chain(const SyntaxNode& line) {
    const std::vector<Link> found = links(line);
    RLDB_TRY(Pattern p, of(*found[0].pattern));
    for (std::size_t i = 1; i < found.size(); ++i) {
      RLDB_TRY(const Pattern reader, of(*found[i].pattern));
      tie(p, reader, -1, found[i].only);
      p = reader;
    }
    return p;
  }

  void tie(const Pattern& producer, const Pattern& reader, int at, bool only) {
    tied_ = true;
    if (only)
      query_->graph.only_used_by(producer, reader, at);
    else
      query_->graph.used_by(producer, reader, at);
  }

  // ---- patterns ----

  ir::Result<Pattern> of(const SyntaxNode& n) {
    if (++depth_ > kMaxDepth) return fail(n.begin, "nested too deeply");
    auto made = at_depth(n);
    --depth_;
    return made;
  }

  ir::Result<Pattern> at_depth(const SyntaxNode& n) {
    if (n.kind == SyntaxKind::Name) return name(n);
    if (n.kind == SyntaxKind::Call) return call(n);
    if (n.kind == SyntaxKind::Unary && n.text == "~") {
      RLDB_TRY(const Pattern p, of(n.parts[0]));
      return ~p;
    }
    if (n.kind == SyntaxKind::Subscript && n.parts.size() == 2) {
      RLDB_TRY(const Pattern p, of(n.parts[0]));
      RLDB_TRY(const int at, index(n.parts[1]));
      return p[at];
    }
    if (is_tie(n))
      return fail(n.begin, "`>>` and `^` connect the patterns of a query, not parts of one: write `(a | b) ^ c`");
    if (n.kind != SyntaxKind::Binary || (n.text != "|" && n.text != "&")) return fail(n.begin, "expected a pattern");
    RLDB_TRY(const Pattern left, of(n.parts[0]));
    RLDB_TRY(const Pattern right, of(n.parts[1]));
    return n.text == "|" ? left | right : left & right;
  }

  const Pattern* find_name(std::string_view name) const {
    for (const auto& [known, p] : names_)
      if (known == name) return &p;
    return nullptr;
  }

  ir::Result<Pattern> name(const SyntaxNode& n) {
    if (n.text == "*") return wildcard();
    if (n.text.starts_with('<')) return fail(n.begin, "an object of Python cannot be read as a pattern");
    if (const Pattern* known = find_name(n.text)) return *known;
    return fail(n.end, "expected `(`");
  }

  // The function of patterns that is called, `wildcard` or `tvm.relax.dpl.wildcard`; empty: a pattern is called, or a
  // property of one asked for.
  std::string_view function_of(const SyntaxNode& callee) const {
    const SyntaxNode* root = &callee;
    while (root->kind == SyntaxKind::Attribute) root = &root->parts[0];
    const bool function = root->kind == SyntaxKind::Name && root->text != "*" && !find_name(root->text);
    return function ? std::string_view(callee.text) : std::string_view();
  }

  ir::Result<Pattern> call(const SyntaxNode& n) {
    const SyntaxNode& callee = n.parts[0];
    if (const std::string_view function = function_of(callee); !function.empty()) return made_by(function, n);
    if (callee.kind == SyntaxKind::Attribute) return with_property(n);
    RLDB_TRY(const Pattern p, of(callee));
    if (n.parts.size() == 2 && n.parts[1].kind == SyntaxKind::Ellipsis) return p.any_call();
    RLDB_TRY(std::vector<Pattern> parts, patterns(arguments_of(n)));
    return p.call(std::move(parts));
  }

  ir::Result<std::vector<Pattern>> patterns(std::span<const SyntaxNode> nodes) {
    std::vector<Pattern> found;
    for (const SyntaxNode& n : nodes) {
      RLDB_TRY(Pattern p, of(n));
      found.push_back(std::move(p));
    }
    return found;
  }
  ir::Result<std::vector<Pattern>> pattern_list(const SyntaxNode& n) {
    if (!is_sequence(n)) return fail(n.begin, "expected a list of patterns");
    return patterns(n.parts);
  }

  ir::Result<Pattern> with_property(const SyntaxNode& n) {
    const SyntaxNode& callee = n.parts[0];
    const std::string& property = callee.text;
    RLDB_TRY(const Pattern p, of(callee.parts[0]));
    const std::span<const SyntaxNode> args = arguments_of(n);
    if (query_ && (property == "used_by" || property == "only_used_by")) return tied(p, n, property == "only_used_by");
    if (args.size() != 1) return fail(callee.end, "expected one argument here");
    if (property == "has_dtype") {
      const auto dtype = runtime::parse_dtype(text_of(args[0]));
      if (!dtype) return fail(args[0].begin, "expected a dtype");
      return p.has_dtype(*dtype);
    }
    if (property == "has_shape") return with_shape(p, args[0]);
    if (property != "has_attr")
      return fail(callee.end - property.size(), "expected `has_dtype`, `has_shape` or `has_attr`");
    if (args[0].kind != SyntaxKind::Dictionary || args[0].parts.empty())
      return fail(args[0].begin, "expected a dictionary `{name: value}`");
    Pattern all = p;
    for (std::size_t i = 0; i + 1 < args[0].parts.size(); i += 2) {
      const SyntaxNode& value = args[0].parts[i + 1];
      all = all.has_attr(text_of(args[0].parts[i]), std::string(text_.substr(value.begin, value.end - value.begin)));
    }
    return all;
  }

  ir::Result<Pattern> with_shape(const Pattern& p, const SyntaxNode& n) {
    if (!is_sequence(n)) return fail(n.begin, "expected a list of integers");
    std::vector<std::int64_t> shape;
    for (const SyntaxNode& dim : n.parts) {
      RLDB_TRY(const std::int64_t d, integer(dim));
      shape.push_back(d);
    }
    return p.has_shape(std::move(shape));
  }

  ir::Result<Pattern> tied(const Pattern& p, const SyntaxNode& n, bool only) {
    const std::span<const SyntaxNode> args = arguments_of(n);
    if (args.empty() || args.size() > 2) return fail(n.parts[0].end, "expected a pattern and an index here");
    RLDB_TRY(const Pattern reader, of(args[0]));
    int at = -1;
    if (args.size() == 2) {
      RLDB_TRY(at, index(args[1]));
    }
    tie(p, reader, at, only);
    return reader;
  }

  ir::Result<Pattern> made_by(std::string_view function, const SyntaxNode& n) {
    const std::span<const SyntaxNode> args = arguments_of(n);
    const std::string text = args.empty() ? std::string() : text_of(args[0]);
    if (function == "wildcard") return wildcard();
    if (function == "is_const") return is_const();
    if (function == "is_var") return is_var(text);
    if (function == "is_gv") return is_gv(text);
    if (function == "is_op") return is_op(text);
    if (function == "Op") {  // as TVM prints an operator
      for (const SyntaxNode& a : args)
        if (a.keyword == "name") return is_op(text_of(a));
      return fail(n.end, "an operator without a name");
    }
    if (function == "ExternFunc" || function == "is_extern") return is_extern(text);
    if (function == "is_tuple" || function == "Tuple") {
      if (args.size() != 1) return fail(n.end, "expected one list of patterns before this");
      RLDB_TRY(std::vector<Pattern> fields, pattern_list(args[0]));
      return is_tuple(std::move(fields));
    }
    if (function == "is_tuple_get_item" || function == "TupleGetItemPattern") {
      if (args.empty() || args.size() > 2) return fail(n.end, "expected a tuple and an index before this");
      RLDB_TRY(const Pattern tuple, of(args[0]));
      if (args.size() == 1) return is_tuple_get_item(tuple);
      RLDB_TRY(const int at, index(args[1]));
      return is_tuple_get_item(tuple, at);
    }
    if (function == "is_call_tir" || function == "is_call_dps_packed") {
      if (args.size() != 2) return fail(n.end, "expected a name and a list of patterns before this");
      RLDB_TRY(std::vector<Pattern> parts, pattern_list(args[1]));
      return function == "is_call_tir" ? is_call_tir(text, std::move(parts))
                                       : is_call_dps_packed(text, std::move(parts));
    }
    return Failure(message(diag::PatternUnknown, function));
  }

  // `("name", pattern)`, `("name", pattern, {annotations})`, or `FusionPattern(name="...", pattern=..., ...)`.
  ir::Result<NamedPattern> named_pattern(const SyntaxNode& n) {
    const bool call = n.kind == SyntaxKind::Call;
    if (!call && !is_sequence(n)) return bad_form(n, "`(` wanted");
    const SyntaxNode* name = nullptr;
    const SyntaxNode* pattern = nullptr;
    for (std::size_t i = call ? 1 : 0, position = 0; i < n.parts.size(); ++i, ++position) {
      const SyntaxNode& part = n.parts[i];
      const std::string& key = part.keyword;
      if (key == "name" || (key.empty() && position == 0))
        name = &part;
      else if (key == "pattern" || (key.empty() && position == 1))
        pattern = &part;
      else if (part.kind != SyntaxKind::Dictionary && part.kind != SyntaxKind::None)
        return bad_form(n, "a check in Python cannot be run here");
    }
    if (!name || !pattern) return bad_form(n, "expected a name and a pattern");
    RLDB_TRY(Pattern p, of(*pattern));
    return NamedPattern{text_of(*name), std::move(p)};
  }
  static Failure<source::Message> no_list(std::string_view text) {
    return Failure(message(diag::PassOptionValue, "patterns", "a list `[(\"name\", pattern)]`", text));
  }
  Failure<source::Message> bad_form(const SyntaxNode& n, std::string_view why) const {
    constexpr std::size_t kShown = 60;
    const std::string_view text = text_.substr(n.begin, n.end - n.begin);
    std::string shown(text.substr(0, kShown));
    if (text.size() > kShown) shown += "...";
    return Failure(message(diag::PassPatternForm, shown, why));
  }

  std::string_view text_;
  std::vector<frontend::OwnWord> words_;
  PatternQuery* query_ = nullptr;
  std::vector<std::pair<std::string, Pattern>> names_;  // the newest first
  bool tied_ = false;
  int depth_ = 0;
};

}  // namespace

ir::Result<Pattern> parse_pattern(std::string_view text) { return PatternReader(text).pattern(); }

ir::Result<PatternQuery> parse_query(std::string_view text) {
  PatternQuery query;
  return PatternReader(text, &query).lines();
}

ir::Result<std::vector<NamedPattern>> parse_named_patterns(std::string_view text) {
  return PatternReader(text).named_patterns();
}

}  // namespace rldb::passes
