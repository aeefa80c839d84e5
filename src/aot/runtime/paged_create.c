/* The creation of a paged cache from the arguments of TVM's constructor; those behind the dtype are a GPU's functions.
 */
#include "aot/runtime/paged.h"

enum {
  kConfigArg,
  kLayersArg,
  kQoHeadsArg,
  kKvHeadsArg,
  kKeyDimArg,
  kValueDimArg,
  kAttentionArg,
  kTransferArg,
  kRopeArg,
  kScaleArg,
  kThetaArg,
  kFactorsArg,
  kInitArg,
  kLeastArgs,
  kMostArgs = 29
};

typedef struct {
  Ints config, layers, kinds;
} Given;

static int32_t check_supported(const Args* a, Ints* config) {
  int64_t transfer, rope;
  if (rldb_aot_arg_ints(a, kConfigArg, config) != kSucceeded) return kFailed;
  if (config->size != 5 || config->data[4] < 0 || config->data[4] > 1) return rldb_aot_arg_wrong(a, kConfigArg);
  if (rldb_aot_arg_integer(a, kTransferArg, &transfer) != kSucceeded) return kFailed;
  if (transfer != 0)
    return rldb_aot_fail(kErrorUnsupported, "a paged cache that transfers to other devices is not supported");
  if (!arg_is_null(a, kFactorsArg))
    return rldb_aot_fail(kErrorUnsupported,
                         "factors of a rotary embedding are for the model's own rotation kernel, which the paged "
                         "cache does not call");
  if (rldb_aot_arg_integer(a, kRopeArg, &rope) != kSucceeded) return kFailed;
  return rope < kRopeNone || rope > kRopeInline ? rldb_aot_arg_wrong(a, kRopeArg) : kSucceeded;
}

/* The kinds of the layers that the cache is for. */
static int32_t read_kinds(const Args* a, Given* g) {
  Ints all;
  if (rldb_aot_arg_ints(a, kLayersArg, &g->layers) != kSucceeded ||
      rldb_aot_arg_ints(a, kAttentionArg, &all) != kSucceeded)
    return kFailed;
  const int64_t* layers = g->layers.data;
  if (g->layers.size != 2 || layers[0] < 0 || layers[1] < layers[0]) return rldb_aot_arg_wrong(a, kLayersArg);
  if (all.size < layers[1])
    return rldb_aot_fail(kErrorType, "layers up to %lld, but kinds of attention for %lld", (long long)layers[1],
                         (long long)all.size);
  g->kinds = (Ints){all.data + layers[0], layers[1] - layers[0]};
  for (int64_t i = 0; i < g->kinds.size; ++i) {
    const int64_t kind = g->kinds.data[i];
    if (!is_layer_kind(kind))
      return rldb_aot_fail(kErrorUnsupported,
                           "attention of kind %lld is not supported by the paged cache: multi-head (0), latent (1) and "
                           "windows by layer (3) are, linear attention (2) is not",
                           (long long)kind);
    if (kind == kLatent && g->config.data[4] != 0)
      return rldb_aot_fail(kErrorUnsupported, "a paged cache of latent attention has no sliding windows");
  }
  return kSucceeded;
}

static int has_kind(Ints kinds, int64_t kind) {
  for (int64_t i = 0; i < kinds.size; ++i)
    if (kinds.data[i] == kind) return 1;
  return 0;
}

static int32_t check_sizes(const Args* a, const Given* g, const int64_t* n) {
  static const int64_t kMost = (int64_t)1 << 40;
  const int64_t* config = g->config.data;
  const int64_t positive[] = {config[0], config[2], config[3], n[kQoHeads], n[kKvHeads], n[kKeyDim], n[kValueDim]};
  for (int i = 0; i < 7; ++i)
    if (positive[i] <= 0) return rldb_aot_fail(kErrorType, "sizes of a paged cache are positive");
  if (config[1] < 0) return rldb_aot_arg_wrong(a, kConfigArg);
  for (int i = 0; i < 4; ++i)
    if (config[i] > kMost) return rldb_aot_arg_wrong(a, kConfigArg);
  if (n[kQoHeads] % n[kKvHeads] != 0)
    return rldb_aot_fail(kErrorType, "%lld query heads do not divide evenly among %lld heads of keys and values",
                         (long long)n[kQoHeads], (long long)n[kKvHeads]);
  if (n[kRope] != kRopeNone && n[kKeyDim] % 2 != 0)
    return rldb_aot_fail(kErrorType, "rotary embeddings need an even key dim");
  return kSucceeded;
}

static int32_t read_numbers(const Args* a, const Given* g, int64_t* n) {
  static const struct {
    Number number;
    int arg;
  } kRead[] = {{kQoHeads, kQoHeadsArg},
               {kKvHeads, kKvHeadsArg},
               {kKeyDim, kKeyDimArg},
               {kValueDim, kValueDimArg},
               {kRope, kRopeArg}};
  const int64_t* config = g->config.data;
  for (size_t i = 0; i < sizeof kRead / sizeof *kRead; ++i)
    if (rldb_aot_arg_integer(a, kRead[i].arg, &n[kRead[i].number]) != kSucceeded) return kFailed;
  n[kFirstLayer] = g->layers.data[0];
  n[kLayers] = g->layers.data[1] - g->layers.data[0];
  n[kMostSequences] = config[0];
  n[kChunk] = config[2];
  n[kPageSize] = config[3];
  n[kSliding] = has_kind(g->kinds, kWindowed) ? 0 : config[4];
  /* What slides changes its position: keys are rotated when they are used. */
  if (config[4] != 0 && n[kRope] != kRopeNone) n[kRope] = kRopeInline;
  if (check_sizes(a, g, n) != kSucceeded) return kFailed;
  n[kPages] = (config[1] + config[3] - 1) / config[3] + 1;
  if (has_kind(g->kinds, kLatent) && (n[kKvHeads] != 1 || n[kValueDim] > n[kKeyDim]))
    return rldb_aot_fail(kErrorType,
                         "latent attention needs one head of keys and values, and a value dim of at most the key dim");
  return kSucceeded;
}

static int32_t make(const Given* g, const int64_t* n, const Any* rotation, DLDataType t, Any* f, Any* result) {
  const int64_t keys[5] = {n[kLayers], n[kPages], n[kKvHeads], n[kPageSize], n[kKeyDim]};
  const int64_t values[5] = {n[kLayers], n[kPages], n[kKvHeads], n[kPageSize], n[kValueDim]};
  if (rldb_aot_string(PAGED_KIND, sizeof PAGED_KIND - 1, &f[kCacheKind]) != kSucceeded ||
      rldb_aot_set_ints(&f[kNumbers], n, kNumberCount) != kSucceeded ||
      rldb_aot_tuple(2, rotation, &f[kRotation]) != kSucceeded ||
      rldb_aot_set_ints(&f[kKinds], g->kinds.data, g->kinds.size) != kSucceeded ||
      rldb_aot_zeros(5, keys, t, &f[kKeys]) != kSucceeded || rldb_aot_zeros(5, values, t, &f[kValues]) != kSucceeded ||
      rldb_aot_set_empty(&f[kSequences]) != kSucceeded)
    return kFailed;
  return rldb_aot_tuple(kCacheFields, f, result);
}

int32_t rldb_aot_PagedCacheCreate(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count,
                  "cache config, layer range, query heads, key and value heads, key dim, value dim, kinds of "
                  "attention, transfer, rope mode, rope scale, rope theta, rope factors, a tensor of the dtype, "
                  "functions..."};
  (void)library;
  Given g;
  int64_t n[kNumberCount];
  Any rotation[2] = {{.type_index = kTVMFFIFloat}, {.type_index = kTVMFFIFloat}}, f[kCacheFields] = {{0}};
  const DLTensor* init;
  if (count < kLeastArgs || count > kMostArgs) return rldb_aot_arg_wrong(&a, count);
  if (check_supported(&a, &g.config) != kSucceeded || read_kinds(&a, &g) != kSucceeded ||
      read_numbers(&a, &g, n) != kSucceeded ||
      rldb_aot_arg_number(&a, kScaleArg, &rotation[0].v_float64) != kSucceeded ||
      rldb_aot_arg_number(&a, kThetaArg, &rotation[1].v_float64) != kSucceeded ||
      rldb_aot_arg_tensor(&a, kInitArg, &init) != kSucceeded)
    return kFailed;
  if (!is_float(init->dtype)) return rldb_aot_arg_wrong(&a, kInitArg);
  const int32_t done = make(&g, n, rotation, init->dtype, f, result);
  rldb_aot_release_all(f, kCacheFields);
  return done;
}
