// The three file layouts of TVM. Every count is bounded by the remaining bytes, and the result is verified.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "rldb/relay/vm/executable.h"
#include "rldb/runtime/tensor_blob.h"
#include "rldb/support/bytes.h"
#include "rldb/support/cancel.h"

namespace rldb::relay_bytecode {

namespace {

using runtime::ErrorKind;
using runtime::Value;

constexpr std::uint64_t kMagic = 0xD225DE2F4214151DULL;
constexpr std::uint32_t kTensorTag = 0, kLateTag = 1;

// TVM's checksum of an instruction.
std::uint64_t hash_of(Opcode op, std::span<const Word> fields) {
  std::uint64_t key = std::uint64_t(op);
  for (const Word f : fields) key ^= std::uint64_t(f) + 0x9e3779b9U + (key << 6) + (key >> 2);
  return key;
}

class Loader {
 public:
  explicit Loader(std::string_view bytes) : in_(bytes) {}

  runtime::Result<Executable> run() {
    if (in_.u64() != kMagic) return runtime::fail(ErrorKind::BadFile, "not a VM executable: wrong magic number");
    exe_.version = in_.string();
    const auto layout = layout_of(exe_.version);
    if (in_.ok() && !layout)
      return runtime::fail(
          ErrorKind::BadFile,
          fmt::format("Relay VM executable of TVM version `{}`; 0.8 to 0.19 are known", exe_.version.substr(0, 40)));
    layout_ = layout.value_or(Layout::C);
    exe_.devices.clear();
    if (layout_ != Layout::A) read_devices();
    std::vector<std::string> globals = read_strings("global names");
    read_constants();
    exe_.primitives = read_strings("primitive names");
    read_attributes();
    read_functions(globals);
    if (!in_.ok()) return runtime::fail(ErrorKind::BadFile, "executable is damaged at " + in_.error());
    RLDB_TRY_VOID(verify(exe_));
    return std::move(exe_);
  }

 private:
  void read_devices() {
    const std::uint64_t n = in_.count(8, "devices");
    for (std::uint64_t i = 0; i < n && in_.ok(); ++i) {
      Device d;
      d.type = in_.i32();
      d.id = in_.i32();
      if (layout_ == Layout::C) d.memory_scope = in_.string();
      exe_.devices.push_back(std::move(d));
    }
    exe_.host_device = in_.i32();
  }

  std::vector<std::string> read_strings(const char* what) {
    std::vector<std::string> out;
    const std::uint64_t n = in_.count(8, what);
    for (std::uint64_t i = 0; i < n && in_.ok(); ++i) out.push_back(in_.string());
    return out;
  }

  std::vector<Word> read_words(const char* what) {
    std::vector<Word> out(in_.count(8, what));
    for (Word& w : out) w = in_.i64();
    return out;
  }

  void read_constants() {
    const std::uint64_t n = in_.count(4, "constants");
    for (std::uint64_t i = 0; i < n && in_.ok(); ++i) {
      support::poll();
      exe_.constants.push_back(read_constant());
    }
    const std::vector<Word> devices = read_words("devices of constants");
    if (in_.ok() && devices.size() != exe_.constants.size()) return in_.fail("not one device for each constant");
    for (std::size_t i = 0; i < devices.size() && in_.ok(); ++i) exe_.constants[i].device = devices[i];
  }

  Constant read_constant() {
    Constant c;
    const std::uint32_t tag = layout_ == Layout::A ? kTensorTag : in_.u32();
    if (tag == kLateTag) {
      c.late_name = in_.string();
      if (in_.ok() && c.late_name.empty()) in_.fail("late-bound constant without a name");
    } else if (tag == kTensorTag) {
      if (auto tensor = runtime::read_tensor(in_)) c.tensor = Value(*tensor);
    } else {
      in_.fail(fmt::format("constant of unknown kind {}", tag));
    }
    return c;
  }

  void read_attributes() {
    const std::uint64_t n = in_.count(16, "attributes of primitives");
    for (std::uint64_t i = 0; i < n && in_.ok(); ++i) {
      const Word index = in_.i64();
      if (index < 0 || std::uint64_t(index) >= exe_.primitives.size())
        in_.fail(fmt::format("attributes of primitive {}", index));
      const std::uint64_t entries = in_.count(16, "attributes");
      for (std::uint64_t e = 0; e < entries && in_.ok(); ++e) {
        std::string key = in_.string();
        exe_.primitive_attributes[index][std::move(key)] = in_.string();
      }
    }
  }

  void read_functions(const std::vector<std::string>& globals) {
    std::unordered_map<std::string_view, std::size_t> index;
    for (std::size_t i = 0; i < globals.size(); ++i) index.emplace(globals[i], i);
    const std::uint64_t n = in_.count(8, "functions");
    if (in_.ok() && (index.size() != globals.size() || n != globals.size()))
      return in_.fail("the functions are not those of the global names");
    // Functions may come in any order; ours are ordered by index.
    std::vector<std::vector<std::vector<Word>>> code(n);
    exe_.functions.resize(n);
    for (std::uint64_t i = 0; i < n && in_.ok(); ++i) {
      const std::vector<std::string> head = read_strings("words of a function's head");
      const auto found = head.empty() ? index.end() : index.find(head[0]);
      if (in_.ok() && (head.size() != 3 || found == index.end() || !code[found->second].empty()))
        return in_.fail("a function that is not one of the global names");
      if (in_.ok()) read_function(head, exe_.functions[found->second], code[found->second]);
    }
    if (in_.ok()) join(code);
  }

  static std::int64_t number(const std::string& text) {
    std::int64_t value = -1;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    return end.ec == std::errc() && end.ptr == text.data() + text.size() ? value : -1;
  }

  void read_function(const std::vector<std::string>& head, FunctionEntry& f, std::vector<std::vector<Word>>& code) {
    f.name = head[0];
    f.register_file_size = number(head[1]);
    const std::int64_t count = number(head[2]);
    f.params = read_strings("parameters");
    f.param_devices = read_words("devices of parameters");
    if (f.register_file_size < 0 || count < 0 || std::uint64_t(count) > in_.left() / 8)
      return in_.fail(fmt::format("function `{}` of impossible size", f.name));
    if (in_.ok() && f.param_devices.size() != f.params.size()) in_.fail("not one device for each parameter");
    for (std::int64_t i = 0; i < count && in_.ok(); ++i) {
      support::poll();
      code.push_back(read_instruction());
    }
  }

  std::vector<Word> read_instruction() {
    const std::vector<Word> all = read_words("words of an instruction");
    if (!in_.ok()) return {};
    if (all.size() < 2 || !is_opcode(all[1])) {
      in_.fail("no instruction");
      return {};
    }
    const Opcode op = Opcode(all[1]);
    const auto fields = std::span(all).subspan(2);
    if (std::uint64_t(all[0]) != hash_of(op, fields)) in_.fail("the hash of an instruction is wrong");
    std::vector<Word> words = words_of_fields(op, fields, layout_);
    if (words.empty()) in_.fail(fmt::format("`{}` with fields that it does not have", info(op).text));
    return words;
  }

  void join(const std::vector<std::vector<std::vector<Word>>>& code) {
    for (std::size_t i = 0; i < code.size(); ++i) {
      exe_.functions[i].start = exe_.end();
      for (const auto& words : code[i]) exe_.add(words);
      exe_.functions[i].end = exe_.end();
    }
  }

  support::ByteReader in_;
  Layout layout_ = Layout::C;
  Executable exe_;
};

class Writer {
 public:
  Writer(const Executable& exe, Layout layout) : exe_(exe), layout_(layout) {}

  runtime::Result<std::string> run() {
    out_.u64(kMagic);
    out_.string(exe_.version);
    if (layout_ != Layout::A) write_devices();
    std::vector<std::string> globals;
    for (const FunctionEntry& f : exe_.functions) globals.push_back(f.name);
    write_strings(globals);
    RLDB_TRY_VOID(write_constants());
    write_strings(exe_.primitives);
    write_attributes();
    out_.u64(exe_.functions.size());
    for (const FunctionEntry& f : exe_.functions) RLDB_TRY_VOID(write_function(f));
    return out_.take();
  }

 private:
  void write_devices() {
    out_.u64(exe_.devices.size());
    for (const Device& d : exe_.devices) {
      out_.i32(d.type);
      out_.i32(d.id);
      if (layout_ == Layout::C) out_.string(d.memory_scope);
    }
    out_.i32(exe_.host_device);
  }

  void write_strings(const std::vector<std::string>& strings) {
    out_.u64(strings.size());
    for (const std::string& s : strings) out_.string(s);
  }

  void write_words(std::span<const Word> words) {
    out_.u64(words.size());
    for (const Word w : words) out_.i64(w);
  }

  runtime::Result<support::Unit> write_constants() {
    out_.u64(exe_.constants.size());
    std::vector<Word> devices;
    for (const Constant& c : exe_.constants) {
      const bool late = c.tensor.is_null();
      if (late && layout_ == Layout::A)
        return runtime::fail(ErrorKind::Unsupported, "the layout of TVM 0.8 has no late-bound constants");
      if (layout_ != Layout::A) out_.u32(late ? kLateTag : kTensorTag);
      if (late)
        out_.string(c.late_name);
      else
        runtime::write_tensor(out_, c.tensor.as_tensor(), runtime::BoolCode::OneBit);
      devices.push_back(c.device);
    }
    write_words(devices);
    return support::Unit{};
  }

  void write_attributes() {
    out_.u64(exe_.primitive_attributes.size());
    for (const auto& [index, attributes] : exe_.primitive_attributes) {
      out_.i64(index);
      out_.u64(attributes.size());
      for (const auto& [key, value] : attributes) {
        out_.string(key);
        out_.string(value);
      }
    }
  }

  runtime::Result<support::Unit> write_function(const FunctionEntry& f) {
    write_strings({f.name, std::to_string(f.register_file_size), std::to_string(f.end - f.start)});
    write_strings(f.params);
    std::vector<Word> devices = f.param_devices;
    devices.resize(f.params.size(), exe_.host_device);
    write_words(devices);
    for (Pc pc = f.start; pc < f.end; ++pc) {
      const std::span<const Word> words = exe_.words_of(pc);
      const FieldsOfWords fields = fields_of_words(words, layout_);
      if (!fields.ok)
        return runtime::fail(ErrorKind::Unsupported,
                             fmt::format("the layout of TVM {} has no `{}`", exe_.version, instruction_text(exe_, pc)));
      std::vector<Word> all{Word(hash_of(Opcode(words[0]), fields.fields)), words[0]};
      all.insert(all.end(), fields.fields.begin(), fields.fields.end());
      write_words(all);
    }
    return support::Unit{};
  }

  const Executable& exe_;
  Layout layout_;
  support::ByteWriter out_;
};

}  // namespace

bool is_executable_file(std::string_view first_bytes) {
  support::ByteReader in(first_bytes);
  if (in.u64() != kMagic) return false;
  const std::uint64_t length = in.u64();
  if (!in.ok() || length > 64 || length > in.left()) return false;
  // Three parts: a version of TVM. The Relax VM's format has its own version, with two parts.
  const std::string_view version = in.raw(length);
  return std::count(version.begin(), version.end(), '.') >= 2;
}

runtime::Result<Executable> load(std::string_view bytes) { return Loader(bytes).run(); }

runtime::Result<std::string> serialise(const Executable& exe) {
  const auto layout = layout_of(exe.version);
  if (!layout)
    return runtime::fail(ErrorKind::Unsupported, fmt::format("no layout of TVM version `{}` is known", exe.version));
  return Writer(exe, *layout).run();
}

}  // namespace rldb::relay_bytecode
