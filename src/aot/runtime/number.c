/* Elements as numbers: integers, and floats of every format (the rules of src/runtime/value/small_float.cc), and the
 * conversions that kernels call where the CPU has no instruction. */
#include <math.h>
#include <string.h>

#include "aot/runtime/aot.h"

typedef enum { kIeee, kFiniteNan, kFinite, kUnsigned, kExponent } Style;

typedef struct {
  int exponent_bits, mantissa_bits, bias;
  Style style;
} Format;

static const Format kNarrow[] = {/* from code 7 on */
                                 {3, 4, 3, kIeee},      {4, 3, 7, kIeee},       {4, 3, 11, kUnsigned},
                                 {4, 3, 7, kFiniteNan}, {4, 3, 8, kUnsigned},   {5, 2, 15, kIeee},
                                 {5, 2, 16, kUnsigned}, {8, 0, 127, kExponent}, {2, 3, 1, kFinite},
                                 {3, 2, 3, kFinite},    {2, 1, 1, kFinite}};
static const Format kHalf = {5, 10, 15, kIeee}, kBrain = {8, 7, 127, kIeee};

static const Format* format_of(uint8_t code, uint8_t bits) {
  if (code == 2 && bits == 16) return &kHalf;
  if (code == 4) return &kBrain;
  return code >= 7 && code <= 17 ? &kNarrow[code - 7] : NULL;
}

static uint32_t mask_of(const Format* f) { return ((uint32_t)1 << (f->exponent_bits + f->mantissa_bits)) - 1; }

static uint32_t largest_of(const Format* f) {
  if (f->style == kIeee) return ((((uint32_t)1 << f->exponent_bits) - 1) << f->mantissa_bits) - 1;
  return f->style == kFiniteNan || f->style == kExponent ? mask_of(f) - 1 : mask_of(f);
}

static uint32_t nan_of(const Format* f, uint32_t sign) {
  switch (f->style) {
    case kIeee:
      return sign | (largest_of(f) + 1) | ((uint32_t)1 << (f->mantissa_bits - 1));
    case kFiniteNan:
      return sign | mask_of(f);
    case kExponent:
      return mask_of(f);
    default:
      return mask_of(f) + 1;
  }
}

static uint32_t overflow_of(const Format* f, uint32_t sign) {
  if (f->style == kIeee) return sign | (largest_of(f) + 1);
  return f->style == kFinite ? sign | largest_of(f) : nan_of(f, sign);
}

static double decode(const Format* f, uint32_t bits) {
  const uint32_t mask = mask_of(f), magnitude = bits & mask;
  const int negative = f->style != kExponent && (bits & (mask + 1)) != 0;
  if (f->style == kUnsigned && negative && magnitude == 0) return NAN;
  if (magnitude > largest_of(f)) {
    const double top = f->style == kIeee && magnitude == largest_of(f) + 1 ? INFINITY : NAN;
    return negative ? -top : top;
  }
  const int exponent = (int)(magnitude >> f->mantissa_bits);
  uint32_t mantissa = magnitude & (((uint32_t)1 << f->mantissa_bits) - 1);
  double value;
  if (exponent == 0 && f->style != kExponent) {
    value = ldexp(mantissa, 1 - f->bias - f->mantissa_bits);
  } else {
    mantissa |= (uint32_t)1 << f->mantissa_bits;
    value = ldexp(mantissa, exponent - f->bias - f->mantissa_bits);
  }
  return negative ? -value : value;
}

static uint32_t encode(const Format* f, double value) {
  const uint32_t sign = f->style != kExponent && signbit(value) ? mask_of(f) + 1 : 0;
  if (isnan(value)) return nan_of(f, sign);
  if (isinf(value)) return overflow_of(f, sign);
  const double magnitude = fabs(value);
  if (f->style == kExponent && value <= 0) return nan_of(f, 0);
  if (magnitude == 0) return f->style == kUnsigned ? 0 : sign;
  int exponent = ilogb(magnitude);
  const int least = f->style == kExponent ? -f->bias : 1 - f->bias;
  const int tiny = exponent < least;
  if (tiny) exponent = least;
  const double scaled = ldexp(magnitude, f->mantissa_bits - exponent), whole = floor(scaled);
  uint64_t bits = (uint64_t)whole;
  if (f->style == kExponent) {
    if (tiny) return 0;
    bits = (uint64_t)(exponent + f->bias);
  } else if (!tiny) {
    bits = ((uint64_t)(exponent + f->bias) << f->mantissa_bits) + (bits - ((uint64_t)1 << f->mantissa_bits));
  }
  const double rest = scaled - whole;
  if (rest > 0.5 || (rest == 0.5 && (bits & 1) != 0)) ++bits;
  if (bits > largest_of(f)) return overflow_of(f, sign);
  return bits == 0 && f->style == kUnsigned ? 0 : sign | (uint32_t)bits;
}

int64_t rldb_aot_load_int(const void* at, DLDataType t) {
  if (t.code == 6) return *(const uint8_t*)at != 0;
  int64_t v = 0;
  const uint64_t bytes = element_bytes((DLDataType){t.code, t.bits, 1});
  if (t.code > 1) {
    const double d = rldb_aot_load_double(at, t);
    return d > -0x1p63 && d < 0x1p63 ? (int64_t)d : 0;
  }
  memcpy(&v, at, bytes < 8 ? bytes : 8);
  const int unused = 64 - (t.bits < 64 ? t.bits : 64);
  return t.code == 0 ? (int64_t)((uint64_t)v << unused) >> unused : (int64_t)((uint64_t)v << unused >> unused);
}

double rldb_aot_load_double(const void* at, DLDataType t) {
  if (t.code <= 1 || t.code == 6) return (double)rldb_aot_load_int(at, t);
  if (t.code == 2 && t.bits == 64) {
    double v;
    memcpy(&v, at, sizeof v);
    return v;
  }
  if (t.code == 2 && t.bits == 32) {
    float v;
    memcpy(&v, at, sizeof v);
    return v;
  }
  const Format* f = format_of(t.code, t.bits);
  if (!f) return NAN;
  uint32_t bits = 0;
  memcpy(&bits, at, t.bits > 8 ? 2 : 1);
  return decode(f, bits);
}

int rldb_aot_store_int(void* at, DLDataType t, int64_t v) {
  if (is_float(t)) return rldb_aot_store_double(at, t, (double)v);
  if (t.code == 6) v = v != 0;
  if (t.code > 1 && t.code != 6) return 0;
  memcpy(at, &v, element_bytes(t)); /* little-endian */
  return rldb_aot_load_int(at, t) == v;
}

int rldb_aot_store_double(void* at, DLDataType t, double v) {
  const float single = (float)v;
  const Format* f = format_of(t.code, t.bits);
  if (t.code == 2 && t.bits == 64) {
    memcpy(at, &v, sizeof v);
  } else if (t.code == 2 && t.bits == 32) {
    memcpy(at, &single, sizeof single);
  } else if (f) {
    const uint32_t bits = encode(f, v);
    memcpy(at, &bits, element_bytes(t));
  }
  return f || (t.code == 2 && t.bits >= 32);
}

/* ---- called by kernels; a format is its code and bits ---- */

RLDB_AOT float rldb_round(double v, uint32_t format) {
  const Format* f = format_of((uint8_t)(format >> 8), (uint8_t)format);
  return f ? (float)decode(f, encode(f, v)) : (float)v;
}
RLDB_AOT float rldb_decode(uint8_t bits, uint32_t format) {
  const Format* f = format_of((uint8_t)(format >> 8), (uint8_t)format);
  return f ? (float)decode(f, bits) : NAN;
}
RLDB_AOT uint8_t rldb_encode(float v, uint32_t format) {
  const Format* f = format_of((uint8_t)(format >> 8), (uint8_t)format);
  return f ? (uint8_t)encode(f, v) : 0;
}
RLDB_AOT uint16_t __truncdfhf2(double v) { return (uint16_t)encode(&kHalf, v); }
RLDB_AOT uint16_t __truncsfhf2(float v) { return (uint16_t)encode(&kHalf, v); }
RLDB_AOT uint16_t __gnu_f2h_ieee(float v) { return (uint16_t)encode(&kHalf, v); }
RLDB_AOT float __extendhfsf2(uint16_t v) { return (float)decode(&kHalf, v); }
RLDB_AOT float __gnu_h2f_ieee(uint16_t v) { return (float)decode(&kHalf, v); }
