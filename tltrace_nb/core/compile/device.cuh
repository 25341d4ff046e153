// Device helper of tltrace_nb: what a traced kernel calls. core/compile/device.py puts the layout's numbers in front of it:
// __TLT_HEADER_RECORDS, __TLT_RECORD_BYTES, __TLT_STATE_OPEN, __TLT_STATE_DONE (data/slots.py).

static __device__ __forceinline__ unsigned long long __tlt_now() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
  return now;
}

static __device__ __forceinline__ unsigned long long __tlt_global_ns() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// The hardware's block index: out here no kernel has redefined it.
static __device__ __forceinline__ int __tlt_block_x() { return blockIdx.x; }
static __device__ __forceinline__ int __tlt_block_y() { return blockIdx.y; }
static __device__ __forceinline__ int __tlt_block_z() { return blockIdx.z; }

// The 32 bits of a payload.
template <typename Integer>
static __device__ __forceinline__ unsigned __tlt_bits(Integer value) { return (unsigned)value; }
static __device__ __forceinline__ unsigned __tlt_bits(float value) { return __float_as_uint(value); }

// What a payload may contain: a load, divisions that round down.
template <typename Element>
static __device__ __forceinline__ Element __tlt_load(const Element* base, int64_t index) { return base[index]; }
static __device__ __forceinline__ int __tlt_floordiv(int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static __device__ __forceinline__ int __tlt_floormod(int a, int b) { return a - b * __tlt_floordiv(a, b); }

// The row of a CTA where a launch of a grid known only now has room for `most`, -1 without one: data/chosen.py, Cut.
static __device__ __forceinline__ int __tlt_cut(int cta, int total, int most, int unit, int sms) {
  if (total <= most) return cta;
  if (unit > most || total % unit) unit = 1;
  int units = most / unit, all = total / unit, wave = (sms + unit - 1) / unit;
  int least = (units + 2) / 3, full = 2 * units / 3;
  int first = wave < full ? wave : full;
  if (first < least) first = least;
  int last = (units - first + 1) / 2, between = units - first - last, at = cta / unit;
  if (at < first) return cta;
  if (at >= all - last) return (units - all) * unit + cta;
  int stride = (all - first - last) / (between > 1 ? between : 1), offset = at - first - stride / 2;
  if (offset < 0 || offset % stride || offset / stride >= between) return -1;
  return (first + offset / stride) * unit + cta % unit;
}
static __device__ __forceinline__ int __tlt_row(int cta, int most, int x, int y, int z, int sms) {
  int unit = z > 1 ? gridDim.x * gridDim.y * z : y > 1 ? gridDim.x * y : x;
  return __tlt_cut(cta, gridDim.x * gridDim.y * gridDim.z, most, unit, sms);
}

// The first record of a writer's slot; row and writer are -1 where nothing is recorded.
static __device__ __forceinline__ unsigned __tlt_header(int row, int writer, int writers, int capacity) {
  return ((unsigned)row * writers + writer) * (unsigned)(__TLT_HEADER_RECORDS + capacity);
}

// Sets the cursor of every thread and writes the header of those that record, as unfinished.
static __device__ __forceinline__ void __tlt_enter(unsigned* __restrict__ cursor, int64_t* __restrict__ slots, int row,
                                                   int writer, int writers, int capacity, bool ring, unsigned tag) {
  bool silent = row < 0 || writer < 0;
  unsigned header = __tlt_header(row, writer, writers, capacity);
  unsigned first = header + __TLT_HEADER_RECORDS;
  cursor[0] = ring ? 0u : first;
  cursor[1] = silent ? 0u : ring ? first : first + capacity;
  if (silent) return;
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  longlong2* record = reinterpret_cast<longlong2*>(slots) + header;
  record[0] = make_longlong2((long long)((unsigned long long)__TLT_STATE_OPEN << 32),
                             (long long)((unsigned long long)thread << 32 | tag << 16 | sm));
  record[1] = make_longlong2((long long)__tlt_now(), (long long)__tlt_global_ns());
}

// Completes the header; on every way out of the kernel.
static __device__ __forceinline__ void __tlt_leave(unsigned* __restrict__ cursor, int64_t* __restrict__ slots, int row,
                                                   int writer, int writers, int capacity, bool ring) {
  if (row < 0 || writer < 0) return;
  unsigned header = __tlt_header(row, writer, writers, capacity);
  unsigned executed = ring ? cursor[0] : cursor[0] - header - __TLT_HEADER_RECORDS;
  longlong2* record = reinterpret_cast<longlong2*>(slots) + header;
  record[2] = make_longlong2((long long)__tlt_now(), (long long)__tlt_global_ns());
  record[0].x = (long long)((unsigned long long)__TLT_STATE_DONE << 32 | executed);
}

// The recording functions. Each is one assembly statement, which the compiler counts as one instruction when it decides
// on unrolling a loop; it is volatile, and the compiler keeps volatile assembly in order. `mine` tells the site's writers
// from others that pass. A `_beside` takes the clock that the record directly before it has read.

template <typename Payload>
static __device__ __forceinline__ void __tlt_record(unsigned* __restrict__ cursor, int64_t* __restrict__ slots,
                                                    unsigned site, Payload payload, bool mine = true) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t.reg .b64 now, at;\n\t"
      "setp.lt.u32 p, %0, %3;\n\tsetp.ne.and.u32 p, %7, 0, p;\n\t"
      "mad.wide.u32 at, %0, %8, %4;\n\t"
      "mov.u64 now, %%clock64;\n\tmov.b64 {%1, %2}, now;\n\t"
      "@p st.global.v4.b32 [at], {%1, %2, %5, %6};\n\t"
      "add.u32 %0, %0, %7;\n\t}"
      : "+r"(cursor[0]), "=r"(cursor[2]), "=r"(cursor[3])
      : "r"(cursor[1]), "l"(slots), "r"(site), "r"(__tlt_bits(payload)), "r"((unsigned)mine), "n"(__TLT_RECORD_BYTES));
}

template <typename Payload>
static __device__ __forceinline__ void __tlt_record_beside(unsigned* __restrict__ cursor, int64_t* __restrict__ slots,
                                                           unsigned site, Payload payload, bool mine = true) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t.reg .b64 at;\n\t"
      "setp.lt.u32 p, %0, %3;\n\tsetp.ne.and.u32 p, %7, 0, p;\n\t"
      "mad.wide.u32 at, %0, %8, %4;\n\t"
      "@p st.global.v4.b32 [at], {%1, %2, %5, %6};\n\t"
      "add.u32 %0, %0, %7;\n\t}"
      : "+r"(cursor[0])
      : "r"(cursor[2]), "r"(cursor[3]), "r"(cursor[1]), "l"(slots), "r"(site), "r"(__tlt_bits(payload)),
        "r"((unsigned)mine), "n"(__TLT_RECORD_BYTES));
}

// The same for a ring, whose capacity is a power of two: `mask` is the capacity less one.

template <typename Payload>
static __device__ __forceinline__ void __tlt_record_ring(unsigned* __restrict__ cursor, int64_t* __restrict__ slots,
                                                         unsigned site, Payload payload, unsigned mask,
                                                         bool mine = true) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t.reg .b64 now, at;\n\t.reg .b32 index;\n\t"
      "setp.ne.u32 p, %3, 0;\n\tsetp.ne.and.u32 p, %7, 0, p;\n\t"
      "and.b32 index, %0, %9;\n\tadd.u32 index, index, %3;\n\tmad.wide.u32 at, index, %8, %4;\n\t"
      "mov.u64 now, %%clock64;\n\tmov.b64 {%1, %2}, now;\n\t"
      "@p st.global.v4.b32 [at], {%1, %2, %5, %6};\n\t"
      "add.u32 %0, %0, %7;\n\t}"
      : "+r"(cursor[0]), "=r"(cursor[2]), "=r"(cursor[3])
      : "r"(cursor[1]), "l"(slots), "r"(site), "r"(__tlt_bits(payload)), "r"((unsigned)mine), "n"(__TLT_RECORD_BYTES),
        "r"(mask));
}

template <typename Payload>
static __device__ __forceinline__ void __tlt_record_ring_beside(unsigned* __restrict__ cursor,
                                                                int64_t* __restrict__ slots, unsigned site,
                                                                Payload payload, unsigned mask, bool mine = true) {
  asm volatile(
      "{\n\t.reg .pred p;\n\t.reg .b64 at;\n\t.reg .b32 index;\n\t"
      "setp.ne.u32 p, %3, 0;\n\tsetp.ne.and.u32 p, %7, 0, p;\n\t"
      "and.b32 index, %0, %9;\n\tadd.u32 index, index, %3;\n\tmad.wide.u32 at, index, %8, %4;\n\t"
      "@p st.global.v4.b32 [at], {%1, %2, %5, %6};\n\t"
      "add.u32 %0, %0, %7;\n\t}"
      : "+r"(cursor[0])
      : "r"(cursor[2]), "r"(cursor[3]), "r"(cursor[1]), "l"(slots), "r"(site), "r"(__tlt_bits(payload)),
        "r"((unsigned)mine), "n"(__TLT_RECORD_BYTES), "r"(mask));
}
