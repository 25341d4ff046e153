// What CUDA C++ has in every translation unit, for functions of one thread that are compiled for the host.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cfloat>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define __device__
#define __host__
#define __constant__
#define __noinline__
#define __forceinline__ inline
#define __align__(n) alignas(n)
#define TL_DEVICE inline
#define TL_DEVICE_NOINLINE

typedef unsigned char uchar;

template <typename To, typename From> static inline To tlt_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "values of one size");
  To y;
  std::memcpy(&y, &x, sizeof y);
  return y;
}

// Floats of 16 bits: kept as they are on a GPU, computed in 32 bits and rounded after each operation.
static inline uint16_t tlt_to_bfloat16(float x) {
  uint32_t u = tlt_bits<uint32_t>(x);
  return x != x ? 0x7fff : uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float tlt_from_bfloat16(uint16_t h) { return tlt_bits<float>(uint32_t(h) << 16); }
static inline uint16_t tlt_to_half(float x) {
  uint32_t u = tlt_bits<uint32_t>(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return 0x7fff;
  if (a >= 0x47800000) return uint16_t(sign | 0x7c00);
  if (a < 0x38800000) return uint16_t(sign | uint32_t(std::nearbyint(std::ldexp(tlt_bits<float>(a), 24))));
  return uint16_t(sign | (((a - 0x38000000) + 0xfff + (a >> 13 & 1)) >> 13));
}
static inline float tlt_from_half(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
  if (e == 31) return tlt_bits<float>(sign | 0x7f800000 | m << 13);
  float x = e ? std::ldexp(float(m | 0x400), int(e) - 25) : std::ldexp(float(m), -24);
  return sign ? -x : x;
}
// Of two operands of the type itself alone: with a float, the other becomes one.
#define TLT_OPERATOR(name, o)                                                               \
  template <typename T>                                                                     \
  static inline typename std::enable_if<std::is_same<T, name>::value, T>::type operator o(T a, T b) { \
    return T(float(a) o float(b));                                                          \
  }
#define TLT_FLOAT16(name, pack, unpack)                                                     \
  struct name {                                                                             \
    uint16_t bits;                                                                          \
    name() = default;                                                                       \
    name(float x) : bits(pack(x)) {}                                                        \
    name(double x) : bits(pack(float(x))) {}                                                \
    name(int x) : bits(pack(float(x))) {}                                                   \
    name(unsigned x) : bits(pack(float(x))) {}                                              \
    operator float() const { return unpack(bits); }                                         \
    name &operator+=(name b) { return *this = name(float(*this) + float(b)); }              \
    name &operator-=(name b) { return *this = name(float(*this) - float(b)); }              \
    name &operator*=(name b) { return *this = name(float(*this) * float(b)); }              \
    name &operator/=(name b) { return *this = name(float(*this) / float(b)); }              \
  };                                                                                        \
  TLT_OPERATOR(name, +)                                                                     \
  TLT_OPERATOR(name, -)                                                                     \
  TLT_OPERATOR(name, *)                                                                     \
  TLT_OPERATOR(name, /)                                                                     \
  static inline name operator-(name a) { return name(-float(a)); }
TLT_FLOAT16(half_t, tlt_to_half, tlt_from_half)
TLT_FLOAT16(bfloat16_t, tlt_to_bfloat16, tlt_from_bfloat16)
typedef half_t half;
typedef half_t __half;
typedef bfloat16_t __nv_bfloat16;

static inline float __half2float(half x) { return x; }
static inline half __float2half(float x) { return x; }
static inline half __float2half_rn(float x) { return x; }
static inline float __bfloat162float(bfloat16_t x) { return x; }
static inline bfloat16_t __float2bfloat16(float x) { return x; }
static inline half __hadd(half a, half b) { return a + b; }
static inline half __hsub(half a, half b) { return a - b; }
static inline half __hmul(half a, half b) { return a * b; }
static inline half __hfma(half a, half b, half c) { return half(std::fma(float(a), float(b), float(c))); }
static inline unsigned short __half_as_ushort(half x) { return x.bits; }
static inline half __ushort_as_half(unsigned short x) { return tlt_bits<half>(x); }

using std::max;
using std::min;
static inline float min(float a, float b) { return std::fmin(a, b); }
static inline float max(float a, float b) { return std::fmax(a, b); }
static inline double min(double a, double b) { return std::fmin(a, b); }
static inline double max(double a, double b) { return std::fmax(a, b); }
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
static inline float tlt_exp10f(float x) { return std::pow(10.0f, x); }
// Names that the C library has for itself.
#define __expf expf
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __powf powf
#define exp10f tlt_exp10f
#define __exp10f tlt_exp10f
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return std::sqrt(x); }
static inline float __frsqrt_rn(float x) { return 1.0f / std::sqrt(x); }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
static inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1.0f : 0.0f; }
static inline float __int_as_float(int x) { return tlt_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return tlt_bits<float>(x); }
static inline int __float_as_int(float x) { return tlt_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return tlt_bits<unsigned>(x); }
static inline long long __double_as_longlong(double x) { return tlt_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return tlt_bits<double>(x); }
static inline int tlt_to_int(double x) { return x != x ? 0 : x >= INT_MAX ? INT_MAX : x <= INT_MIN ? INT_MIN : int(x); }
static inline int __float2int_rn(float x) { return tlt_to_int(std::nearbyint(x)); }
static inline int __float2int_rz(float x) { return tlt_to_int(std::trunc(x)); }
static inline int __float2int_rd(float x) { return tlt_to_int(std::floor(x)); }
static inline int __float2int_ru(float x) { return tlt_to_int(std::ceil(x)); }
static inline float __int2float_rn(int x) { return float(x); }
static inline float __uint2float_rn(unsigned x) { return float(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1u) << (31 - i);
  return y;
}
static inline int __mulhi(int x, int y) { return int((long long)x * y >> 32); }
static inline unsigned __umulhi(unsigned x, unsigned y) { return unsigned((unsigned long long)x * y >> 32); }
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
  unsigned long long all = (unsigned long long)y << 32 | x;
  unsigned found = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned byte = all >> 8 * (s >> 4 * i & 7) & 255;
    found |= ((s >> 4 * i & 8) ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
  }
  return found;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return unsigned((((unsigned long long)high << 32 | low) << (n & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  return unsigned(((unsigned long long)high << 32 | low) >> (n & 31));
}
template <typename T> static inline T __ldg(const T *x) { return *x; }

// A function that divides by zero, or follows a wild pointer, ends the call and not the process.
static thread_local sigjmp_buf tlt_back;
static thread_local volatile sig_atomic_t tlt_inside = 0;
static struct sigaction tlt_before[3];
static const int tlt_signals[3] = {SIGFPE, SIGSEGV, SIGBUS};
static void tlt_caught(int number) {
  if (tlt_inside) siglongjmp(tlt_back, number);
  signal(number, SIG_DFL);
}
