/* Tensors in .npy files. */
#include "aot/runtime/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostHeader = 1 << 20, kMostRank = 64 };

static const struct {
  const char* name;
  DLDataType type;
} kTypes[] = {{"V1", {1, 8, 1}},  {"V2", {1, 16, 1}}, /* read only: the later row is written */
              {"b1", {6, 8, 1}},  {"i1", {0, 8, 1}},  {"i2", {0, 16, 1}}, {"i4", {0, 32, 1}},
              {"i8", {0, 64, 1}}, {"u1", {1, 8, 1}},  {"u2", {1, 16, 1}}, {"u4", {1, 32, 1}},
              {"u8", {1, 64, 1}}, {"f2", {2, 16, 1}}, {"f4", {2, 32, 1}}, {"f8", {2, 64, 1}}};
enum { kTypeCount = sizeof kTypes / sizeof *kTypes };

/* The text after `'key':`, or null. */
static const char* value_of(const char* header, const char* key) {
  char quoted[32];
  snprintf(quoted, sizeof quoted, "'%s':", key);
  const char* at = strstr(header, quoted);
  if (!at) return NULL;
  at += strlen(quoted);
  while (*at == ' ') ++at;
  return at;
}

static const char* parse_shape(const char* at, int64_t* rank, int64_t* shape) {
  *rank = 0;
  while (*at && *at != ')') {
    char* end = NULL;
    if (*at == ',' || *at == ' ') {
      ++at;
      continue;
    }
    const long long d = strtoll(at, &end, 10);
    if (end == at || d < 0 || *rank == kMostRank) return "its shape cannot be read";
    shape[(*rank)++] = d;
    at = end;
  }
  return NULL;
}

/* bfloat16 and float8 have names of their own, as in rldb's files; as NumPy writes them they are bits (`V2`). */
static int has_own_name(DLDataType t) { return t.lanes == 1 && (t.code == 4 || (t.code >= 7 && t.code <= 14)); }
static int named(const char* name, uint64_t size, DLDataType* type) {
  return rldb_aot_parse_dtype(name, size, type) && has_own_name(*type);
}

/* How elements lie in a file. */
typedef struct {
  int column_major, big_endian;
} Layout;

static const char* parse(const char* header, DLDataType* type, int64_t* rank, int64_t* shape, Layout* layout) {
  const char* descr = value_of(header, "descr");
  const char* order = value_of(header, "fortran_order");
  const char* dims = value_of(header, "shape");
  if (!descr || !order || !dims || descr[0] != '\'' || dims[0] != '(') return "its header cannot be read";
  layout->column_major = strncmp(order, "True", 4) == 0;
  layout->big_endian = descr[1] == '>';
  const char* end_of_name = strchr(descr + 1, '\'');
  if (!end_of_name) return "its header cannot be read";
  if (named(descr + 1, (uint64_t)(end_of_name - descr - 1), type)) return parse_shape(dims + 1, rank, shape);
  if (descr[1] != '<' && descr[1] != '>' && descr[1] != '|') return "its byte order is not known";
  int found = -1;
  for (int i = 0; i < kTypeCount; ++i)
    if (strncmp(descr + 2, kTypes[i].name, 2) == 0 && descr[4] == '\'') found = i;
  if (found < 0) return "its dtype is not supported";
  *type = kTypes[found].type;
  return parse_shape(dims + 1, rank, shape);
}

static const char* read_header(FILE* f, char** header) {
  unsigned char head[12];
  static const unsigned char kMagic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (fread(head, 1, 10, f) != 10 || memcmp(head, kMagic, 6) != 0) return "it is not an .npy file";
  uint64_t size = head[8] | (uint64_t)head[9] << 8;
  if (head[6] < 1 || head[6] > 3) return "its version is not known";
  if (head[6] > 1) {
    if (fread(head + 10, 1, 2, f) != 2) return "it is cut short";
    size |= (uint64_t)head[10] << 16 | (uint64_t)head[11] << 24;
  }
  if (size > kMostHeader) return "its header is too long";
  *header = calloc(size + 1, 1);
  if (!*header) return "there is no memory";
  return fread(*header, 1, size, f) == size ? NULL : "it is cut short";
}

static void reverse_bytes(uint8_t* data, uint64_t bytes, uint64_t width) {
  for (uint8_t* element = data; element < data + bytes; element += width)
    for (uint64_t i = 0; i < width / 2; ++i) {
      const uint8_t first = element[i];
      element[i] = element[width - 1 - i];
      element[width - 1 - i] = first;
    }
}

static void copy_row_major(const uint8_t* from, uint8_t* to, uint64_t bytes, uint64_t width, int64_t rank,
                           const int64_t* shape) {
  int64_t index[kMostRank] = {0};
  uint64_t step[kMostRank], next = width, at = 0;
  for (int64_t d = 0; d < rank; ++d) {
    step[d] = next;
    next *= (uint64_t)shape[d];
  }
  for (uint64_t done = 0; done < bytes; done += width) {
    memcpy(to + done, from + at, width);
    for (int64_t d = rank - 1; d >= 0; --d) {
      at += step[d];
      if (++index[d] < shape[d]) break;
      at -= step[d] * (uint64_t)shape[d];
      index[d] = 0;
    }
  }
}

/* Into the order of a tensor. */
static const char* arrange(uint8_t* data, uint64_t bytes, uint64_t width, int64_t rank, const int64_t* shape,
                           Layout layout) {
  if (layout.big_endian) reverse_bytes(data, bytes, width);
  if (!layout.column_major || rank < 2 || bytes == 0) return NULL;
  uint8_t* copy = malloc(bytes);
  if (!copy) return "there is no memory for it";
  memcpy(copy, data, bytes);
  copy_row_major(copy, data, bytes, width, rank, shape);
  free(copy);
  return NULL;
}

static const char* read_data(FILE* f, const char* header, const DLDataType* wanted, Any* result) {
  DLDataType type;
  int64_t rank = 0, shape[kMostRank];
  Layout layout = {0, 0};
  const char* why = parse(header, &type, &rank, shape, &layout);
  if (why) return why;
  uint64_t bytes = 0;
  if (!rldb_aot_bytes(rank, shape, element_bytes(type), &bytes)) return "its shape is too large";
  /* Compared with the file before memory is allocated. */
  const long begin = ftell(f);
  if (begin < 0 || fseek(f, 0, SEEK_END) != 0) return "it cannot be measured";
  const long end = ftell(f);
  if (end < begin || (uint64_t)(end - begin) != bytes) return "its size does not fit its shape";
  fseek(f, begin, SEEK_SET);
  const int raw = type.code == 1 && wanted && wanted->bits == type.bits && wanted->code >= 4 && wanted->code != 6;
  if (rldb_aot_tensor(rank, shape, raw ? *wanted : type, result) != kSucceeded) return "there is no memory for it";
  uint8_t* data = data_of(tensor_of(result));
  why = fread(data, 1, bytes, f) == bytes ? arrange(data, bytes, element_bytes(type), rank, shape, layout)
                                          : "it cannot be read";
  if (why) rldb_aot_release(result);
  return why;
}

const char* npy_read(const char* path, const DLDataType* wanted, Any* result) {
  FILE* f = fopen(path, "rb");
  if (!f) return "it cannot be opened";
  char* header = NULL;
  const char* why = read_header(f, &header);
  if (!why) why = read_data(f, header, wanted, result);
  free(header);
  fclose(f);
  return why;
}

static void put_descr(char* out, size_t room, const DLTensor* t, const char* name) {
  Buffer text = {0};
  if (has_own_name(t->dtype)) rldb_aot_put_dtype(&text, t->dtype);
  if (text.data)
    snprintf(out, room, "%s", text.data);
  else
    snprintf(out, room, "%c%s", name[1] == '1' ? '|' : '<', name);
  free(text.data);
}

const char* npy_write(const char* path, const DLTensor* t) {
  const char* name = NULL;
  char descr[32];
  for (int i = 0; i < kTypeCount; ++i)
    if (kTypes[i].type.code == t->dtype.code && kTypes[i].type.bits == t->dtype.bits) name = kTypes[i].name;
  if (!name) name = t->dtype.bits == 16 ? "u2" : t->dtype.bits <= 8 ? "u1" : NULL;
  if (!name || t->dtype.lanes != 1) return "its dtype has no .npy form";
  if (t->ndim > kMostRank) return "its rank is too large";
  char header[2048];
  put_descr(descr, sizeof descr, t, name);
  int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
  for (int32_t i = 0; i < t->ndim; ++i)
    n += snprintf(header + n, sizeof header - (size_t)n, "%lld%s", (long long)t->shape[i],
                  t->ndim == 1      ? ","
                  : i + 1 < t->ndim ? ", "
                                    : "");
  n += snprintf(header + n, sizeof header - (size_t)n, "), }");
  while ((10 + n + 1) % 64 != 0) header[n++] = ' ';
  header[n++] = '\n';
  const unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)n, (unsigned char)(n >> 8)};
  const uint64_t bytes = (uint64_t)rldb_aot_element_count(t) * element_bytes(t->dtype);
  FILE* f = fopen(path, "wb");
  if (!f) return "it cannot be created";
  const int good = fwrite(head, 1, 10, f) == 10 && fwrite(header, 1, (size_t)n, f) == (size_t)n &&
                   fwrite(data_of(t), 1, bytes, f) == bytes;
  return fclose(f) == 0 && good ? NULL : "it cannot be written";
}
