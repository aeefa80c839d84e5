// Terms of the glossary, and the search through everything that has a line of help.
#include "ui/prompt/commands/help_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"
#include "rldb/ui/prompt/command.h"
#include "ui/prompt/commands/help_text.h"

namespace rldb::ui {

namespace {

struct Term {
  std::string_view name, meaning;
};

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// The rows `| term | meaning |` of the glossary.
std::vector<Term> read_terms() {
  std::vector<Term> terms;
  std::string_view text = glossary_text();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t bar = line.find(" | ");
    if (!line.starts_with("| ") || !line.ends_with(" |") || bar == std::string_view::npos) continue;
    terms.push_back({line.substr(2, bar - 2), line.substr(bar + 3, line.size() - bar - 5)});
  }
  if (!terms.empty()) terms.erase(terms.begin());  // the heads of the columns
  return terms;
}

const std::vector<Term>& terms() {
  static const std::vector<Term> all = read_terms();
  return all;
}

class HelpSearch {
 public:
  explicit HelpSearch(std::string_view words) : words_(split_words(lower_case(words))) {}

  void look_at(std::string_view kind, std::string name, std::string_view doc, std::string_view more = {}) {
    const std::string in_name = lower_case(name);
    const std::string in_all = in_name + '\n' + lower_case(doc) + '\n' + lower_case(more);
    const auto has_all = [&](const std::string& text) {
      return std::all_of(words_.begin(), words_.end(),
                         [&](const std::string& word) { return text.find(word) != std::string::npos; });
    };
    if (!has_all(in_all)) return;
    (has_all(in_name) ? by_name_ : by_text_).push_back({std::move(name), kind, doc});
  }
  std::vector<HelpFinding> take() {
    std::move(by_text_.begin(), by_text_.end(), std::back_inserter(by_name_));
    return std::move(by_name_);
  }
  bool has_words() const { return !words_.empty(); }

 private:
  std::vector<std::string> words_;
  std::vector<HelpFinding> by_name_, by_text_;
};

}  // namespace

std::string_view meaning_of(std::string_view term) {
  const std::string wanted = lower_case(term);
  for (const Term& t : terms()) {
    const std::string name = lower_case(t.name);
    // `origin, provenance` are two names of one thing.
    for (std::size_t begin = 0; begin <= name.size();) {
      const std::size_t end = std::min(name.find(", ", begin), name.size());
      if (std::string_view(name).substr(begin, end - begin) == wanted) return t.meaning;
      begin = end + 2;
    }
  }
  return {};
}

std::vector<HelpFinding> search_help(std::string_view words) {
  HelpSearch search(words);
  if (!search.has_words()) return {};
  for (const Term& t : terms()) search.look_at("term", std::string(t.name), t.meaning);
  for (const Command& c : commands())
    search.look_at("command", fmt::format(":{}", c.name), c.doc, fmt::format("{}\n{}", c.aliases, c.more));
  for (const HelpSession& s : help_sessions()) search.look_at("topic", std::string(s.name), title_of(s));
  for (const passes::PassInfo& p : passes::all_passes()) search.look_at("pass", std::string(p.name), p.doc);
  for (const ops::OpInfo& op : ops::all()) search.look_at("operator", fmt::format("R.{}", op.short_name()), op.doc);
  return search.take();
}

}  // namespace rldb::ui
