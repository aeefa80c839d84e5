// Types: what the typed IR of a document says about the names of its text.
//
// A function that has errors, as while it is being typed, keeps the types of its last good reading by name, so that
// hints do not flicker. Users: hover, inlay hints, completion, signature help.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "rldb/frontend/document.h"

namespace rldb::protocol::lsp {

class Types {
 public:
  // After each change of the text.
  void follow(const frontend::Document& document);

  // `R.Tensor((n, 4), dtype="float32")`, `T.Buffer((4,), "float32")`; empty: not known.
  std::string text_of(const frontend::TextIndex& index, std::uint32_t name);
  const ir::Type* type_of(const frontend::TextIndex& index, std::uint32_t name);
  // The function that a name of the module means; null: not known.
  const ir::Expr* function_of(std::string_view name) const;

 private:
  struct Known {                                                 // of one function
    std::unordered_map<std::uint32_t, const ir::Var*> by_place;  // where the name of the variable begins
    std::unordered_map<std::string_view, const ir::Var*> by_name;
    std::unordered_map<std::string_view, const ir::Buffer*> buffers;
  };
  struct Function {
    std::shared_ptr<ir::Context> context;  // keeps the others alive
    const ir::Expr* now = nullptr;         // of the present text, as far as it could be read
    const ir::Expr* good = nullptr;        // of the last text without errors in it
    std::unique_ptr<Known> known;          // of both, made when asked
    bool seen = false;
  };
  const Known* known_of(const frontend::TextIndex& index, std::uint32_t name);
  static void learn(const ir::Context& context, const ir::Expr* function, bool places, Known& known);

  std::shared_ptr<ir::Context> context_;
  std::map<std::string, Function, std::less<>> functions_;
};

}  // namespace rldb::protocol::lsp
