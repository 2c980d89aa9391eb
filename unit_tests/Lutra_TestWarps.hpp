// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTWARPS_HPP
#define LUTRA_TESTWARPS_HPP

#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

// Emulates CUDA warps on one host thread, so that device code for warps is tested without a device. Include
// it before that code, in a build without CUDA.
//
// Each lane is a fiber. Between barriers of their warp, lanes run in random order, so that results that
// depend on the order, because a barrier is missing, differ from run to run. Warps can be combined into
// blocks of equal size, which have barriers of their own.

namespace lutra::Test {

class Warps {
 public:
  static constexpr int lanes = 32;
  struct Index {
    unsigned x;
  };

  /// Runs body() in all lanes of some warps, with `in_block` warps per block. Returns false if lanes of a
  /// warp wait at different barriers.
  bool run(int warps, std::mt19937& random, const std::function<void()>& body, int in_block = 1) {
    active = this;
    m_body = body;
    m_in_block = in_block;
    m_warps.assign(static_cast<std::size_t>(warps), Warp());
    m_blocks.assign(static_cast<std::size_t>(warps / in_block), Barrier());
    m_fibers = std::vector<Fiber>(static_cast<std::size_t>(warps * lanes));
    for (std::size_t t = 0; t < m_fibers.size(); ++t) begin(m_fibers[t], static_cast<int>(t));
    while (true) {
      std::vector<Fiber*> ready;
      bool all_done = true;
      for (Fiber& fiber : m_fibers) {
        all_done = all_done && fiber.is_done;
        if (!fiber.is_done && !(fiber.waits_at != nullptr && fiber.waits_at->passed == fiber.passed))
          ready.push_back(&fiber);
      }
      if (ready.empty()) return all_done;
      std::shuffle(ready.begin(), ready.end(), random);
      for (Fiber* const fiber : ready) {
        m_now = fiber;
        swapcontext(&m_scheduler, &fiber->context);
      }
    }
  }

  int thread() const { return m_now->thread; }
  int lane() const { return m_now->thread % lanes; }

  int block() const { return m_now->thread / lanes / m_in_block; }

  void barrier() { wait_at(warp_of(*m_now).barrier, lanes); }
  void block_barrier() { wait_at(m_blocks[static_cast<std::size_t>(block())], lanes * m_in_block); }
  /// Lets the other lanes continue.
  void yield() { swapcontext(&m_now->context, &m_scheduler); }
  /// The value of lane `source`.
  template <class T>
  T exchange(const T& value, int source) {
    static_assert(sizeof(T) <= sizeof(Slot));
    Slot* const slots = warp_of(*m_now).slots;
    std::memcpy(slots[lane()].bytes, &value, sizeof(T));
    barrier();
    T received;
    std::memcpy(&received, slots[source % lanes].bytes, sizeof(T));
    barrier();
    return received;
  }
  unsigned ballot(bool vote) {
    Slot* const slots = warp_of(*m_now).slots;
    slots[lane()].bytes[0] = vote ? 1 : 0;
    barrier();
    unsigned votes = 0;
    for (int l = 0; l < lanes; ++l) votes |= static_cast<unsigned>(slots[l].bytes[0]) << l;
    barrier();
    return votes;
  }

  static inline Warps* active = nullptr;  ///< the warps that run

 private:
  struct Slot {
    unsigned char bytes[16];
  };
  struct Barrier {
    int arrived = 0;           ///< lanes at the barrier
    unsigned long passed = 0;  ///< number of times that all lanes have arrived
  };
  struct Warp {
    Barrier barrier;
    Slot slots[lanes];
  };
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    int thread = 0;
    bool is_done = false;
    const Barrier* waits_at = nullptr;
    unsigned long passed = 0;  ///< this count of the barrier when the lane began to wait
  };

  void wait_at(Barrier& barrier, int all) {
    const auto passed = barrier.passed;
    if (++barrier.arrived == all) {
      barrier.arrived = 0;
      ++barrier.passed;
    } else {
      m_now->waits_at = &barrier;
      m_now->passed = passed;
    }
    swapcontext(&m_now->context, &m_scheduler);
    m_now->waits_at = nullptr;
  }
  Warp& warp_of(const Fiber& fiber) { return m_warps[static_cast<std::size_t>(fiber.thread / lanes)]; }
  void begin(Fiber& fiber, int thread) {
    constexpr std::size_t stack_bytes = 64 << 10;
    fiber.thread = thread;
    fiber.stack = std::make_unique<char[]>(stack_bytes);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_bytes;
    makecontext(&fiber.context, &run_lane, 0);
  }
  static void run_lane() {
    Warps& warps = *active;
    warps.m_body();
    warps.m_now->is_done = true;
    swapcontext(&warps.m_now->context, &warps.m_scheduler);
  }

  std::function<void()> m_body;
  int m_in_block = 1;
  std::vector<Warp> m_warps;
  std::vector<Barrier> m_blocks;
  std::vector<Fiber> m_fibers;
  Fiber* m_now = nullptr;
  ucontext_t m_scheduler;
};

}  // namespace lutra::Test

// The names of CUDA.
#define __device__
#define __forceinline__ inline
#define threadIdx (lutra::Test::Warps::Index{static_cast<unsigned>(lutra::Test::Warps::active->thread())})

inline void __syncthreads() {
  lutra::Test::Warps::active->block_barrier();
}
inline void __syncwarp() {
  lutra::Test::Warps::active->barrier();
}
template <class T>
T __shfl_sync(unsigned, const T& value, int source) {
  return lutra::Test::Warps::active->exchange(value, source);
}
template <class T>
T __shfl_xor_sync(unsigned, const T& value, int distance) {
  return lutra::Test::Warps::active->exchange(value, lutra::Test::Warps::active->lane() ^ distance);
}
template <class T>
T __shfl_up_sync(unsigned, const T& value, unsigned distance) {
  const int lane = lutra::Test::Warps::active->lane(), from = lane - static_cast<int>(distance);
  return lutra::Test::Warps::active->exchange(value, from < 0 ? lane : from);
}
inline unsigned __ballot_sync(unsigned, bool vote) {
  return lutra::Test::Warps::active->ballot(vote);
}
inline bool __any_sync(unsigned, bool vote) {
  return lutra::Test::Warps::active->ballot(vote) != 0;
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}

#endif
