// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TPETRABLOCKS_HPP
#define LUTRA_TPETRABLOCKS_HPP

#include <algorithm>
#include <string>
#include <vector>

#include "Lutra_TpetraBatch.hpp"

namespace lutra::Impl {

/// Values of all blocks on one pattern; an entry that a block does not have is zero.
template <class Values, class Source, class Result>
struct GatherBlocks {
  Values values;  ///< of the local matrix
  Source source;  ///< [entries × blocks] position in `values`; −1: none
  Result result;  ///< [entries × blocks]
  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const auto entries = static_cast<std::int64_t>(result.extent(0));
    const Offset p = source(t % entries, t / entries);
    result(t % entries, t / entries) =
        p < 0 ? typename Result::value_type(0) : typename Result::value_type(values(p));
  }
};

/// Values of dense blocks [blocks × n × n], by rows.
template <class Blocks, class Result>
struct FlattenBlocks {
  Blocks blocks;
  Result result;  ///< [n² × blocks]
  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const auto entries = static_cast<std::int64_t>(result.extent(0));
    const auto n = static_cast<std::int64_t>(blocks.extent(1));
    const std::int64_t p = t % entries;
    result(p, t / entries) = blocks(t / entries, p / n, p % n);
  }
};

/// The diagonal blocks of the rows of one process: their common pattern, and their values.
template <class Matrix>
class TpetraBlocks {
 public:
  using Types = TpetraTypes<Matrix>;
  using Batch = TpetraBatch<Matrix>;
  using Pattern = typename Batch::Pattern;
  using Scalar = typename Types::Scalar;
  using Space = typename Types::Space;
  using Memory = typename Types::Memory;
  using Values = Kokkos::View<Scalar**, Kokkos::LayoutLeft, Memory>;

  std::size_t size() const { return m_size; }    ///< rows of a block
  std::size_t count() const { return m_count; }  ///< blocks
  const Pattern& pattern() const { return m_pattern; }
  const Values& values() const { return m_values; }

  /// @throws InputError
  void read(const Matrix& A, int size) {
    if (!A.isFillComplete()) throw InputError("A: it is not fill complete");
    const auto& rows = *A.getRowMap();
    if (!rows.locallySameAs(*A.getDomainMap()) || !rows.locallySameAs(*A.getRangeMap()))
      throw InputError("A: its row, domain and range maps differ on this process");
    const std::size_t n_rows = A.getLocalNumRows();
    if (size < 1 || n_rows % static_cast<std::size_t>(size) != 0)
      throw InputError("block_size: " + std::to_string(n_rows) + " rows of this process are no blocks of " +
                       std::to_string(size));
    if (!is_known(*A.getCrsGraph(), size)) find_blocks(A, static_cast<std::size_t>(size));
    using Local = std::decay_t<decltype(A.getLocalMatrixDevice().values)>;
    launch("lutra::trilinos::gather blocks",
           GatherBlocks<Local, Source, Values>{A.getLocalMatrixDevice().values, m_source, m_values});
  }

  template <class BlockMatrix>
  void read(const BlockMatrix& A) {
    const auto size = static_cast<std::size_t>(A.getBlockSize());
    const std::size_t count = A.getLocalNumRows();
    m_graph = {};
    set_dense_pattern(size, count);
    using Device = typename BlockMatrix::device_type;
    const Kokkos::View<std::size_t*, Device> offsets("lutra::trilinos::offsets", count);
    A.getCrsGraph().getLocalDiagOffsets(offsets);
    const Kokkos::View<Scalar***, Device> blocks("lutra::trilinos::blocks", count, size, size);
    A.getLocalDiagCopy(blocks, offsets);
    launch("lutra::trilinos::flatten blocks",
           FlattenBlocks<std::decay_t<decltype(blocks)>, Values>{blocks, m_values});
  }

 private:
  using Source = Kokkos::View<Offset**, Kokkos::LayoutLeft, Memory>;
  using Graph = typename Matrix::crs_graph_type::local_graph_device_type;

  template <class Kernel>
  void launch(const char* label, const Kernel& kernel) const {
    using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
    const Space exec;
    Kokkos::parallel_for(label, Policy(exec, 0, static_cast<std::int64_t>(m_values.size())), kernel);
    exec.fence("lutra::trilinos: blocks are gathered");
  }

  /// Whether the blocks were found in this graph. It is kept, so that no other one has its memory.
  bool is_known(const typename Matrix::crs_graph_type& graph, int size) const {
    const auto local = graph.getLocalGraphDevice();
    return m_size == static_cast<std::size_t>(size) && m_graph.entries.data() == local.entries.data() &&
           m_graph.row_map.data() == local.row_map.data() && m_graph.entries.data() != nullptr;
  }

  /// Column of each entry in its block; −1 outside. Rows by the local indices of the row map.
  static std::vector<Ordinal> columns_in_blocks(const Matrix& A, std::size_t size) {
    const auto graph = A.getCrsGraph()->getLocalGraphHost();
    const auto &rows = *A.getRowMap(), &columns = *A.getColMap();
    std::vector<std::int64_t> of_column(columns.getLocalNumElements());  // its row, or invalid
    for (std::size_t c = 0; c < of_column.size(); ++c)
      of_column[c] = static_cast<std::int64_t>(
          rows.getLocalElement(columns.getGlobalElement(static_cast<typename Types::Ordinal>(c))));
    std::vector<Ordinal> result(graph.entries.extent(0), -1);
    for (std::size_t i = 0; i + 1 < graph.row_map.extent(0); ++i) {
      const auto first = static_cast<std::int64_t>(i / size * size);
      for (auto p = graph.row_map(i); p < graph.row_map(i + 1); ++p) {
        const std::int64_t j = of_column[static_cast<std::size_t>(graph.entries(p))] - first;
        if (j >= 0 && j < static_cast<std::int64_t>(size)) result[p] = static_cast<Ordinal>(j);
      }
    }
    return result;
  }

  void find_blocks(const Matrix& A, std::size_t size) {
    const auto graph = A.getCrsGraph()->getLocalGraphHost();
    const std::vector<Ordinal> column = columns_in_blocks(A, size);
    m_graph = {};
    m_size = size;
    m_count = A.getLocalNumRows() / size;
    m_pattern = {};
    for (std::size_t i = 0; i < size; ++i) {
      std::vector<Ordinal> row;
      for (std::size_t k = 0; k < m_count; ++k)
        for (auto p = graph.row_map(k * size + i); p < graph.row_map(k * size + i + 1); ++p)
          if (column[p] >= 0) row.push_back(column[p]);
      std::ranges::sort(row);
      row.erase(std::unique(row.begin(), row.end()), row.end());
      m_pattern.entries.insert(m_pattern.entries.end(), row.begin(), row.end());
      m_pattern.row_map.push_back(static_cast<Offset>(m_pattern.entries.size()));
    }
    reserve();
    place_entries(graph, column);
    m_graph = A.getCrsGraph()->getLocalGraphDevice();
  }
  template <class HostGraph>
  void place_entries(const HostGraph& graph, const std::vector<Ordinal>& column) {
    const auto source = Kokkos::create_mirror_view(m_source);
    Kokkos::deep_copy(source, Offset(-1));
    for (std::size_t r = 0; r < m_size * m_count; ++r) {
      const auto begin = m_pattern.entries.begin();
      const auto first = begin + m_pattern.row_map[r % m_size],
                 last = begin + m_pattern.row_map[r % m_size + 1];
      for (auto p = graph.row_map(r); p < graph.row_map(r + 1); ++p)
        if (column[p] >= 0)
          source(std::lower_bound(first, last, column[p]) - begin, r / m_size) = static_cast<Offset>(p);
    }
    Kokkos::deep_copy(m_source, source);
  }
  void set_dense_pattern(std::size_t size, std::size_t count) {
    m_size = size;
    m_count = count;
    m_pattern = {};
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) m_pattern.entries.push_back(static_cast<Ordinal>(j));
      m_pattern.row_map.push_back(static_cast<Offset>(m_pattern.entries.size()));
    }
    reserve();
  }
  void reserve() {
    const std::size_t entries = m_pattern.entries.size();
    m_source = Source("lutra::trilinos::source", entries, m_count);
    m_values = Values("lutra::trilinos::values of blocks", entries, m_count);
  }

  std::size_t m_size = 0, m_count = 0;
  Pattern m_pattern;
  Graph m_graph;    ///< in which the blocks were found
  Source m_source;  ///< [entries × blocks] position of each in the local values; −1: none
  Values m_values;  ///< [entries × blocks]
};

}  // namespace lutra::Impl

#endif
