// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_BatchSolver.hpp"
#include "Lutra_Instantiate.hpp"

// The C interface: batches.

namespace lutra::C {
namespace {

std::unique_ptr<AnySolver> make(int method, int scalar, int index, const std::string& backend) {
  constexpr std::array<const char*, 5> names = {"lu", "ldlt", "cholesky", "ilu",
                                                "krylov"};  // by lutra_method
  require(method >= LUTRA_LU && method <= LUTRA_KRYLOV,
          "method: batches have LUTRA_LU, LUTRA_LDLT, LUTRA_CHOLESKY, LUTRA_ILU, LUTRA_KRYLOV");
  check_scalar(scalar);
  check_index(index);
  const char* const name = names[static_cast<std::size_t>(method)];
  std::unique_ptr<AnySolver> solver;
#define LUTRA_TRY_TYPES(Scalar, Space)                                            \
  if (!solver && scalar == scalar_of<Scalar> && backend == backend_name<Space>()) \
    solver = std::make_unique<BatchSolver<Scalar, Space>>(static_cast<lutra_method>(method), name, index);
  LUTRA_FOR_EACH_SCALAR_AND_SPACE(LUTRA_TRY_TYPES)
#undef LUTRA_TRY_TYPES
  if (!solver)
    throw NotBuiltError(
        "this Lutra was built without the scalar type or backend asked for (CMake options Lutra_SCALARS, "
        "Lutra_BACKENDS)");
  if (method == LUTRA_CHOLESKY && (scalar == LUTRA_C64 || scalar == LUTRA_C128))
    solver->set_option("symmetry", "hermitian");
  return solver;
}

/// Runs call(solver) if the handle is that of a batch, and invalidates the cached report.
template <class Call>
lutra_status with_batch(lutra_solver* handle, const char* function, const Call& call) noexcept {
  return with_solver(handle, [&](AnySolver& any) {
    auto* const solver = dynamic_cast<AnyBatchSolver*>(&any);
    if (solver == nullptr)
      throw InputError(std::string(function) + ": the solver was not made by lutra_batch_create");
    return call(*solver);
  });
}

}  // namespace
}  // namespace lutra::C

using namespace lutra::C;

lutra_status lutra_batch_create(lutra_solver** solver, int method, int scalar, int index,
                                const char* backend) {
  return guarded([&] {
    require(solver != nullptr, "solver: it is null");
    *solver = nullptr;
    const std::string name = backend_of(backend);
    start_kokkos(0, -1);
    *solver = make_handle(make(method, scalar, index, name));
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_batch_factorize(lutra_solver* solver, int64_t n_systems, const void* values,
                                   int64_t entry_stride, int64_t system_stride, const unsigned char* mask) {
  return with_batch(solver, "lutra_batch_factorize", [&](AnyBatchSolver& s) {
    s.factorize_batch({n_systems, values, entry_stride, system_stride, mask});
    return outcome(s);
  });
}

lutra_status lutra_batch_solve(lutra_solver* solver, int op, int64_t n_rhs, const void* B,
                               const lutra_strides* B_strides, void* X, const lutra_strides* X_strides) {
  return with_batch(solver, "lutra_batch_solve", [&](AnyBatchSolver& s) {
    s.solve_batch(to_transposition(op), {n_rhs, B, B_strides, X, X_strides});
    return outcome(s);
  });
}

lutra_status lutra_batch_apply(lutra_solver* solver, int op, int64_t n_rhs, const void* B,
                               const lutra_strides* B_strides, void* X, const lutra_strides* X_strides) {
  return with_batch(solver, "lutra_batch_apply", [&](AnyBatchSolver& s) {
    s.apply_batch(to_transposition(op), {n_rhs, B, B_strides, X, X_strides});
    return LUTRA_SUCCESS;
  });
}
