// Two GPUs ask each other for the time: words that both can reach, each GPU polling its own and writing the other's.
//
// A word is (reading << 1 | parity of the round): the reading that it carries has been taken before the word can be sent, and
// no two words that follow each other are equal. __TLT_END, which is no reading, says that no more will come.

#define __TLT_END (-1ll)

static __device__ __forceinline__ long long __tlt_timer() {
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
  return now;
}

static __device__ __forceinline__ void __tlt_tell(int64_t* at, long long word) {
  asm volatile("st.relaxed.sys.global.b64 [%0], %1;" : : "l"(at), "l"(word) : "memory");
}

static __device__ __forceinline__ long long __tlt_told(const int64_t* at) {
  long long word;
  asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
  return word;
}

// Whether the word of this round came before `patience` ns were over; the timer is looked at now and then only.
static __device__ __forceinline__ bool __tlt_await(const int64_t* at, int round, long long patience) {
  long long begun = __tlt_timer(), word;
  for (unsigned polls = 0;; ++polls) {
    word = __tlt_told(at);
    if (word == __TLT_END) return false;
    if ((word & 1) == (round & 1)) return true;
    if ((polls & 255) == 255 && __tlt_timer() - begun > patience) return false;
  }
}

// Asks `rounds` times, for about `longest` ns at most; times[round] = {sent, back}, zero where nothing came back.
static __device__ void __tlt_ask(const int64_t* mine, int64_t* theirs, int64_t* times, int rounds, long long patience,
                                 long long longest) {
  if (threadIdx.x != 0) return;
  long long first = 0;
  for (int round = 1; round <= rounds; ++round) {
    long long sent = __tlt_timer();
    __tlt_tell(theirs, sent << 1 | (round & 1));
    if (!__tlt_await(mine, round, patience)) break;
    long long back = __tlt_timer();
    times[2 * round - 2] = sent;
    times[2 * round - 1] = back;
    if (round == 1) first = back;
    if (back - first > longest) break;
  }
  __tlt_tell(theirs, __TLT_END);
}

// Answers until the other ends; times[round] = {received, replied}, which are one reading.
static __device__ void __tlt_answer(const int64_t* mine, int64_t* theirs, int64_t* times, int rounds, long long patience,
                                    long long) {
  if (threadIdx.x != 0) return;
  for (int round = 1; round <= rounds && __tlt_await(mine, round, patience); ++round) {
    long long now = __tlt_timer();
    __tlt_tell(theirs, now << 1 | (round & 1));
    times[2 * round - 2] = times[2 * round - 1] = now;
  }
}
