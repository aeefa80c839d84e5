// Calls by name: arguments as written, and the table from `R.shape`, `T.match_buffer`, `I.vdevice`, ... to their
// readers.
#pragma once

#include <array>

#include "frontend/script/value/expr.h"

namespace rldb::frontend::script {

struct CallNode {
  Node node;  // the whole call
  Node function;
  Node arguments;
  Space space = Space::None;
  std::string_view path;  // "nn.relu"
  std::string_view shown() const { return function.text(); }
};

struct Argument {
  std::string_view keyword;  // empty: positional
  Node name;                 // of the keyword
  Node node;                 // where the value is written
  std::optional<Val> value;  // already read (a splat's items)
  bool used = false;
};

// Arguments are evaluated on demand; finish() reports those that nothing requested.
class Arguments {
 public:
  Arguments(Reader& r, const CallNode& call);
  // By position, else by keyword; null when absent. An argument written as None counts as absent with `get`.
  Argument* find(std::size_t position, std::string_view keyword);
  Argument* find(std::string_view keyword) { return find(kNoPosition, keyword); }
  Val value(Argument* a);
  std::optional<Val> get(std::size_t position, std::string_view keyword);
  std::optional<Val> get(std::string_view keyword) { return get(kNoPosition, keyword); }
  // Reports when absent.
  std::optional<Val> require(std::size_t position, std::string_view keyword);
  Node node(std::size_t position, std::string_view keyword);  // of the argument, or of the call
  std::vector<Argument>& all() { return all_; }
  std::size_t positional_count() const { return positional_; }
  void finish();

 private:
  static constexpr std::size_t kNoPosition = ~std::size_t(0);
  Reader& r_;
  const CallNode& call_;
  std::vector<Argument> all_;
  std::array<std::string_view, 16> asked_;  // keywords that were looked up
  std::size_t asked_count_ = 0;
  std::size_t positional_ = 0;
};

using Handler = Val (*)(Reader&, const CallNode&);
Handler find_handler(Space space, std::string_view path);

// The tables of the families; each row {"path", handler}.
struct HandlerRow {
  std::string_view path;
  Handler handler;
};
std::span<const HandlerRow> relax_handlers();  // relax/calls.cc
std::span<const HandlerRow> type_handlers();   // types.cc (R.)
std::span<const HandlerRow> tir_handlers();    // tir/calls.cc
std::span<const HandlerRow> tir_statement_handlers();
std::span<const HandlerRow> tir_buffer_handlers();
std::span<const HandlerRow> tir_loop_handlers();
std::span<const HandlerRow> tir_block_handlers();
std::span<const HandlerRow> ir_handlers();      // ir_calls.cc (I.)
std::span<const HandlerRow> python_handlers();  // range, len, ...

Val range_call(Reader& r, const CallNode& call);                     // I.Range(begin, end), T.Range
Val meta_var(Reader& r, const CallNode& call);                       // I.meta_var(e), T.meta_var: the value itself
Val device_call(Reader& r, const CallNode& call);                    // tvm.cpu(), R.cuda(1)
Val call_node(Reader& r, const CallNode& call);                      // relax.Call(op, [args], ...)
Val relax_operator(Reader& r, const CallNode& call);                 // any other R. name
Val tir_intrinsic(Reader& r, const CallNode& call);                  // any other T. name
Val call_value(Reader& r, const Val& callee, const CallNode& call);  // f(x), cls.f(x), x.astype(..)
// An opaque constructor kept by name: T.target({...}).
Val opaque_constructor(Reader& r, const CallNode& call);
// "T.target", "R.device_mesh", "I.vdevice": namespace letter and path.
std::string canonical_name(const CallNode& call);
// f(a, b) of a Lambda: its body with the parameters bound.
Val call_lambda(Reader& r, const Val& lambda, const CallNode& call);
Val call_macro(Reader& r, const Val& macro, const CallNode& call);  // macro.cc
// x.astype("float16"): the operator of that name with x first.
Val relax_method(Reader& r, const Val& object, std::string_view name, const CallNode& call);

}  // namespace rldb::frontend::script
