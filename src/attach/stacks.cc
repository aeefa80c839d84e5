// Trails and frames, checked against the program that they are said to run.
#include "attach/stacks.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace rldb::attach {

using bytecode::FunctionIndex;
using bytecode::Pc;

namespace {

constexpr std::size_t kMostTrails = 100'000, kMostFrames = 100'000;

}  // namespace

RemoteWatched Stacks::watched() const {
  RemoteWatched w{};
  if (!memory_.get(image_.watched, w)) w = {};
  return w;
}

bool Stacks::read_trail(Address at, Stack& out, Address& next) const {
  RemoteTrail t;
  if (!memory_.get(at, t)) return false;
  out.thread = t.thread;
  out.trail = at;
  out.at_gate = t.at_gate != 0;
  out.result = t.result;
  next = t.next;
  out.innermost = t.frames;
  const auto copied = copied_.find(at);
  if (copied == copied_.end() || copied->second.was != t.thread) return true;
  out.thread = copied->second.is;
  if (out.thread == 0) out.innermost = 0;
  return true;
}

void Stacks::recognise(const std::vector<LiveThread>& threads) {
  std::size_t passed = 0;
  Stack s;
  for (Address at = watched().trails, next = 0; at != 0 && passed < kMostTrails; ++passed, at = next) {
    if (!read_trail(at, s, next)) break;
    const auto is_it = [&](const LiveThread& t) { return t.id == s.thread; };
    if (s.thread == 0 || std::any_of(threads.begin(), threads.end(), is_it)) continue;
    const auto holds = [&](const LiveThread& t) { return s.innermost >= t.stack && s.innermost < t.stack_end; };
    const auto heir = std::find_if(threads.begin(), threads.end(), holds);
    copied_[at] = {s.thread, heir == threads.end() ? 0 : heir->id};
  }
}

// Of the image, and as its program says.
bool Stacks::is_frame(const RemoteFrame& f) const {
  const bytecode::Executable& exe = *image_.program;
  if (f.library != image_.at || f.function < 0 || std::size_t(f.function) >= exe.functions.size()) return false;
  const bytecode::FunctionEntry& entry = exe.functions[std::size_t(f.function)];
  return entry.kind == bytecode::FunctionKind::Bytecode && Pc(f.pc) >= entry.start && Pc(f.pc) < entry.end &&
         f.count == std::max<std::int64_t>(1, entry.register_file_size);
}

// A frame that does not make sense ends the stack.
void Stacks::read_frames(Stack& stack) const {
  std::size_t passed = 0;
  RemoteFrame f;
  std::unordered_set<Address> seen;  // damage may close a ring
  for (Address at = stack.innermost; at != 0 && passed < kMostFrames && memory_.get(at, f); ++passed, at = f.outer) {
    if (!seen.insert(at).second) break;
    if (f.library != image_.at) continue;  // of another library, called in between
    if (!is_frame(f)) break;
    stack.is_ours = stack.is_ours || passed == 0;
    stack.frames.push_back(f);
  }
}

std::vector<Stack> Stacks::all() const {
  std::vector<Stack> stacks;
  std::unordered_set<Address> seen;
  std::size_t frames = 0;
  for (Address at = watched().trails, next = 0; at != 0 && seen.size() < kMostTrails; at = next) {
    if (!seen.insert(at).second || frames > kMostFrames) break;
    Stack s;
    if (!read_trail(at, s, next)) break;
    if (s.thread == 0) continue;
    read_frames(s);
    frames += s.frames.size();
    if (!s.frames.empty()) stacks.push_back(std::move(s));
  }
  return stacks;
}

Stack Stacks::of(std::int64_t thread, Address trail) const {
  Stack s;
  Address next = 0;
  if (trail == 0 || !read_trail(trail, s, next) || s.thread != thread) {
    std::size_t passed = 0;
    for (trail = watched().trails; trail != 0 && passed < kMostTrails; ++passed, trail = next)
      if (!read_trail(trail, s, next) || s.thread == thread) break;
    if (s.thread != thread || trail == 0) {
      s = Stack{};
      s.thread = thread;
      return s;
    }
  }
  read_frames(s);
  return s;
}

bool Stacks::fill(const Stack& stack, vm::MachineState& state) const {
  const RemoteWatched recognised = watched();
  ValueReader reader(memory_, *image_.program, recognised);
  state.frames.clear();
  state.registers.clear();
  for (std::size_t i = stack.frames.size(); i-- > 0;) {
    const RemoteFrame& from = stack.frames[i];
    const bytecode::FunctionEntry& entry = image_.program->functions[std::size_t(from.function)];
    vm::Frame frame;
    frame.function = FunctionIndex(from.function);
    frame.pc = Pc(from.pc);
    frame.base = state.registers.size();
    frame.size = std::size_t(entry.register_file_size);
    frame.entered = std::uint64_t(from.entered);
    if (!state.frames.empty()) {
      const bytecode::Instruction call = image_.program->instruction(state.frames.back().pc);
      if (call.op == bytecode::Opcode::Call) frame.return_register = call.dst;
    }
    if (state.registers.size() + frame.size > state.limits.max_registers) return false;
    std::vector<TVMFFIAny> values(std::size_t(from.count));
    if (!memory_.read(from.registers, values.data(), values.size() * sizeof values[0])) return false;
    for (std::size_t r = 0; r < frame.size; ++r) state.registers.push_back(reader.read(values[r]));
    state.frames.push_back(frame);
  }
  return true;
}

runtime::Value Stacks::result(const Stack& stack) const {
  TVMFFIAny any;
  if (stack.result == 0 || !memory_.get(stack.result, any)) return {};
  const RemoteWatched recognised = watched();
  return ValueReader(memory_, *image_.program, recognised).read(any);
}

}  // namespace rldb::attach
