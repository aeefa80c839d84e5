#include "aot/runtime/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kMostElements = 1000, kEdge = 3, kPrecision = 8, kLine = 75, kMostDepth = 64, kMostFields = 1000 };

typedef struct {
  Buffer* out;
  const DLTensor* t;
  int64_t* strides;
  int summary, measuring, scientific;
  double largest, least;
  int left, right, exponent; /* widths of a float's parts; of another element only left */
  size_t indent;             /* of every line but the first */
} Layout;

static const uint8_t* at(const Layout* l, int64_t index) {
  return data_of(l->t) + (uint64_t)index * element_bytes(l->t->dtype);
}

static void widen(int* width, size_t size) {
  if ((size_t)*width < size) *width = (int)size;
}

static const char* special(double v) { return isnan(v) ? "nan" : v < 0 ? "-inf" : "inf"; }

static void digits_of(const Layout* l, double v, Digits* d) {
  if (l->scientific)
    rldb_aot_scientific(v, l->t->dtype, kPrecision, d);
  else
    rldb_aot_fixed(v, l->t->dtype, kPrecision, d);
}

/* First the range of the numbers, which decides the notation, then their widths. */
static void measure(Layout* l, int64_t index) {
  if (!is_float(l->t->dtype)) {
    Buffer text = {0};
    rldb_aot_put_element(&text, at(l, index), l->t->dtype);
    widen(&l->left, text.size);
    free(text.data);
    return;
  }
  const double v = rldb_aot_load_double(at(l, index), l->t->dtype), size = fabs(v);
  if (l->measuring == 1) {
    if (!isfinite(v) || v == 0) return;
    if (size > l->largest) l->largest = size;
    if (size < l->least) l->least = size;
    return;
  }
  if (!isfinite(v)) return;
  Digits d;
  digits_of(l, v, &d);
  widen(&l->left, strlen(d.whole));
  widen(&l->right, strlen(d.fraction));
  widen(&l->exponent, strlen(d.exponent));
}

static int exponent_width(const Layout* l) { return l->scientific ? l->exponent + 1 : 0; }

static void measure_special(Layout* l, int64_t index) {
  const double v = rldb_aot_load_double(at(l, index), l->t->dtype);
  const int rest = 1 + l->right + exponent_width(l);
  if (!isfinite(v) && (int)strlen(special(v)) > l->left + rest) l->left = (int)strlen(special(v)) - rest;
}

static void put_element(const Layout* l, Buffer* b, int64_t index) {
  if (!is_float(l->t->dtype)) {
    Buffer text = {0};
    rldb_aot_put_element(&text, at(l, index), l->t->dtype);
    rldb_aot_put(b, "%*s", l->left, text.data ? text.data : "");
    free(text.data);
    return;
  }
  const double v = rldb_aot_load_double(at(l, index), l->t->dtype);
  if (!isfinite(v)) {
    rldb_aot_put(b, "%*s", l->left + 1 + l->right + exponent_width(l), special(v));
    return;
  }
  Digits d;
  digits_of(l, v, &d);
  rldb_aot_put(b, "%*s.%s", l->left, d.whole, d.fraction);
  for (int i = (int)strlen(d.fraction); i < l->right; ++i) rldb_aot_put(b, l->scientific ? "0" : " ");
  if (l->scientific) rldb_aot_put(b, "e%s", d.exponent);
}

/* The next index that is shown along an axis; in a gap the last one before it plus one, negative. */
static int has_gap(const Layout* l, int64_t n) { return l->summary && n > 2 * kEdge; }

typedef void (*Visit)(Layout*, int64_t);

static void each_shown(Layout* l, int32_t axis, int64_t base, Visit visit) {
  if (axis == l->t->ndim) {
    visit(l, base);
    return;
  }
  const int64_t n = l->t->shape[axis];
  for (int64_t i = 0; i < n; ++i) {
    if (has_gap(l, n) && i == kEdge) i = n - kEdge;
    each_shown(l, axis + 1, base + i * l->strides[axis], visit);
  }
}

static void new_line(Layout* l, size_t blanks) {
  Buffer* b = l->out;
  while (b->size > 0 && b->data[b->size - 1] == ' ') b->data[--b->size] = 0;
  rldb_aot_put(b, "\n%*s", (int)(l->indent + blanks), "");
}

static void put_row(Layout* l, int64_t base, size_t indent, int width) {
  const int64_t n = l->t->shape[l->t->ndim - 1];
  size_t column = indent;
  rldb_aot_put(l->out, "[");
  for (int64_t i = 0; i < n; ++i) {
    Buffer word = {0};
    if (has_gap(l, n) && i == kEdge) {
      rldb_aot_put(&word, "...");
      i = n - kEdge - 1;
    } else {
      put_element(l, &word, base + i);
    }
    const int first = column == indent && l->out->data[l->out->size - 1] == '[';
    const int most = width - 1 > 1 ? width - 1 : 1;
    if (!first && column + 1 + word.size > (size_t)most) {
      new_line(l, indent);
      column = indent + word.size;
    } else {
      rldb_aot_put(l->out, first ? "" : " ");
      column += word.size + (first ? 0 : 1);
    }
    rldb_aot_put(l->out, "%s", word.data ? word.data : "");
    free(word.data);
  }
  rldb_aot_put(l->out, "]");
}

static void put_axis(Layout* l, int32_t axis, int64_t base, size_t indent, int width) {
  if (axis + 1 == l->t->ndim) {
    put_row(l, base, indent, width);
    return;
  }
  const int64_t n = l->t->shape[axis];
  rldb_aot_put(l->out, "[");
  for (int64_t i = 0; i < n; ++i) {
    for (int32_t k = axis + 1; i > 0 && k < l->t->ndim; ++k) new_line(l, k + 1 == l->t->ndim ? indent : 0);
    if (has_gap(l, n) && i == kEdge) {
      rldb_aot_put(l->out, "...");
      i = n - kEdge - 1;
    } else {
      put_axis(l, axis + 1, base + i * l->strides[axis], indent + 1, width - 1);
    }
  }
  rldb_aot_put(l->out, "]");
}

static void put_tensor(Buffer* b, const DLTensor* t, size_t indent) {
  if (t->dtype.lanes != 1) {
    rldb_aot_put(b, "<elements of `");
    rldb_aot_put_dtype(b, t->dtype);
    rldb_aot_put(b, "` are not shown>");
    return;
  }
  if (t->ndim == 0) {
    rldb_aot_put_element(b, data_of(t), t->dtype);
    return;
  }
  const int64_t count = rldb_aot_element_count(t);
  int64_t* strides = count > 0 ? calloc((size_t)t->ndim, sizeof *strides) : NULL;
  if (!strides) {
    rldb_aot_put(b, "[]");
    return;
  }
  strides[t->ndim - 1] = 1;
  for (int32_t i = t->ndim; i-- > 1;) strides[i - 1] = strides[i] * t->shape[i];
  Layout l = {b, t, strides, count > kMostElements, 1, 0, 0, INFINITY, t->dtype.code == 6 ? 5 : 0, 0, 0, indent};
  each_shown(&l, 0, 0, measure);
  if (is_float(t->dtype)) {
    l.scientific = l.largest > 0 && (l.largest >= 1e8 || l.least < 1e-4 || l.largest / l.least > 1000);
    l.measuring = 2;
    each_shown(&l, 0, 0, measure);
    each_shown(&l, 0, 0, measure_special);
  }
  put_axis(&l, 0, 0, 1, kLine);
  free(strides);
}

static void put_nested(Buffer* b, const Any* v, size_t indent, int depth, int* left) {
  const TVMFFISeqCell* seq = tuple_of(v);
  if (seq && rldb_aot_put_cache(b, v, indent)) return;
  rldb_aot_put_value(b, v);
  if (tensor_of(v)) {
    rldb_aot_put(b, "\n%*s", (int)indent, "");
    put_tensor(b, tensor_of(v), indent);
  }
  for (int64_t i = 0; seq && i < seq->size; ++i) {
    rldb_aot_put(b, "\n%*s", (int)indent, "");
    if ((*left)-- <= 0) {
      rldb_aot_put(b, "...");
      return;
    }
    const uint64_t before = b->size;
    rldb_aot_put(b, "[%lld] ", (long long)i);
    const size_t label = (size_t)(b->size - before);
    if (depth >= kMostDepth)
      rldb_aot_put(b, "...");
    else
      put_nested(b, (const Any*)seq->data + i, indent + label, depth + 1, left);
  }
}

void rldb_aot_put_whole(Buffer* b, const Any* v) {
  int left = kMostFields;
  put_nested(b, v, 0, 0, &left);
}
