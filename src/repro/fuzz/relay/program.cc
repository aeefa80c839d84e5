// Makes Relay text binding by binding.
#include "repro/fuzz/relay/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "repro/fuzz/random.h"
#include "rldb/relay/ir/op_id.h"

namespace rldb::repro {

namespace {

using Shape = std::vector<std::int64_t>;
namespace op = relay::op;

enum class Form : std::uint8_t { Any, Positive, Unit, Axis, Broadcast, Divisor, Compare, Reduce, Window };

struct FormRow {
  relay::OpId id;
  Form form;
  std::string_view attributes;
  bool exact;
};
constexpr FormRow kForms[] = {
#define RLDB_RELAY_FORM(Id, form, attributes, exact) {op::Id, Form::form, attributes, exact},
#include "repro/fuzz/relay/form.def"
};

constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 7, 8, 17};
constexpr std::int64_t kMostElements = 4096;
constexpr double kModerate = 4;  // operands of operators that grow are clipped to it

struct Known {
  std::string name;
  Shape shape;
  double largest = 1;  // in absolute value
  bool exact = true;   // every correct compilation gives the same bits
  bool is_bool = false;
  std::int64_t ndim() const { return std::int64_t(shape.size()); }
};

std::int64_t count(const Shape& s) { return std::accumulate(s.begin(), s.end(), std::int64_t(1), std::multiplies<>()); }
std::string type_of(const Shape& s) { return fmt::format("Tensor[({}), float32]", fmt::join(s, ", ")); }
std::string_view name_of(relay::OpId id) { return relay::info(id).name; }

// One function: its bindings, and the values that they bind.
class Body {
 public:
  Body(Random& random, int& names, std::string indent) : random_(random), names_(names), indent_(std::move(indent)) {}

  void add(Known v) { known_.push_back(std::move(v)); }
  const std::vector<Known>& known() const { return known_; }

  std::string bind(const std::string& value) {
    std::string name = fmt::format("%v{}", names_++);
    text_ += fmt::format("{}let {} = {};\n", indent_, name, value);
    return name;
  }
  Known keep(const std::string& value, Shape shape, double largest, bool exact, bool is_bool = false) {
    known_.push_back({bind(value), std::move(shape), largest, exact, is_bool});
    return known_.back();
  }

  // A float tensor among those there are that `fits`, recent ones first; a clipped one if it is too large.
  std::optional<Known> operand(double most, const std::function<bool(const Known&)>& fits = {}) {
    std::vector<const Known*> all;
    for (const Known& k : known_)
      if (!k.is_bool && (!fits || fits(k))) all.push_back(&k);
    if (all.empty()) return std::nullopt;
    const std::size_t back = std::min(random_.below(all.size()), random_.below(all.size()));
    Known k = *all[all.size() - 1 - back];
    if (k.largest <= most) return k;
    return keep(fmt::format("{}({}, a_min=-{}f, a_max={}f)", name_of(op::Clip), k.name, most, most), k.shape, most,
                k.exact);
  }

  void step() {
    constexpr void (Body::*kSteps[])() = {&Body::reshape,   &Body::transpose, &Body::expand, &Body::repeat,
                                          &Body::broadcast, &Body::join,      &Body::slice,  &Body::product,
                                          &Body::convolve,  &Body::choose,    &Body::pair,   &Body::closure,
                                          &Body::branch,    &Body::reference};
    if (random_.one_in(2)) return (this->*kSteps[random_.below(std::size(kSteps))])();
    call(kForms[random_.below(std::size(kForms))]);
  }

  // The tuple of the last values, or the last one.
  std::string result() const {
    std::vector<std::string> last;
    for (auto k = known_.rbegin(); k != known_.rend() && last.size() < 3; ++k)
      if (!k->is_bool) last.push_back(k->name);
    return last.size() == 1 ? last[0] : fmt::format("({})", fmt::join(last, ", "));
  }
  // The last float value alone.
  const Known& last() const {
    return *std::find_if(known_.rbegin(), known_.rend(), [](const Known& k) { return !k.is_bool; });
  }
  const std::string& text() const { return text_; }
  const std::string& indent() const { return indent_; }

 private:
  std::int64_t axis_of(const Known& k) {
    return std::int64_t(random_.below(k.shape.size())) - (random_.one_in(3) ? k.ndim() : 0);
  }
  static std::size_t index(std::int64_t axis, const Known& k) { return std::size_t(axis < 0 ? axis + k.ndim() : axis); }

  void call(const FormRow& row) {
    const std::string name(name_of(row.id));
    const std::string attributes = row.attributes.empty() ? "" : fmt::format(", {}", row.attributes);
    switch (row.form) {
      case Form::Any:
        if (const auto x = operand(kModerate))
          keep(fmt::format("{}({}{})", name, x->name, attributes), x->shape, row.exact ? x->largest : 60,
               x->exact && row.exact);
        return;
      case Form::Positive:
        if (const auto x = operand(kModerate))
          keep(fmt::format("{}({}({}({}), 0.25f))", name, name_of(op::Add), name_of(op::Abs), x->name), x->shape, 4,
               false);
        return;
      case Form::Unit:
        if (const auto x = operand(0.875)) keep(fmt::format("{}({})", name, x->name), x->shape, 2, false);
        return;
      case Form::Axis:
        if (const auto x = operand(kModerate, [](const Known& k) { return k.ndim() > 0; })) along_axis(row, *x);
        return;
      case Form::Broadcast:
      case Form::Divisor:
      case Form::Compare:
        return two(row);
      case Form::Reduce:
        return reduce(row);
      case Form::Window:
        if (const auto x =
                operand(kModerate, [](const Known& k) { return k.ndim() == 4 && k.shape[2] > 1 && k.shape[3] > 2; }))
          window(row, *x);
        return;
    }
  }

  void along_axis(const FormRow& row, const Known& x) {
    const double largest = row.exact ? x.largest : row.id == op::Cumsum ? x.largest * double(count(x.shape)) : 60;
    keep(fmt::format("{}({}, axis={})", name_of(row.id), x.name, axis_of(x)), x.shape, largest, row.exact && x.exact);
  }

  // Operands of equal shape, or one with some axes of size 1 or fewer axes.
  void two(const FormRow& row) {
    const bool compares = row.form == Form::Compare;
    const auto fits = [compares](const Known& k) { return !compares || k.exact; };
    const auto a = operand(kModerate, fits);
    if (!a) return;
    const auto broadcasts = [&](const Known& k) {
      if (!fits(k) || k.ndim() > a->ndim()) return false;
      for (std::size_t i = 0, d = a->shape.size() - k.shape.size(); i < k.shape.size(); ++i)
        if (k.shape[i] != a->shape[d + i] && k.shape[i] != 1) return false;
      return true;
    };
    auto b = operand(kModerate, broadcasts);
    std::string right = b ? b->name : "0.5f";
    const bool exact = row.exact && a->exact && (!b || b->exact);
    if (row.form == Form::Divisor) right = fmt::format("{}({}({}), 0.5f)", name_of(op::Add), name_of(op::Abs), right);
    keep(fmt::format("{}({}, {})", name_of(row.id), a->name, right), a->shape, row.exact ? kModerate : 16, exact,
         compares);
  }

  void reduce(const FormRow& row) {
    const auto x = operand(kModerate, [](const Known& k) { return k.ndim() > 0; });
    if (!x) return;
    std::vector<std::int64_t> axes;
    std::vector<bool> gone(x->shape.size());
    for (std::int64_t i = 0; i < x->ndim(); ++i)
      if (random_.one_in(2)) axes.push_back(random_.one_in(4) ? i - x->ndim() : i), gone[std::size_t(i)] = true;
    if (axes.empty()) axes.push_back(0), gone[0] = true;
    std::reverse(axes.begin(), axes.begin() + std::int64_t(random_.one_in(3) ? axes.size() : 0));
    const bool keepdims = random_.one_in(2);
    Shape shape;
    std::int64_t summed = 1;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      if (gone[i]) summed *= x->shape[i];
      if (!gone[i] || keepdims) shape.push_back(gone[i] ? 1 : x->shape[i]);
    }
    keep(fmt::format("{}({}, axis=[{}]{})", name_of(row.id), x->name, fmt::join(axes, ", "),
                     keepdims ? ", keepdims=True" : ""),
         shape, row.id == op::Sum ? x->largest * double(summed) : x->largest, row.exact && x->exact);
  }

  // Of a window with padding [top, left, bottom, right] that adds 2 rows or 1, 1 column or 2.
  void window(const FormRow& row, const Known& x) {
    const bool max = row.id == op::NnMaxPool2d;
    const Shape shape{x.shape[0], x.shape[1], max ? x.shape[2] + 1 : x.shape[2], max ? x.shape[3] : x.shape[3]};
    keep(fmt::format("{}({}, {})", name_of(row.id), x.name, row.attributes), shape, x.largest, row.exact && x.exact);
  }

  // An operand whose elements are put elsewhere; `most`: of its elements.
  std::optional<Known> moved(std::int64_t most = kMostElements) {
    return operand(kModerate, [most](const Known& k) { return k.ndim() > 0 && count(k.shape) <= most; });
  }
  void keep_moved(const std::string& call, const Known& x, Shape shape) {
    keep(call, std::move(shape), x.largest, x.exact);
  }

  void reshape() {
    const auto x = moved();
    if (!x) return;
    const std::int64_t n = count(x->shape), d = n % 2 == 0 ? 2 : 1;
    const Shape s = random_.one_in(2) ? Shape{n} : Shape{d, n / d};
    const std::string last = random_.one_in(2) ? fmt::format("{}", s.back()) : "-1";
    const std::string first = s.size() > 1 ? fmt::format("{}, ", s[0]) : "";
    keep_moved(fmt::format("{}({}, newshape=[{}{}])", name_of(op::Reshape), x->name, first, last), *x, s);
  }

  void transpose() {
    const auto x = moved();
    if (!x) return;
    std::vector<std::size_t> axes(x->shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    for (std::size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[random_.below(i)]);
    Shape s;
    for (const std::size_t axis : axes) s.push_back(x->shape[axis]);
    keep_moved(fmt::format("{}({}, axes=[{}])", name_of(op::Transpose), x->name, fmt::join(axes, ", ")), *x, s);
  }

  void expand() {
    const auto x = moved();
    if (!x || x->ndim() > 3) return;
    Shape s = x->shape;
    const std::size_t axis = random_.below(s.size() + 1);
    s.insert(s.begin() + std::int64_t(axis), 1);
    keep_moved(fmt::format("{}({}, axis={})", name_of(op::ExpandDims), x->name, axis), *x, s);
  }

  void repeat() {
    const auto x = moved(kMostElements / 4);
    if (!x) return;
    Shape s = x->shape;
    const std::int64_t axis = axis_of(*x);
    s[index(axis, *x)] *= 3;
    keep_moved(fmt::format("{}({}, repeats=3, axis={})", name_of(op::Repeat), x->name, axis), *x, s);
  }

  void broadcast() {
    const auto x = moved(kMostElements / 16);
    if (!x) return;
    Shape s = x->shape;
    for (std::int64_t& d : s)
      if (d == 1) d = 2;
    keep_moved(fmt::format("{}({}, shape=[{}])", name_of(op::BroadcastTo), x->name, fmt::join(s, ", ")), *x, s);
  }

  // Concatenate with itself and another of its shape; split gives it back in parts.
  void join() {
    const auto a =
        operand(kModerate, [](const Known& k) { return k.ndim() > 0 && count(k.shape) <= kMostElements / 4; });
    if (!a) return;
    const auto b = operand(kModerate, [&](const Known& k) { return k.shape == a->shape; });
    if (!b) return;
    const std::int64_t axis = axis_of(*a);
    Shape s = a->shape;
    s[index(axis, *a)] *= 3;
    const Known all =
        keep(fmt::format("{}(({}, {}, {}), axis={})", name_of(op::Concatenate), a->name, b->name, a->name, axis), s,
             std::max(a->largest, b->largest), a->exact && b->exact);
    if (random_.one_in(2)) return;
    const std::string parts =
        bind(fmt::format("{}({}, indices_or_sections=3, axis={})", name_of(op::Split), all.name, axis));
    keep(fmt::format("{}.{}", parts, random_.below(3)), a->shape, all.largest, all.exact);
  }

  void slice() {
    const auto x = operand(kModerate, [](const Known& k) { return k.ndim() > 0 && k.shape[0] > 1; });
    if (!x) return;
    Shape s = x->shape;
    if (random_.one_in(2)) {
      s[0] = 3;
      keep(fmt::format("{}({}, {}(1, shape=[3], dtype=\"int32\"), axis=0)", name_of(op::Take), x->name,
                       name_of(op::Full)),
           s, x->largest, x->exact);
      return;
    }
    Shape begin(s.size(), 0), end = s, strides(s.size(), 1);
    begin[0] = 1;
    strides[0] = random_.one_in(2) ? 2 : 1;
    s[0] = (s[0] - 1 + strides[0] - 1) / strides[0];
    keep(fmt::format("{}({}, begin=[{}], end=[{}], strides=[{}])", name_of(op::StridedSlice), x->name,
                     fmt::join(begin, ", "), fmt::join(end, ", "), fmt::join(strides, ", ")),
         s, x->largest, x->exact);
  }

  void product() {
    const auto a = operand(kModerate, [](const Known& k) { return k.ndim() == 2; });
    if (!a) return;
    const auto b = operand(kModerate, [&](const Known& k) { return k.ndim() == 2 && k.shape[1] == a->shape[1]; });
    if (!b) return;
    keep(fmt::format("{}({}, {}, units=None)", name_of(op::NnDense), a->name, b->name), {a->shape[0], b->shape[0]},
         a->largest * b->largest * double(a->shape[1]), false);
  }

  void convolve() {
    const auto x = operand(kModerate, [](const Known& k) { return k.ndim() == 4; });
    if (!x) return;
    const auto w = operand(kModerate, [&](const Known& k) {
      return k.ndim() == 4 && k.shape[1] == x->shape[1] && k.shape[2] <= 3 && k.shape[3] <= 3;
    });
    if (!w) return;
    const Shape s{x->shape[0], w->shape[0], x->shape[2] + 4 - w->shape[2] + 1, x->shape[3] + 4 - w->shape[3] + 1};
    if (s[2] < 1 || s[3] < 1 || count(s) > kMostElements) return;
    keep(fmt::format("{}({}, {}, padding=[2, 2, 2, 2])", name_of(op::NnConv2d), x->name, w->name), s,
         x->largest * w->largest * double(count(w->shape)), false);
  }

  void choose() {
    const Known* condition = nullptr;
    for (const Known& k : known_)
      if (k.is_bool && (!condition || random_.one_in(2))) condition = &k;
    if (!condition) return;
    const Known c = *condition;
    const auto fits = [&](const Known& k) { return k.shape == c.shape; };
    const auto a = operand(kModerate, fits), b = a ? operand(kModerate, fits) : std::nullopt;
    if (!b) return;
    keep(fmt::format("{}({}, {}, {})", name_of(op::Where), c.name, a->name, b->name), c.shape,
         std::max(a->largest, b->largest), a->exact && b->exact);
  }

  void pair() {
    const auto a = operand(kModerate), b = operand(kModerate);
    if (!a || !b) return;
    const std::string tuple = bind(fmt::format("({}, ({}, {}))", a->name, b->name, a->name));
    const std::string inner = bind(tuple + ".1");
    keep(inner + ".0", b->shape, b->largest, b->exact);
  }

  // A closure that captures a value, called twice.
  void closure() {
    const auto x = operand(kModerate),
               captured = operand(kModerate, [](const Known&k) { return k.shape.empty() || count(k.shape) == 1; });
    if (!x || !captured || captured->ndim() > x->ndim()) return;
    const std::string name =
        bind(fmt::format("fn (%p{0}: {1}) -> {1} {{ {2}({3}(%p{0}), {4}) }}", names_, type_of(x->shape),
                         name_of(op::Multiply), name_of(op::Tanh), captured->name));
    const std::string once = bind(fmt::format("{}({})", name, x->name));
    keep(fmt::format("{}({})", name, once), x->shape, kModerate, false);
  }

  void branch() {
    const auto x = operand(kModerate),
               decides = operand(kModerate, [](const Known&k) { return k.exact && k.ndim() > 0; });
    if (!x || !decides) return;
    const std::string low = bind(fmt::format("{}({})", name_of(op::Min), decides->name));
    const std::string condition = bind(fmt::format("{}({}, -0.5f)", name_of(op::Less), low));
    const std::string then = fmt::format("{}({})", name_of(op::Exp), x->name),
                      otherwise = fmt::format("{}({})", name_of(op::Negative), x->name);
    keep(fmt::format("if ({}) {{ {} }} else {{ {} }}", condition, then, otherwise), x->shape, 60, false);
  }

  void reference() {
    const auto a = operand(kModerate);
    if (!a) return;
    const std::string cell = bind(fmt::format("ref({})", a->name));
    const std::string before = bind(fmt::format("ref_read({})", cell));
    bind(fmt::format("ref_write({}, {}({}))", cell, name_of(op::Sin), before));
    keep(fmt::format("ref_read({})", cell), a->shape, a->largest, false);
  }

  Random& random_;
  int& names_;
  std::string indent_, text_;
  std::vector<Known> known_;
};

class ProgramMaker {
 public:
  explicit ProgramMaker(std::uint64_t seed) : random_(seed) {}

  std::string make() {
    Body body(random_, names_, "  ");
    std::vector<std::string> params;
    for (std::size_t i = 0, n = 1 + random_.below(3); i < n; ++i) {
      const Shape s = shape();
      params.push_back(fmt::format("%x{}: {}", i, type_of(s)));
      body.add({fmt::format("%x{}", i), s, 1, true, false});
    }
    std::string functions;
    for (std::size_t i = 0, n = 3 + random_.below(14); i < n; ++i) {
      if (random_.one_in(10))
        functions += loop(body);
      else if (random_.one_in(10))
        functions += fold(body);
      else
        body.step();
    }
    std::string text = "#[version = \"0.0.5\"]\n";
    if (uses_list_) text += "type List[A] {\n  Cons(A, List[A]),\n  Nil,\n}\n\n";
    text +=
        functions + fmt::format("def @main({}) {{\n{}  {}\n}}\n", fmt::join(params, ", "), body.text(), body.result());
    return text;
  }

 private:
  Shape shape() {
    Shape s;
    for (std::size_t i = 0, n = 1 + random_.below(4); i < n; ++i) s.push_back(kSizes[random_.below(std::size(kSizes))]);
    while (count(s) > kMostElements / 4) *std::max_element(s.begin(), s.end()) = 2;
    return s;
  }

  // A global function that calls itself so many times.
  std::string loop(Body& body) {
    const auto x = body.operand(kModerate);
    if (!x) return {};
    const int number = functions_++;
    body.keep(fmt::format("@loop{}({}, {})", number, 1 + random_.below(4), x->name), x->shape, kModerate, false);
    const std::string t = type_of(x->shape);
    return fmt::format(
        "def @loop{0}(%i: int32, %x: {1}) -> {1} {{\n  if ({2}(%i, 0)) {{ %x }} else {{\n    let %y = {3}({4}(%x), "
        "0.5f);\n    "
        "@loop{0}({5}(%i, 1), %y)\n  }}\n}}\n\n",
        number, t, name_of(op::Equal), name_of(op::Multiply), name_of(op::Cos), name_of(op::Subtract));
  }

  // A list, and the sum over it.
  std::string fold(Body& body) {
    const auto a = body.operand(kModerate);
    if (!a) return {};
    const auto b = body.operand(kModerate, [&](const Known& k) { return k.shape == a->shape; });
    uses_list_ = true;
    const int number = functions_++;
    const std::string list = body.bind(fmt::format("Cons({}, Cons({}, Nil))", a->name, b->name));
    body.keep(fmt::format("@fold{}({}, {})", number, list, a->name), a->shape, 3 * kModerate, false);
    const std::string t = type_of(a->shape);
    return fmt::format(
        "def @fold{0}(%l: List[{1}], %s: {1}) -> {1} {{\n  match (%l) {{\n    Cons(%h, %t) => @fold{0}(%t, {2}(%s, "
        "%h)),\n    "
        "Nil => %s,\n  }}\n}}\n\n",
        number, t, name_of(op::Add));
  }

  Random random_;
  int names_ = 0, functions_ = 0;
  bool uses_list_ = false;
};

}  // namespace

std::string generate_relay(std::uint64_t seed) { return ProgramMaker(seed).make(); }

}  // namespace rldb::repro
