// The grammars' own corpora (test/corpus/*.txt beside each grammar, in the tree-sitter tool's format) through the
// runtime: every text has the tree given below it, with field names.
#include <doctest/doctest.h>
#include <tree_sitter/api.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

extern "C" const TSLanguage* tree_sitter_tvmscript(void);
extern "C" const TSLanguage* tree_sitter_relay(void);

namespace {

struct Example {
  std::string name, text, tree;
};

bool is_rule(const std::string& line, char c) {
  return line.size() >= 3 && line.find_first_not_of(c) == std::string::npos;
}

std::vector<Example> read_corpus(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::vector<Example> examples;
  std::size_t i = 0;
  while (i < lines.size() && !is_rule(lines[i], '=')) ++i;
  while (i < lines.size()) {
    Example e;
    for (++i; i < lines.size() && !is_rule(lines[i], '='); ++i) e.name += lines[i];
    for (++i; i < lines.size() && !is_rule(lines[i], '-'); ++i) e.text += lines[i] + "\n";
    for (++i; i < lines.size() && !is_rule(lines[i], '='); ++i) e.tree += lines[i] + "\n";
    examples.push_back(std::move(e));
  }
  return examples;
}

// One blank between words, none inside brackets.
std::string normalised(const std::string& tree) {
  std::string out;
  for (const char c : tree) {
    const bool blank = c == ' ' || c == '\n' || c == '\t';
    if (!blank) {
      if (c == ')' && out.ends_with(' ')) out.pop_back();
      out += c;
    } else if (!out.empty() && out.back() != ' ' && out.back() != '(') {
      out += ' ';
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string parse(const TSLanguage* language, const std::string& text) {
  const std::unique_ptr<TSParser, decltype(&ts_parser_delete)> parser(ts_parser_new(), ts_parser_delete);
  ts_parser_set_language(parser.get(), language);
  const std::unique_ptr<TSTree, decltype(&ts_tree_delete)> tree(
      ts_parser_parse_string(parser.get(), nullptr, text.data(), std::uint32_t(text.size())), ts_tree_delete);
  char* printed = ts_node_string(ts_tree_root_node(tree.get()));
  std::string out(printed);
  std::free(printed);
  return out;
}

// Returns the number of texts.
std::size_t check_corpus(const std::string& folder, const TSLanguage* language) {
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    for (const Example& e : read_corpus(entry.path())) {
      CAPTURE(entry.path().filename().string());
      CAPTURE(e.name);
      ++seen;
      // The tool drops the blank line before the rule below the text.
      std::string text = e.text;
      if (text.ends_with("\n\n")) text.pop_back();
      if (text.starts_with('\n')) text.erase(0, 1);
      CHECK(normalised(parse(language, text)) == normalised(e.tree));
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("the grammars' corpora, through the runtime") {
  CHECK(check_corpus(RLDB_SOURCE_DIR "/grammar/test/corpus", tree_sitter_tvmscript()) >= 20);
  CHECK(check_corpus(RLDB_SOURCE_DIR "/grammar/relay/test/corpus", tree_sitter_relay()) >= 15);
}
