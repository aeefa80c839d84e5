// The creation of a paged cache from the arguments of TVM's constructor.
#include <algorithm>
#include <cstring>

#include "rldb/runtime/contrib.h"
#include "runtime/kv/paged_cache.h"

namespace rldb::runtime {

using namespace kv;

namespace {

// Positions of TVM's arguments; those between 13 and 27 are the functions of a GPU.
enum CreateArg : std::size_t {
  kConfig,
  kLayers,
  kQoHeads,
  kKvHeads,
  kKeyDim,
  kValueDim,
  kAttention,
  kTransfer,
  kRope,
  kScale,
  kTheta,
  kFactors,
  kInit,
  kLeastCreateArgs
};
constexpr std::size_t kMostCreateArgs = 29;
constexpr std::string_view kCreateArgs =
    "cache config, layer range, query heads, key and value heads, key dim, value dim, kinds of attention, transfer, "
    "rope mode, rope scale, rope theta, rope factors, a tensor of the dtype, functions...";

Result<support::Unit> check_supported(const Args& a) {
  RLDB_TRY(const std::vector<std::int64_t> config, a.shape(kConfig));
  if (config.size() != 5 || config[4] < 0 || config[4] > 1) return a.wrong(kConfig);
  RLDB_TRY(const std::int64_t transfer, a.integer(kTransfer));
  if (transfer != 0) return unsupported("a paged cache that transfers to other devices is not supported");
  if (!a.is_null(kFactors))
    return unsupported(
        "factors of a rotary embedding are for the model's own rotation kernel, which the paged cache does not call");
  RLDB_TRY(const std::int64_t rope, a.integer(kRope));
  if (rope < std::int64_t(RopeMode::None) || rope > std::int64_t(RopeMode::Inline)) return a.wrong(kRope);
  return support::Unit{};
}

// The kinds of the layers that the cache is for.
Result<std::vector<std::int64_t>> kinds_of(const Args& a) {
  RLDB_TRY(const std::vector<std::int64_t> config, a.shape(kConfig));
  RLDB_TRY(const std::vector<std::int64_t> layers, a.shape(kLayers));
  RLDB_TRY(const std::vector<std::int64_t> all, a.shape(kAttention));
  if (layers.size() != 2 || layers[0] < 0 || layers[1] < layers[0]) return a.wrong(kLayers);
  if (std::int64_t(all.size()) < layers[1])
    return mismatch(fmt::format("layers up to {}, but kinds of attention for {}", layers[1], all.size()));
  const std::vector<std::int64_t> kinds(all.begin() + layers[0], all.begin() + layers[1]);
  for (const std::int64_t kind : kinds) {
    if (!is_layer_kind(kind))
      return unsupported(fmt::format(
          "attention of kind {} is not supported by the paged cache: multi-head (0), latent (1) and windows "
          "by layer (3) are, linear attention (2) is not",
          kind));
    if (kind == std::int64_t(AttentionKind::Latent) && config[4] != 0)
      return unsupported("a paged cache of latent attention has no sliding windows");
  }
  return kinds;
}

// `windowed`: layers have windows of their own; then sequences have none.
Result<std::vector<std::int64_t>> numbers_of(const Args& a, bool windowed) {
  RLDB_TRY(const std::vector<std::int64_t> config, a.shape(kConfig));
  RLDB_TRY(const std::vector<std::int64_t> layers, a.shape(kLayers));
  std::vector<std::int64_t> n(std::size_t(Number::Count), 0);
  const auto at = [&](Number which) -> std::int64_t& { return n[std::size_t(which)]; };
  at(Number::FirstLayer) = layers[0];
  at(Number::Layers) = layers[1] - layers[0];
  RLDB_TRY(at(Number::QoHeads), a.integer(kQoHeads));
  RLDB_TRY(at(Number::KvHeads), a.integer(kKvHeads));
  RLDB_TRY(at(Number::KeyDim), a.integer(kKeyDim));
  RLDB_TRY(at(Number::ValueDim), a.integer(kValueDim));
  RLDB_TRY(at(Number::Rope), a.integer(kRope));
  at(Number::MostSequences) = config[0];
  at(Number::Chunk) = config[2];
  at(Number::PageSize) = config[3];
  at(Number::Sliding) = windowed ? 0 : config[4];
  // As in TVM: what slides changes its position, so that keys are rotated when they are used.
  if (config[4] != 0 && at(Number::Rope) != std::int64_t(RopeMode::None))
    at(Number::Rope) = std::int64_t(RopeMode::Inline);
  for (const std::int64_t positive : {config[0], config[2], config[3], at(Number::QoHeads), at(Number::KvHeads),
                                      at(Number::KeyDim), at(Number::ValueDim)})
    if (positive <= 0) return mismatch("sizes of a paged cache are positive");
  constexpr std::int64_t kMost = std::int64_t(1) << 40;
  if (config[1] < 0 || *std::max_element(config.begin(), config.end()) > kMost) return a.wrong(kConfig);
  if (at(Number::QoHeads) % at(Number::KvHeads) != 0)
    return mismatch(fmt::format("{} query heads do not divide evenly among {} heads of keys and values",
                                at(Number::QoHeads), at(Number::KvHeads)));
  if (at(Number::Rope) != 0 && at(Number::KeyDim) % 2 != 0) return mismatch("rotary embeddings need an even key dim");
  at(Number::Pages) = (config[1] + config[3] - 1) / config[3] + 1;  // as TVM reserves them
  return n;
}

// A latent row is a key whose first elements are also the value.
Result<support::Unit> check_latent(const std::vector<std::int64_t>& kinds, const std::vector<std::int64_t>& n) {
  if (std::count(kinds.begin(), kinds.end(), std::int64_t(AttentionKind::Latent)) == 0) return support::Unit{};
  if (n[std::size_t(Number::KvHeads)] == 1 && n[std::size_t(Number::ValueDim)] <= n[std::size_t(Number::KeyDim)])
    return support::Unit{};
  return mismatch("latent attention needs one head of keys and values, and a value dim of at most the key dim");
}

Result<Value> zeros(const std::vector<std::int64_t>& shape, DType dtype) {
  RLDB_TRY(auto t, Tensor::empty(shape, dtype));
  std::memset(t->data(), 0, t->byte_size());
  return Value(std::move(t));
}

}  // namespace

Result<Value> paged_cache_create(PackedArgs args) {
  const Args a(args, kCreateArgs);
  if (a.size() < kLeastCreateArgs || a.size() > kMostCreateArgs) return a.wrong(a.size());
  RLDB_TRY_VOID(check_supported(a));
  RLDB_TRY(std::vector<std::int64_t> kinds, kinds_of(a));
  RLDB_TRY(const std::vector<std::int64_t> n,
           numbers_of(a, std::count(kinds.begin(), kinds.end(), std::int64_t(AttentionKind::Windowed)) > 0));
  RLDB_TRY_VOID(check_latent(kinds, n));
  RLDB_TRY(const double scale, a.number(kScale));
  RLDB_TRY(const double theta, a.number(kTheta));
  RLDB_TRY(const Tensor* init, a.tensor(kInit));
  if (!init->dtype().is_float()) return a.wrong(kInit);
  const auto at = [&](Number which) { return n[std::size_t(which)]; };
  const auto pool = [&](Number width) {
    return zeros({at(Number::Layers), at(Number::Pages), at(Number::KvHeads), at(Number::PageSize), at(width)},
                 init->dtype());
  };
  RLDB_TRY(Value keys, pool(Number::KeyDim));
  RLDB_TRY(Value values, pool(Number::ValueDim));
  return Value::of_tuple({Value::of_string(std::string(kPagedKind)), Value::of_shape(n),
                          Value::of_tuple({Value::of_float(scale), Value::of_float(theta)}),
                          Value::of_shape(std::move(kinds)), std::move(keys), std::move(values), Value::of_tuple({}),
                          Value()});
}

}  // namespace rldb::runtime
