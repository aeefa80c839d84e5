// TensorIR functions: headers, statements, blocks, loops, buffers, intrinsics.
//
// Statements are collected into sequences. A construct whose scope is "the rest of the block" (x =
// T.launch_thread(...), T.attr(...)) leaves a wrapper behind, which takes the rest as its body when the sequence
// ends.
#pragma once

#include <functional>

#include "frontend/script/value/calls.h"

namespace rldb::frontend::script {

// T.serial(...), T.grid(...), range(...): the data of a Val of kind Loop.
struct LoopSpec {
  ir::ForKind kind = ir::ForKind::Serial;
  bool grid = false;
  std::span<const Val> starts;
  std::span<const Val> stops;
  Val step;  // None: 1
  std::string_view thread;
  std::span<const ir::NamedAttr> annotations;
};

// T.attr(...), T.launch_thread(...), T.allocate(...): the data of a Val of kind Frame.
struct FrameSpec {
  Val result;                                                          // the object named by `as`
  std::function<const ir::Stmt*(ir::Context&, const ir::Stmt*)> wrap;  // the body inside
};

struct BlockState {
  std::string_view name;
  bool realize = true;
  std::vector<ir::IterVar> axes;
  std::vector<const ir::Expr*> values;
  const ir::Expr* predicate = nullptr;
  std::optional<std::vector<ir::BufferRegion>> reads, writes;
  std::vector<const ir::Buffer*> allocs;
  std::vector<ir::MatchBufferRegion> matches;
  std::vector<ir::NamedAttr> annotations;
  const ir::Stmt* init = nullptr;
};

struct Sequence {
  struct Wrapper {
    std::size_t from;
    std::function<const ir::Stmt*(ir::Context&, const ir::Stmt*)> wrap;
  };
  std::vector<const ir::Stmt*> statements;
  std::vector<Wrapper> wrappers;
};

// The PrimFunc being read.
class TirFunction {
 public:
  std::vector<ir::PrimParam> params;
  bool s_tir = false;
  bool old_blocks = false;     // the text uses T.block: T.alloc_buffer belongs to blocks
  bool mutable_names = false;  // today `x = e` makes a scalar buffer; until 2026 it was a let
  bool saw_block = false;
  std::vector<const ir::Buffer*> root_allocs;
  std::vector<const ir::Buffer*> flat_allocs;  // T.alloc_buffer of today, wherever it stood
  std::vector<BlockState*> blocks;             // innermost last
  const ir::SBlock* open_root = nullptr;  // a block without axes and without an enclosing block, regions as in the text
  std::vector<std::pair<const ir::Var*, ir::Range>> loops;           // enclosing, innermost last
  std::unordered_map<const ir::Var*, std::string_view> thread_tags;  // T.env_thread
  std::unordered_set<const ir::Buffer*> scalars;                     // x: T.int32
  const ir::Type* ret = nullptr;                                     // from T.func_ret(...)
  Sequence* sequence = nullptr;
  std::deque<FrameSpec> frames;
  std::deque<LoopSpec> loop_specs;
  // Names for the values of `a, b = ...`.
  std::vector<std::string_view> targets;

  std::string_view target(std::size_t i, std::string_view otherwise) const {
    return i < targets.size() ? targets[i] : otherwise;
  }
  void emit(const ir::Stmt* s) { sequence->statements.push_back(s); }
};

const ir::PrimFunc* read_prim_func(Reader& r, Node function);          // tir/function.cc
const ir::OpaqueFunc* read_python_function(Reader& r, Node function);  // ir_calls.cc

// tir/body.cc
const ir::Stmt* read_tir_block(Reader& r, Node block);  // a suite, in a scope of its own
void read_tir_statements(Reader& r, Node block);        // into the current sequence
const ir::Stmt* close_sequence(Reader& r, Sequence& s);
// Runs `read` with a fresh sequence and returns its statement.
const ir::Stmt* collect_sequence(Reader& r, const std::function<void()>& read);

// tir/loop.cc
void read_loop(Reader& r, Node loop);
void read_loop_over(Reader& r, const LoopSpec& spec, Node target, Node iterator, Node body);

Val python_range(Reader& r, const CallNode& call);

// tir/block.cc
void read_sblock(Reader& r, Node with);
void read_init(Reader& r, Node with);
std::optional<ir::BufferRegion> to_region(Reader& r, const Val& v, Node at);
// end - begin, simplified.
const ir::Expr* region_extent(Reader& r, const ir::Expr* begin, const ir::Expr* end);
// Undefined names in a shape become symbolic variables (the RFC's spelling).
void declare_bare_dims(Reader& r, Node shape);

// tir/buffer.cc
Val index_buffer(Reader& r, const ir::Buffer* buffer, const std::vector<Val>& index, Node at);
const ir::Expr* load_of_region(Reader& r, const Val& region, Node at);
// Begin and end of a slice, the i-th index of an access, in one dtype. nullopt after a report.
std::optional<std::pair<const ir::Expr*, const ir::Expr*>> slice_bounds(Reader& r, const ir::Buffer* buffer,
                                                                        std::size_t i, const Val& slice, Node at);
// Indices of an access: slices become ramps. nullopt after a report.
std::optional<std::vector<const ir::Expr*>> to_indices(Reader& r, const ir::Buffer* buffer, std::span<const Val> index,
                                                       Node at);
void emit_store(Reader& r, const ir::Buffer* buffer, std::span<const Val> index, const Val& value, Node at,
                Node value_at, const ir::Expr* predicate = nullptr);
bool is_index(const ir::Expr* e);  // one integer
// T.Buffer(...) of a parameter, an allocation, ...: `skip` leading arguments have another meaning.
const ir::Buffer* read_buffer(Reader& r, Arguments& args, std::size_t skip, std::string_view name, Node at,
                              const ir::Var* data = nullptr, bool need_shape = true);
// annotations={...} of an allocation.
std::vector<ir::NamedAttr> read_annotations(Reader& r, Arguments& args);
// A buffer of a parameter: an offset_factor without an elem_offset leaves the offset to whoever
// binds it.
const ir::Buffer* over_memory(Reader& r, const ir::Buffer* b);
const ir::Type* pointer_type(Reader& r, const CallNode& call);  // T.handle("float32", "global")
Val buffer_method(Reader& r, const Val& method, const CallNode& call);

// tir/intrin.cc
Val named_intrinsic(Reader& r, const CallNode& call);  // T.exp(x)
Val call_intrin(Reader& r, const CallNode& call);      // T.call_intrin("float32", "tirx.exp", x)
Val address_of(Reader& r, const CallNode& call);
Val call_in_tir(Reader& r, const ir::Expr* callee, const CallNode& call);

// tir/calls.cc
Val if_then_else(Reader& r, const Val& cond, const Val& yes, const Val& no, Node at);
const ir::Expr* lambda_expr(Reader& r, const Val& lambda, Node at);
Val make_frame(Reader& r, FrameSpec spec);
// A variable that is a handle: a pointer, not a number. (The type of an intrinsic may depend on its use.)
bool is_address(const ir::Expr* e);
const ir::Expr* cast_value(Reader& r, ir::DType dtype, const ir::Expr* e, Node at);

}  // namespace rldb::frontend::script
