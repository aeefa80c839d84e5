// Reader: state shared by all families of the script room while one text is read: context, diagnostics, the module's
// signatures, the function being read. The families are free functions over a Reader:
//   expr.h      expressions -> Val            convert.h  Val -> expression, attribute, type, dims, ...
//   types.h     annotations                   symbols.h  symbolic variables, strings as expressions
//   relax.h     Relax functions               tir.h      TensorIR functions
//   metadata.h  the JSON trailer              module.h   classes, files, entries at the prompt
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/cst/parser.h"
#include "frontend/script/body.h"
#include "frontend/script/memo.h"
#include "frontend/script/reader_parts.h"
#include "frontend/script/scope.h"
#include "frontend/script/undecorated.h"
#include "frontend/script/value/value.h"
#include "rldb/frontend/parse.h"

namespace rldb::frontend::script {

using cst::Field;
using cst::Kind;
using cst::Node;
using source::DiagId;

struct Reader;
struct Signature;
class TirFunction;

enum class Dialect : std::uint8_t { Relax, Tir };

// A symbolic variable named by a signature, and where.
struct Symbol {
  const ir::Var* var;
  source::Span span;
};

// The function being read.
struct FunctionState {
  FunctionState* outer = nullptr;  // the enclosing function of a local one
  Dialect dialect = Dialect::Relax;
  std::string_view name;
  Scope scope;
  std::unordered_map<std::string_view, Symbol> symbols;           // of the signature
  std::unordered_map<std::string_view, ir::DType> symbol_dtypes;  // from `n = T.int32()` lines of the body
  Body* body = nullptr;                                           // Relax: where bindings go
  TirFunction* tir = nullptr;                                     // TensorIR
  // Tuples by the variable they are bound to: call_tir needs its arguments in line.
  std::unordered_map<const ir::Var*, const ir::Tuple*> tuples;
  bool in_signature = false;  // strings declare symbolic variables
  bool declare_bare = false;  // so do bare names: R.Tensor[(n, m), ...] and match_shape
  std::vector<ir::NamedAttr> attrs;
  bool saw_func_attr = false;
  // When a signature is read again: the variables that it had. One of the same name and type stays the same.
  std::vector<const ir::Var*> spare_variables;
  int second_readings = 0;  // of enclosing local functions that are being read again, to learn their results
};

// A member of the module being read (or a lone function).
struct Member {
  Member();
  ~Member();
  enum class State : std::uint8_t { Waiting, Reading, Done, Failed };
  std::string_view name;
  Node node;  // null after the text was edited elsewhere
  Kind kind = Kind::Other;
  source::Span span;
  std::uint32_t body = 0;  // where its body begins
  State state = State::Waiting;
  const ir::Expr* function = nullptr;      // when Done
  const ir::FuncType* declared = nullptr;  // from the signature, when it has a return annotation
  std::unique_ptr<Signature> signature;    // of a Relax function
  const ir::GlobalVar* var = nullptr;      // as soon as its type is known
  bool recursive = false;                  // was requested while it was being read
  bool cyclic = false;                     // takes part in a cycle of calls
  std::vector<Member*> callees;            // members whose type was requested while it was read
  std::unique_ptr<BodyMemo> memo;          // of a Relax function, when edits are to follow
  bool keep_statements = false;            // the memo's facts about the body are still valid
  bool in_signature = false;               // its signature is being read
  bool damaged_header = false;             // nothing of it is read
  bool broken = false;                     // it has errors, or `broken_signature`
  bool broken_signature = false;           // of a Relax function
  bool lost_parameters = false;            // some of its signature could not be read: calls are not checked against it
  bool lost_definitions = false;           // values of functions that could not be read: uses of them lack a definition
  bool gone = false;                       // removed by an edit; its place is kept, as others may point to it
};

struct ModuleState {
  std::string_view name;
  Node node;
  source::Span span;         // when it was read as a whole
  bool damaged = false;      // its text has syntax errors
  bool lost_header = false;  // of a function whose name is that of another one, for its damage
  bool s_tir = false;
  bool check_well_formed = true;  // False: TVM accepts the module unchecked, including contradictions
  std::deque<Member> members;
  std::unordered_map<std::string_view, Member*> by_name;
  std::vector<ir::NamedAttr> attrs;
  std::vector<ir::GlobalInfo> infos;
  std::vector<const ir::VDevice*> vdevices;
  // Kernels that are called with `tir_vars`, and how many outputs the calls make: trailing_scalars.cc
  std::unordered_map<std::string_view, std::size_t> fresh_outputs;
  int reading_depth = 0;
  std::vector<Member*> reading;  // those whose bodies are being read, each on behalf of the one before

  // In the order of the text.
  const Member& first_member() const;
};

struct Metadata;

struct Reader {
  Reader(ir::Context& context, const source::SourceManager& manager, source::FileId id, source::Diagnostics& to,
         const ParseOptions& parse_options, const Environment* environment)
      : ctx(context),
        sources(manager),
        file(id),
        out(to),
        options(parse_options),
        text(manager.get(id).text()),
        env(environment) {}

  // ---- the input, and its destination ----
  ir::Context& ctx;
  const source::SourceManager& sources;
  const source::FileId file;
  source::Diagnostics& out;
  const ParseOptions options;
  std::string_view text;         // of the whole file; a document changes it
  const Environment* const env;  // at the prompt; else null

  // ---- of the file ----
  InnerTexts texts;
  Imports imports;                     // import lines: module.cc
  FileNames names;                     // module.cc, entry.cc
  std::shared_ptr<Metadata> metadata;  // metadata.cc
  std::deque<ModuleState> modules;     // its classes: module.cc
  bool remember = false;               // fill memos: edits are to follow

  // ---- the current position: module.cc, and the readers of functions ----
  ModuleState* module = nullptr;
  FunctionState* fn = nullptr;
  BodyMemo* memo = nullptr;                                         // of the function whose body is being read
  std::unordered_set<std::string_view> noted_ops;                   // unknown operators already noted in this function
  std::unordered_map<std::string_view, std::size_t> unknown_names;  // how often each was reported in this function
  bool missed_member = false;                                       // a missing member was requested
  bool lost_callee = false;                                         // a call was left out: its callee could not be read
  bool lone_type = false;                                           // the text is a lone type, outside of any module
  Expected expected;
  Nesting nesting;
  std::size_t expanded = 0;  // rows of the tree read so far in calls of macros: limits.cc

  // ---- reporting ----
  void report(source::Span span, source::Message m) { out.add(span, std::move(m)); }
  void report(Undecorated u) { report(u.at, std::move(u.message)); }
  template <std::size_t Places, class... A>
  Val error(Node at, const source::Diag<Places>& row, const A&... args) {
    report(at.span(), source::message(row, args...));
    return {};
  }
  template <std::size_t Places, class... A>
  Val error_hint(Node at, std::string hint, const source::Diag<Places>& row, const A&... args) {
    report(at.span(), source::message(row, args...).with_hint(std::move(hint)));
    return {};
  }

  // ---- memory ----
  std::span<const Val> keep(const std::vector<Val>& items) { return texts.keep(items); }
  std::string_view keep(std::string unescaped) { return texts.keep(std::move(unescaped)); }
  template <class T>
  const T* at(const T* node, Node where) {
    if (node && where) ctx.spans().set(node->id, where.span());
    return node;
  }

  ir::DType default_int() const { return fn && fn->dialect == Dialect::Tir ? ir::DType::Int(32) : ir::DType::Int(64); }
  bool in_tir() const { return fn && fn->dialect == Dialect::Tir; }
  bool rfc_spelling();
  // Where a name that gets a value here is defined.
  Scope& scope() { return fn ? fn->scope : names.scope; }
  // A call was left out without an error of its own. Its statement is read each time.
  void note_lost_callee();
  // Of the function that is being read.
  void note_lost_parameter();
  ErrorsSince errors() const { return ErrorsSince(out); }

 private:
  std::optional<bool> rfc_;  // whether the file uses RFC 0089's spelling
};

}  // namespace rldb::frontend::script
