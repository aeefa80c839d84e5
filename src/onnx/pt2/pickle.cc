// The instructions of pickle (protocols 0 to 4) that torch.save writes, on a stack of plain values.
#include "onnx/pt2/pickle.h"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <variant>

#include "rldb/ops/emitter.h"
#include "rldb/support/bytes.h"
#include "rldb/support/cancel.h"

namespace rldb::onnx {

namespace {

struct Pickled;
using PickledRef = const Pickled*;  // of the unpickler, so that values inside each other are freed one by one
struct PickledList {
  std::vector<PickledRef> items;
};
struct PickledDict {
  std::vector<std::pair<PickledRef, PickledRef>> items;
};
struct PickledGlobal {
  std::string name;
};
struct PickledStorage {
  std::string type, key;
};
struct PickledMark {};
struct Pickled {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, PickledList, PickledDict, PickledGlobal,
               PickledStorage, PickledTensor, PickledMark>
      value;
};

constexpr std::size_t kMostPickled = std::size_t(1) << 22;  // values

template <class T>
const T* get(PickledRef r) {
  return r ? std::get_if<T>(&r->value) : nullptr;
}

// The callables of a state dictionary, and nothing else.
bool is_known_global(std::string_view name) {
  for (const std::string_view known : {"collections.OrderedDict", "torch._utils._rebuild_tensor",
                                       "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter"})
    if (name == known) return true;
  return name.starts_with("torch.") && name.ends_with("Storage") && name.find('.', 6) == std::string_view::npos;
}

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : bytes_(bytes) {}

  ir::Result<PickledRef> run() {
    for (;;) {
      if ((++steps_ & 0xfff) == 0) support::poll();
      if (at_ >= bytes_.size() || values_.size() > kMostPickled) return bad("it is cut off or too large");
      const char op = bytes_[at_++];
      if (op == '.') break;
      if (!step(op)) return failure_.empty() ? bad("it is damaged") : bad(failure_);
    }
    if (stack_.empty()) return bad("it has no result");
    return stack_.back();
  }

 private:
  static support::Failure<source::Message> bad(std::string_view why) {
    return ops::refuse(fmt::format("its pickled weights cannot be read: {}", why));
  }

  bool has(std::size_t n) const { return n <= bytes_.size() - at_; }
  bool number(std::size_t n, std::uint64_t& to) {
    if (!has(n)) return false;
    to = support::read_little(bytes_, at_, n);
    at_ += n;
    return true;
  }
  bool line(std::string& to) {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) return false;
    to = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }
  bool text_of(std::uint64_t size) {
    if (!has(size)) return false;
    push(std::string(bytes_.substr(at_, size)));
    at_ += size;
    return true;
  }
  template <class T>
  void push(T value) {
    values_.push_back(Pickled{std::move(value)});
    stack_.push_back(&values_.back());
  }
  bool pop(PickledRef& to) {
    if (stack_.empty()) return false;
    to = stack_.back();
    stack_.pop_back();
    return true;
  }
  // The values above the last mark, which goes too.
  bool above_mark(std::vector<PickledRef>& to) {
    std::size_t k = stack_.size();
    while (k > 0 && !get<PickledMark>(stack_[k - 1])) --k;
    if (k == 0) return false;
    to.assign(stack_.begin() + std::ptrdiff_t(k), stack_.end());
    stack_.resize(k - 1);
    return true;
  }
  bool tuple(std::size_t n) {
    if (stack_.size() < n) return false;
    PickledList list{{stack_.end() - std::ptrdiff_t(n), stack_.end()}};
    stack_.resize(stack_.size() - n);
    push(std::move(list));
    return true;
  }
  bool remember(std::uint64_t key) {
    if (stack_.empty()) return false;
    memo_[key] = stack_.back();
    return true;
  }
  bool recall(std::uint64_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return false;
    stack_.push_back(found->second);
    return true;
  }

  bool step(char op) {
    std::uint64_t n = 0;
    PickledRef a = nullptr, b = nullptr;
    switch (op) {
      case '\x80':  // PROTO
        return number(1, n);
      case '\x95':  // FRAME
        return number(8, n);
      case '(':
        push(PickledMark());
        return true;
      case '0':
        return pop(a);
      case 'N':
        push(std::monostate());
        return true;
      case '\x88':
        push(true);
        return true;
      case '\x89':
        push(false);
        return true;
      case 'K':
      case 'M':
        if (!number(op == 'K' ? 1 : 2, n)) return false;
        push(std::int64_t(n));
        return true;
      case 'J':
        if (!number(4, n)) return false;
        push(std::int64_t(std::int32_t(n)));
        return true;
      case '\x8a':
        return long_number();
      case 'G':
        return real_number();
      case 'X':
        return number(4, n) && text_of(n);
      case '\x8c':
        return number(1, n) && text_of(n);
      case '\x8d':
        return number(8, n) && text_of(n);
      case ')':
        return tuple(0);
      case '\x85':
        return tuple(1);
      case '\x86':
        return tuple(2);
      case '\x87':
        return tuple(3);
      case 't':
      case 'l':
        return from_mark<PickledList>();
      case ']':
        push(PickledList());
        return true;
      case '}':
        push(PickledDict());
        return true;
      case 'd':
        return dict_from_mark();
      case 'q':
        return number(1, n) && remember(n);
      case 'r':
        return number(4, n) && remember(n);
      case '\x94':
        return remember(memo_.size());
      case 'h':
        return number(1, n) && recall(n);
      case 'j':
        return number(4, n) && recall(n);
      case 'a':
        return pop(a) && append({a});
      case 'e':
        return append_from_mark();
      case 's':
        return pop(b) && pop(a) && set_items({a, b});
      case 'u':
        return set_items_from_mark();
      case 'c':
        return global();
      case '\x93':
        return stack_global();
      case 'Q':
        return pop(a) && persistent(a);
      case 'R':
        return pop(b) && pop(a) && call(a, b);
      case 'b':  // the state of an ordered dictionary or parameter is not needed
        return pop(b) && !stack_.empty();
      default:
        failure_ = fmt::format("it has the instruction 0x{:02x}, which no tensor needs",
                               static_cast<unsigned>(static_cast<unsigned char>(op)));
        return false;
    }
  }

  bool long_number() {
    std::uint64_t size = 0, n = 0;
    if (!number(1, size) || size > 8 || !number(size, n)) return false;
    if (size > 0 && size < 8 && (n >> (8 * size - 1)) != 0) n |= ~std::uint64_t(0) << (8 * size);
    push(std::int64_t(n));
    return true;
  }
  bool real_number() {
    if (!has(8)) return false;
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | static_cast<unsigned char>(bytes_[at_++]);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    push(value);
    return true;
  }
  template <class T>
  bool from_mark() {
    T made;
    if (!above_mark(made.items)) return false;
    push(std::move(made));
    return true;
  }
  bool dict_from_mark() {
    std::vector<PickledRef> items;
    if (!above_mark(items)) return false;
    push(PickledDict());
    return set_items(items);
  }
  // A value of this reader, which a later instruction adds to.
  static Pickled* changed(PickledRef r) { return const_cast<Pickled*>(r); }
  bool append(const std::vector<PickledRef>& items) {
    auto* list = stack_.empty() ? nullptr : std::get_if<PickledList>(&changed(stack_.back())->value);
    if (!list) return false;
    list->items.insert(list->items.end(), items.begin(), items.end());
    return true;
  }
  bool append_from_mark() {
    std::vector<PickledRef> items;
    return above_mark(items) && append(items);
  }
  bool set_items(const std::vector<PickledRef>& items) {
    auto* dict = stack_.empty() ? nullptr : std::get_if<PickledDict>(&changed(stack_.back())->value);
    if (!dict || items.size() % 2 != 0) return false;
    for (std::size_t i = 0; i < items.size(); i += 2) dict->items.emplace_back(items[i], items[i + 1]);
    return true;
  }
  bool set_items_from_mark() {
    std::vector<PickledRef> items;
    return above_mark(items) && set_items(items);
  }

  bool add_global(const std::string& name) {
    if (!is_known_global(name)) {
      failure_ = fmt::format("it calls `{}`, and only the functions that make tensors are known", name.substr(0, 200));
      return false;
    }
    push(PickledGlobal{name});
    return true;
  }
  bool global() {
    std::string module, name;
    return line(module) && line(name) && add_global(module + "." + name);
  }
  bool stack_global() {
    PickledRef module = nullptr, name = nullptr;
    if (!pop(name) || !pop(module) || !get<std::string>(module) || !get<std::string>(name)) return false;
    return add_global(*get<std::string>(module) + "." + *get<std::string>(name));
  }

  // ('storage', type, key, device, number of elements)
  bool persistent(PickledRef id) {
    const auto* parts = get<PickledList>(id);
    if (!parts || parts->items.size() != 5) return false;
    const auto* kind = get<std::string>(parts->items[0]);
    const auto* type = get<PickledGlobal>(parts->items[1]);
    const auto* key = get<std::string>(parts->items[2]);
    if (!kind || *kind != "storage" || !type || !key) return false;
    push(PickledStorage{type->name.substr(type->name.rfind('.') + 1), *key});
    return true;
  }

  static bool whole_numbers(PickledRef r, std::vector<std::int64_t>& to) {
    const auto* list = get<PickledList>(r);
    if (!list || list->items.size() > 64) return false;
    for (const PickledRef item : list->items) {
      const auto* n = get<std::int64_t>(item);
      if (!n) return false;
      to.push_back(*n);
    }
    return true;
  }

  bool call(PickledRef function, PickledRef arguments) {
    const auto* name = get<PickledGlobal>(function);
    const auto* given = get<PickledList>(arguments);
    if (!name || !given) return false;
    const auto& items = given->items;
    if (name->name == "collections.OrderedDict") {
      push(PickledDict());
      return items.empty();
    }
    if (name->name == "torch._utils._rebuild_parameter") {
      if (items.empty() || !get<PickledTensor>(items[0])) return false;
      stack_.push_back(items[0]);
      return true;
    }
    if (!name->name.starts_with("torch._utils._rebuild_tensor") || items.size() < 4) return false;
    const auto* storage = get<PickledStorage>(items[0]);
    const auto* offset = get<std::int64_t>(items[1]);
    PickledTensor made;
    if (!storage || !offset || !whole_numbers(items[2], made.sizes) || !whole_numbers(items[3], made.strides))
      return false;
    made.storage = storage->key;
    made.type = storage->type;
    made.offset = *offset;
    push(std::move(made));
    return true;
  }

  std::string_view bytes_;
  std::size_t at_ = 0, steps_ = 0;
  std::deque<Pickled> values_;
  std::vector<PickledRef> stack_;
  std::map<std::uint64_t, PickledRef> memo_;
  std::string failure_;
};

}  // namespace

ir::Result<PickledTensors> read_pickle(std::string_view bytes) {
  Unpickler reader(bytes);
  RLDB_TRY(const PickledRef result, reader.run());
  PickledTensors made;
  if (const auto* tensor = get<PickledTensor>(result)) made.emplace("", *tensor);
  const auto* dict = get<PickledDict>(result);
  if (!dict && made.empty()) return ops::refuse("its pickled weights are neither a tensor nor a dictionary of tensors");
  if (!dict) return made;
  for (const auto& [key, value] : dict->items)
    if (get<std::string>(key) && get<PickledTensor>(value))
      made.emplace(*get<std::string>(key), *get<PickledTensor>(value));
  return made;
}

}  // namespace rldb::onnx
