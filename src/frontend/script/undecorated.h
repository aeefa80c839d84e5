// Reports about functions and classes without the decorator that would make them TVMScript: none, or a misspelt one.
// They read the text, not the tree, which an edited document does not have of them. Room-private.
#pragma once

#include <optional>
#include <string_view>

#include "rldb/source/diagnostic.h"

namespace rldb::frontend::script {

struct Undecorated {
  source::Span at;
  source::Message message;
};

inline constexpr std::string_view kDecorateFunction = "put `@R.function` or `@T.prim_func` above it";

// `text`: of the whole file; `begin`: of the definition with its decorators; `name`: of the function.
Undecorated undecorated_function(std::string_view text, std::uint32_t begin, source::Span name,
                                 std::string_view hint = kDecorateFunction);
// The same of a class; nullopt: without a decorator in its body, which begins there, it is plain Python.
std::optional<Undecorated> undecorated_module(std::string_view text, std::uint32_t begin, source::Span name,
                                              std::string_view body);
// Of a function of the file, which may be plain Python: one that seems to be misspelt.
std::optional<Undecorated> misspelt_function(std::string_view text, std::uint32_t begin, source::Span name);

}  // namespace rldb::frontend::script
