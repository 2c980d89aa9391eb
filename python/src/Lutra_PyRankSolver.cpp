// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_PyRankSolver.hpp"

#include <mpi.h>

#include <algorithm>
#include <complex>
#include <type_traits>
#include <utility>

#include "Lutra_CollectiveLU.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RankCalls.hpp"

namespace lutra::Python {
namespace {

/// The solver for one scalar type.
class LuOfRanks {
 public:
  virtual ~LuOfRanks() = default;
  virtual Status factorize(const LuOptions& options, const RowArrays& A) = 0;
  virtual Status refactorize(const void* values, std::size_t nnz, const std::string& problem) = 0;
  virtual Status solve(const void* B, void* X, std::size_t rows, std::size_t k, Transposition op,
                       const std::string& problem) = 0;
  virtual const Report& report() const = 0;
  virtual void close() = 0;
};

/// @throws InputError
void require_none(const std::string& problem) {
  if (!problem.empty()) throw InputError(problem);
}

template <class T>
std::vector<T> copy(const void* from, std::size_t count) {
  const T* const begin = static_cast<const T*>(from);
  return {begin, begin + count};
}

template <class Scalar>
class TypedLuOfRanks final : public LuOfRanks {
 public:
  explicit TypedLuOfRanks(Impl::RankCalls& calls) : m_lu(calls) {}

  Status factorize(const LuOptions& options, const RowArrays& A) override {
    return m_lu.factorize("factorize", options, false, A.n, [&] {
      return DistributedRows<Scalar>{A.n, copy<std::int64_t>(A.rows, A.n_rows),
                                     copy<std::int64_t>(A.row_map, A.n_rows + 1),
                                     copy<std::int64_t>(A.columns, A.nnz), copy<Scalar>(A.values, A.nnz)};
    });
  }
  Status refactorize(const void* values, std::size_t nnz, const std::string& problem) override {
    return m_lu.refactorize("refactorize", [&] {
      require_none(problem);
      return copy<Scalar>(values, nnz);
    });
  }
  Status solve(const void* B, void* X, std::size_t rows, std::size_t k, Transposition op,
               const std::string& problem) override {
    return m_lu.solve(
        "solve", static_cast<std::int64_t>(k), op,
        [&] {
          require_none(problem);
          if (rows != m_lu.rows())
            throw InputError("b: it has " + std::to_string(rows) + " rows, but A has " +
                             std::to_string(m_lu.rows()) + " on this rank");
          return copy<Scalar>(B, rows * k);
        },
        [&](const std::vector<Scalar>& from) {
          std::copy(from.begin(), from.end(), static_cast<Scalar*>(X));
        });
  }
  const Report& report() const override { return m_lu.report(); }
  void close() override { m_lu.close(); }

 private:
  Impl::CollectiveLU<Scalar> m_lu;
};

template <class Scalar>
constexpr ScalarType scalar_type =
    sizeof(RealOf<Scalar>) == 4 ? (ScalarTraits<Scalar>::is_complex ? ScalarType::c64 : ScalarType::f32)
                                : (ScalarTraits<Scalar>::is_complex ? ScalarType::c128 : ScalarType::f64);

std::unique_ptr<LuOfRanks> make_lu(ScalarType scalar, Impl::RankCalls& calls) {
#define LUTRA_TRY_SCALAR(Scalar) \
  if (scalar == scalar_type<Scalar>) return std::make_unique<TypedLuOfRanks<Scalar>>(calls);
  LUTRA_FOR_EACH_SCALAR(LUTRA_TRY_SCALAR)
#undef LUTRA_TRY_SCALAR
  throw InputError("Lutra was built without this scalar type; lutra.build_info() lists those it has");
}

/// The wider of two types: the bits of ScalarType tell double precision and complex numbers.
ScalarType common_type(ScalarType a, ScalarType b) {
  static_assert(static_cast<int>(ScalarType::f64) == 1 && static_cast<int>(ScalarType::c64) == 2 &&
                static_cast<int>(ScalarType::c128) == 3);
  return static_cast<ScalarType>(static_cast<int>(a) | static_cast<int>(b));
}

/// What a rank tells of its rows.
struct Part {
  ScalarType scalar;
  std::int64_t rows;
};

class RankSolverOf final : public RankSolver {
 public:
  /// Collective.
  void open(MPI_Comm communicator, const Options& options, const std::string& problem) {
    m_calls.open(communicator);
    try {
      m_calls.run(
          "DistributedLU",
          [&] {
            require_none(problem);
            for (const auto& [name, value] : options.named) Impl::set_rank_option(m_options, name, value);
            set_permutation(options.user_permutation);
            check_options(m_options);
          },
          [] {});
    } catch (...) {  // on all ranks
      m_calls.close();
      throw;
    }
  }

  Agreement agree(ScalarType scalar, std::size_t rows, const std::string& problem) override {
    Agreement agreement{scalar, 0};
    m_calls.run(
        "factorize", [&] { require_none(problem); },
        [&] {
          const auto ranks = m_calls.communicator().all_gather(Part{scalar, static_cast<std::int64_t>(rows)});
          for (std::size_t r = 0; r < ranks.size(); ++r) {
            agreement.scalar = common_type(agreement.scalar, ranks[r].scalar);
            if (static_cast<int>(r) < m_calls.communicator().rank()) agreement.rows_before += ranks[r].rows;
          }
        });
    return agreement;
  }

  Status factorize(ScalarType scalar, const RowArrays& A) override {
    if (!m_lu || m_scalar != scalar) {
      if (m_lu) m_lu->close();
      m_lu.reset();
      std::unique_ptr<LuOfRanks> made;
      m_calls.run(
          "factorize", [&] { made = make_lu(scalar, m_calls); }, [] {});
      m_lu = std::move(made);
      m_scalar = scalar;
    }
    return m_lu->factorize(m_options, A);
  }
  Status refactorize(const void* values, std::size_t nnz, const std::string& problem) override {
    return factorized("refactorize").refactorize(values, nnz, problem);
  }
  Status solve(const void* B, void* X, std::size_t rows, std::size_t k, Transposition op,
               const std::string& problem) override {
    return factorized("solve").solve(B, X, rows, k, op, problem);
  }
  const Report& report() const override { return m_lu ? m_lu->report() : m_no_report; }
  void close() override {
    if (m_lu) m_lu->close();
    m_calls.close();
  }
  void abandon(const std::string& reason) override { m_calls.abandon(reason); }

 private:
  void set_permutation(const std::vector<std::int64_t>& permutation) {
    if (permutation.empty()) return;
    if (m_options.ordering != Ordering::automatic)
      throw InputError("options: ordering and user_permutation are two orderings; give one of them");
    m_options.ordering = Ordering::user;
    m_options.user_permutation = permutation;
  }
  LuOfRanks& factorized(const char* call) {
    const auto refuse = [&] {
      throw CallOrderError(std::string(call) + ": there is no factorization; factorize a matrix first");
    };
    if (!m_lu) m_calls.run(call, refuse, [] {});
    return *m_lu;
  }

  Impl::RankCalls m_calls;
  LuOptions m_options;
  ScalarType m_scalar = ScalarType::f64;  ///< of m_lu
  std::unique_ptr<LuOfRanks> m_lu;        ///< null before the first factorization
  Report m_no_report;
};

}  // namespace

std::unique_ptr<RankSolver> make_rank_solver(int communicator, const Options& options,
                                             const std::string& problem) {
  std::unique_ptr<RankSolverOf> solver;
  const MPI_Comm ranks = Impl::RankCalls::checked(MPI_Comm_f2c(communicator));
  Impl::allocate_together(ranks, [&] { solver = std::make_unique<RankSolverOf>(); });
  solver->open(ranks, options, problem);
  return solver;
}

std::string list_rank_options() {
  std::string text;
  for (const NamedOption& option : Impl::rank_options(LuOptions()))
    text += option.name + ": " + option.help + " (" + describe_values(option) + ")\n";
  return text;
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace lutra::Python
