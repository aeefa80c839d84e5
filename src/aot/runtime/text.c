/* Values as they are named: one line, as runtime::describe has them. */
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/format.h"

static const struct {
  uint8_t code;
  uint8_t bits;
  const char* name;
} kNarrow[] = {
    {4, 16, "bfloat16"},       {7, 8, "float8_e3m4"},      {8, 8, "float8_e4m3"},    {9, 8, "float8_e4m3b11fnuz"},
    {10, 8, "float8_e4m3fn"},  {11, 8, "float8_e4m3fnuz"}, {12, 8, "float8_e5m2"},   {13, 8, "float8_e5m2fnuz"},
    {14, 8, "float8_e8m0fnu"}, {15, 6, "float6_e2m3fn"},   {16, 6, "float6_e3m2fn"}, {17, 4, "float4_e2m1fn"},
};
enum { kNarrowCount = sizeof kNarrow / sizeof *kNarrow };

static const char* const kWords[] = {"int", "uint", "float"};

void rldb_aot_put_dtype(Buffer* b, DLDataType t) {
  if (t.code == 6) {
    rldb_aot_put(b, "bool");
  } else if (t.code == 3) {
    rldb_aot_put(b, t.bits == 0 ? "void" : "handle");
  } else if (t.code <= 2) {
    rldb_aot_put(b, "%s%d", kWords[t.code], t.bits);
  } else {
    const char* name = "unknown";
    for (int i = 0; i < kNarrowCount; ++i)
      if (kNarrow[i].code == t.code) name = kNarrow[i].name;
    rldb_aot_put(b, "%s", name);
  }
  if (t.lanes != 1) rldb_aot_put(b, "x%d", t.lanes);
}

int rldb_aot_parse_dtype(const char* text, uint64_t size, DLDataType* out) {
  out->lanes = 1;
  const char* x = memchr(text, 'x', size);
  if (x) {
    out->lanes = (uint16_t)atoi(x + 1);
    size = (uint64_t)(x - text);
  }
  if (size == 0 || (size == 4 && memcmp(text, "void", 4) == 0)) {
    *out = (DLDataType){3, 0, 1};
    return 1;
  }
  if (size == 4 && memcmp(text, "bool", 4) == 0) {
    out->code = 6;
    out->bits = 8;
    return 1;
  }
  for (int i = 0; i < kNarrowCount; ++i)
    if (strlen(kNarrow[i].name) == size && memcmp(kNarrow[i].name, text, size) == 0) {
      out->code = kNarrow[i].code;
      out->bits = kNarrow[i].bits;
      return 1;
    }
  for (int i = 0; i < 3; ++i) {
    const size_t word = strlen(kWords[i]);
    if (size <= word || size > word + 2 || memcmp(text, kWords[i], word) != 0) continue;
    int bits = 0;
    for (uint64_t k = word; k < size; ++k) {
      if (text[k] < '0' || text[k] > '9') return 0;
      bits = bits * 10 + (text[k] - '0');
    }
    if (bits == 0 || bits > 64) return 0;
    out->code = (uint8_t)i;
    out->bits = (uint8_t)bits;
    return 1;
  }
  return 0;
}

int rldb_aot_dtype(const Any* v, DLDataType* out) {
  Text text;
  if (v->type_index == kTVMFFIDataType) {
    *out = v->v_dtype;
    return 1;
  }
  return rldb_aot_text(v, &text) && rldb_aot_parse_dtype(text.data, text.size, out);
}

void rldb_aot_put_dims(Buffer* b, int64_t rank, const int64_t* dims) {
  for (int64_t i = 0; i < rank; ++i) rldb_aot_put(b, "%s%lld", i > 0 ? ", " : "", (long long)dims[i]);
}

int rldb_aot_text(const Any* v, Text* text) {
  switch (v->type_index) {
    case kTVMFFIStr: {
      const TVMFFIByteArray* bytes = TVMFFICellOf(v->v_obj);
      *text = (Text){bytes->data, bytes->size};
      return 1;
    }
    case kTVMFFISmallStr:
      *text = (Text){v->v_bytes, v->small_str_len};
      return 1;
    case kTVMFFIRawStr:
      *text = (Text){v->v_c_str, strlen(v->v_c_str)};
      return 1;
    default:
      return 0;
  }
}

static void put_quoted(Buffer* b, Text text) {
  rldb_aot_put(b, "\"");
  for (uint64_t i = 0; i < text.size; ++i) {
    const unsigned char c = (unsigned char)text.data[i];
    if (c == '\n')
      rldb_aot_put(b, "\\n");
    else if (c < 0x20 || c == 0x7F)
      rldb_aot_put(b, "\\x%02x", c);
    else
      rldb_aot_put(b, c == '"' || c == '\\' ? "\\%c" : "%c", c);
  }
  rldb_aot_put(b, "\"");
}

static void put_function(Buffer* b, const Any* v) {
  const Closure* c = rldb_aot_is_own_closure(v) ? (const Closure*)v->v_obj : NULL;
  if (!c || c->function < 0) {
    rldb_aot_put(b, c ? "closure" : "function");
    return;
  }
  const Text name = c->library->state->functions[c->function].name;
  if (c->captured_count == 0)
    rldb_aot_put(b, "function(`%.*s`)", (int)name.size, name.data);
  else
    rldb_aot_put(b, "closure(`%.*s`, %lld captured)", (int)name.size, name.data, (long long)c->captured_count);
}

void rldb_aot_put_value(Buffer* b, const Any* v) {
  const DLTensor* t = tensor_of(v);
  if (t) {
    rldb_aot_put(b, "Tensor[(");
    rldb_aot_put_dims(b, t->ndim, t->shape);
    rldb_aot_put(b, t->ndim == 1 ? ",), \"" : "), \"");
    rldb_aot_put_dtype(b, t->dtype);
    rldb_aot_put(b, "\"]");
    return;
  }
  Text text;
  if (rldb_aot_text(v, &text)) {
    put_quoted(b, text);
    return;
  }
  switch (v->type_index) {
    case kTVMFFINone:
      rldb_aot_put(b, "null");
      return;
    case kTVMFFIInt:
      rldb_aot_put(b, "%lld", (long long)v->v_int64);
      return;
    case kTVMFFIBool:
      rldb_aot_put(b, v->v_int64 ? "True" : "False");
      return;
    case kTVMFFIFloat:
      rldb_aot_put_scalar(b, v->v_float64, (DLDataType){2, 64, 1});
      return;
    case kTVMFFIDataType:
      rldb_aot_put(b, "dtype(\"");
      rldb_aot_put_dtype(b, v->v_dtype);
      rldb_aot_put(b, "\")");
      return;
    case kTVMFFIFunction:
      put_function(b, v);
      return;
    case kTVMFFIShape: {
      const TVMFFIShapeCell* s = shape_of(v);
      rldb_aot_put(b, "shape(");
      rldb_aot_put_dims(b, (int64_t)s->size, s->data);
      rldb_aot_put(b, ")");
      return;
    }
    case kTVMFFIArray:
      rldb_aot_put(b, "tuple(%lld)", (long long)tuple_of(v)->size);
      return;
    default:
      if (rldb_aot_is_storage(v))
        rldb_aot_put(b, "storage(%llu bytes)", (unsigned long long)((const Storage*)v->v_obj)->size);
      else
        rldb_aot_put(b, "an object of type index %d", v->type_index);
  }
}
