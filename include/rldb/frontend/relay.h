// Front end of Relay: text 0.0.5 -> relay::Module. Nothing is run; every mistake is reported with its place.
//
// Graph variables (`%0 = ...`) become sharing: each use of the name refers to the node itself, and an unused definition
// is not in the module. Types are those in the text; inference is relay/ops' business. Users: session,
// ui, tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/relay/ir/context.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/relay/ir/text_names.h"
#include "rldb/source/buffer.h"
#include "rldb/source/diagnostic.h"

namespace rldb::frontend {

struct RelayOptions {
  int max_depth = 1000;                    // levels of nesting of the syntax tree
  const relay::Module* initial = nullptr;  // its types and functions are visible; the text adds to them
  const relay::MetaTable* meta = nullptr;  // entries appended to those of the text itself
  std::vector<std::string> externals;      // functions defined elsewhere, of unknown types
};

struct RelayResult {
  const relay::Module* module = nullptr;  // null after errors
  std::size_t graph_variables = 0;        // definitions of the form `%0 = ...`, used or not
  relay::TextNames graph_names;           // by the value of the definition
};

RelayResult parse_relay(relay::Context& ctx, const source::SourceManager& sources, source::FileId file,
                        source::Diagnostics& out, const RelayOptions& options = {});

// Whether this is Relay text, judged by how it begins: a version line, a definition, `let %x`, `fn (`, a name with `%`.
// An expression without any of these (`1 + 1`) is treated as Python.
bool looks_like_relay(std::string_view text);
// Whether this is a Relay file: by its name, `.relay` or `.rly`, or by its text.
bool is_relay(std::string_view name, std::string_view text);

// Lists, options, trees and functions over them, as a module with TVM's names.
std::string_view relay_prelude();
// A program to be run: a text that fails to read because it lacks the prelude is read on top of it, as TVM's importer
// of the prelude does. It keeps its own definitions; the diagnostics are those of the text.
RelayResult parse_relay_program(relay::Context& ctx, source::SourceManager& sources, source::FileId file,
                                source::Diagnostics& out);

}  // namespace rldb::frontend
