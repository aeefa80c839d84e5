/* The state of recurrent layers: for each sequence, layer and state a tensor, with its predecessors. The tuple is that
 * of src/runtime/kv/rnn_state.h. */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/state.h"

#define RNN_KIND "state of recurrent layers"

enum { kRnnKind, kSizes, kInitial, kMemory, kRnnSequences, kRnnForward, kRnnFields };
enum { kRnnLayers, kRnnMost, kHistory, kSizeCount };
enum { kRnnId, kRnnLength, kSlot, kStep, kPast, kInfoCount }; /* of a sequence, which is a shape */
static const int64_t kMostSize = (int64_t)1 << 32;

static int64_t size_of(Rnn s, int which) { return ints_in(&s.fields[kSizes]).data[which]; }
static int64_t* info_of(const Any* sequence) { return (int64_t*)(uintptr_t)ints_in(sequence).data; }

/* ---- reading a program's value as a state ---- */

static int are_tensors(const Any* v) {
  const TVMFFISeqCell* t = tuple_of(v);
  for (int64_t i = 0; t && i < t->size; ++i)
    if (!tensor_of((const Any*)t->data + i)) return 0;
  return t != NULL;
}

/* (sequences, history, shape of the state) */
static int is_memory(const DLTensor* t, const int64_t* sizes, const DLTensor* first) {
  return same_dtype(t->dtype, first->dtype) && t->ndim == first->ndim + 2 && t->shape[0] == sizes[kRnnMost] &&
         t->shape[1] == sizes[kHistory] && (first->ndim == 0 || rldb_aot_has_shape(first, first->ndim, t->shape + 2));
}

static int is_sequence(const Any* v, const int64_t* sizes) {
  if (!shape_of(v) || ints_in(v).size != kInfoCount) return 0;
  const int64_t* s = ints_in(v).data;
  return s[kSlot] >= 0 && s[kSlot] < sizes[kRnnMost] && s[kStep] >= 0 && s[kStep] < sizes[kHistory] && s[kPast] >= 0 &&
         s[kPast] < sizes[kHistory];
}

static int are_sizes(const Any* v) {
  if (!shape_of(v) || ints_in(v).size != kSizeCount) return 0;
  for (int i = 0; i < kSizeCount; ++i)
    if (ints_in(v).data[i] < 1 || ints_in(v).data[i] > kMostSize) return 0;
  return 1;
}

int rldb_aot_rnn_of(const Any* v, Rnn* out) {
  if (!is_tuple_of(v, kRnnFields)) return 0;
  const Any* f = fields_of(v);
  if (!rldb_aot_is_text(&f[kRnnKind], RNN_KIND) || !are_sizes(&f[kSizes])) return 0;
  if (!are_tensors(&f[kInitial]) || !are_tensors(&f[kMemory])) return 0;
  const int64_t* sizes = ints_in(&f[kSizes]).data;
  const TVMFFISeqCell *initial = tuple_of(&f[kInitial]), *memory = tuple_of(&f[kMemory]);
  if (initial->size == 0 || memory->size / initial->size != sizes[kRnnLayers] || memory->size % initial->size != 0)
    return 0;
  for (int64_t i = 0; i < memory->size; ++i)
    if (!is_memory(tensor_of((const Any*)memory->data + i), sizes,
                   tensor_of((const Any*)initial->data + i % initial->size)))
      return 0;
  const TVMFFISeqCell* all = tuple_of(&f[kRnnSequences]);
  for (int64_t i = 0; all && i < all->size; ++i)
    if (!is_sequence((const Any*)all->data + i, sizes)) return 0;
  if (!all || !rldb_aot_is_forward(&f[kRnnForward])) return 0;
  out->fields = fields_of(v);
  return 1;
}

/* ---- sequences ---- */

static int64_t place_of(Rnn s, int64_t id) {
  const TVMFFISeqCell* all = tuple_of(&s.fields[kRnnSequences]);
  for (int64_t i = 0; i < all->size; ++i)
    if (info_of((const Any*)all->data + i)[kRnnId] == id) return i;
  return -1;
}

/* Its info, which is written in place. */
static int32_t sequence_of(Rnn s, int64_t id, int64_t** out) {
  const int64_t at = place_of(s, id);
  if (at < 0) return rldb_aot_fail(kErrorType, "the state has no sequence %lld", (long long)id);
  *out = info_of(fields_of(&s.fields[kRnnSequences]) + at);
  return kSucceeded;
}

static int has_slot(const TVMFFISeqCell* all, int64_t slot) {
  for (int64_t i = 0; i < all->size; ++i)
    if (info_of((const Any*)all->data + i)[kSlot] == slot) return 1;
  return 0;
}

static int32_t free_slot(Rnn s, int64_t* slot) {
  const int64_t most = size_of(s, kRnnMost);
  for (*slot = 0; *slot < most; ++*slot)
    if (!has_slot(tuple_of(&s.fields[kRnnSequences]), *slot)) return kSucceeded;
  return rldb_aot_fail(kErrorType, "the state is for %lld sequences", (long long)most);
}

static uint64_t bytes_of(const DLTensor* memory) {
  uint64_t bytes = element_bytes(memory->dtype);
  for (int32_t i = 2; i < memory->ndim; ++i) bytes *= (uint64_t)memory->shape[i];
  return bytes;
}

static uint8_t* place_in(Rnn s, const DLTensor* memory, int64_t slot, int64_t step) {
  return data_of(memory) + (uint64_t)(slot * size_of(s, kHistory) + step) * bytes_of(memory);
}

static int32_t add_sequence(Rnn s, const int64_t* info) {
  Any made = {0};
  int32_t done = rldb_aot_shape(kInfoCount, info, &made);
  if (done == kSucceeded) done = rldb_aot_add_field(&s.fields[kRnnSequences], &made);
  rldb_aot_release(&made);
  return done;
}

static int32_t is_there_already(int64_t id) {
  return rldb_aot_fail(kErrorType, "the state has a sequence %lld already", (long long)id);
}

int32_t rldb_aot_rnn_clear(Rnn s) {
  rldb_aot_release(&s.fields[kRnnForward]);
  return rldb_aot_set_empty(&s.fields[kRnnSequences]);
}

int32_t rldb_aot_rnn_add(Rnn s, int64_t id) {
  int64_t slot;
  if (place_of(s, id) >= 0) return is_there_already(id);
  if (free_slot(s, &slot) != kSucceeded) return kFailed;
  const TVMFFISeqCell *initial = tuple_of(&s.fields[kInitial]), *memory = tuple_of(&s.fields[kMemory]);
  for (int64_t i = 0; i < memory->size; ++i) {
    const DLTensor* to = tensor_of((const Any*)memory->data + i);
    memcpy(place_in(s, to, slot, 0), data_of(tensor_of((const Any*)initial->data + i % initial->size)), bytes_of(to));
  }
  const int64_t info[kInfoCount] = {id, 0, slot, 0, 0};
  return add_sequence(s, info);
}

int32_t rldb_aot_rnn_remove(Rnn s, int64_t id) {
  const int64_t at = place_of(s, id);
  if (at < 0) return rldb_aot_fail(kErrorType, "the state has no sequence %lld", (long long)id);
  return rldb_aot_remove_field(&s.fields[kRnnSequences], at);
}

int32_t rldb_aot_rnn_fork(Rnn s, int64_t parent, int64_t child, int64_t position) {
  int64_t *from, info[kInfoCount], slot;
  if (sequence_of(s, parent, &from) != kSucceeded) return kFailed;
  if (place_of(s, child) >= 0) return is_there_already(child);
  if (position != -1 && position != from[kRnnLength])
    return rldb_aot_fail(kErrorUnsupported, "the state of sequence %lld is forked at its end, step %lld, not at %lld",
                         (long long)parent, (long long)from[kRnnLength], (long long)position);
  if (free_slot(s, &slot) != kSucceeded) return kFailed;
  const TVMFFISeqCell* memory = tuple_of(&s.fields[kMemory]);
  for (int64_t i = 0; i < memory->size; ++i) {
    const DLTensor* t = tensor_of((const Any*)memory->data + i);
    memcpy(place_in(s, t, slot, 0), place_in(s, t, from[kSlot], 0), bytes_of(t) * (uint64_t)size_of(s, kHistory));
  }
  memcpy(info, from, sizeof info);
  info[kRnnId] = child;
  info[kSlot] = slot;
  return add_sequence(s, info);
}

int32_t rldb_aot_rnn_pop(Rnn s, int64_t id, int64_t steps) {
  int64_t* now;
  if (sequence_of(s, id, &now) != kSucceeded) return kFailed;
  if (steps < 0 || steps > now[kPast])
    return rldb_aot_fail(kErrorType, "cannot take back %lld step%s of sequence %lld: %lld are kept", (long long)steps,
                         steps == 1 ? "" : "s", (long long)id, (long long)now[kPast]);
  const int64_t history = size_of(s, kHistory);
  now[kRnnLength] -= steps;
  now[kPast] -= steps;
  now[kStep] = (now[kStep] - steps + history) % history;
  return kSucceeded;
}

/* ---- the forward ---- */

int32_t rldb_aot_rnn_begin(Rnn s, Ints ids, Ints lengths, const Ints* parents) {
  if (ids.size != lengths.size)
    return rldb_aot_fail(kErrorType, "%lld sequences, but %lld lengths", (long long)ids.size, (long long)lengths.size);
  int64_t node = 0;
  for (int64_t i = 0; i < ids.size; ++i) {
    int64_t* found;
    if (sequence_of(s, ids.data[i], &found) != kSucceeded) return kFailed;
    if (is_listed_twice(ids, i))
      return rldb_aot_fail(kErrorType, "sequence %lld is given twice", (long long)ids.data[i]);
    if (lengths.data[i] < 0) return rldb_aot_fail(kErrorType, "%lld steps cannot be taken", (long long)lengths.data[i]);
    for (int64_t k = 0; parents && k < lengths.data[i]; ++k, ++node)
      if (node >= parents->size || parents->data[node] != k - 1)
        return rldb_aot_fail(kErrorUnsupported,
                             "the state of recurrent layers takes chains, and the token tree of sequence %lld is none",
                             (long long)ids.data[i]);
  }
  if (parents && node != parents->size)
    return rldb_aot_fail(kErrorType, "%lld nodes of token trees for a forward of %lld steps", (long long)parents->size,
                         (long long)node);
  return rldb_aot_set_forward(&s.fields[kRnnForward], ids, lengths);
}

/* The i-th sequence of the forward. */
static int32_t in_forward(Rnn s, int64_t i, int64_t** out) {
  return sequence_of(s, ints_in(&fields_of(&s.fields[kRnnForward])[0]).data[i], out);
}

/* How many it has; -1: none has begun, or one is gone. */
static int64_t forward_size(Rnn s) {
  if (s.fields[kRnnForward].type_index == kTVMFFINone) {
    rldb_aot_fail(kErrorType, "no forward of the state has begun");
    return -1;
  }
  const int64_t size = ints_in(&fields_of(&s.fields[kRnnForward])[0]).size;
  for (int64_t i = 0; i < size; ++i) {
    int64_t* found;
    if (in_forward(s, i, &found) != kSucceeded) return -1;
  }
  return size;
}

/* A forward of several steps leaves no past: the states in between are not kept. */
int32_t rldb_aot_rnn_end(Rnn s) {
  const int64_t size = forward_size(s), history = size_of(s, kHistory);
  if (size < 0) return kFailed;
  const Ints lengths = ints_in(&fields_of(&s.fields[kRnnForward])[1]);
  for (int64_t i = 0; i < size; ++i) {
    int64_t *now, length;
    in_forward(s, i, &now);
    if (__builtin_add_overflow(now[kRnnLength], lengths.data[i], &length))
      return rldb_aot_fail(kErrorType, "a sequence is too long");
    now[kRnnLength] = length;
    now[kPast] = lengths.data[i] > 1 ? 0 : now[kPast] + 1 < history ? now[kPast] + 1 : history - 1;
    now[kStep] = (now[kStep] + 1) % history;
  }
  rldb_aot_release(&s.fields[kRnnForward]);
  return kSucceeded;
}

/* ---- states ---- */

static int32_t memory_of(Rnn s, int64_t layer, int64_t state, const DLTensor** out) {
  const int64_t layers = size_of(s, kRnnLayers), states = tuple_of(&s.fields[kInitial])->size;
  if (layer < 0 || layer >= layers || state < 0 || state >= states)
    return rldb_aot_fail(kErrorType, "there is no state %lld of layer %lld: there are %lld layer%s of %lld state%s",
                         (long long)state, (long long)layer, (long long)layers, layers == 1 ? "" : "s",
                         (long long)states, states == 1 ? "" : "s");
  *out = tensor_of(fields_of(&s.fields[kMemory]) + layer * states + state);
  return kSucceeded;
}

/* (sequences, shape of the state) */
static int32_t check_batch(const DLTensor* memory, const DLTensor* batch, int64_t sequences) {
  int good = batch->ndim == memory->ndim - 1 && batch->shape[0] == sequences && same_dtype(batch->dtype, memory->dtype);
  for (int32_t i = 1; good && i < batch->ndim; ++i) good = batch->shape[i] == memory->shape[i + 1];
  if (good) return kSucceeded;
  Buffer text = {0};
  rldb_aot_put(&text, "the states of the forward are ");
  rldb_aot_put_dtype(&text, memory->dtype);
  rldb_aot_put(&text, " of (%lld%s", (long long)sequences, memory->ndim > 2 ? ", " : "");
  rldb_aot_put_dims(&text, memory->ndim - 2, memory->shape + 2);
  rldb_aot_put(&text, "), not ");
  rldb_aot_put_dtype(&text, batch->dtype);
  rldb_aot_put(&text, " of (");
  rldb_aot_put_dims(&text, batch->ndim, batch->shape);
  rldb_aot_put(&text, ")");
  rldb_aot_fail(kErrorShape, "%s", text.data ? text.data : "");
  free(text.data);
  return kFailed;
}

typedef struct {
  Rnn s;
  const DLTensor *memory, *batch;
  int64_t sequences;
} Access;

/* args: state, layer, number of the state, a tensor for the sequences of the forward */
static int32_t access_of(const Args* a, Access* x) {
  int64_t layer, state;
  if (a->count == 0 || !rldb_aot_rnn_of(&a->args[0], &x->s)) return rldb_aot_arg_wrong(a, 0);
  if (rldb_aot_arg_integer(a, 1, &layer) != kSucceeded || rldb_aot_arg_integer(a, 2, &state) != kSucceeded ||
      rldb_aot_arg_tensor(a, 3, &x->batch) != kSucceeded || memory_of(x->s, layer, state, &x->memory) != kSucceeded)
    return kFailed;
  x->sequences = forward_size(x->s);
  return x->sequences < 0 ? kFailed : check_batch(x->memory, x->batch, x->sequences);
}

int32_t rldb_aot_RnnStateGet(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "state, layer, number of the state, out"};
  Access x;
  (void)library, (void)result;
  if (access_of(&a, &x) != kSucceeded) return kFailed;
  const uint64_t bytes = bytes_of(x.memory);
  for (int64_t i = 0; i < x.sequences; ++i) {
    int64_t* info;
    in_forward(x.s, i, &info);
    memcpy(data_of(x.batch) + (uint64_t)i * bytes, place_in(x.s, x.memory, info[kSlot], info[kStep]), bytes);
  }
  return kSucceeded;
}

int32_t rldb_aot_RnnStateSet(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "state, layer, number of the state, its values"};
  Access x;
  (void)library;
  if (access_of(&a, &x) != kSucceeded) return kFailed;
  const uint64_t bytes = bytes_of(x.memory);
  for (int64_t i = 0; i < x.sequences; ++i) {
    int64_t* info;
    in_forward(x.s, i, &info);
    const int64_t next = (info[kStep] + 1) % size_of(x.s, kHistory);
    memcpy(place_in(x.s, x.memory, info[kSlot], next), data_of(x.batch) + (uint64_t)i * bytes, bytes);
  }
  rldb_aot_copy(result, &args[0]);
  return kSucceeded;
}

int32_t rldb_aot_RnnStateDebug(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count, "state, layer, number of the state, sequence"};
  Rnn s;
  int64_t layer, state, id, *info;
  const DLTensor* from;
  (void)library;
  if (count == 0 || !rldb_aot_rnn_of(&args[0], &s)) return rldb_aot_arg_wrong(&a, 0);
  if (rldb_aot_arg_integer(&a, 1, &layer) != kSucceeded || rldb_aot_arg_integer(&a, 2, &state) != kSucceeded ||
      rldb_aot_arg_integer(&a, 3, &id) != kSucceeded || memory_of(s, layer, state, &from) != kSucceeded ||
      sequence_of(s, id, &info) != kSucceeded ||
      rldb_aot_tensor(from->ndim - 2, from->shape + 2, from->dtype, result) != kSucceeded)
    return kFailed;
  memcpy(data_of(tensor_of(result)), place_in(s, from, info[kSlot], info[kStep]), bytes_of(from));
  return kSucceeded;
}

/* ---- creation ---- */

static int32_t make_memory(const int64_t* sizes, const TVMFFISeqCell* initial, Any* memory) {
  for (int64_t i = 0; i < sizes[kRnnLayers] * initial->size; ++i) {
    const DLTensor* t = tensor_of((const Any*)initial->data + i % initial->size);
    int64_t shape[64] = {sizes[kRnnMost], sizes[kHistory]};
    if (t->ndim > 60) return rldb_aot_fail(kErrorUnsupported, "a state of %d dims", t->ndim);
    for (int32_t d = 0; d < t->ndim; ++d) shape[d + 2] = t->shape[d];
    if (rldb_aot_zeros(t->ndim + 2, shape, t->dtype, &memory[i]) != kSucceeded) return kFailed;
  }
  return kSucceeded;
}

static int32_t make_state(const int64_t* sizes, const Any* initial, Any* memory, int64_t count, Any* result) {
  Any f[kRnnFields] = {{0}};
  int32_t done = kFailed;
  if (make_memory(sizes, tuple_of(initial), memory) == kSucceeded &&
      rldb_aot_string(RNN_KIND, sizeof RNN_KIND - 1, &f[kRnnKind]) == kSucceeded &&
      rldb_aot_set_ints(&f[kSizes], sizes, kSizeCount) == kSucceeded &&
      rldb_aot_tuple(count, memory, &f[kMemory]) == kSucceeded && rldb_aot_set_empty(&f[kRnnSequences]) == kSucceeded) {
    rldb_aot_copy(&f[kInitial], initial);
    done = rldb_aot_tuple(kRnnFields, f, result);
  }
  rldb_aot_release_all(f, kRnnFields);
  rldb_aot_release_all(memory, count);
  return done;
}

int32_t rldb_aot_RnnStateCreate(Library* library, const Any* args, int32_t count, Any* result) {
  const Args a = {args, count,
                  "layers, sequences, steps of history, functions that read, functions that write, initial states"};
  int64_t sizes[kSizeCount];
  (void)library;
  for (int i = 0; i < kSizeCount; ++i)
    if (rldb_aot_arg_integer(&a, i, &sizes[i]) != kSucceeded) return kFailed;
  if (count != 6 || !are_tensors(&args[5])) return rldb_aot_arg_wrong(&a, count > 5 ? 5 : count);
  const int64_t states = tuple_of(&args[5])->size;
  if (states == 0) return rldb_aot_fail(kErrorType, "a layer has at least one state");
  for (int i = 0; i < kSizeCount; ++i)
    if (sizes[i] < 1 || sizes[i] > kMostSize)
      return rldb_aot_fail(
          kErrorType, "layers, sequences and steps of history are positive, the state itself being the first step");
  Any* memory = calloc((size_t)(sizes[kRnnLayers] * states) + 1, sizeof(Any));
  if (!memory)
    return rldb_aot_fail(kErrorMemory, "no memory for the states of %lld layers", (long long)sizes[kRnnLayers]);
  const int32_t done = make_state(sizes, &args[5], memory, sizes[kRnnLayers] * states, result);
  free(memory);
  return done;
}
