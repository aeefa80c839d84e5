// Reads the text of a pipeline.
#include <algorithm>
#include <cctype>

#include "rldb/pipeline/pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::pipeline {

using source::message;
using source::Message;
using support::Failure;
using support::trim;

namespace {

// Guards against a pipeline text that never ends (a file given by mistake).
constexpr std::size_t kMaxPipeline = 10000;
constexpr int kMaxNesting = 20;         // of Sequential
constexpr std::size_t kMostNames = 20;  // in a hint

// TVM's names for several passes in a row, and for a pipeline by its name.
constexpr std::string_view kSequential = "Sequential";
constexpr std::string_view kGetPipeline = "get_pipeline";
constexpr std::string_view kDefaultPipeline = "zero";

template <class T>
using Read = support::Result<T, Fault>;
using Done = Read<support::Unit>;

// A stretch of the whole text.
struct Piece {
  std::size_t begin = 0, end = 0;
};

// `name=value`, or `value`.
struct WrittenArgument {
  Piece name;  // empty: positional
  Piece value;
};

std::string hint_for(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view near = source::nearest(word, candidates);
  return near.empty() ? std::string() : "did you mean `" + std::string(near) + "`?";
}

// The names, where there are few of them.
std::string names_hint(std::string_view what, const std::vector<std::string_view>& names) {
  if (names.empty() || names.size() > kMostNames) return {};
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return std::string(what) + text;
}

Failure<Fault> fault(Piece where, Message m) {
  return Failure(Fault{std::move(m), std::uint32_t(where.begin), std::uint32_t(where.end)});
}

class Parser {
 public:
  // Reads the part of the text.
  Parser(const PassTable& table, std::string_view text, Piece part, int nesting = 0)
      : table_(table), text_(text), at_(part.begin), end_(part.end), nesting_(nesting) {}

  Read<std::vector<Invocation>> parse() {
    std::vector<Invocation> out;
    skip_blanks();
    if (at_ == end_) return wrong("no pass named");
    while (true) {
      RLDB_TRY_VOID(item(out));
      if (out.size() > kMaxPipeline) return wrong("more passes than the limit of 10000");
      skip_blanks();
      if (at_ == end_) return out;
      if (text_[at_] != ',') return wrong("expected `,` or the end");
      ++at_;
      skip_blanks();
      if (at_ == end_) return out;  // a trailing comma, as in Python
    }
  }

 private:
  Failure<Fault> wrong(const char* why) const {
    return fault({at_, std::min(at_ + 1, text_.size())}, message(diag::PipelineSyntax, at_ + 1, why));
  }
  std::string_view text(Piece p) const { return text_.substr(p.begin, p.end - p.begin); }

  void skip_blanks() {
    while (at_ < end_ && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  Piece word() {
    const std::size_t begin = at_;
    while (at_ < end_ && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    return {begin, at_};
  }

  Done item(std::vector<Invocation>& out) {
    support::poll();
    Piece name = word();
    if (name.begin == name.end) return wrong("expected a pass name");
    // `relax.transform.FuseOps`: the Python module matters only where two have a pass of one name.
    const std::size_t begin = name.begin;
    while (at_ < end_ && text_[at_] == '.') {
      ++at_;
      name = word();
    }
    const Piece with_module{begin, name.end};
    std::vector<WrittenArgument> given;
    skip_blanks();
    if (at_ < end_ && (text_[at_] == '(' || text_[at_] == '{')) RLDB_TRY_VOID(arguments(given));
    if (text(name) == kSequential) return sequence(name, given, out);
    if (text(name) == kGetPipeline) return pipeline_of(name, given, out);
    const PassRow* qualified = table_.find(text(with_module));
    if (const PassRow* pass = qualified ? qualified : table_.find(text(name))) {
      RLDB_TRY(Arguments read, checked(*pass, given));
      out.push_back({pass, std::move(read)});
      return support::Unit{};
    }
    return named(text(name), name, given, out);
  }

  // A pipeline by its name, or nothing known.
  Done named(std::string_view wanted, Piece name, const std::vector<WrittenArgument>& given,
             std::vector<Invocation>& out) {
    for (const NamedPipeline& p : table_.pipelines()) {
      if (p.name != wanted) continue;
      if (!given.empty())
        return fault(given[0].value,
                     message(diag::TooManyPassOptions, wanted, support::counted(0, "option"), given.size()));
      RLDB_TRY(std::vector<Invocation> passes, Parser(table_, p.passes, {0, p.passes.size()}).parse());
      out.insert(out.end(), passes.begin(), passes.end());
      return support::Unit{};
    }
    if (const std::string_view why = table_.absence_of(wanted); !why.empty())
      return fault(name, message(diag::AbsentPass, wanted, why));
    std::vector<std::string_view> names;
    for (const PassRow* p : table_.passes()) names.push_back(p->name);
    for (const NamedPipeline& p : table_.pipelines()) names.push_back(p.name);
    std::string hint = hint_for(wanted, names);
    if (hint.empty()) hint = names_hint("passes: ", names);
    return fault(name, message(diag::UnknownPass, wanted).with_hint(std::move(hint)));
  }

  // The one of that name, or the first positional one.
  const WrittenArgument* find(const std::vector<WrittenArgument>& given, std::string_view name) const {
    for (const WrittenArgument& a : given)
      if (text(a.name) == name || (a.name.begin == a.name.end && &a == &given[0])) return &a;
    return nullptr;
  }

  Done pipeline_of(Piece name, const std::vector<WrittenArgument>& given, std::vector<Invocation>& out) {
    const WrittenArgument* wanted = find(given, "name");
    if (!wanted) return named(kDefaultPipeline, name, {}, out);
    return named(table_.read_value(text(wanted->value)).name(), wanted->value, {}, out);
  }

  // Sequential([A, B(opt=1)]): other arguments of TVM's constructor have no effect here.
  Done sequence(Piece name, const std::vector<WrittenArgument>& given, std::vector<Invocation>& out) {
    const WrittenArgument* passes = find(given, "passes");
    const std::string_view list = passes ? text(passes->value) : std::string_view("nothing");
    if (list.front() != '[' || list.back() != ']')
      return fault(passes ? passes->value : name,
                   message(diag::PassOptionKind, "passes", kSequential, "a list `[A, B(opt=1)]`", list));
    if (nesting_ == kMaxNesting) return wrong("Sequential nested too deeply");
    const Piece inside{passes->value.begin + 1, passes->value.end - 1};
    if (trim(text(inside)).empty()) return support::Unit{};
    RLDB_TRY(std::vector<Invocation> found, Parser(table_, text_, inside, nesting_ + 1).parse());
    out.insert(out.end(), found.begin(), found.end());
    return support::Unit{};
  }

  // ---- options ----

  // `( value, name=value, ... )`, or the same in braces.
  Done arguments(std::vector<WrittenArgument>& out) {
    const char close = text_[at_++] == '(' ? ')' : '}';
    while (true) {
      skip_blanks();
      if (at_ == end_) return wrong(close == ')' ? "expected `)`" : "expected `}`");
      if (text_[at_] == close) {
        ++at_;
        return support::Unit{};
      }
      WrittenArgument a;
      const std::size_t begin = at_;
      a.name = word();
      skip_blanks();
      const bool equals = at_ < end_ && text_[at_] == '=' && (at_ + 1 == end_ || text_[at_ + 1] != '=');
      if (a.name.begin != a.name.end && equals) {
        ++at_;
      } else {
        a.name = {begin, begin};
        at_ = begin;
      }
      RLDB_TRY(a.value, value(close));
      if (a.value.begin == a.value.end) return wrong("expected a value of the option");
      out.push_back(a);
      if (at_ < end_ && text_[at_] == ',') ++at_;
    }
  }

  // Up to a comma or the closing bracket, outside brackets and quotes.
  Read<Piece> value(char close) {
    skip_blanks();
    Piece p{at_, at_};
    int depth = 0;
    while (at_ < end_) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        const std::size_t quote = end_of_string(at_);
        if (quote == std::string_view::npos) return wrong("a quote that is not closed");
        at_ = quote + 1;
        continue;
      }
      if (depth == 0 && (c == ',' || c == close)) break;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      ++at_;
    }
    if (depth != 0 || at_ == end_) return wrong("a bracket that is not closed");
    p.end = at_;
    while (p.end > p.begin && std::isspace(static_cast<unsigned char>(text_[p.end - 1]))) --p.end;
    return p;
  }

  // The closing quote of the string that begins there.
  std::size_t end_of_string(std::size_t open) const {
    for (std::size_t i = open + 1; i < end_; ++i) {
      if (text_[i] == text_[open]) return i;
      if (text_[i] == '\\') ++i;
    }
    return std::string_view::npos;
  }

  Read<Arguments> checked(const PassRow& pass, const std::vector<WrittenArgument>& given) const {
    Arguments out;
    for (const WrittenArgument& a : given) {
      RLDB_TRY(const std::size_t at, option_of(pass, a, out, given.size()));
      const OptionInfo& option = pass.options[at];
      for (const Argument& other : out)
        if (other.option == at)
          return fault(a.name.begin == a.name.end ? a.value : a.name,
                       message(diag::RepeatedPassOption, option.name, pass.name));
      WrittenValue read = table_.read_value(text(a.value));
      if (!fits(option.type, read))
        return fault(a.value,
                     message(diag::PassOptionKind, option.name, pass.name, expectation(option.type), text(a.value)));
      out.push_back({at, a.name.begin != a.name.end, std::move(read)});
    }
    return out;
  }

  // Which option an argument is, after those before it.
  Read<std::size_t> option_of(const PassRow& pass, const WrittenArgument& a, const Arguments& before,
                              std::size_t count) const {
    if (a.name.begin == a.name.end) {
      const auto at =
          std::size_t(std::count_if(before.begin(), before.end(), [](const Argument& other) { return !other.named; }));
      if (at < pass.options.size()) return at;
      return fault(a.value, message(diag::TooManyPassOptions, pass.name,
                                    support::counted(pass.options.size(), "option"), count));
    }
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < pass.options.size(); ++i) {
      if (pass.options[i].name == text(a.name)) return i;
      names.push_back(pass.options[i].name);
    }
    std::string hint = hint_for(text(a.name), names);
    if (hint.empty()) hint = names_hint("its options: ", names);
    return fault(a.name, message(diag::UnknownPassOption, pass.name, text(a.name)).with_hint(std::move(hint)));
  }

  const PassTable& table_;
  std::string_view text_;
  std::size_t at_;
  std::size_t end_;
  int nesting_;
};

}  // namespace

std::string to_string(const Invocation& p) {
  std::string text;
  for (const Argument& a : p.arguments) {
    if (!text.empty()) text += ", ";
    if (a.named) text += std::string(p.pass->options[a.option].name) + "=";
    text += a.value.written;
  }
  return text.empty() ? std::string(p.name()) : std::string(p.name()) + '(' + text + ')';
}

std::string to_string(const std::vector<Invocation>& passes) {
  std::string text;
  for (const Invocation& p : passes) text += (text.empty() ? "" : ",") + to_string(p);
  return text;
}

support::Result<std::vector<Invocation>, Fault> parse(const PassTable& table, std::string_view text) {
  return Parser(table, text, {0, text.size()}).parse();
}

std::optional<std::vector<Invocation>> parse(const PassTable& table, std::string_view text,
                                             source::SourceManager& sources, source::Diagnostics& out) {
  auto parsed = parse(table, text);
  if (parsed.ok()) return std::move(parsed).value();
  const Fault& f = parsed.error();
  out.add({sources.add("<passes>", std::string(text)), f.begin, f.end}, f.message);
  return std::nullopt;
}

}  // namespace rldb::pipeline
