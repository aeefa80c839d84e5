// The tables from tree-sitter's numbers to ours, made once per grammar.
#include "frontend/cst/ts_language.h"

#include <string_view>
#include <unordered_map>

extern "C" const TSLanguage* tree_sitter_tvmscript(void);
extern "C" const TSLanguage* tree_sitter_relay(void);

namespace rldb::frontend::cst {

Language::Language(const TSLanguage* language) : ts(language) {
  std::unordered_map<std::string_view, Kind> by_name = {
#define RLDB_CST(K, name, ...) {name, Kind::K},
#include "frontend/cst/node_kinds.def"
  };
  const std::uint32_t symbols = ts_language_symbol_count(ts);
  kinds.resize(symbols, Kind::Other);
  punctuation.resize(symbols, false);
  for (std::uint32_t s = 0; s < symbols; ++s) {
    const auto symbol = static_cast<TSSymbol>(s);
    if (ts_language_symbol_type(ts, symbol) != TSSymbolTypeRegular) {
      kinds[s] = Kind::Token;
      const std::string_view name = ts_language_symbol_name(ts, symbol);
      for (const std::string_view p : {"(", ")", "[", "]", "{", "}", ",", ".", ":", ";", "=", "->"})
        if (name == p) punctuation[s] = true;
      continue;
    }
    if (auto it = by_name.find(ts_language_symbol_name(ts, symbol)); it != by_name.end()) kinds[s] = it->second;
  }
  std::unordered_map<std::string_view, Field> field_names = {
#define RLDB_FIELD(F, name) {name, Field::F},
#include "frontend/cst/fields.def"
  };
  const std::uint32_t count = ts_language_field_count(ts);
  fields.resize(count + 1, Field::None);
  for (std::uint32_t f = 1; f <= count; ++f) {
    const char* name = ts_language_field_name_for_id(ts, static_cast<TSFieldId>(f));
    if (auto it = field_names.find(name); it != field_names.end()) fields[f] = it->second;
  }
}

const Language& language(Grammar grammar) {
  static const Language script(tree_sitter_tvmscript());
  static const Language relay(tree_sitter_relay());
  return grammar == Grammar::Relay ? relay : script;
}

}  // namespace rldb::frontend::cst
