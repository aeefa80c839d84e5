// A text, the result of parsing it, and its errors: the basis of every test of this room.
#pragma once

#include <string>
#include <vector>

#include "rldb/frontend/parse.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/ops/op_info.h"

namespace rldb::frontend::testing {

struct Reading {
  ir::Context ctx;
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  ParseResult result;

  explicit Reading(std::string text) {
    ops::install(ctx);
    const source::FileId file = sources.add("test.py", std::move(text));
    result = parse(ctx, sources, file, diagnostics);
  }
  // "line:column: message" of every diagnostic.
  std::vector<std::string> messages() const {
    std::vector<std::string> out;
    for (const source::Diagnostic& d : diagnostics.all()) {
      std::string place;
      if (d.span.file) {
        const source::LineColumn at = sources.get(d.span.file).line_column(d.span.begin);
        place = std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
      }
      out.push_back(place + d.message);
    }
    return out;
  }
  std::string rendered() const { return source::render(diagnostics, sources); }
  const ir::Function* function(std::string_view name) const {
    return result.module ? ir::as<ir::Function>(result.module->find(name)) : nullptr;
  }
  const ir::PrimFunc* prim_func(std::string_view name) const {
    return result.module ? ir::as<ir::PrimFunc>(result.module->find(name)) : nullptr;
  }
};

// Parses, prints, parses again: empty if both are the same module, else the problem.
inline std::string round_trip(const std::string& text) {
  Reading a(text);
  if (!a.result.ok || !a.result.module) return "does not parse: " + a.rendered();
  const std::string printed = ir::print(a.result.module);
  Reading b(printed);
  if (!b.result.ok || !b.result.module) return "does not parse again: " + b.rendered() + "\n" + printed;
  if (const auto d = ir::first_difference(a.result.module, b.result.module))
    return d->path + ": " + d->left + " <> " + d->right + "\n" + printed;
  return {};
}

}  // namespace rldb::frontend::testing
