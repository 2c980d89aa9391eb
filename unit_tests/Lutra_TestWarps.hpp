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

// Warps of CUDA on one host thread, so that device code of warps is tested where there is no device. To be
// included before that code, in a build without CUDA.
//
// Each lane is a fiber. Lanes run in random order from one of their warp's barriers to the next, so that
// results which depend on that order, for want of a barrier, differ from run to run.

namespace lutra::Test {

class Warps {
 public:
  static constexpr int lanes = 32;
  struct Index {
    unsigned x;
  };

  /// Runs body() by all lanes of some warps. Returns false where lanes of a warp wait at different ends.
  bool run(int warps, std::mt19937& random, const std::function<void()>& body) {
    active = this;
    m_body = body;
    m_warps.assign(static_cast<std::size_t>(warps), Warp());
    m_fibers = std::vector<Fiber>(static_cast<std::size_t>(warps * lanes));
    for (std::size_t t = 0; t < m_fibers.size(); ++t) begin(m_fibers[t], static_cast<int>(t));
    while (true) {
      std::vector<Fiber*> ready;
      bool all_done = true;
      for (Fiber& fiber : m_fibers) {
        all_done = all_done && fiber.is_done;
        if (!fiber.is_done && !(fiber.waits && warp_of(fiber).barriers == fiber.barrier))
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

  void barrier() {
    Warp& warp = warp_of(*m_now);
    const auto barriers = warp.barriers;
    if (++warp.arrived == lanes) {
      warp.arrived = 0;
      ++warp.barriers;
    } else {
      m_now->waits = true;
      m_now->barrier = barriers;
    }
    swapcontext(&m_now->context, &m_scheduler);
    m_now->waits = false;
  }
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

  static inline Warps* active = nullptr;  ///< those that run

 private:
  struct Slot {
    unsigned char bytes[16];
  };
  struct Warp {
    int arrived = 0;             ///< lanes at the barrier
    unsigned long barriers = 0;  ///< passed
    Slot slots[lanes];
  };
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    int thread = 0;
    bool is_done = false, waits = false;
    unsigned long barrier = 0;  ///< barriers its warp had passed when it began to wait
  };

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
  std::vector<Warp> m_warps;
  std::vector<Fiber> m_fibers;
  Fiber* m_now = nullptr;
  ucontext_t m_scheduler;
};

}  // namespace lutra::Test

// What CUDA names them.
#define __device__
#define __forceinline__ inline
#define threadIdx (lutra::Test::Warps::Index{static_cast<unsigned>(lutra::Test::Warps::active->thread())})

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
inline unsigned __ballot_sync(unsigned, bool vote) {
  return lutra::Test::Warps::active->ballot(vote);
}
inline bool __any_sync(unsigned, bool vote) {
  return lutra::Test::Warps::active->ballot(vote) != 0;
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}

#endif
