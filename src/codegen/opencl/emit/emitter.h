// The writer of one program. Expressions are computed lane by lane: a statement on vectors is written once for each
// lane, its values before its stores, and the OpenCL compiler makes vectors of them again. Room-private.
#pragma once

#include <optional>

#include "codegen/opencl/emit/c_names.h"
#include "codegen/opencl/emit/emit.h"
#include "rldb/codegen/gpu/host_walk.h"
#include "rldb/ir/arith.h"

namespace rldb::codegen {

class Emitter : public HostWalk {
 public:
  Emitter(ir::Context& ctx, const ir::PrimFunc* f, const EmitOptions& options);
  ir::Result<Program> run();

  // ---- expressions: C text of the value of one lane ----
  std::string value(const ir::Expr* e, int lane = 0);
  std::string call_function(const std::string& name, std::initializer_list<std::string> arguments);
  // Rounded to the format, if it is narrower than what values are computed in.
  std::string rounded(std::string text, ir::DType t);
  std::string converted(std::string text, ir::DType from, ir::DType to);
  // The function of float_formula.h of that name, for float32.
  std::string formula(std::string_view name);
  // Adds a function to the text; its name.
  const std::string& helper(const std::string& name, const std::string& text);
  void need_float64() { program_.needs_float64 = true; }
  bool strict() const { return options_.strict; }
  int lanes_of_operand(const ir::Expr* e, int lane) const;

  static constexpr int kMostLanes = 512;
  static constexpr std::size_t kMostText = std::size_t(8) << 20;
  static constexpr std::int64_t kMostThreadMemory = std::int64_t(1) << 20;  // bytes of one array

 private:
  enum class Space : std::uint8_t { Global, Local, Private };
  // Memory as a launch sees it.
  struct Memory {
    Space space;
    std::string name;
    ir::DType dtype;                    // of its elements
    std::optional<std::int64_t> bytes;  // nullopt: known when it runs
  };

  // host.cc
  void launch(const ir::AttrStmt* s) override;
  void allocation(const ir::Stmt* s) override;
  void declaration(const ir::DeclBuffer* s) override;
  void host_loop(const ir::ForStmt* s) override;
  void host_bind(const ir::BindStmt* s) override;
  bool is_host_memory(const ir::Stmt* s);
  int launches_with(const ir::Var* data, bool& several_blocks);
  ir::DType allocated_dtype(const ir::Stmt* s) const;
  std::optional<std::int64_t> allocated_bytes(const ir::Stmt* s);
  void allocate_for_launch(const ir::Stmt* s);
  bool uses_threads(const ir::Expr* e) const;
  void open_threads(const ir::AttrStmt* s);
  std::string kernel_head(Launch& made);
  std::string thread_number();

  // statement.cc
  void statement(const ir::Stmt* s);
  void block(const ir::Stmt* s);  // with braces
  void narrow(const ir::Expr* cond);
  void note_range(const ir::Var* v, const ir::Bounds& bounds);
  void note_loop(const ir::ForStmt* s);
  ir::Bounds bounds_of(const ir::Expr* e);
  void loop(const ir::ForStmt* s);
  void effect(const ir::Evaluate* s);
  void bind(const ir::BindStmt* s);
  void assertion(const ir::AssertStmt* s);
  void allocate_in_thread(const ir::Stmt* s);
  void allocate(const ir::Var* data, std::string_view name, ir::DType dtype, std::optional<std::int64_t> count,
                std::string_view scope);
  void declare(const ir::DeclBuffer* s);
  void line(std::string text);

  // exchange.cc
  bool is_uniform(const ir::Expr* e) const;
  std::optional<std::int64_t> threads_of_block() const;
  std::string exchange(const ir::Call* c);

  // stop.cc
  std::optional<std::int64_t> work_of(const ir::Stmt* s);  // steps of one thread; nullopt: known only when it runs
  std::string stop_word();
  void stop_at_head(const ir::Stmt* s);
  void stop_together();
  void stop_in_loop(const ir::Stmt* body, const std::string& leave);
  std::string leaving_variable(const ir::Stmt* body);
  static bool leaves_loop(const ir::Stmt* s);  // by break or continue
  enum class Looks : std::uint8_t { Never, Each, Chunks };
  Looks looks_in(const ir::ForStmt* s);  // how often a loop looks whether it is to stop
  void loop_in_chunks(const ir::ForStmt* s);

  // expression.cc
  std::string variable(const ir::Var* v, int lane);
  std::string binary(const ir::BinaryExpr* e, int lane);
  std::string float_operation(const ir::BinaryExpr* e, std::string a, std::string b);
  std::string smaller_or_larger(const ir::BinaryExpr* e, const std::string& a, const std::string& b);
  std::string int_operation(const ir::BinaryExpr* e, std::string a, std::string b);
  std::string division(const ir::BinaryExpr* e, const std::string& a, const std::string& b);
  std::string choice(const ir::Expr* cond, const ir::Expr* a, const ir::Expr* b, int lane);
  std::string call(const ir::Call* c, int lane);
  std::string function_text(std::size_t row, const std::vector<std::string>& operands, ir::DType t, ir::DType result);
  std::string operation_function(std::size_t row, std::size_t count, ir::DType t, ir::DType result);
  std::string reinterpreted(const ir::Call* c, int lane);
  bool fits(const ir::Expr* e);  // neither it nor a part of it wraps
  bool at_least(const ir::Expr* e, std::int64_t least);

  // memory.cc
  std::string load(const ir::BufferLoad* e, int lane);
  void store(const ir::BufferStore* s);
  void store_lane(const ir::BufferStore* s, int lane, const std::string& value);
  const Memory* memory_of(const ir::Buffer* b);
  const Memory* memory_of(const ir::Var* data, std::string_view buffer);
  std::vector<std::string> positions(ir::Span<const ir::Expr*> indices, int lane, int element_lanes);
  bool inside(const ir::Buffer* b, ir::Span<const ir::Expr*> indices);
  bool fits_memory(const ir::Buffer* b, const Memory& m);
  std::string position(const ir::Buffer* b, const std::vector<std::string>& at, int lane);
  std::string access_function(const ir::Buffer* b, const Memory& m);
  std::string checked_arguments(const ir::Buffer* b, const Memory& m, const std::vector<std::string>& at);
  std::string constant_read(ir::DType t, const Memory& m, const std::string& at);
  void note_access(const ir::Buffer* b, const Memory& m, std::unordered_set<const ir::Var*>& accessed);
  static std::optional<std::int64_t> parsed_count(std::string_view text);
  bool fits_or_constant(const ir::Expr* e);
  std::string read_text(ir::DType t, const Memory& m, const std::string& at);
  std::string write_text(ir::DType t, const Memory& m, const std::string& at, const std::string& value);
  std::string pointer(ir::DType t, const Memory& m);
  std::string seen(const ir::Buffer* b, std::string value);
  std::vector<const ir::Expr*> known_only_at_run(const ir::Buffer* b);
  std::optional<std::int64_t> constant_count(const ir::Buffer* b);
  std::optional<std::int64_t> allocated_count(const ir::Buffer* b);

  // prelude.cc
  std::string faults();  // the arguments of a function that may report a fault
  std::size_t site(runtime::ErrorKind kind, std::string text, bool has_numbers = false);
  const std::string& floor_division(ir::DType t, bool remainder);
  const std::string& truncated_division(ir::DType t, bool remainder);
  void argument(LaunchArgument a);
  std::string prelude() const;

  EmitOptions options_;
  Program program_;
  CNames names_;
  ir::Analyzer analyzer_;
  std::unordered_map<const ir::Var*, ir::Bounds> ranges_;                // of loops and threads
  bool proves_ = true;                                                   // false: a variable has several ranges
  std::unordered_map<const ir::Var*, ir::Bounds> narrowed_;              // by the conditions around
  std::unordered_map<const ir::Var*, const ir::PrimParam*> parameters_;  // by pointer
  std::unordered_map<const ir::Var*, const ir::Stmt*> outside_;          // memory that is allocated around launches
  std::unordered_map<const ir::Buffer*, std::int64_t> spanned_;  // elements of the memory that a flat view spans

  // helper functions in order
  std::vector<std::string> helpers_;
  std::map<std::string, std::string> helper_names_;
  std::map<std::pair<runtime::ErrorKind, std::string>, std::size_t> site_numbers_;

  // the launch that is being written
  Launch* launch_ = nullptr;
  std::string body_, shared_, outer_arrays_;
  int depth_ = 0, nesting_ = 0;
  std::unordered_map<const ir::Var*, std::string> local_vars_;  // defined in the launch
  std::unordered_map<const ir::Var*, std::vector<std::string>> local_vectors_;
  std::unordered_map<const ir::Var*, Memory> memories_;
  std::map<std::string, std::string, std::less<>> threads_;  // by tag
  std::unordered_map<const ir::Var*, const ir::Expr*> lets_;
  std::unordered_set<const ir::Var*> varying_;  // not the same for all threads of a block
  int divergent_ = 0;                           // conditions around that are not
  bool some_left_ = false;                      // threads may have returned from the kernel before the others
};

}  // namespace rldb::codegen
