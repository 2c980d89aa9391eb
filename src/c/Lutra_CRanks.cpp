// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include "Lutra_CSolver.hpp"
#include "Lutra_Instantiate.hpp"
#include "Lutra_RankSolver.hpp"

// The C interface: solvers on several ranks.

namespace lutra::C {
namespace {

/// Whether a backend is that of devices. @throws InputError for one that does not work on several ranks
bool is_on_device(const char* asked) {
  const std::string backend = asked == nullptr ? "auto" : asked;
  const std::string host = backend_name<Kokkos::DefaultHostExecutionSpace>();
  if (backend == "auto" || backend == host) return false;
#ifdef KOKKOS_ENABLE_CUDA
  if (backend == "cuda") return true;
  const std::string device = ", cuda";
#else
  const std::string device;
#endif
  throw InputError("backend: '" + backend + "' does not work on several ranks (choose from auto, " + host +
                   device + ")");
}

#define LUTRA_IS_SCALAR(Scalar) || scalar == scalar_of<Scalar>
/// @throws NotBuiltError
void check_is_built(int scalar) {
  const bool is_built = false LUTRA_FOR_EACH_SCALAR(LUTRA_IS_SCALAR);
  if (!is_built)
    throw NotBuiltError(
        "this Lutra was built without the scalar type asked for (CMake option "
        "Lutra_SCALARS)");
}
#undef LUTRA_IS_SCALAR

/// Null if the scalar type is not built.
std::unique_ptr<AnySolver> make_typed(const std::shared_ptr<Impl::RankCalls>& calls, int scalar, int index,
                                      bool on_device) {
#define LUTRA_TRY_SCALAR(Scalar) \
  if (scalar == scalar_of<Scalar>) return std::make_unique<RankSolver<Scalar>>(calls, index, on_device);
  LUTRA_FOR_EACH_SCALAR(LUTRA_TRY_SCALAR)
#undef LUTRA_TRY_SCALAR
  return nullptr;
}

/// All memory is allocated where the other ranks learn of a failure.
lutra_solver* make(MPI_Comm ranks, int scalar, int index, const char* backend) {
  std::shared_ptr<Impl::RankCalls> calls;
  std::unique_ptr<lutra_solver> handle;
  Impl::allocate_together(Impl::RankCalls::checked(ranks), [&] {
    calls = std::make_shared<Impl::RankCalls>();
    handle = std::make_unique<lutra_solver>();
  });
  calls->open(ranks);
  try {
    calls->run(
        "lutra_mpi_create",
        [&] {
          return "scalar type " + std::to_string(scalar) + "\nbackend " +
                 (backend == nullptr ? "auto" : backend);
        },
        [&] {
          check_scalar(scalar);
          check_index(index);
          const bool on_device = is_on_device(backend);
          start_kokkos(0, -1);
          handle->solver = make_typed(calls, scalar, index, on_device);
        },
        [] {});
    check_is_built(scalar);
  } catch (...) {  // on all ranks
    handle.reset();
    calls->close();
    throw;
  }
  return hand_out(std::move(handle));
}

/// Runs call(solver) if the handle is one of several ranks, and invalidates the cached report.
template <class Call>
lutra_status with_rank_solver(lutra_solver* handle, const char* function, const Call& call) noexcept {
  return with_solver(handle, [&](AnySolver& any) {
    auto* const solver = dynamic_cast<AnyRankSolver*>(&any);
    if (solver == nullptr)
      throw InputError(std::string(function) + ": the solver was not made by lutra_mpi_create");
    call(*solver);
    return outcome(any);
  });
}

}  // namespace
}  // namespace lutra::C

using namespace lutra::C;

lutra_status lutra_mpi_create(lutra_solver** solver, MPI_Comm ranks, int scalar, int index,
                              const char* backend) {
  return guarded([&] {
    require(solver != nullptr, "solver: it is null");
    *solver = nullptr;
    *solver = make(ranks, scalar, index, backend);
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_mpi_create_f(lutra_solver** solver, MPI_Fint ranks, int scalar, int index,
                                const char* backend) {
  return lutra_mpi_create(solver, MPI_Comm_f2c(ranks), scalar, index, backend);
}

lutra_status lutra_mpi_factorize(lutra_solver* solver, const lutra_rows* A) {
  return with_rank_solver(solver, "lutra_mpi_factorize", [&](AnyRankSolver& s) { s.factorize_rows(A); });
}

lutra_status lutra_mpi_refactorize(lutra_solver* solver, int64_t nnz, const void* values) {
  return with_rank_solver(solver, "lutra_mpi_refactorize",
                          [&](AnyRankSolver& s) { s.refactorize(nnz, values); });
}
