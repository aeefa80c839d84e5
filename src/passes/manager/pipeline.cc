// Parses textual pipelines, `LegalizeOps,FuseOps(fuse_opt_level=1),DeadCodeElimination(entry_functions=[main])`, into
// invocations.
//
// Names of passes and pipelines, options in parentheses, separated by commas; whitespace is ignored, and Python's call
// syntax (`FuseOps(1)`, `True`, quoted names) is accepted too. Options are checked against the row's options text here,
// so that a pass never sees a bad one.
#include <algorithm>
#include <cctype>

#include "passes/common.h"
#include "rldb/passes/option_error.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_pattern.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using support::trim;

using source::message;
using source::Message;
using support::Failure;

namespace {

// Guards against a pipeline text that never ends (a file given by mistake).
constexpr std::size_t kMaxPipeline = 10000;
constexpr int kMaxNesting = 20;  // of Sequential

// TVM's names for several passes in a row, and for a pipeline by its name.
constexpr std::string_view kSequential = "Sequential";
constexpr std::string_view kGetPipeline = "get_pipeline";
constexpr std::string_view kDefaultPipeline = "zero";

struct OptionInfo {
  std::string_view name;
  std::string_view kind;
};

std::vector<OptionInfo> option_infos(std::string_view text) {
  std::vector<OptionInfo> infos;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = trim(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t eq = item.find('=');
    infos.push_back({trim(item.substr(0, eq)), eq == std::string_view::npos ? "text" : trim(item.substr(eq + 1))});
  }
  return infos;
}

bool is_int_text(std::string_view s) {
  if (!s.empty() && s.front() == '-') s.remove_prefix(1);
  if (s.empty() || s.size() > 18) return false;
  for (char c : s)
    if (c < '0' || c > '9') return false;
  return true;
}

bool fits(std::string_view kind, std::string_view value) {
  if (value == "None") return true;  // what the pass does without the option
  if (kind == "int") return is_int_text(value);
  if (kind == "bool") {
    return value == "True" || value == "False" || value == "true" || value == "false" || value == "1" || value == "0";
  }
  if (kind == "[names]") return !value.empty() && ((value.front() == '[') == (value.back() == ']'));
  if (kind == "{text}") return value.size() >= 2 && value.front() == '{' && value.back() == '}';
  return !value.empty();
}

std::string_view kind_text(std::string_view kind) {
  if (kind == "int") return "an integer";
  if (kind == "bool") return "True or False";
  if (kind == "[names]") return "a list of names `[a, b]`";
  if (kind == "{text}") return "a dictionary `{name: value}`";
  return "a value";
}

std::string hint_for(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view near = source::nearest(word, candidates);
  return near.empty() ? std::string() : "did you mean `" + std::string(near) + "`?";
}

ir::Result<support::Unit> check_options(const PassInfo& pass, const PassOptions& options) {
  const std::vector<OptionInfo> infos = option_infos(pass.options);
  std::vector<bool> given(infos.size(), false);
  std::size_t position = 0;
  for (const PassOption& o : options) {
    std::size_t at = infos.size();
    if (o.name.empty()) {
      at = position++;
      if (at >= infos.size()) {
        return Failure(message(diag::TooManyPassOptions, pass.name, infos.size(), options.size()));
      }
    } else {
      for (std::size_t i = 0; i < infos.size(); ++i)
        if (infos[i].name == o.name) at = i;
      if (at == infos.size()) {
        std::vector<std::string_view> names;
        for (const OptionInfo& i : infos) names.push_back(i.name);
        std::string hint = hint_for(o.name, names);
        if (hint.empty() && !infos.empty()) hint = "its options: " + std::string(pass.options);
        return Failure(message(diag::UnknownPassOption, pass.name, o.name).with_hint(std::move(hint)));
      }
    }
    if (given[at]) return Failure(message(diag::RepeatedPassOption, infos[at].name, pass.name));
    given[at] = true;
    if (!fits(infos[at].kind, o.value)) {
      return Failure(message(diag::PassOptionKind, infos[at].name, pass.name, kind_text(infos[at].kind), o.value));
    }
  }
  return support::Unit{};
}

// Why the pass is absent; empty when TVM does not have it either.
std::string_view absence_of(std::string_view name) {
  struct Row {
    std::string_view name;
    std::string_view reason;
  };
  constexpr Row kRows[] = {
#define RLDB_ABSENT_PASS(Name, Reason) {Name, Reason},
#include "rldb/passes/absent_pass.def"
  };
  for (const Row& r : kRows)
    if (r.name == name) return r.reason;
  return {};
}

class PipelineParser {
 public:
  explicit PipelineParser(std::string_view text, int nesting = 0) : text_(text), nesting_(nesting) {}

  ir::Result<std::vector<PassInvocation>> parse() {
    std::vector<PassInvocation> out;
    skip_blanks();
    if (at_ == text_.size()) return fail("no pass named");
    while (true) {
      RLDB_TRY_VOID(parse_item(out));
      if (out.size() > kMaxPipeline) return fail("more passes than the limit of 10000");
      skip_blanks();
      if (at_ == text_.size()) return out;
      if (text_[at_] != ',') return fail("expected `,` or the end");
      ++at_;
      skip_blanks();
      if (at_ == text_.size()) return out;  // a trailing comma, as in Python
    }
  }

 private:
  Failure<Message> fail(const char* what) const { return Failure(message(diag::PipelineSyntax, at_ + 1, what)); }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::string_view word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  ir::Result<support::Unit> parse_item(std::vector<PassInvocation>& out) {
    std::string_view name = word();
    if (name.empty()) return fail("expected a pass name");
    // `relax.transform.FuseOps`: the Python module does not matter.
    while (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      name = word();
    }
    PassOptions options;
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '(') {
      RLDB_TRY_VOID(parse_options(options));
    }
    if (name == kSequential) return parse_sequence(options, out);
    if (name == kGetPipeline) {
      const PassOption* wanted = find_option(options, 0, "name");
      name = wanted ? unquote(wanted->value) : kDefaultPipeline;
      options.clear();
    }
    if (const PassInfo* pass = find_pass(name)) {
      RLDB_TRY_VOID(check_options(*pass, options));
      out.push_back({pass->id, std::move(options)});
      return support::Unit{};
    }
    for (const PipelineInfo& p : named_pipelines()) {
      if (p.name != name) continue;
      if (!options.empty()) return Failure(message(diag::TooManyPassOptions, name, 0, options.size()));
      RLDB_TRY(std::vector<PassInvocation> passes, parse_pipeline(p.passes));
      out.insert(out.end(), passes.begin(), passes.end());
      return support::Unit{};
    }
    if (const std::string_view why = absence_of(name); !why.empty())
      return Failure(message(diag::AbsentPass, name, why));
    std::vector<std::string_view> names;
    for (const PassInfo& p : all_passes()) names.push_back(p.name);
    for (const PipelineInfo& p : named_pipelines()) names.push_back(p.name);
    return Failure(message(diag::UnknownPass, name).with_hint(hint_for(name, names)));
  }

  // Sequential([A, B(opt=1)]): other arguments of TVM's constructor have no effect here.
  ir::Result<support::Unit> parse_sequence(const PassOptions& options, std::vector<PassInvocation>& out) {
    const PassOption* passes = find_option(options, 0, "passes");
    if (!passes || passes->value.size() < 2 || passes->value.front() != '[' || passes->value.back() != ']')
      return Failure(message(diag::PassOptionKind, "passes", kSequential, "a list `[A, B(opt=1)]`",
                             passes ? std::string_view(passes->value) : "nothing"));
    if (nesting_ == kMaxNesting) return fail("Sequential nested too deeply");
    const std::string_view inside = trim(std::string_view(passes->value).substr(1, passes->value.size() - 2));
    if (inside.empty()) return support::Unit{};
    RLDB_TRY(std::vector<PassInvocation> found, PipelineParser(inside, nesting_ + 1).parse());
    out.insert(out.end(), found.begin(), found.end());
    return support::Unit{};
  }

  // `( value, name=value, ... )`
  ir::Result<support::Unit> parse_options(PassOptions& options) {
    ++at_;
    while (true) {
      skip_blanks();
      if (at_ == text_.size()) return fail("expected `)`");
      if (text_[at_] == ')') {
        ++at_;
        return support::Unit{};
      }
      PassOption o;
      const std::size_t begin = at_;
      o.name = word();
      skip_blanks();
      if (!o.name.empty() && at_ < text_.size() && text_[at_] == '=') {
        ++at_;
      } else {
        o.name.clear();
        at_ = begin;
      }
      RLDB_TRY(o.value, value());
      if (o.value.empty()) return fail("expected a value of the option");
      options.push_back(std::move(o));
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
  }

  // Up to a comma or parenthesis outside brackets and quotes.
  ir::Result<std::string> value() {
    skip_blanks();
    const std::size_t begin = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        const std::size_t close = text_.find(c, at_ + 1);
        if (close == std::string_view::npos) return fail("a quote that is not closed");
        at_ = close + 1;
        continue;
      }
      if (depth == 0 && (c == ',' || c == ')')) break;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      ++at_;
    }
    if (depth != 0 || at_ == text_.size()) return fail("a bracket that is not closed");
    return std::string(trim(text_.substr(begin, at_ - begin)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

std::string to_string(const PassInvocation& p) {
  std::string text(info(p.id).name);
  if (p.options.empty()) return text;
  text += '(';
  for (std::size_t i = 0; i < p.options.size(); ++i) {
    if (i > 0) text += ", ";
    if (!p.options[i].name.empty()) text += p.options[i].name + "=";
    text += p.options[i].value;
  }
  return text + ')';
}

bool is_option_error(source::DiagId id) {
  constexpr source::DiagId kIds[] = {diag::PassOptionValue,   diag::PassOptionKind, diag::PassPatternForm,
                                     diag::PassCompositeName, diag::PatternSyntax,  diag::PatternUnknown,
                                     diag::PassNoFunction};
  return std::find(std::begin(kIds), std::end(kIds), id) != std::end(kIds);
}

ir::Result<std::vector<PassInvocation>> parse_pipeline(std::string_view text) { return PipelineParser(text).parse(); }

}  // namespace rldb::passes
