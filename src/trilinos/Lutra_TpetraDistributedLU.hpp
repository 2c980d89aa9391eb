// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TPETRADISTRIBUTEDLU_HPP
#define LUTRA_TPETRADISTRIBUTEDLU_HPP

#include <Teuchos_DefaultMpiComm.hpp>
#include <Teuchos_ParameterList.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Lutra_CollectiveLU.hpp"
#include "Lutra_ExecutionTraits.hpp"
#include "Lutra_RankCalls.hpp"
#include "Lutra_TpetraViews.hpp"
#include "Lutra_TrilinosErrors.hpp"
#include "Lutra_TrilinosParameters.hpp"

namespace lutra {

/// DistributedLU for Tpetra: each process factorizes, and solves for, the rows that the row map gives it.
///
///     lutra::TpetraDistributedLU<Matrix> solver(*A->getComm());
///     if (solver.factorize(*A) == lutra::Status::success) solver.solve(*X, *B);
///
/// Matrix is a Tpetra::CrsMatrix that is fill complete. Its domain and range map are its row map, as are
/// those of B and X; global indices have no gaps, and each is on one process. Indices, values, B and X pass
/// through hosts.
///
/// All calls but `report` are collective. What is wrong on one process is an error on all, with one message:
/// std::invalid_argument for what Lutra calls InputError, std::logic_error for CallOrderError, else
/// std::runtime_error. A matrix that is singular is a status.
template <class Matrix>
class TpetraDistributedLU {
  using Types = Impl::TpetraTypes<Matrix>;
  using Map = typename Matrix::map_type;

 public:
  using scalar_type = typename Types::Scalar;
  using vector_type = typename Types::MultiVector;

  /// @param list options of `LuOptions` by their names, without those that have no effect on several ranks
  explicit TpetraDistributedLU(const Teuchos::Comm<int>& comm, const Teuchos::ParameterList& list = {}) {
    Impl::with_teuchos_errors([&] {
      m_calls = std::make_unique<Impl::RankCalls>(mpi_of(comm));
      try {
        m_calls->run(
            "TpetraDistributedLU",
            [&] {
              m_lu = std::make_unique<Impl::CollectiveLU<scalar_type>>(*m_calls);
              m_options = read_list(list);
            },
            [] {});
      } catch (...) {  // on all processes
        m_calls->close();
        throw;
      }
    });
  }

  /// Frees the factors and the communicator once all processes have called it. The destructor does not wait.
  void close() {
    Impl::with_teuchos_errors([&] {
      m_lu->close();
      m_calls->close();
    });
  }

  /// Options for the next factorization.
  void set_parameters(const Teuchos::ParameterList& list) {
    Impl::with_teuchos_errors([&] {
      m_calls->run(
          "set_parameters", [&] { m_options = read_list(list); }, [] {});
    });
  }

  /// Analyzes and factorizes a matrix. The analysis of a matrix with the same pattern is used again.
  [[nodiscard]] Status factorize(const Matrix& A) {
    Status status = Status::not_solved;
    Impl::with_teuchos_errors([&] {
      status = m_lu->factorize("factorize", m_options, on_device,
                               static_cast<std::int64_t>(A.getGlobalNumRows()), [&] { return read(A); });
      m_map = A.getRowMap();
    });
    return status;
  }

  /// Solves op(A)·X = B. If the status is singular, X is left unchanged.
  Status solve(vector_type& X, const vector_type& B, Transposition op = Transposition::none) {
    Status status = Status::not_solved;
    Impl::with_teuchos_errors([&] {
      status = m_lu->solve(
          "solve", static_cast<std::int64_t>(B.getNumVectors()), op, [&] { return read(X, B); },
          [&](const std::vector<scalar_type>& columns) { write(columns, X); });
    });
    return status;
  }

  /// Status and errors on all processes, complete on process 0.
  const Report& report() const { return m_lu->report(); }

 private:
#ifdef KOKKOS_ENABLE_CUDA
  static constexpr bool on_device = std::is_same_v<typename Types::Space, Kokkos::Cuda>;
#else
  static constexpr bool on_device = false;
#endif

  static MPI_Comm mpi_of(const Teuchos::Comm<int>& comm) {
    const auto* const mpi = dynamic_cast<const Teuchos::MpiComm<int>*>(&comm);
    return mpi == nullptr ? MPI_COMM_SELF : (*mpi->getRawMpiComm())();
  }

  /// @throws InputError
  static LuOptions read_list(const Teuchos::ParameterList& list) {
    LuOptions options;
    for (auto at = list.begin(); at != list.end(); ++at)
      Impl::set_rank_option(options, list.name(at), Impl::text_of(list.name(at), list.entry(at)));
    check_options(options);
    return options;
  }

  static void require_map(const Map& map, const Map& rows, const char* which) {
    if (!map.locallySameAs(rows))
      throw InputError(std::string(which) + " is not the row map of the matrix on this process");
  }

  /// The rows of this process. @throws InputError
  static DistributedRows<scalar_type> read(const Matrix& A) {
    if (!A.isFillComplete()) throw InputError("A: it is not fill complete");
    const Map &rows = *A.getRowMap(), &columns = *A.getColMap();
    require_map(*A.getDomainMap(), rows, "A: the domain map");
    require_map(*A.getRangeMap(), rows, "A: the range map");
    const auto base = static_cast<std::int64_t>(rows.getIndexBase());
    const auto local = A.getLocalMatrixHost();
    DistributedRows<scalar_type> result;
    result.n = static_cast<std::int64_t>(A.getGlobalNumRows());
    result.row_map.push_back(0);
    std::vector<std::pair<std::int64_t, scalar_type>> row;  // Tpetra's columns ascend by local index
    for (typename Types::Ordinal i = 0; i < local.numRows(); ++i) {
      row.clear();
      for (auto e = local.graph.row_map(i); e < local.graph.row_map(i + 1); ++e)
        row.emplace_back(columns.getGlobalElement(local.graph.entries(e)) - base, local.values(e));
      std::ranges::sort(row, {}, [](const auto& entry) { return entry.first; });
      for (const auto& [column, value] : row) {
        result.columns.push_back(column);
        result.values.push_back(value);
      }
      result.rows.push_back(static_cast<std::int64_t>(rows.getGlobalElement(i)) - base);
      result.row_map.push_back(static_cast<std::int64_t>(result.columns.size()));
    }
    return result;
  }

  /// B by columns. @throws InputError if B or X does not fit the matrix
  std::vector<scalar_type> read(const vector_type& X, const vector_type& B) const {
    require_map(*B.getMap(), *m_map, "B: its map");
    require_map(*X.getMap(), *m_map, "X: its map");
    if (X.getNumVectors() != B.getNumVectors())
      throw InputError("X: it has " + std::to_string(X.getNumVectors()) + " vectors, but B " +
                       std::to_string(B.getNumVectors()));
    const auto view = B.getLocalViewHost(Tpetra::Access::ReadOnly);
    std::vector<scalar_type> columns;
    columns.reserve(view.extent(0) * view.extent(1));
    for (std::size_t j = 0; j < view.extent(1); ++j)
      for (std::size_t i = 0; i < view.extent(0); ++i) columns.push_back(view(i, j));
    return columns;
  }

  static void write(const std::vector<scalar_type>& columns, vector_type& X) {
    const auto view = X.getLocalViewHost(Tpetra::Access::OverwriteAll);
    std::size_t at = 0;
    for (std::size_t j = 0; j < view.extent(1); ++j)
      for (std::size_t i = 0; i < view.extent(0); ++i) view(i, j) = columns[at++];
  }

  std::unique_ptr<Impl::RankCalls> m_calls;
  std::unique_ptr<Impl::CollectiveLU<scalar_type>> m_lu;
  LuOptions m_options;
  Teuchos::RCP<const Map> m_map;  ///< of the rows last factorized; m_lu has checked that there are such
};

}  // namespace lutra

#endif
