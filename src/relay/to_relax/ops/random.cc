// Random numbers: Threefry with four words of 64 bits and 20 rounds, from a key of ten words: 0 to 3 the key proper, 4
// and 5 the path of splits, 6 and 7 the counter, 8 and 9 the bit where the path continues. Numbers are those of TVM's
// kernels: the counter is added to each of the four words, and no key is mixed in after the last round.
#include <array>
#include <cmath>
#include <numbers>

#include "relay/to_relax/translations.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/trigonometry.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

namespace {

constexpr DType kWord = DType::UInt(64);
constexpr std::int64_t kWords = 10;
constexpr int kBlock = 4;
// Rotations of the two pairs of words in each of eight rounds, which repeat.
constexpr std::array<std::array<int, 2>, 8> kRotations = {
    {{14, 16}, {52, 57}, {23, 40}, {5, 37}, {25, 33}, {46, 12}, {58, 22}, {32, 32}}};

// Words too large for a literal: they are passed in a tensor.
enum Constant : std::int64_t { kParity, kTopBit, kSecondBit, kOnes, kConstants };
const Expr* constants(OpCall& o) {
  auto t = runtime::Tensor::empty({kConstants}, kWord);
  RLDB_CHECK(t.ok(), "four words fit into memory");
  const std::uint64_t values[] = {0x1BD11BDAA9FC1A22, std::uint64_t(1) << 63, std::uint64_t(1) << 62,
                                  ~std::uint64_t(0)};
  for (std::size_t i = 0; i < std::size(values); ++i)
    runtime::store_int((*t)->data() + 8 * i, kWord, std::int64_t(values[i]));
  return o.ctx.constant(runtime::Value(*t));
}

// Arithmetic on words, which wraps.
class Words {
 public:
  // te.in: the generator's key, the constants.
  explicit Words(Te& te) : te_(te), ctx_(te.ctx) {}

  const Expr* lit(std::int64_t v) const { return ctx_.int_imm(kWord, v); }
  const Expr* constant(Constant which) const { return te_.graph.load(te_.in[1], {ctx_.i64(which)}); }
  const Expr* gen(std::int64_t i) const { return te_.graph.load(te_.in[0], {ctx_.i64(i)}); }
  const Expr* math(ir::Intrinsic what, const Expr* a, const Expr* b) const { return ctx_.intrin(kWord, what, {a, b}); }
  const Expr* either(const Expr* condition, const Expr* a, const Expr* b) const {
    return ctx_.intrin(kWord, ir::intrin::IfThenElse, {condition, a, b});
  }
  const Expr* is(const Expr* index, std::int64_t v) const {
    return ir::compare(ctx_, ir::BinaryKind::EQ, index, ctx_.i64(v));
  }
  const Expr* is_word(const Expr* word, std::int64_t v) const {
    return ir::compare(ctx_, ir::BinaryKind::EQ, word, lit(v));
  }
  // One of several words, by index.
  const Expr* pick(const Expr* index, const std::vector<const Expr*>& words) const {
    const Expr* made = words.back();
    for (std::size_t i = words.size() - 1; i-- > 0;) made = either(is(index, std::int64_t(i)), words[i], made);
    return made;
  }
  te::Tensor vector(std::int64_t length, const std::function<const Expr*(const Expr*)>& word, std::string_view name) {
    return te_.graph.compute(
        Dims{ctx_.i64(length)}, [&](te::Indices i) { return word(i[0]); }, name);
  }

  // `count` blocks: the one of the counter, the next one, ...
  te::Tensor blocks(te::Tensor key, const std::function<const Expr*(const Expr*)>& counter, std::int64_t count) {
    const te::Tensor schedule = vector(
        kBlock + 1,
        [&](const Expr* i) {
          const Expr* all = constant(kParity);
          for (std::int64_t k = 0; k < kBlock; ++k)
            all = math(ir::intrin::BitwiseXor, all, te_.graph.load(key, {ctx_.i64(k)}));
          const Expr* last = ir::min(ctx_, i, ctx_.i64(kBlock - 1));
          return either(is(i, kBlock), all, te_.graph.load(key, {last}));
        },
        "T_schedule");
    const Dims shape{ctx_.i64(count), ctx_.i64(kBlock)};
    te::Tensor state = te_.graph.compute(
        shape, [&](te::Indices i) { return ir::add(ctx_, counter(i[1]), ir::cast_to(ctx_, kWord, i[0])); },
        "T_counter");
    for (std::int64_t group = 0; group < 5; ++group) {
      state = with_key(state, schedule, group);
      for (std::size_t round = 0; round < 4; ++round) state = mixed(state, (std::size_t(group) * 4 + round) % 8);
    }
    return state;
  }

  // The path's bit moved by one position, over two words.
  const Expr* moved(std::int64_t half) const {
    const Expr *high = gen(8), *low = gen(9), *none = is_word(high, 0);
    if (half == 0) return math(ir::intrin::ShiftRight, high, lit(1));
    const Expr* behind = either(is_word(high, 1), constant(kTopBit), lit(0));
    return either(none, math(ir::intrin::ShiftRight, low, lit(1)), behind);
  }
  // Is the path full?
  const Expr* path_is_full() const { return ir::logical_and(ctx_, is_word(gen(8), 0), is_word(gen(9), 0)); }

 private:
  te::Tensor with_key(te::Tensor state, te::Tensor schedule, std::int64_t group) {
    return te_.graph.compute(
        state->shape,
        [&](te::Indices i) {
          const Expr* place = ir::floor_mod(ctx_, ir::add(ctx_, i[1], ctx_.i64(group)), ctx_.i64(kBlock + 1));
          const Expr* word = ir::add(ctx_, te_.graph.load(state, i), te_.graph.load(schedule, {place}));
          return ir::add(ctx_, word, either(is(i[1], kBlock - 1), lit(group), lit(0)));
        },
        "T_keyed");
  }
  // Each pair becomes its sum, and that with the second word rotated; then words 1 and 3 are swapped.
  te::Tensor mixed(te::Tensor state, std::size_t round) {
    return te_.graph.compute(
        state->shape,
        [&](te::Indices i) {
          const Expr* from = ir::floor_mod(ctx_, ir::sub(ctx_, ctx_.i64(kBlock), i[1]), ctx_.i64(kBlock));
          const Expr* first = ir::mul(ctx_, ir::floor_div(ctx_, from, ctx_.i64(2)), ctx_.i64(2));
          const Expr* a = te_.graph.load(state, {i[0], first});
          const Expr* b = te_.graph.load(state, {i[0], ir::add(ctx_, first, ctx_.i64(1))});
          const Expr* sum = ir::add(ctx_, a, b);
          const auto rotated = [&](int by) {
            return math(ir::intrin::BitwiseOr, math(ir::intrin::ShiftLeft, b, lit(by)),
                        math(ir::intrin::ShiftRight, b, lit(64 - by)));
          };
          const Expr* turned = either(is(first, 0), rotated(kRotations[round][0]), rotated(kRotations[round][1]));
          return either(ir::compare(ctx_, ir::BinaryKind::EQ, from, first), sum,
                        math(ir::intrin::BitwiseXor, sum, turned));
        },
        "T_mixed");
  }

  Te& te_;
  ir::Context& ctx_;
};

ir::Result<std::int64_t> count_of(const Ints& shape) {
  std::int64_t total = 1;
  for (const std::int64_t d : shape)
    if (d < 0 || __builtin_mul_overflow(total, d, &total)) return refuse("its shape is not known");
  if (total % kBlock != 0) return refuse("the number of elements is not a multiple of 4");
  return total;
}

// The generator from which numbers are drawn: another one when the counter has no room for that many.
te::Tensor generator(Te& te, Words& w, std::int64_t count) {
  ir::Context& ctx = te.ctx;
  const te::Tensor fresh = w.blocks(
      te.in[0], [&](const Expr*) { return w.constant(kOnes); }, 1);
  return w.vector(
      kWords,
      [&](const Expr* i) {
        const Expr* left = w.math(ir::intrin::BitwiseXor, w.gen(7), w.constant(kOnes));
        const Expr* fits = ir::compare(ctx, ir::BinaryKind::GT, left, w.lit(count));
        std::vector<const Expr*> longer, hashed;
        for (std::int64_t k = 0; k < 4; ++k) longer.push_back(w.gen(k));
        for (std::int64_t k = 4; k < 6; ++k) longer.push_back(w.math(ir::intrin::BitwiseOr, w.gen(k), w.gen(k + 4)));
        longer.insert(longer.end(), {w.lit(0), w.lit(0), w.moved(0), w.moved(1)});
        for (std::int64_t k = 0; k < 4; ++k) hashed.push_back(te.graph.load(fresh, {ctx.i64(0), ctx.i64(k)}));
        hashed.insert(hashed.end(), {w.lit(0), w.lit(0), w.lit(0), w.lit(0), w.constant(kTopBit), w.lit(0)});
        const Expr* other = w.either(w.path_is_full(), w.pick(i, hashed), w.pick(i, longer));
        return w.either(fits, te.graph.load(te.in[0], {i}), other);
      },
      "T_generator");
}

struct Drawn {
  const Expr* generator;
  const Expr* words;
};

// The new generator, and words in the given shape.
ir::Result<Drawn> drawn(OpCall& o, const Ints& shape) {
  RLDB_TRY(const std::int64_t count, count_of(shape));
  RLDB_TRY(const Expr* made,
           o.kernel("relay_threefry", {o.arg(0), constants(o)}, [&](Te& te) -> std::vector<te::Tensor> {
             ir::Context& ctx = te.ctx;
             Words w(te);
             const te::Tensor from = generator(te, w, count);
             const auto counter = [&](const Expr* i) { return te.graph.load(from, {ir::add(ctx, i, ctx.i64(4))}); };
             const te::Tensor blocks = w.blocks(from, counter, count / kBlock);
             const te::Tensor next = w.vector(
                 kWords,
                 [&](const Expr* i) {
                   const Expr* word = te.graph.load(from, {i});
                   return w.either(w.is(i, 6), w.lit(0), w.either(w.is(i, 7), ir::add(ctx, word, w.lit(count)), word));
                 },
                 "T_next");
             Dims to;
             for (const std::int64_t d : shape) to.push_back(ctx.i64(d));
             const te::Tensor words = te.graph.compute(
                 to,
                 [&](te::Indices i) {
                   const Expr* flat = ctx.i64(0);
                   for (std::size_t k = 0; k < to.size(); ++k) flat = ir::add(ctx, ir::mul(ctx, flat, to[k]), i[k]);
                   return te.graph.load(
                       blocks, {ir::floor_div(ctx, flat, ctx.i64(kBlock)), ir::floor_mod(ctx, flat, ctx.i64(kBlock))});
                 },
                 "T_words");
             return {next, words};
           }));
  RLDB_TRY(const ir::TupleGetItem* next, o.ctx.tuple_get(made, 0));
  RLDB_TRY(const ir::TupleGetItem* words, o.ctx.tuple_get(made, 1));
  return Drawn{o.bind(next), o.bind(words)};
}

// Reals in [0, 1): as many of the words' high bits as the dtype has in its fraction.
Made unit_reals(OpCall& o, const Expr* words, DType dtype) {
  const int digits = dtype.bits == 64 ? 52 : 23;
  return o.kernel("relay_uniform", {words}, [&](Te& te) -> std::vector<te::Tensor> {
    return {te.graph.compute(
        te.in[0]->shape,
        [&](te::Indices i) {
          const Expr* high = te.ctx.intrin(kWord, ir::intrin::ShiftRight,
                                           {te.graph.load(te.in[0], i), te.ctx.int_imm(kWord, 64 - digits)});
          return ir::div(te.ctx, ir::cast_to(te.ctx, dtype, high), te.ctx.literal(dtype, std::ldexp(1.0, digits)));
        },
        "T_uniform")};
  });
}

struct Reals {
  const Expr* generator;
  const Expr* values;
};

ir::Result<Reals> uniform_of(OpCall& o, const Ints& shape, DType dtype) {
  if (dtype != DType::Float(32) && dtype != DType::Float(64)) return refuse("its dtype is not float32 or float64");
  RLDB_TRY(const Drawn d, drawn(o, shape));
  RLDB_TRY(const Expr* values, unit_reals(o, d.words, dtype));
  return Reals{d.generator, values};
}

Made scaled(OpCall& o, const Expr* x, const Expr* by, const Expr* from) {
  RLDB_TRY(const Expr* wide, o.emit(op::Multiply, {x, by}));
  return o.emit(op::Add, {wide, from});
}

Made pair(OpCall& o, const Expr* generator, const Expr* values) {
  return static_cast<const Expr*>(o.ctx.tuple(Exprs{generator, values}));
}

}  // namespace

Made threefry_generate(OpCall& o) {
  RLDB_TRY(const Drawn d, drawn(o, o.ints(relay::field::OutShape).value_or(Ints())));
  return pair(o, d.generator, d.words);
}

// Two generators: the path continues with a 0 and with a 1.
Made threefry_split(OpCall& o) {
  return o.kernel("relay_threefry_split", {o.arg(0), constants(o)}, [&](Te& te) -> std::vector<te::Tensor> {
    ir::Context& ctx = te.ctx;
    Words w(te);
    const auto counter = [&](const Expr* i) { return te.graph.load(te.in[0], {ir::add(ctx, i, ctx.i64(4))}); };
    const te::Tensor fresh = w.blocks(te.in[0], counter, 1);
    const auto child = [&](bool right) {
      return w.vector(
          kWords,
          [&](const Expr* i) {
            std::vector<const Expr*> longer, hashed;
            for (std::int64_t k = 0; k < kWords - 2; ++k) {
              const bool path = right && (k == 4 || k == 5);
              longer.push_back(path ? w.math(ir::intrin::BitwiseOr, w.gen(k), w.gen(k + 4)) : w.gen(k));
            }
            longer.insert(longer.end(), {w.moved(0), w.moved(1)});
            for (std::int64_t k = 0; k < 4; ++k) hashed.push_back(te.graph.load(fresh, {ctx.i64(0), ctx.i64(k)}));
            hashed.push_back(right ? w.constant(kTopBit) : w.lit(0));
            hashed.insert(hashed.end(), {w.lit(0), w.lit(0), w.lit(0), w.constant(kSecondBit), w.lit(0)});
            return w.either(w.path_is_full(), w.pick(i, hashed), w.pick(i, longer));
          },
          right ? "T_right" : "T_left");
    };
    return {child(false), child(true)};
  });
}

// Operands: the generator, the lower bound, the exclusive upper bound.
Made random_uniform(OpCall& o) {
  const DType dtype = o.dtype(relay::field::OutDtype).value_or(DType::Float(32));
  RLDB_TRY(const Reals u, uniform_of(o, o.ints(relay::field::OutShape).value_or(Ints()), dtype));
  RLDB_TRY(const Expr* range, o.emit(op::Subtract, {o.arg(2), o.arg(1)}));
  RLDB_TRY(const Expr* values, scaled(o, u.values, range, o.arg(1)));
  return pair(o, u.generator, values);
}

// Box and Muller: sqrt(-2 log u) cos(2 pi v), u and v two halves. Operands: the generator, mean, standard deviation.
Made random_normal(OpCall& o) {
  const DType dtype = o.dtype(relay::field::OutDtype).value_or(DType::Float(32));
  const Ints shape = o.ints(relay::field::OutShape).value_or(Ints());
  Ints halves = shape;
  halves.insert(halves.begin(), 2);
  RLDB_TRY(const Reals u, uniform_of(o, halves, dtype));
  RLDB_TRY(const Expr* normal, o.kernel("relay_normal", {u.values}, [&](Te& te) -> std::vector<te::Tensor> {
    ir::Context& ctx = te.ctx;
    Dims to;
    for (const std::int64_t d : shape) to.push_back(ctx.i64(d));
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          const auto half = [&](std::int64_t which) {
            Dims at{ctx.i64(which)};
            at.insert(at.end(), i.begin(), i.end());
            return te.graph.load(te.in[0], at);
          };
          const Expr* log = ctx.intrin(dtype, ir::intrin::Log, {half(0)});
          const Expr* radius = ctx.intrin(dtype, ir::intrin::Sqrt, {ir::mul(ctx, ctx.literal(dtype, -2), log)});
          const Expr* angle = ir::mul(ctx, ctx.literal(dtype, 2 * std::numbers::pi), half(1));
          return ir::mul(ctx, radius, ctx.intrin(dtype, ir::intrin::Cos, {angle}));
        },
        "T_normal")};
  }));
  RLDB_TRY(const Expr* values, scaled(o, normal, o.arg(2), o.arg(1)));
  return pair(o, u.generator, values);
}

}  // namespace rldb::to_relax::translations
