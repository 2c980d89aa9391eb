// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_SEQUENTIALAUCTION_HPP
#define LUTRA_SEQUENTIALAUCTION_HPP

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "Lutra_EntryCosts.hpp"
#include "Lutra_Index.hpp"
#include "Lutra_SymmetricAuction.hpp"

namespace lutra::Impl {

/// log₂ x to 2·10⁻⁵ for normal x > 0; −1023 for smaller x. Branchless 32-bit arithmetic, so that loops
/// vectorize.
inline float approximate_log2(double x) {
  const auto high = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 32);
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(high >> 20) - 1023);
  const float t = std::bit_cast<float>(0x3f800000U | (high & 0xfffffU) << 3) - 1;  // x = 2^exponent·(1 + t)
  // Minimax polynomial of log₂(1 + t) on [0, 1).
  return exponent + t * (1.44196558f +
                         t * (-0.709662676f + t * (0.417595416f + t * (-0.196269199f + t * 0.0463851802f))));
}

/// Auction for a symmetric matrix on one thread, after D. P. Bertsekas, Annals of Operations Research 14
/// (1988), in Gauss-Seidel form: each bid uses the prices left by the previous one, so that few bids compete.
/// Costs and prices are base-2 logarithms.
class SequentialAuction {
 public:
  template <class Scalar>
  explicit SequentialAuction(const CsrView<Scalar, Ordinal, Offset, Kokkos::HostSpace>& A)
      : m_A(A.pattern()),
        m_cost(A.entries.extent(0)),
        m_columns(static_cast<std::size_t>(A.n_rows)),
        m_entry_of_row(m_columns.size(), Offset(-1)) {
    for (std::size_t k = 0; k < m_cost.size(); ++k) {
      const double size = magnitude_in_double(A.values(k));
      const float cost = -approximate_log2(size);
      m_cost[k] = size > 0 ? cost : infinity;
    }
    for (Ordinal i = 0; i < m_A.n_rows; ++i) {  // least cost of row i and, by symmetry, of column i
      float least = infinity;
      for (Offset k = m_A.row_map(i); k < m_A.row_map(i + 1); ++k)
        least = std::min(least, m_cost[static_cast<std::size_t>(k)]);
      if (least < infinity) column(i).price = -static_cast<double>(least);
    }
  }

  /// Runs the auction. Does not set the structural rank.
  /// @throws CancelledError
  SymmetricAuction run(double epsilon, const RunControl& run) {
    m_run = run;
    bid_for_all(epsilon, enough_reads);
    if (m_bidders.size() > m_columns.size() / enough_fraction) {
      for (const double step : {8.0, 1.0}) bid_for_all(step * epsilon, max_reads);
    }
    return result();
  }

 private:
  static constexpr float infinity = std::numeric_limits<float>::infinity();
  static constexpr std::size_t enough_fraction = 64;  // at most n / enough_fraction rows may stay unmatched
  static constexpr int enough_reads = 2;  // passes over the entries after which a phase may end with so few
  static constexpr int max_reads = 4;     // maximum passes over the entries in a phase

  // Stored together: a bid reads one member and writes both.
  struct Column {
    double price = 0;
    Ordinal row = -1;  // matched row; −1: none
  };
  struct Choice {
    double first = infinity, second = infinity;  // the two least costs of a row, including prices
    Offset entry = -1;                           // position of `first`
  };

  Offset& entry(Ordinal row) { return m_entry_of_row[static_cast<std::size_t>(row)]; }
  Column& column(Ordinal j) { return m_columns[static_cast<std::size_t>(j)]; }
  double paid(Offset k) {
    return static_cast<double>(m_cost[static_cast<std::size_t>(k)]) + column(m_A.entries(k)).price;
  }
  Choice choice_of(Ordinal row) {
    Choice best;
    for (Offset k = m_A.row_map(row); k < m_A.row_map(row + 1); ++k) {
      const double cost = paid(k);
      if (cost < best.first) {
        best = {cost, best.first, k};
      } else {
        best.second = std::min(best.second, cost);
      }
    }
    return best;
  }

  double slack(Ordinal row, const Choice& best) { return paid(entry(row)) - best.first; }

  /// One phase: bids until all possible rows are matched, or enough of them, or too many entries have been
  /// read.
  void bid_for_all(double epsilon, int reads) {
    epsilon *= M_LOG2E;
    m_bidders.clear();
    for (Ordinal i = 0; i < m_A.n_rows; ++i) {
      if (entry(i) >= 0 && slack(i, choice_of(i)) > epsilon)
        column(m_A.entries(std::exchange(entry(i), -1))).row = -1;
      if (entry(i) < 0) m_bidders.push_back(i);
    }
    const std::size_t enough = m_columns.size() / enough_fraction;
    std::vector<Ordinal> next;
    for (Offset read = 0;
         !m_bidders.empty() && read < (m_bidders.size() > enough ? reads : enough_reads) * m_A.nnz();
         ++m_statistics.rounds) {
      next.clear();
      for (const Ordinal row : m_bidders) {
        m_run.poll_at(m_bids++, 1 << 12);
        read += m_A.row_map(row + 1) - m_A.row_map(row);
        const Ordinal loser = bid(row, epsilon);
        if (loser >= 0) next.push_back(loser);
      }
      m_bidders.swap(next);
    }
    ++m_statistics.phases;
  }

  /// Makes one bid. @returns the row that loses its column; −1: none
  Ordinal bid(Ordinal row, double epsilon) {
    const Choice best = choice_of(row);
    if (best.entry < 0) return -1;
    Column& taken = column(m_A.entries(best.entry));
    taken.price += (best.second < infinity ? best.second - best.first : 0.0) + epsilon;
    entry(row) = best.entry;
    const Ordinal loser = std::exchange(taken.row, row);
    if (loser >= 0) entry(loser) = -1;
    return loser;
  }

  SymmetricAuction result() {
    constexpr double max_exponent = 1000;  // 2^±1000 is finite and normal: double spans 2^−1022 to 2^1024
    SymmetricAuction result{{}, m_statistics};
    for (Ordinal i = 0; i < m_A.n_rows; ++i) {
      const Choice best = choice_of(i);
      if (entry(i) < 0) {
        ++result.statistics.left_to_paths;
      } else {
        result.statistics.log_loss_bound += slack(i, best) * M_LN2;
      }
      const double exponent = best.entry < 0 ? 0.0 : (best.first - column(i).price) / 2;
      result.matching.scale.push_back(std::exp2(std::clamp(exponent, -max_exponent, max_exponent)));
      result.matching.row_of_column.push_back(column(i).row);
    }
    return result;
  }

  CsrPattern<Ordinal, Offset, Kokkos::HostSpace> m_A;
  std::vector<float> m_cost;           // [nnz] −log₂|a|; infinity for a zero
  std::vector<Column> m_columns;       // [n]
  std::vector<Offset> m_entry_of_row;  // [n] position of each row's matched entry; −1: none
  std::vector<Ordinal> m_bidders;      // unmatched rows that bid next
  AuctionStatistics m_statistics;
  RunControl m_run;
  std::int64_t m_bids = 0;
};

}  // namespace lutra::Impl

#endif
