// Printer: Relay text 0.0.5, laid out as TVM lays it out, so that it can be compared with any text of TVM's by bytes.
//
// Text round-trips: the output reads back as the same graph and prints as the same bytes. Where TVM's own text
// would not (a `match` as the value of a binding, floats of more than six digits) parentheses or digits are added.
// Recursion is over scopes only, which expr.h bounds. Users: ui, session, debug.
#pragma once

#include <string>
#include <vector>

#include "rldb/relay/ir/module.h"

namespace rldb::relay {

struct PrintOptions {
  bool version = true;   // begin with `#[version = "0.0.5"]`
  bool metadata = true;  // end with the metadata that the text refers to
};

// The referents of `meta[key][i]`, in the order of the text.
struct MetaTable {
  struct Section {
    std::string_view key;
    std::vector<MetaEntry> entries;
  };
  std::vector<Section> sections;
};

// A module: definitions; or its one expression. `used` (may be null) receives the metadata that the text refers to.
std::string print(const Module* m, const PrintOptions& options = {}, MetaTable* used = nullptr);
std::string print_type(const Type* t);
std::string print_expr(const Expr* e);
std::string print_attr(const AttrValue* value);

}  // namespace rldb::relay
