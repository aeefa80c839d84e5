// The verifier: checks that the assumptions of the machine hold for every instruction of every function.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "rldb/relay/vm/executable.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::relay_bytecode {

namespace {

using runtime::ErrorKind;

class Verifier {
 public:
  explicit Verifier(const Executable& exe) : exe_(exe) {}

  runtime::Result<support::Unit> run() {
    check_tables();
    for (std::size_t i = 0; i < exe_.functions.size() && error_.empty(); ++i) check_function(exe_.functions[i]);
    if (!error_.empty()) return runtime::fail(ErrorKind::BadFile, error_);
    return support::Unit{};
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> text, Args&&... args) {
    if (!error_.empty()) return;
    if (function_) error_ = fmt::format("function `{}`", function_->name);
    if (function_ && pc_ >= 0) error_ += fmt::format(", instruction {}", pc_ - function_->start);
    if (function_) error_ += ": ";
    error_ += fmt::format(text, std::forward<Args>(args)...);
  }

  void check_tables() {
    Pc next = 0;
    for (const FunctionEntry& f : exe_.functions) {
      if (f.start != next || f.end < f.start || f.end > exe_.end())
        return fail("the code of function `{}` is out of place", f.name);
      next = f.end;
    }
    if (next != exe_.end()) fail("there are instructions of no function");
    for (const Constant& c : exe_.constants)
      if (!c.tensor.is(runtime::ValueKind::Tensor) && c.late_name.empty())
        fail("a constant that is neither a tensor nor bound later");
    layout_ = layout_of(exe_.version).value_or(Layout::C);
    if (layout_ != Layout::A) check_devices();
  }

  void check_devices() {
    in_table("host device", exe_.host_device, exe_.devices.size());
    for (const Constant& c : exe_.constants) in_table("device", c.device, exe_.devices.size());
    for (const FunctionEntry& f : exe_.functions)
      for (const std::int64_t device : f.param_devices) in_table("device", device, exe_.devices.size());
  }

  void check_function(const FunctionEntry& f) {
    function_ = &f;
    pc_ = -1;
    const std::int64_t params = std::int64_t(f.params.size());
    if (f.start == f.end) return fail("has no instructions");
    std::int64_t words = 0;
    for (Pc pc = f.start; pc < f.end; ++pc) words += std::int64_t(exe_.words_of(pc).size());
    if (f.register_file_size < params) fail("{} registers for {} parameters", f.register_file_size, params);
    if (f.register_file_size > kMaxRegisters || f.register_file_size > params + words + kSpareRegisters)
      fail("{} registers are more than the code can use", f.register_file_size);
    for (pc_ = f.start; pc_ < f.end && error_.empty(); ++pc_) {
      support::poll();
      check_instruction();
    }
    if (error_.empty()) check_reads(f);
    function_ = nullptr;
  }

  void check_instruction() {
    const std::span<const Word> words = exe_.words_of(pc_);
    if (words.empty() || !is_opcode(words[0])) return fail("unknown opcode {}", words.empty() ? -1 : words[0]);
    const std::string_view text = info(Opcode(words[0])).text;
    if (instruction_length(words) != words.size()) return fail("`{}` has the wrong number of fields", text);
    const Instruction i = decode(words);
    bool first_read = true;
    for_each_field(words, [&](FieldKind kind, Word word) {
      const bool unused = first_read && kind == FieldKind::Read && i.has_shape();
      if (kind == FieldKind::Read) first_read = false;
      if (!unused) check_field(kind, word);
    });
    if (error_.empty()) check_meaning(i);
  }

  bool jumps_back(const FunctionEntry& f) const {
    bool back = false;
    for (Pc pc = f.start; pc < f.end; ++pc)
      for_each_field(exe_.words_of(pc),
                     [&](FieldKind kind, Word word) { back |= kind == FieldKind::Jump && word < 0; });
    return back;
  }

  // Registers that are read before anything can have written them. Without jumps back, what runs before an instruction
  // stands before it.
  void check_reads(const FunctionEntry& f) {
    if (jumps_back(f)) return;
    std::vector<bool> written(std::size_t(f.register_file_size), false);
    std::fill_n(written.begin(), f.params.size(), true);
    for (pc_ = f.start; pc_ < f.end && error_.empty(); ++pc_) {
      const std::span<const Word> words = exe_.words_of(pc_);
      bool unused = decode(words).has_shape();
      for_each_field(words, [&](FieldKind kind, Word word) {
        const bool reads = kind == FieldKind::Read || kind == FieldKind::Registers;
        if (reads && !std::exchange(unused, false) && !written[std::size_t(word)])
          fail("register {} is read and nothing has written it", word);
      });
      for_each_field(words, [&](FieldKind kind, Word word) {
        if (kind == FieldKind::Written) written[std::size_t(word)] = true;
      });
    }
  }

  void in_table(const char* what, Word index, std::size_t size) {
    if (index < 0 || std::uint64_t(index) >= size) fail("{} {} of {}", what, index, size);
  }

  void check_field(FieldKind kind, Word word) {
    switch (kind) {
      case FieldKind::Read:
      case FieldKind::Written:
      case FieldKind::Registers:
        return in_table("register", word, std::size_t(function_->register_file_size));
      case FieldKind::Function:
        return in_table("function", word, exe_.functions.size());
      case FieldKind::Primitive:
        return in_table("primitive", word, exe_.primitives.size());
      case FieldKind::Constant:
        return in_table("constant", word, exe_.constants.size());
      case FieldKind::Device:
        if (layout_ != Layout::A) in_table("device", word, exe_.devices.size());
        return;
      case FieldKind::Jump: {
        const std::int64_t at = pc_ - function_->start, size = function_->end - function_->start;
        if (word == 0) return fail("a jump to itself");
        if (word < -at || word >= size - at) fail("the jump by {} leaves the function", word);
        return;
      }
      case FieldKind::Dims:
        if (word < 0) fail("dimension {}", word);
        return;
      case FieldKind::TypeCode:
      case FieldKind::Bits:
        if (word < 0 || word > 255) fail("dtype of code or bits {}", word);
        return;
      case FieldKind::Lanes:
        if (word < 1 || word > 1024) fail("dtype of {} lanes", word);
        return;
      case FieldKind::Number:
      case FieldKind::Outputs:
      case FieldKind::Count:
        return;
    }
  }

  void check_arity(Word callee, std::size_t given, bool exact) {
    const FunctionEntry& f = exe_.functions[std::size_t(callee)];
    if (given > f.params.size() || (exact && given != f.params.size()))
      fail("`{}` takes {}, {} given", f.name, support::counted(f.params.size(), "argument"), given);
  }

  void check_dtype(const Instruction& i) {
    if (i.dtype.bytes() == 0 || runtime::parse_dtype(runtime::to_string(i.dtype)) != i.dtype)
      fail("unknown dtype ({}, {}, {})", int(i.dtype.code), i.dtype.bits, i.dtype.lanes);
  }

  void check_meaning(const Instruction& i) {
    switch (i.op) {
      case Opcode::Ret:
      case Opcode::Goto:
      case Opcode::Fatal:
        return;  // the end of a path
      case Opcode::If:
        return;  // both successors are jumps, which are checked
      case Opcode::Invoke:
        check_arity(i.numbers[0], i.list.size(), true);
        break;
      case Opcode::AllocClosure:
        check_arity(i.numbers[0], i.list.size(), false);
        break;
      case Opcode::InvokePacked:
        if (i.numbers[1] < 0 || std::uint64_t(i.numbers[1]) > i.list.size())
          fail("{} outputs of {} arguments", i.numbers[1], i.list.size());
        break;
      case Opcode::AllocTensor:
      case Opcode::AllocTensorReg:
      case Opcode::AllocStorage:
        check_dtype(i);
        break;
      case Opcode::AllocADT:
        if (i.numbers[0] != std::int32_t(i.numbers[0])) fail("tag {} is not a 32-bit integer", i.numbers[0]);
        break;
      case Opcode::GetField:
        if (i.numbers[0] < 0) fail("field {}", i.numbers[0]);
        break;
#define RLDB_RELAY_CHECKED(Id, ...) case Opcode::Id:
#include "rldb/relay/vm/opcode.def"
      case Opcode::Move:
      case Opcode::InvokeClosure:
      case Opcode::KillRegister:
        break;
    }
    if (pc_ + 1 == function_->end) fail("the function runs off its end");
  }

  const Executable& exe_;
  Layout layout_ = Layout::C;
  const FunctionEntry* function_ = nullptr;
  Pc pc_ = -1;
  std::string error_;
};

}  // namespace

runtime::Result<support::Unit> verify(const Executable& exe) { return Verifier(exe).run(); }

}  // namespace rldb::relay_bytecode
