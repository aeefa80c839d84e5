/* Digits of numbers. The C library's texts are read digit by digit: their point depends on the locale. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aot/runtime/format.h"

RLDB_AOT float rldb_round(double v, uint32_t format);

typedef struct {
  int negative, count, exponent; /* of the first digit */
  char digits[24];               /* no trailing zeros, at least one */
} Decimal;

static Decimal parse(const char* text) {
  Decimal d = {0, 0, 0, {0}};
  for (; *text && *text != 'e'; ++text) {
    if (*text == '-') d.negative = 1;
    if (*text >= '0' && *text <= '9' && d.count < (int)sizeof d.digits - 1) d.digits[d.count++] = *text;
  }
  if (*text == 'e') d.exponent = atoi(text + 1);
  while (d.count > 1 && d.digits[d.count - 1] == '0') --d.count;
  d.digits[d.count] = 0;
  return d;
}

static int same_number(double back, double v, DLDataType t) {
  if (t.code == 2 && t.bits == 64) return back == v;
  if (t.code == 2 && t.bits == 32) return (float)back == (float)v;
  return (double)rldb_round(back, (uint32_t)t.code << 8 | t.bits) == v;
}

static Decimal fewest(double v, DLDataType t) {
  char text[64];
  for (int digits = 0; digits < 17; ++digits) {
    snprintf(text, sizeof text, "%.*e", digits, v);
    if (same_number(strtod(text, NULL), v, t)) break;
  }
  return parse(text);
}

static void rounded(double v, int precision, Digits* out) {
  char text[kMostDigits];
  char* to = out->whole;
  snprintf(text, sizeof text, "%.*f", precision, v);
  out->fraction[0] = 0;
  for (const char* at = text; *at; ++at) {
    if (*at == '-' || (*at >= '0' && *at <= '9')) {
      *to++ = *at;
      *to = 0;
    } else {
      to = out->fraction;
    }
  }
  for (size_t size = strlen(out->fraction); size > 0 && out->fraction[size - 1] == '0';) out->fraction[--size] = 0;
}

void rldb_aot_fixed(double v, DLDataType t, int precision, Digits* out) {
  memset(out, 0, sizeof *out);
  if (v == 0) {
    strcpy(out->whole, signbit(v) ? "-0" : "0");
    return;
  }
  const Decimal d = fewest(v, t);
  char* to = out->whole;
  if (d.negative) *to++ = '-';
  for (int i = 0; i <= d.exponent; ++i) *to++ = i < d.count ? d.digits[i] : '0';
  if (d.exponent < 0) *to++ = '0';
  to = out->fraction;
  for (int i = d.exponent + 1; i < 0; ++i) *to++ = '0';
  for (int i = d.exponent < 0 ? 0 : d.exponent + 1; i < d.count; ++i) *to++ = d.digits[i];
  if (strlen(out->fraction) > (size_t)precision) rounded(v, precision, out);
}

void rldb_aot_scientific(double v, DLDataType t, int precision, Digits* out) {
  char text[64];
  memset(out, 0, sizeof *out);
  Decimal d = fewest(v, t);
  if (d.count > precision + 1) {
    snprintf(text, sizeof text, "%.*e", precision, v);
    d = parse(text);
  }
  snprintf(out->whole, sizeof out->whole, "%s%c", d.negative ? "-" : "", d.digits[0]);
  snprintf(out->fraction, sizeof out->fraction, "%s", d.digits + 1);
  snprintf(out->exponent, sizeof out->exponent, "%c%02d", d.exponent < 0 ? '-' : '+', abs(d.exponent) % 1000);
}

void rldb_aot_put_scalar(Buffer* b, double v, DLDataType t) {
  Digits d;
  const double magnitude = fabs(v);
  if (isnan(v) || isinf(v)) {
    rldb_aot_put(b, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
  } else if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16)) {
    rldb_aot_scientific(v, t, 17, &d);
    rldb_aot_put(b, "%s%s%se%s", d.whole, d.fraction[0] ? "." : "", d.fraction, d.exponent);
  } else {
    rldb_aot_fixed(v, t, kMostDigits, &d);
    rldb_aot_put(b, "%s.%s", d.whole, d.fraction[0] ? d.fraction : "0");
  }
}

void rldb_aot_put_element(Buffer* b, const void* at, DLDataType t) {
  if (is_float(t)) {
    rldb_aot_put_scalar(b, rldb_aot_load_double(at, t), t);
    return;
  }
  const int64_t v = rldb_aot_load_int(at, t);
  if (t.code == 6)
    rldb_aot_put(b, v ? "True" : "False");
  else if (t.code == 1)
    rldb_aot_put(b, "%llu", (unsigned long long)v);
  else
    rldb_aot_put(b, "%lld", (long long)v);
}
