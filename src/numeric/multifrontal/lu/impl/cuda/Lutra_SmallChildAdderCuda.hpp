// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SMALLCHILDADDERCUDA_HPP
#define LUTRA_SMALLCHILDADDERCUDA_HPP

#include <cstdint>

#include "Lutra_FrontFlagsCuda.hpp"
#include "Lutra_SmallChildListMaker.hpp"

namespace lutra::Impl {

/// Small-child lists on the device: 16 bits per target and 32 bits per source.
struct SmallChildArrays {
  const unsigned short* position = nullptr;  ///< of each target
  const std::uint32_t* source = nullptr;     ///< relative to the first entry of the panels
};

/// Assembles the targets of one front or tile, by `Threads` threads. The constructor starts loading data that
/// does not depend on children, so that it arrives while they are waited for.
template <int Threads, class Scalar>
class SmallChildAdder {
 public:
  __device__ SmallChildAdder(const SmallChildArrays& lists, const SmallChildPart& part, int thread)
      : m_part(part),
        m_position(lists.position + part.targets),
        m_widths(lists.source + part.sources - 1),
        m_target(thread) {
    load();
  }

  template <class To>
  __device__ void add(const Scalar* values, const To& to) {
    const std::uint32_t* const first = m_widths + m_part.levels;
    while (m_target < m_part.count) {
      Scalar sum = values[m_source];
      const std::uint32_t* level = first + m_part.count + m_target;
      int k = 1;
      for (; k + 4 <= m_part.levels; k += 4) {
        const std::uint32_t w0 = m_widths[k], w1 = m_widths[k + 1], w2 = m_widths[k + 2],
                            w3 = m_widths[k + 3];
        if (m_target >= static_cast<int>(w3)) break;
        const std::uint32_t s0 = level[0], s1 = level[w0], s2 = level[w0 + w1], s3 = level[w0 + w1 + w2];
        const Scalar v0 = values[s0], v1 = values[s1], v2 = values[s2], v3 = values[s3];
        sum += v0;
        sum += v1;
        sum += v2;
        sum += v3;
        level += w0 + w1 + w2 + w3;
      }
      for (; k < m_part.levels; ++k) {
        const std::uint32_t width = m_widths[k];
        if (m_target >= static_cast<int>(width)) break;
        sum += values[*level];
        level += width;
      }
      to(m_at / packed_edge, m_at % packed_edge) += sum;
      m_target += Threads;
      load();
    }
  }

 private:
  __device__ void load() {
    if (m_target >= m_part.count) return;
    m_at = m_position[m_target];
    m_source = m_widths[m_part.levels + m_target];
  }

  const SmallChildPart m_part;
  const unsigned short* const m_position;
  const std::uint32_t* const m_widths;  ///< number of targets on level k, at k
  int m_target;
  std::uint32_t m_source = 0;
  int m_at = 0;
};

}  // namespace lutra::Impl

#endif
