// Questions about the language of expressions, without evaluating: which language a text is in, what the tables have.
#include "rldb/expression/language.h"

#include <algorithm>
#include <cctype>

#include "rldb/expression/expression.h"
#include "rldb/expression/functions.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/text.h"

namespace rldb::expression {

bool check_expression(std::string_view text, source::Diagnostics& out) {
  const auto parsed = parse(text);
  // Operators take arguments that only the front end can parse (`R.call_tir(cls.f, ...)`).
  if (parsed.ok() || text.find("R.") != std::string_view::npos) return true;
  out.add({}, source::message(diag::RunFailed, parsed.error().message));
  return false;
}

bool is_expression(std::string_view text, source::Diagnostics& out) {
  const auto parsed = parse(text);
  if (!parsed.ok()) out.add({}, source::message(diag::RunFailed, parsed.error().message));
  return parsed.ok() && !is_script(*parsed);
}

UnknownAttribute unknown_attribute(std::string_view text) {
  const auto parsed = parse(text);
  if (!parsed.ok()) return {};
  std::vector<std::string_view> known;
  for (const AttributeRow& row : attributes()) known.push_back(row.name);
  for (const FunctionRow& row : functions())
    if (row.is_fact()) known.push_back(row.name);
  std::vector<const Term*> callees;
  for (const Term& t : parsed->terms)
    if (t.kind == TermKind::Call) callees.push_back(&parsed->child(t, 0));
  for (const Term& t : parsed->terms) {
    if (t.kind != TermKind::Attribute || std::find(callees.begin(), callees.end(), &t) != callees.end()) continue;
    const std::string name = dotted_name(*parsed, t);
    const bool script = name.starts_with("R.") || name.starts_with("T.") || name.starts_with("I.");
    if (!script && std::find(known.begin(), known.end(), t.text) == known.end())
      return {t.text, source::nearest(t.text, known)};
  }
  return {};
}

namespace {

bool begins_with_numpy(std::string_view text) {
  const auto dot = text.find('.');
  return dot != std::string_view::npos && is_numpy(text.substr(0, dot));
}

class Form {
 public:
  Form(const Expression& e, const std::function<NameKind(std::string_view)>& kind_of) : e_(e), kind_of_(kind_of) {}

  Language language() const {
    for (const Term& t : e_.terms)
      if (t.kind == TermKind::Name && kind_of_(t.text) == NameKind::Symbol) return Language::Script;
    return is_script_form(e_.root()) ? Language::Script : Language::Expression;
  }

 private:
  static bool is_namespace(std::string_view name) {
    return name.starts_with("R.") || name.starts_with("T.") || name.starts_with("I.");
  }

  // The callee of a call is a function or a method of the language.
  bool is_own_call(const Term& call) const {
    const Term& callee = e_.child(call, 0);
    if (is_namespace(dotted_name(e_, callee)) || !find_function(callee.text)) return false;
    return kind_of_(callee.text) != NameKind::Function;  // `abs(x)`, `cls.abs(x)`: of the module
  }

  // A form that TVMScript lacks.
  bool is_own(const Term& t) const {
    switch (t.kind) {
      case TermKind::File:
      case TermKind::Slice:
      case TermKind::Ellipsis:
        return true;
      case TermKind::Name:
        return t.text.starts_with('$');
      case TermKind::Subscript: {
        const Term& base = e_.child(t, 0);
        return base.kind == TermKind::Name && kind_of_(base.text) == NameKind::Tensor;
      }
      case TermKind::Call:
        return is_own_call(t);
      case TermKind::Constant:
        return begins_with_numpy(e_.text_of(t));  // `np.pi`
#define RLDB_OPERATION(Kind, ...) case TermKind::Kind:
#include "rldb/expression/term.def"
      case TermKind::Tuple:
      case TermKind::List:
      case TermKind::Attribute:
        return false;
    }
    return false;
  }

  bool has_own(const Term& t) const {
    if (is_own(t)) return true;
    return std::any_of(t.children.begin(), t.children.end(),
                       [&](int child) { return child >= 0 && has_own(e_.terms[std::size_t(child)]); });
  }

  bool is_script_form(const Term& t) const {
    switch (t.kind) {
      case TermKind::Constant:
      case TermKind::Name:
      case TermKind::Call:
        return !has_own(t);
      case TermKind::Tuple:
      case TermKind::List:
        return std::all_of(t.children.begin(), t.children.end(),
                           [&](int child) { return is_script_form(e_.terms[std::size_t(child)]); });
      case TermKind::Attribute: {
        const auto& rows = attributes();
        const bool own = std::any_of(rows.begin(), rows.end(), [&](const AttributeRow& r) { return r.name == t.text; });
        const std::string name = dotted_name(e_, t);
        return is_namespace(name) || (!name.empty() && !own && !find_function(t.text));
      }
#define RLDB_OPERATION(Kind, ...) case TermKind::Kind:
#include "rldb/expression/term.def"
      case TermKind::File:
      case TermKind::Ellipsis:
      case TermKind::Slice:
      case TermKind::Subscript:
        return false;
    }
    return false;
  }

  const Expression& e_;
  const std::function<NameKind(std::string_view)>& kind_of_;
};

}  // namespace

Language language_of(std::string_view text, const std::function<NameKind(std::string_view)>& kind_of) {
  const auto parsed = parse(text);
  if (!parsed.ok()) return begins_with_numpy(support::trim(text)) ? Language::Expression : Language::Script;
  return Form(*parsed, kind_of).language();
}

bool is_numpy(std::string_view name) { return name == "np" || name == "numpy"; }

bool is_name_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    if (text[i] == '$') ++i;  // a variable of the session
    const std::size_t letters = i;
    while (i < text.size() && is_name_byte(text[i])) ++i;
    const std::string_view word = text.substr(begin, i - begin);
    if (i == letters) {
      i = begin + 1;
    } else if (!std::isdigit(static_cast<unsigned char>(word[0])) && (begin == 0 || text[begin - 1] != '.') &&
               std::find(words.begin(), words.end(), word) == words.end()) {
      words.push_back(word);
    }
  }
  return words;
}

std::vector<LanguageRow> language_functions() {
  std::vector<LanguageRow> rows;
  for (const FunctionRow& row : functions()) rows.push_back({row.name, row.parameters, row.doc});
  return rows;
}

std::vector<LanguageRow> language_attributes() {
  std::vector<LanguageRow> rows;
  for (const AttributeRow& row : attributes()) rows.push_back({row.name, {}, row.doc});
  return rows;
}

std::vector<LanguageRow> language_operators() {
  return {
#define RLDB_BINARY(id, text, doc) {text, "a " text " b", doc},
#define RLDB_COMPARISON(id, text, doc) {text, "a " text " b", doc},
#define RLDB_UNARY(id, text, doc) {text, text "a", doc},
#include "rldb/expression/operator.def"
  };
}

}  // namespace rldb::expression
