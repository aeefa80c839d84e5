/* The main of a program that `rldb build --standalone` makes: arguments from .npy files, numbers and shapes, results to
 * files.
 *
 *   PROGRAM [FUNCTION] [NAME=]VALUE... [-o FILE.npy]
 *
 * Exit codes: 0 good, 1 the program failed, 2 wrong usage, as rldb's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/format.h"
#include "aot/runtime/npy.h"

enum { kGood = 0, kProgramFailed = 1, kUsage = 2, kMostParams = 4096 };

extern Library* const rldb_aot_standalone;

static int is_name(Text t, const char* text, size_t size) { return t.size == size && memcmp(t.data, text, size) == 0; }

static int64_t find_function(const State* s, const char* name) {
  for (uint64_t i = 0; i < s->function_count; ++i)
    if (s->functions[i].exported && is_name(s->functions[i].name, name, strlen(name))) return (int64_t)i;
  return -1;
}

static void show_usage(FILE* out, const char* program, const State* s) {
  fprintf(out,
          "usage: %s [FUNCTION] [NAME=]VALUE... [-o FILE.npy]\nA VALUE is an .npy file, a number (of a tensor without "
          "dims too) or a shape (2,3).\n",
          program);
  for (uint64_t i = 0; i < s->function_count; ++i) {
    const FunctionInfo* f = &s->functions[i];
    if (!f->exported) continue;
    fprintf(out, "%.*s\n", (int)f->name.size, f->name.data);
    for (int64_t p = 0; p < f->param_count; ++p)
      fprintf(out, "  %.*s: %.*s\n", (int)f->params[p].size, f->params[p].data, (int)f->types[p].size,
              f->types[p].data);
  }
}

/* The dtype that a parameter's printed type names: `R.Tensor((n, 4), dtype="bfloat16")`. */
static int dtype_in(Text type, DLDataType* out) {
  char text[512];
  if (type.size >= sizeof text) return 0;
  memcpy(text, type.data, type.size);
  text[type.size] = 0;
  const char* at = strstr(text, "dtype=\"");
  const char* end = at ? strchr(at + 7, '"') : NULL;
  return end && rldb_aot_parse_dtype(at + 7, (uint64_t)(end - at - 7), out);
}

static int begins(Text type, const char* with) {
  const size_t size = strlen(with);
  return type.size >= size && memcmp(type.data, with, size) == 0;
}

static int wrong_value(const char* text, const char* why) {
  fprintf(stderr, "error: `%s` %s\n", text, why);
  return 0;
}

/* A number, a truth value: integers are exact. 0: it is none. */
static int read_number(const char* text, Any* out) {
  static const char* const kTruth[] = {"False", "True", "false", "true"};
  char* end = NULL;
  for (int i = 0; i < 4; ++i)
    if (strcmp(text, kTruth[i]) == 0) {
      *out = (Any){.type_index = kTVMFFIBool, .v_int64 = i % 2};
      return 1;
    }
  errno = 0;
  *out = (Any){.type_index = kTVMFFIInt, .v_int64 = strtoll(text, &end, 10)};
  if (end != text && *end == 0) return errno == 0 ? 1 : wrong_value(text, "does not fit into 64 bits");
  *out = (Any){.type_index = kTVMFFIFloat, .v_float64 = strtod(text, &end)};
  return end != text && *end == 0 ? 1 : wrong_value(text, "is neither an .npy file nor a number");
}

/* A number as the parameter takes it: a tensor without dims, an integer, a float. */
static int fit_number(const char* text, Text type, Any* v) {
  const int integer = is_integer(v);
  DLDataType wanted = {0, 64, 1};
  if (begins(type, "T.float") || begins(type, "T.bfloat")) {
    if (integer) *v = (Any){.type_index = kTVMFFIFloat, .v_float64 = (double)v->v_int64};
    return 1;
  }
  if (begins(type, "T.") && !integer) return wrong_value(text, "is not an integer");
  if (!begins(type, "R.Tensor")) return 1;
  if (!begins(type, "R.Tensor(()") && !begins(type, "R.Tensor(dtype") && !begins(type, "R.Tensor(ndim=0"))
    return wrong_value(text, "is a number, and the parameter a tensor with dims: give an .npy file");
  if (!dtype_in(type, &wanted) && !integer) wanted = (DLDataType){2, 32, 1};
  Any made = {0};
  if (rldb_aot_tensor(0, NULL, wanted, &made) != kSucceeded) return wrong_value(text, rldb_aot_message());
  void* at = data_of(tensor_of(&made));
  const int good = integer ? rldb_aot_store_int(at, wanted, v->v_int64)
                           : is_float(wanted) && rldb_aot_store_double(at, wanted, v->v_float64);
  if (!good) rldb_aot_release(&made);
  *v = made;
  return good ? 1 : wrong_value(text, "is not a number of the parameter's dtype");
}

/* `2,3`, `(2, 3)`, `()`. */
static int read_shape(const char* text, Any* out) {
  int64_t dims[64];
  int64_t rank = 0;
  for (const char* at = text; *at;) {
    char* end = NULL;
    if (strchr("(), []", *at)) {
      ++at;
      continue;
    }
    errno = 0;
    dims[rank++] = strtoll(at, &end, 10);
    if (end == at || rank == 64) return wrong_value(text, "is no shape: `2,3`");
    if (errno == ERANGE) return wrong_value(text, "has a dim that does not fit into 64 bits");
    at = end;
  }
  return rldb_aot_shape(rank, dims, out) == kSucceeded;
}

static int read_value(const char* text, Text type, Any* out) {
  const size_t size = strlen(text);
  memset(out, 0, sizeof *out);
  if (size > 4 && strcmp(text + size - 4, ".npy") == 0) {
    DLDataType wanted;
    const char* why = npy_read(text, dtype_in(type, &wanted) ? &wanted : NULL, out);
    if (why) fprintf(stderr, "error: `%s`: %s\n", text, why);
    return why == NULL;
  }
  if (begins(type, "R.Shape")) return read_shape(text, out);
  return read_number(text, out) && fit_number(text, type, out);
}

/* `x=1`: the parameter and the text after the sign; otherwise the first parameter without a value. */
static int64_t param_of(const FunctionInfo* f, const uint8_t* given, const char** text) {
  const char* sign = strchr(*text, '=');
  for (int64_t p = 0; p < f->param_count; ++p) {
    if (sign ? is_name(f->params[p], *text, (size_t)(sign - *text)) : !given[p]) {
      if (sign) *text = sign + 1;
      return p;
    }
  }
  return -1;
}

/* A value as rldb writes it to a file: numbers and shapes are tensors too. 0: no file can hold it. */
static int as_tensor(const Any* v, Any* out) {
  const DLDataType integer = {0, 64, 1}, number = {2, 64, 1}, boolean = {6, 8, 1};
  const TVMFFIShapeCell* s = shape_of(v);
  const int64_t rank = s ? (int64_t)s->size : 0;
  const DLDataType type = v->type_index == kTVMFFIFloat ? number : v->type_index == kTVMFFIBool ? boolean : integer;
  if (tensor_of(v)) {
    rldb_aot_copy(out, v);
    return 1;
  }
  if (!s && !is_integer(v) && v->type_index != kTVMFFIFloat) return 0;
  if (rldb_aot_tensor(s ? 1 : 0, &rank, type, out) != kSucceeded) return 0;
  if (s && rank > 0) memcpy(data_of(tensor_of(out)), s->data, s->size * sizeof(int64_t));
  if (!s) memcpy(data_of(tensor_of(out)), &v->v_int64, element_bytes(type));
  return 1;
}

/* As `rldb run` prints it. */
static void print_value(const Any* v) {
  Buffer text = {0};
  rldb_aot_put_whole(&text, v);
  printf("%s\n", text.data ? text.data : "");
  free(text.data);
}

static int no_file_for(const Any* v) {
  Buffer text = {0};
  rldb_aot_put_value(&text, v);
  fprintf(stderr, "error: the result cannot be written: it holds %s\n", text.data ? text.data : "");
  free(text.data);
  return 0;
}

/* `next`: the number of the next file, counted over the fields of nested tuples; -1: the result is one value. */
static int put_value(const char* path, const Any* v, int* next) {
  char name[4096];
  Any t = {0};
  if (v->type_index == kTVMFFINone) return 1;
  if (!as_tensor(v, &t)) return no_file_for(v);
  const size_t size = strlen(path);
  const int stem = size > 4 && strcmp(path + size - 4, ".npy") == 0 ? (int)size - 4 : (int)size;
  if (*next < 0)
    snprintf(name, sizeof name, "%s", path);
  else
    snprintf(name, sizeof name, "%.*s_%d.npy", stem, path, (*next)++);
  const char* why = npy_write(name, tensor_of(&t));
  if (why) fprintf(stderr, "error: `%s`: %s\n", name, why);
  rldb_aot_release(&t);
  return why == NULL;
}

/* The values of nested tuples in order, however deep: a list of those that are still to come. */
typedef struct {
  const Any** rest; /* null: the tuple that is the last of `path` is over */
  uint64_t count, room;
  const TVMFFIObject** path; /* tuples around the value, that several values refer to */
  uint64_t depth, path_room;
} Fields;

static int push(const void*** list, uint64_t* count, uint64_t* room, const void* v) {
  if (*count == *room) {
    const void** larger = realloc(*list, (2 * *room + 16) * sizeof(void*));
    if (!larger) return 0;
    *list = larger;
    *room = 2 * *room + 16;
  }
  (*list)[(*count)++] = v;
  return 1;
}

static int push_value(Fields* f, const Any* v) { return push((const void***)&f->rest, &f->count, &f->room, v); }

static int push_fields(Fields* f, const Any* v) {
  const TVMFFISeqCell* t = tuple_of(v);
  const TVMFFIObject* object = v->v_obj;
  if ((uint32_t)object->combined_ref_count > 1) {
    for (uint64_t i = 0; i < f->depth; ++i)
      if (f->path[i] == object) return 0; /* it holds itself */
    if (!push((const void***)&f->path, &f->depth, &f->path_room, object) || !push_value(f, NULL)) return 0;
  }
  for (int64_t i = t->size; i-- > 0;)
    if (!push_value(f, (const Any*)t->data + i)) return 0;
  return 1;
}

/* Calls `does` for each; 0: it failed, or the value holds itself. */
static int each_value(const Any* v, int (*does)(void* self, const Any* v), void* self) {
  Fields f = {0};
  int good = push_value(&f, v);
  while (good && f.count > 0) {
    const Any* at = f.rest[--f.count];
    if (!at)
      --f.depth;
    else
      good = tuple_of(at) ? push_fields(&f, at) : does(self, at);
  }
  free(f.rest);
  free(f.path);
  return good;
}

typedef struct {
  const char* path;
  int next, written; /* the number of the next file; whether what is wrong has been said */
} Output;

static int count_value(void* self, const Any* v) {
  *(int64_t*)self += v->type_index != kTVMFFINone;
  return 1;
}

static int write_value(void* self, const Any* v) {
  Output* o = self;
  return o->written = put_value(o->path, v, &o->next);
}

static int write_result(const char* path, const Any* v) {
  int64_t count = 0;
  Output o = {path, -1, 1};
  if (each_value(v, count_value, &count)) {
    if (count > 1) o.next = 0; /* a single value has the name that is given */
    if (each_value(v, write_value, &o)) return 1;
  }
  if (o.written) fprintf(stderr, "error: the result cannot be written: it holds itself, or there is no memory\n");
  return 0;
}

static int run(const State* s, int64_t function, char** values, int count, const char* output) {
  static Any args[kMostParams];
  static uint8_t given[kMostParams];
  const FunctionInfo* f = &s->functions[function];
  if (f->param_count > kMostParams) {
    fprintf(stderr, "error: the function has too many parameters\n");
    return kUsage;
  }
  for (int i = 0; i < count; ++i) {
    const char* text = values[i];
    const int64_t p = param_of(f, given, &text);
    if (p < 0) {
      fprintf(stderr, "error: `%s`: there is no such parameter, or all have values\n", values[i]);
      return kUsage;
    }
    if (!read_value(text, f->types[p], &args[p])) return kUsage;
    given[p] = 1;
  }
  for (int64_t p = 0; p < f->param_count; ++p)
    if (!given[p]) {
      fprintf(stderr, "error: `%.*s` has no value\n", (int)f->params[p].size, f->params[p].data);
      return kUsage;
    }
  Any result = {0};
  const int32_t done = rldb_aot_enter(rldb_aot_standalone, function, args, (int32_t)f->param_count, &result);
  if (done != kSucceeded) {
    fprintf(stderr, "error: %s\n", rldb_aot_message());
    return kProgramFailed;
  }
  if (!output) print_value(&result);
  const int written = !output || write_result(output, &result);
  rldb_aot_release(&result);
  rldb_aot_release_all(args, f->param_count);
  return written ? kGood : kProgramFailed;
}

int main(int argc, char** argv) {
  const State* s = rldb_aot_open(rldb_aot_standalone);
  if (!s) {
    fprintf(stderr, "error: %s\n", rldb_aot_message());
    return kProgramFailed;
  }
  const char* output = NULL;
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      show_usage(stdout, argv[0], s);
      return kGood;
    }
    if (strcmp(argv[i], "-o") == 0) {
      if (i + 1 == argc) {
        fprintf(stderr, "error: `-o` needs a file\n");
        return kUsage;
      }
      output = argv[++i];
    } else {
      argv[1 + count++] = argv[i];
    }
  }
  char** values = argv + 1;
  int64_t function = count > 0 ? find_function(s, values[0]) : -1;
  if (function >= 0) {
    ++values;
    --count;
  } else {
    function = find_function(s, "main");
  }
  if (function < 0) {
    fprintf(stderr, "error: there is no function `main`: name one\n");
    show_usage(stderr, argv[0], s);
    return kUsage;
  }
  return run(s, function, values, count, output);
}
