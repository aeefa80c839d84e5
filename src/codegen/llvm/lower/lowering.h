// Lowering: one PrimFunc to one LLVM function, in the ABI of runtime::KernelEntry. Internal to the room.
//
// Values follow eval's arithmetic: float16, bfloat16 and the float8 family live in SSA as `float` rounded to their
// format after each operation; bool is i1 in SSA and i8 in memory; integers wrap. Index arithmetic is done in 64 bits.
// A scalar expression may become a vector when it depends on the variable of a vectorised loop (`vector_loop`), so
// every helper accepts both. Code that cannot be lowered throws Refused, caught in `lower`; nothing escapes the
// room.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "codegen/llvm/engine/artefact.h"
#include "rldb/codegen/llvm/aot.h"
#include "rldb/codegen/llvm/jit.h"
#include "rldb/eval/empty_reduction.h"
#include "rldb/ir/context.h"
#include "rldb/ir/lowered_name.h"
#include "rldb/schedule/bounds.h"

namespace rldb::codegen {

using ir::DType;

struct Refused {
  std::string why;
};
[[noreturn]] void refuse(std::string why);

class FormulaCode;

struct LowerOptions {
  FpMode fp = FpMode::Strict;
  bool check_bounds = false;
  bool poisoned_memory = false;  // see jit.h
  unsigned vector_bytes = 32;    // of the host's vectors
  bool float16 = false;          // the host calculates in float16
  bool byte_dots = false;        // the host adds up products of bytes
  runtime::NumericEvents events = 0;
  const SourceLines* lines = nullptr;  // for debuggers; null: none
  bool threads = true;                 // parallel loops with a grain may run on several
  bool fused = false;                  // the CPU multiplies and adds in one operation
  bool device = false;                 // one thread of a launch on a GPU (device/): nothing of the host can be called
};

// The symbol of the function that is made.
inline constexpr const char* kEntryName = "rldb_kernel";

struct Lowered {
  std::unique_ptr<llvm::Module> module;
  std::vector<FaultRow> faults;
  std::size_t shared_bytes = 0, private_bytes = 0;  // on a device: of a block, and of a thread
};

// A kernel function of a device: the statements of one launch as a PrimFunc, whose parameters are the memory and the
// scalars that it uses.
struct DeviceEntry {
  std::string name;
  std::vector<std::string_view> axes;  // thread tags in the order in which threads are numbered, the slowest first
  std::size_t first_site = 0;          // added to the numbers of its faults
  const schedule::BoundsFacts* facts = nullptr;
};

// Sets a member for as long as the result lives.
template <class T>
class [[nodiscard]] Restore {
 public:
  Restore(T& place, T now) : place_(place), before_(std::exchange(place, now)) {}
  ~Restore() { place_ = before_; }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& place_;
  T before_;
};
template <class T>
Restore<T> restore_later(T& place, std::type_identity_t<T> now) {
  return Restore<T>(place, now);
}

// A buffer as the code sees it: a base pointer and element-wise geometry.
struct View {
  llvm::Value* base = nullptr;
  std::vector<llvm::Value*> shape;    // i64
  std::vector<llvm::Value*> strides;  // i64, in elements
  llvm::Value* offset = nullptr;      // i64 elements; null: none
  DType dtype;
  std::int64_t last_stride = 0;  // of the last dimension when it is a known constant, else 0
  bool compact = false;          // its strides are the row-major ones of its shape
  llvm::Value* limit = nullptr;  // i64 elements from base to the end of its memory; null: it is known to fit
};

// The memory that a data pointer points to.
struct Memory {
  llvm::Value* base = nullptr;
  llvm::Value* bytes = nullptr;  // i64
};

struct VarValue {
  llvm::Value* value = nullptr;  // in the variable's own type
  llvm::Value* wide = nullptr;   // i64, for integers
  llvm::Value* base = nullptr;   // of lanes: i64 of lane 0
  bool non_negative = false;
  bool counts = true;                     // its value is a position or a size (Lowering::counts), not data
  std::optional<std::int64_t> lane_step;  // of lanes: the increment per lane, when it is the same for all
};

class Lowering {
 public:
  Lowering(llvm::LLVMContext& context, const LowerOptions& options);
  Lowered run(const ir::PrimFunc* f, const runtime::KernelSignature& signature);
  Lowered run_on_device(const ir::PrimFunc* f, const runtime::KernelSignature& signature, const DeviceEntry& entry);

 private:
  using Value = llvm::Value;
  using Block = llvm::BasicBlock;

  // ---- function (lower/function.cc) ----
  void make_entry(const ir::PrimFunc* f, const runtime::KernelSignature& signature);
  void bind_parameters(const ir::PrimFunc* f, const runtime::KernelSignature& signature);
  void bind_parameter_buffer(const ir::Buffer* b, Value* pointer);
  void bind_dim(const ir::Expr* e, Value* actual, std::string_view buffer, std::size_t dim);
  View make_view(const ir::Buffer* b, const Memory& memory);
  Value* opaque_bytes(std::size_t param);
  void store_result(const ir::Expr* e);

  // ---- threads of a GPU (device/threads.cc, device/entry.cc) ----
  void make_device_body(const ir::PrimFunc* f, const runtime::KernelSignature& signature);
  void make_device_entry(const runtime::KernelSignature& signature, const DeviceEntry& entry);
  void report_fault(Value* failed, Value* record, Value* fault, Value* only, Value* me, std::size_t first_site);
  Value* thread_number(const DeviceEntry& entry);
  Value* special_register(std::string_view kind, char dim);
  void bind_thread(const ir::AttrStmt* s);
  void synchronise(const ir::Call* c);
  Value* exchange(const ir::Call* c);
  bool allocate_on_device(const ir::Var* data, DType dtype, const std::vector<Value*>& extents, std::string_view name,
                          std::string_view scope);

  // ---- returns, and numbers noted for catchpoints (lower/numbers.cc) ----
  void prepare_notes(const ir::PrimFunc* f);
  void note_number(const ir::Buffer* b, Value* v, Value* mask);
  Value* is_event(Value* v, DType t);
  void return_well();
  void finish();

  // ---- lines (lower/lines.cc) ----
  void begin_lines(const ir::PrimFunc* f, const std::string& name);
  void end_lines();
  // Instructions from here on are this function's, which is the code of the node.
  void lines_of_function(llvm::Function* function, const ir::Node* node, llvm::StringRef name);
  // Instructions made until the result is gone belong to the statement's line.
  class [[nodiscard]] AtLine;

  // ---- statements (lower/stmt.cc) ----
  void stmt(const ir::Stmt* s);
  void one_stmt(const ir::Stmt* s);
  void while_loop(const ir::WhileStmt* s);
  void if_stmt(const ir::IfThenElse* s);
  void masked_if(const ir::IfThenElse* s, Value* c);
  void bind(const ir::Var* v, const ir::Expr* e);
  void assert_stmt(const ir::AssertStmt* s);
  void attr_stmt(const ir::AttrStmt* s);
  void evaluate(const ir::Expr* e);
  void leave_loop(bool for_good);
  void poll();
  void start_dead_block();

  // ---- loops (lower/loop.cc) ----
  void for_loop(const ir::ForStmt* loop);
  void one_loop(const ir::ForStmt* loop);
  void plain_loop(const ir::ForStmt* loop);
  bool unrolled_loop(const ir::ForStmt* loop);
  void nontemporal_loop(const ir::ForStmt* loop);
  // `chunk`: checks the interrupt after every that many iterations; 0: never.
  void emit_loop(Value* begin, Value* end, Value* step, const ir::ForStmt* source,
                 const std::function<void(Value*)>& body, std::int64_t chunk);
  void run_body(const ir::ForStmt* loop, Value* iv);
  void bind_loop(const ir::ForStmt* loop, Value* iv);
  // Whether the unrolling that a loop requests is within bounds; counts the nodes it makes.
  bool may_unroll(const ir::ForStmt* loop);
  std::uint64_t unrolled_size(const ir::Stmt* s, int depth = 0);
  void attach_loop_metadata(llvm::BranchInst* latch, const ir::ForStmt* source);

  // ---- loops whose iterations may run on several threads (lower/parallel.cc) ----
  void find_parallel_loops(const ir::PrimFunc* f);
  bool parallel_loop(const ir::ForStmt* loop);
  void allocate_private(const ir::ForStmt* loop);
  llvm::Function* part_of(const ir::ForStmt* loop);
  llvm::Function* with_captures(llvm::Function* draft, std::vector<Value*>& captures);
  llvm::Function* unpacking(llvm::Function* part, llvm::StructType* captures);

  // ---- vectorised loops (lower/lanes.cc) ----
  bool vector_loop(const ir::ForStmt* loop);
  bool may_widen(const ir::ForStmt* loop);
  bool lanes_apart(const ir::Buffer* b, ir::Span<const ir::Expr*> indices,
                   const std::function<std::optional<std::int64_t>(const ir::Expr*)>& step);
  bool may_alias(const ir::Buffer* a, const ir::Buffer* b) const;
  // The increment of an expression per lane, when it is the same for all lanes.
  std::optional<std::int64_t> lane_step(const ir::Expr* e);
  // The expression, at lane 0, is a multiple of n.
  bool multiple_of(const ir::Expr* e, unsigned n, int depth = 0);
  // How much an expression grows with each step of a loop's variable, when that is known.
  std::optional<std::int64_t> step_per(const ir::Expr* e, const ir::Var* v);

  // ---- copies that transpose (lower/transposed.cc) ----
  bool transposed_copy(const ir::ForStmt* rows);
  bool interleaved_copy(const ir::ForStmt* rows);
  bool may_transpose(const ir::ForStmt* rows);
  bool runs_along(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, const ir::Var* v);
  void shuffle_pair(Value*& a, Value*& b, const std::vector<int>& low, const std::vector<int>& high);
  void transpose_vectors(std::vector<Value*>& rows);
  Value* cast_in_memory(const ir::Expr* value, Value* loaded);

  // ---- blocks and allocations (lower/block.cc) ----
  void block(const ir::SBlock* b, const ir::SBlockRealize* realize);
  void block_body(const ir::SBlock* b, Value* init_condition);
  void allocate_buffer(const ir::Buffer* b);
  void declare_view(const ir::Buffer* b, const Memory& memory);
  void hoist_allocations(const ir::PrimFunc* f);
  void begin_empty_reductions(const ir::PrimFunc* f);
  void fill_if(Value* condition, const Memory& memory, const eval::EmptyReduction& r);
  bool size_is_known(const ir::Buffer* b) const;
  // `unwritten`: elements may be read before they are written; they are zero then, as memory from the arena is.
  Memory allocate(std::vector<Value*> extents, DType dtype, std::string_view name, bool on_stack, bool unwritten);
  std::vector<Value*> storage_extents(const ir::Buffer* b);
  void match_region(const ir::MatchBufferRegion& m);
  void decl_buffer(const ir::DeclBuffer* s);
  void allocate_const(const ir::AllocateConstStmt* s);

  // ---- expressions (lower/expr.cc, arithmetic.cc, index.cc) ----
  Value* value(const ir::Expr* e);
  Value* index(const ir::Expr* e);       // i64, or a vector of i64 in a vectorised loop
  Value* wide_index(const ir::Expr* e);  // the same, in 64 bits throughout
  Value* condition(const ir::Expr* e);   // i1
  Value* variable(const ir::Var* v);
  Value* binary(const ir::BinaryExpr* e);
  Value* dot_of_bytes(const ir::BinaryExpr* e);  // lower/dots.cc
  Value* logical(const ir::BinaryExpr* e);
  Value* float_binary(ir::BinaryKind kind, Value* a, Value* b, DType t);
  Value* half_binary(ir::BinaryKind kind, Value* a, Value* b);
  Value* half_extreme(ir::BinaryKind kind, Value* a, Value* b, DType t);
  Value* fused_multiply(const ir::BinaryExpr* e);
  Value* int_binary(ir::BinaryKind kind, Value* a, Value* b, DType t);
  Value* divide(ir::BinaryKind kind, Value* a, Value* b, bool is_unsigned, bool a_non_negative);
  Value* divide_lanes(const ir::BinaryExpr* e);
  Value* choose(const ir::Expr* cond, const ir::Expr* yes, const ir::Expr* no);
  Value* lazy(const ir::Expr* cond, const std::function<Value*()>& a, const std::function<Value*()>& b, bool cheap);
  Value* convert(Value* v, DType from, DType to);
  // A float type that is computed in float32 or float64 and rounded.
  static bool is_narrow(DType t) { return t.is_float() && !(t.code == runtime::TypeCode::Float && t.bits >= 32); }
  Value* round_narrow(Value* v, DType t);  // float to float
  Value* ramp(const ir::Ramp* r);
  Value* broadcast(const ir::Broadcast* b);
  Value* shuffle(const ir::Shuffle* s);
  bool speculable(const ir::Expr* e, int depth = 0);
  bool non_negative(const ir::Expr* e, int depth = 0);
  bool counts(const ir::Expr* e, int depth = 0);
  int significant_bits(const ir::Expr* e, int depth = 0);
  Value* literal_float(double v, DType t);
  void unify(Value*& a, Value*& b);
  Value* splat(Value* v, unsigned lanes);
  Value* to_index(Value* v, DType t);
  static unsigned lanes_of(const Value* v);
  static int lanes_of(const ir::Expr* e);

  // ---- intrinsics (lower/intrinsic.cc) ----
  Value* call(const ir::Call* c);
  // Arguments of one; null for operations that are not intrinsics of their dtype.
  struct Operands {
    const ir::Call* call;
    std::size_t first;  // of the call's arguments that is an operand
    DType element;      // of the first operand
    std::vector<Value*> values;
    const ir::Expr* operand(std::size_t i) const { return call->args[first + i]; }
    bool is_float() const { return element.is_float(); }
    bool is_double() const { return values[0]->getType()->getScalarType()->isDoubleTy(); }
  };
  Operands operands(const ir::Call* c, int count, std::size_t first = 0);
  Value* intrinsic(const ir::IntrinsicInfo& row, const Operands& in);
  Value* library(std::string_view f, const Operands& in);
  using FormulaBody = Value* (*)(FormulaCode&, const std::vector<Value*>&);
  Value* formula(std::string_view f, const Operands& in, FormulaBody body);
  Value* rare(Value* condition, const std::vector<Value*>& x, std::string_view library, Value* y);
  Value* float_mod(Value* a, Value* b);
  Value* native(llvm::Intrinsic::ID f, const Operands& in);
  Value* multiply_add(const Operands& in);
  // (llvm_function.cc)
  Value* llvm_function(const ir::LlvmFunction& f, const Operands& in);
  Value* fixed_point_product(const ir::Call* c);
  Value* lanes_call(const ir::Call* c);
  Value* active_lanes(const ir::Call* c);
  Value* exp10(const Operands& in);
  Value* rsqrt(const Operands& in);
  Value* sigmoid(const Operands& in);
  Value* copysign(const Operands& in);
  Value* fma(const Operands& in);
  Value* ldexp(const Operands& in);
  Value* absolute(const Operands& in);
  Value* is_nan(const Operands& in);
  Value* is_inf(const Operands& in);
  Value* is_finite(const Operands& in);
  Value* popcount(const Operands& in);
  Value* clz(const Operands& in);
  Value* bit_not(const Operands& in);
  Value* bit_and(const Operands& in);
  Value* bit_or(const Operands& in);
  Value* bit_xor(const Operands& in);
  Value* shift_left(const Operands& in);
  Value* shift_right(const Operands& in);
  Value* shift(const Operands& in, bool left);
  Value* counted(Value* v, const Operands& in);
  unsigned width_of(Value* v) { return v->getType()->isVectorTy() ? lanes_of(v) : 0; }
  Value* libm(std::string_view name, std::vector<Value*> args);
  Value* reinterpret(const ir::Call* c);
  Value* call_packed(const ir::Call* c, bool has_result = true);
  Value* per_lane(Value* sample, const std::function<Value*(unsigned)>& f);
  Value* lane(Value* v, unsigned i);

  // ---- memory (lower/memory.cc) ----
  const View& view(const ir::Buffer* b);
  Value* load(const ir::BufferLoad* l);
  void store(const ir::BufferStore* s);
  void store_value(const void* node, const ir::Buffer* b, ir::Span<const ir::Expr*> indices, Value* v, Value* mask);
  // How an access moves with the lanes of its value.
  struct Access {
    Value* pointer = nullptr;   // contiguous or scalar
    Value* pointers = nullptr;  // one per lane, when not contiguous
    unsigned lanes = 1;         // of the value
    bool uniform = false;       // every lane the same element
    Value* first = nullptr;     // the element of the first lane, when `step` is known
    std::int64_t step = 0;      // elements from one lane's to the next's; 0: the same, or not known
  };
  // An index, and the dimension whose stride it moves by. Quotients and remainders of one position by consecutive
  // dimensions are that position.
  struct Term {
    const ir::Expr* index;
    std::size_t first, last;  // dimensions that it stands for
  };
  std::vector<Term> terms_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices);
  // How much an address grows with each step of a loop's variable, in elements, when that is known.
  std::optional<std::int64_t> address_step(const ir::Buffer* b, ir::Span<const ir::Expr*> indices,
                                           const std::function<std::optional<std::int64_t>(const ir::Expr*)>& step);
  Value* every_other(const Access& at, DType t);
  Value* gathered(const Access& at, DType t, Value* mask);
  Access access(const void* node, const ir::Buffer* b, ir::Span<const ir::Expr*> indices, unsigned lanes, Value* mask);
  // `node` is the statement or expression that accesses; its dimensions that are proved need no test.
  void check_access(const void* node, const ir::Buffer* b, const View& v, ir::Span<const ir::Expr*> indices,
                    Value* mask);
  void check_element(const ir::Buffer* b, const View& v, Value* flat, Value* mask);
  void check_whole(const ir::Buffer* b, const View& v);
  View in_rows(View v, ir::Span<const ir::Expr*> dims);
  bool proved(const void* node, std::size_t dim) const { return facts_.proved(node, dim); }
  bool wide(const void* node, std::size_t dim) const { return facts_.wide(node, dim); }
  bool checked() const { return options_.check_bounds; }
  Value* masked(Value* bad, Value*& at, Value* mask);
  void fault_in_lanes(Value* bad, Value* at, std::string text, std::vector<Value*> values);
  Value* from_memory(Value* v, DType t);
  Value* to_memory(Value* v, DType t);
  llvm::Type* memory_type(DType t);  // of one element
  llvm::Type* value_type(DType t);   // in SSA, without lanes
  llvm::Type* value_type(DType t, unsigned lanes);
  llvm::Align alignment(DType t);
  // Whether the address of a vector store is aligned to the machine's vectors.
  bool on_vector(const ir::Buffer* b, ir::Span<const ir::Expr*> indices, unsigned lanes);

  // ---- faults ----
  // Leaves the function with a fault when `bad` (i1) holds.
  void fault_if(Value* bad, runtime::ErrorKind kind, std::string text, std::vector<Value*> values);
  void fault_always(runtime::ErrorKind kind, std::string text, std::vector<Value*> values);
  void fault_from_helper(Value* bad);

  llvm::FunctionCallee helper(std::string_view name, llvm::Type* result, std::vector<llvm::Type*> params,
                              bool pure = false);
  Value* i64(std::int64_t v) { return b_.getInt64(std::uint64_t(v)); }
  Block* new_block(std::string_view name);
  bool terminated() { return b_.GetInsertBlock()->getTerminator() != nullptr; }
  std::string where(const ir::Expr* e) const;

  // The targets of `break` and `continue`.
  struct Loop {
    const ir::Var* var;  // null: while
    Block* next;
    Block* exit;
  };

  llvm::LLVMContext& c_;
  LowerOptions options_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  std::unique_ptr<llvm::DIBuilder> debug_;  // null: no lines
  llvm::DISubprogram* subprogram_ = nullptr;
  llvm::Function* entry_ = nullptr;
  llvm::Function* body_ = nullptr;
  Value* fault_ = nullptr;
  Value* stop_ = nullptr;  // on a device: the word that asks the kernel to stop
  std::size_t shared_bytes_ = 0, private_bytes_ = 0;
  Block* done_ = nullptr;                                     // the target of returns without a fault
  std::unordered_set<const ir::Var*> own_memory_;             // its own allocations: their numbers are not noted
  std::unordered_map<llvm::Type*, llvm::AllocaInst*> notes_;  // nonzero: an event was seen
  std::vector<FaultRow> faults_;
  std::unordered_map<const ir::Var*, VarValue> vars_;
  std::unordered_map<const ir::Var*, Memory> pointers_;
  std::unordered_map<const ir::Buffer*, View> views_;
  schedule::BoundsFacts facts_;
  bool wide_ = false;  // index arithmetic is done in 64 bits also in checked code
  std::unordered_set<const ir::Var*> match_defined_;
  std::unordered_set<const ir::Buffer*> hoisted_;
  std::unordered_set<const ir::Buffer*> unwritten_;  // allocations whose elements may stay unwritten
  // Parallel loops that get a function of their own, with the allocations that only they use: each piece has its own.
  std::unordered_map<const ir::ForStmt*, std::vector<const ir::Buffer*>> parallel_;
  std::unordered_set<const ir::Buffer*> private_;  // of loops that have not begun
  std::vector<Loop> loops_;
  std::unordered_map<const ir::Stmt*, std::uint64_t> unrolled_sizes_;
  std::unordered_set<const ir::ForStmt*> unrolled_;
  std::uint64_t unroll_left_ = 0;      // set at the first loop that requests it
  std::vector<const ir::Var*> scope_;  // loop variables and axes in scope, for fault notes
  std::uint64_t stack_bytes_ = 0;
  int depth_ = 0;
  bool contract_ = false;         // where a * b + c may be fused
  bool noalias_ = false;          // buffers that are parameters do not overlap
  DType result_ = DType::Void();  // of the scalar that the kernel returns; void: none
  // In a vectorised loop: its variable, and the number of lanes.
  const ir::Var* widened_ = nullptr;
  unsigned widened_lanes_ = 0;
  Value* mask_ = nullptr;  // lanes that are on; null: all
  bool lane0_ = false;     // variables of lanes have the value of the first
  std::unordered_map<const ir::ForStmt*, bool> widens_;
  const ir::Stmt* in_nest_ = nullptr;  // the loop directly in the one being emitted
  bool as_written_ = false;            // code since the loop began was unrolled or vectorised as the text specifies
  bool stream_ = false;                // vectors are stored past the caches
};

}  // namespace rldb::codegen
