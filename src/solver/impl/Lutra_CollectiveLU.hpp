// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_COLLECTIVELU_HPP
#define LUTRA_COLLECTIVELU_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "Lutra_Distributed.hpp"
#include "Lutra_DistributedRows.hpp"
#include "Lutra_Error.hpp"
#include "Lutra_RankCalls.hpp"

namespace lutra::Impl {

/// DistributedLU for the interfaces to C, Python and Trilinos: options may change from one factorization to
/// the next, and arguments are read where an error of one rank becomes one of all. All calls are collective.
template <class Scalar>
class CollectiveLU {
 public:
  /// @param calls outlives this object
  explicit CollectiveLU(RankCalls& calls) : m_calls(calls) {}

  /// After an error in the distribution of rows there are no factors.
  /// @param name of the caller's function, for messages; static text
  /// @param on_device whether to work on the ranks' CUDA devices
  /// @param n order of the whole matrix
  /// @param read returns the rows of this rank
  template <class Read>
  Status factorize(const char* name, const LuOptions& options, bool on_device, std::int64_t n,
                   const Read& read) {
    DistributedRows<Scalar> A;
    Status status = Status::not_solved;
    m_calls.run(
        name,
        [&] {
          return "matrix of order " + std::to_string(n) + "\n" + text_of(options) +
                 (on_device ? "on devices" : "on hosts");
        },
        [&] {
          check_options(options);
          if (n < 0) throw InputError("n: it is " + std::to_string(n));
          A = read();
          check_rows(A);
          check_columns(A);
          check_values<Scalar>(A, A.values);
        },
        [&] { status = replace_matrix(A, options, on_device); });
    m_is_usable = status == Status::success;
    return status;
  }

  /// @param read returns the values of this rank's entries
  template <class Read>
  Status refactorize(const char* name, const Read& read) {
    std::vector<Scalar> values;
    Status status = Status::not_solved;
    m_calls.run(
        name,
        [&] {
          require_matrix(name);
          values = read();
        },
        [&] { status = m_lu->refactorize(values); });
    m_is_usable = status == Status::success;
    return status;
  }

  /// Solves op(A)·X = B for k right-hand sides.
  /// @param read returns B, [rows × k] by columns
  /// @param write receives X in the same form; it is not called if the status says that there is none
  template <class Read, class Write>
  Status solve(const char* name, std::int64_t k, Transposition op, const Read& read, const Write& write) {
    constexpr const char* operations[] = {"A", "its transpose", "its adjoint"};
    std::vector<Scalar> B, X;
    m_calls.run(
        name,
        [&] {
          return std::to_string(k) + " right-hand sides\nsolve with " +
                 operations[op == Transposition::none         ? 0
                            : op == Transposition::transposed ? 1
                                                              : 2];
        },
        [&] {
          require_matrix(name);
          B = read();
          X.resize(B.size());
        },
        [&] { m_lu->solve(B, X, static_cast<std::size_t>(k), op); });
    const Status status = report().status;
    if (m_is_usable &&
        (is_solved(status) || status == Status::error_above_tolerance || status == Status::breakdown))
      write(X);
    return status;
  }

  /// Frees the factors.
  void close() {
    if (m_lu) m_lu->close();
    m_lu.reset();
  }

  const Report& report() const { return m_lu ? m_lu->report() : m_no_report; }
  std::int64_t n() const { return m_n; }
  std::size_t rows() const { return m_rows; }                 ///< of this rank
  std::size_t entries() const { return m_entries; }           ///< of this rank
  std::int64_t all_entries() const { return m_all_entries; }  ///< of all ranks

 private:
  void require_matrix(const char* name) const {
    if (!m_lu)
      throw CallOrderError(std::string(name) + ": there is no factorization; factorize a matrix first");
  }

  Status replace_matrix(const DistributedRows<Scalar>& A, const LuOptions& options, bool on_device) {
    renew(options, on_device);
    m_n = A.n;
    m_rows = A.rows.size();
    m_entries = A.columns.size();
    m_all_entries = 0;
    for (const std::size_t one : m_calls.communicator().all_gather(m_entries))
      m_all_entries += static_cast<std::int64_t>(one);
    try {
      return m_lu->factorize(A);
    } catch (...) {  // on all ranks, after the former factors were freed
      m_lu.reset();
      throw;
    }
  }

  /// Makes a solver with these options unless there is one.
  void renew(const LuOptions& options, bool on_device) {
    if (m_lu && options == m_options) return;
    close();
    DistributedOptions distribution;
    distribution.on_device = on_device;
    m_calls.communicator().agree(
        "options",
        [&] {
          m_lu = std::make_unique<DistributedLU<Scalar>>(m_calls.communicator(), options, distribution);
        },
        false);
    m_options = options;
  }

  RankCalls& m_calls;
  std::unique_ptr<DistributedLU<Scalar>> m_lu;  ///< null if there is no factorization
  LuOptions m_options;                          ///< of m_lu
  bool m_is_usable = false;                     ///< the last factorization succeeded
  std::int64_t m_n = 0, m_all_entries = 0;
  std::size_t m_rows = 0, m_entries = 0;  ///< of this rank
  Report m_no_report;
};

}  // namespace lutra::Impl

#endif
