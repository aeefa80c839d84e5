// Front end of Relay: text 0.0.5 -> relay::Module. Nothing is run; every mistake is reported with its place.
//
// Graph variables (`%0 = ...`) become sharing: the node itself stands wherever the name is used, and a definition that
// nothing uses is not in the module. Types are what the text says; inference is relay/ops' business. Users: session,
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
  const relay::Module* initial = nullptr;  // its types and functions are known; the text adds to them
  const relay::MetaTable* meta = nullptr;  // entries behind those that the text itself has
  std::vector<std::string> externals;      // functions that are elsewhere, of types that nobody says
};

struct RelayResult {
  const relay::Module* module = nullptr;  // null after errors
  std::size_t graph_variables = 0;        // definitions of the form `%0 = ...`, used or not
  relay::TextNames graph_names;           // by the value of the definition
};

RelayResult parse_relay(relay::Context& ctx, const source::SourceManager& sources, source::FileId file,
                        source::Diagnostics& out, const RelayOptions& options = {});

// Is this Relay text, by how it begins: a version line, a definition, `let %x`, `fn (`, a name with `%`? An expression
// without any of these (`1 + 1`) is taken for Python.
bool looks_like_relay(std::string_view text);
// A file: by its name, `.relay` or `.rly`, or by its text.
bool is_relay(std::string_view name, std::string_view text);

// Lists, options, trees and functions over them, as a module of TVM's names.
std::string_view relay_prelude();
// A program that is to run: a text that does not read because it lacks what the prelude has is read on top of it, as
// TVM's importer of the prelude does it. Its own definitions stay its own; the diagnostics are those of the text.
RelayResult parse_relay_program(relay::Context& ctx, source::SourceManager& sources, source::FileId file,
                                source::Diagnostics& out);

}  // namespace rldb::frontend
