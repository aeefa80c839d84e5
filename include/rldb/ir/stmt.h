// TensorIR statements. Flat scoping, as TVM prints it since 2026: BindStmt, AllocBuffer, DeclBuffer and Allocate are
// visible in the rest of the sequence that holds them. Source: TVM's include/tvm/tirx.
#pragma once

#include "rldb/ir/expr.h"

namespace rldb::ir {

struct Stmt : Node {
  RLDB_KINDS(Bind, SBlockRealize)
  StmtKind stmt_kind() const { return StmtKind(kind); }
};

struct Range {
  const Expr* min;
  const Expr* extent;
};

enum class IterKind : std::uint8_t { Spatial, Reduce, Scan, Opaque };

// An axis of a block.
struct IterVar {
  const Var* var;
  Range dom;
  IterKind kind;
};

struct BufferRegion {
  const Buffer* buffer;
  Span<Range> region;
};

// T.match_buffer(A[0:4, 0:4], ...) inside a block.
struct MatchBufferRegion {
  const Buffer* buffer;
  BufferRegion source;
};

struct BindStmt : Stmt {
  RLDB_KIND(Bind)
  const Var* var;
  const Expr* value;
  template <class F>
  void fields(F&& f) const {
    f.use("value", value);
    f.def("var", var);
  }
};
struct AttrStmt : Stmt {
  RLDB_KIND(Attr)
  const Attr* node;       // Expr, Node(Buffer), None, String ...; for thread_extent: an Opaque "T.iter_var"
  const Var* thread_var;  // launch_thread / thread_extent: the variable defined for the body, else null
  std::string_view key;
  const Expr* value;
  const Stmt* body;
  template <class F>
  void fields(F&& f) const {
    f.data("key", key);
    f.use("value", value);
    if (thread_var) f.def("thread_var", thread_var);
    f.data("node", node);
    f.use("body", body);
  }
};
struct AssertStmt : Stmt {
  RLDB_KIND(Assert)
  const Expr* cond;
  std::string_view error_kind;  // "RuntimeError"
  Span<std::string_view> message_parts;
  template <class F>
  void fields(F&& f) const {
    f.use("cond", cond);
    f.data("error_kind", error_kind);
    f.data("message_parts", message_parts);
  }
};
struct BufferStore : Stmt {
  RLDB_KIND(BufferStore)
  const Buffer* buffer;
  const Expr* value;
  Span<const Expr*> indices;
  const Expr* predicate;  // null mostly
  template <class F>
  void fields(F&& f) const {
    f.use("buffer", buffer);
    f.use("value", value);
    f.use("indices", indices);
    f.use("predicate", predicate);
  }
};
struct AllocBuffer : Stmt {
  RLDB_KIND(AllocBuffer)
  const Buffer* buffer;
  Span<NamedAttr> annotations;
  template <class F>
  void fields(F&& f) const {
    f.def("buffer", buffer);
    f.data("annotations", annotations);
  }
};
struct DeclBuffer : Stmt {
  RLDB_KIND(DeclBuffer)
  const Buffer* buffer;
  const Expr* data;  // the pointer that it is declared over; null when the buffer brings its own data variable
  template <class F>
  void fields(F&& f) const {
    f.use("data", data);
    f.def("buffer", buffer);
  }
};
struct AllocateStmt : Stmt {
  RLDB_KIND(Allocate)
  const Var* var;
  DType dtype;
  Span<const Expr*> extents;
  std::string_view scope;
  Span<NamedAttr> annotations;
  template <class F>
  void fields(F&& f) const {
    f.data("dtype", dtype);
    f.use("extents", extents);
    f.data("scope", scope);
    f.def("var", var);
    f.data("annotations", annotations);
  }
};
struct AllocateConstStmt : Stmt {
  RLDB_KIND(AllocateConst)
  const Var* var;
  const runtime::Value* value;
  template <class F>
  void fields(F&& f) const {
    f.data("value", value);
    f.def("var", var);
  }
};

enum class ForKind : std::uint8_t { Serial, Parallel, Vectorized, Unrolled, ThreadBinding };

struct ForStmt : Stmt {
  RLDB_KIND(For)
  const Var* var;
  const Expr* min;
  const Expr* extent;
  const Expr* step;  // null: 1
  ForKind for_kind;
  std::string_view thread_tag;  // ThreadBinding: "threadIdx.x"
  Span<NamedAttr> annotations;
  const Stmt* body;
  template <class F>
  void fields(F&& f) const {
    f.use("min", min);
    f.use("extent", extent);
    f.use("step", step);
    f.data("for_kind", std::int64_t(for_kind));
    f.data("thread_tag", thread_tag);
    f.data("annotations", annotations);
    f.def("var", var);
    f.use("body", body);
  }
};
struct WhileStmt : Stmt {
  RLDB_KIND(While)
  const Expr* cond;
  const Stmt* body;
  template <class F>
  void fields(F&& f) const {
    f.use("cond", cond);
    f.use("body", body);
  }
};
struct IfThenElse : Stmt {
  RLDB_KIND(IfThenElse)
  const Expr* cond;
  const Stmt* then_case;
  const Stmt* else_case;  // may be null
  template <class F>
  void fields(F&& f) const {
    f.use("cond", cond);
    f.use("then_case", then_case);
    f.use("else_case", else_case);
  }
};
struct SeqStmt : Stmt {
  RLDB_KIND(Seq)
  Span<const Stmt*> stmts;
  template <class F>
  void fields(F&& f) const {
    f.use("stmts", stmts);
  }
};
struct Evaluate : Stmt {
  RLDB_KIND(Evaluate)
  const Expr* value;
  template <class F>
  void fields(F&& f) const {
    f.use("value", value);
  }
};
struct SBlock : Stmt {
  RLDB_KIND(SBlock)
  std::string_view name;
  Span<IterVar> iter_vars;
  Span<BufferRegion> reads;
  Span<BufferRegion> writes;
  Span<const Buffer*> alloc_buffers;
  Span<MatchBufferRegion> match_buffers;
  Span<NamedAttr> annotations;
  const Stmt* init;  // may be null
  const Stmt* body;
  template <class F>
  void fields(F&& f) const {
    f.def_iter_vars("iter_vars", iter_vars);
    f.def_buffers("alloc_buffers", alloc_buffers);
    f.def_match_buffers("match_buffers", match_buffers);
    f.use_regions("reads", reads);
    f.use_regions("writes", writes);
    f.data("annotations", annotations);
    f.use("init", init);
    f.use("body", body);
  }
};
struct SBlockRealize : Stmt {
  RLDB_KIND(SBlockRealize)
  Span<const Expr*> iter_values;
  const Expr* predicate;  // never null; T.bool(True) when absent
  const SBlock* block;
  template <class F>
  void fields(F&& f) const {
    f.use("iter_values", iter_values);
    f.use("predicate", predicate);
    f.use("block", static_cast<const Stmt*>(block));
  }
};

}  // namespace rldb::ir
