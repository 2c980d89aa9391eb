// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_CSOLVER_HPP
#define LUTRA_CSOLVER_HPP

#include <array>
#include <cstdio>
#include <memory>
#include <new>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "Lutra_AnySolver.hpp"
#include "Lutra_Communicator.hpp"
#include "Lutra_Error.hpp"

/// A solver, and the storage that pointers into its report refer to.
struct lutra_solver {
  std::unique_ptr<lutra::C::AnySolver> solver;
  std::shared_ptr<lutra::StopFlag> stop = std::make_shared<lutra::StopFlag>();
  std::string option;                            ///< last value returned by lutra_get_option
  std::string json;                              ///< the report; empty until requested after a call
  std::shared_ptr<const nlohmann::json> parsed;  ///< the report, parsed for look-up by key
  std::vector<std::int64_t> list;                ///< last list returned
  std::vector<double> numbers;                   ///< last list of a batch returned
};

namespace lutra::C {

/// Last message of this thread. A fixed array, because storing a message must not fail.
inline std::array<char, 2000>& message() noexcept {
  thread_local std::array<char, 2000> text{};
  return text;
}

inline lutra_status fail(lutra_status status, const char* text) noexcept {
  std::snprintf(message().data(), message().size(), "%s", text);
  return status;
}

inline lutra_status to_c(Status status) noexcept {
  switch (status) {
    case Status::not_solved:
      return LUTRA_NOT_SOLVED;
    case Status::success:
      return LUTRA_SUCCESS;
    case Status::structurally_singular:
      return LUTRA_STRUCTURALLY_SINGULAR;
    case Status::numerically_singular:
      return LUTRA_NUMERICALLY_SINGULAR;
    case Status::not_positive_definite:
      return LUTRA_NOT_POSITIVE_DEFINITE;
    case Status::error_above_tolerance:
      return LUTRA_ERROR_ABOVE_TOLERANCE;
    case Status::breakdown:
      return LUTRA_BREAKDOWN;
    case Status::not_converged:
      return LUTRA_NOT_CONVERGED;
    case Status::out_of_memory:
      return LUTRA_OUT_OF_MEMORY;
    case Status::unchecked:
      return LUTRA_UNCHECKED;
    case Status::cancelled:
      return LUTRA_CANCELLED;
  }
  return LUTRA_INTERNAL_ERROR;
}

/// Status of an exception that another rank sent.
inline lutra_status to_c(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::input:
    case FailureKind::file:
      return LUTRA_INPUT_ERROR;
    case FailureKind::call_order:
      return LUTRA_CALL_ORDER_ERROR;
    case FailureKind::out_of_memory:
      return LUTRA_OUT_OF_MEMORY;
    case FailureKind::timeout:
      return LUTRA_TIMEOUT;
    case FailureKind::cancelled:
      return LUTRA_CANCELLED;
    case FailureKind::other:
      break;
  }
  return LUTRA_INTERNAL_ERROR;
}

/// Exception barrier: runs `call`, which returns a lutra_status.
template <class Call>
lutra_status guarded(const Call& call) noexcept {
  try {
    return call();
  } catch (const InputError& error) {
    return fail(LUTRA_INPUT_ERROR, error.what());
  } catch (const CallOrderError& error) {
    return fail(LUTRA_CALL_ORDER_ERROR, error.what());
  } catch (const std::bad_alloc& error) {
    return fail(LUTRA_OUT_OF_MEMORY, error.what());
  } catch (const CancelledError& error) {
    return fail(LUTRA_CANCELLED, error.what());
  } catch (const TimeoutError& error) {
    return fail(LUTRA_TIMEOUT, error.what());
  } catch (const RemoteError& error) {
    return fail(to_c(error.failure().kind), error.what());
  } catch (const NotBuiltError& error) {
    return fail(LUTRA_NOT_BUILT, error.what());
  } catch (const std::exception& error) {
    return fail(LUTRA_INTERNAL_ERROR, error.what());
  } catch (...) {
    return fail(LUTRA_INTERNAL_ERROR, "an exception that is not one of C++'s");
  }
}

inline void require(bool condition, const char* text) {
  if (!condition) throw InputError(text);
}

/// @throws CallOrderError if Kokkos was ended, after which it would end the process
void check_kokkos();

/// Runs call(solver) if the handle is not null and Kokkos was not ended, and invalidates the cached report.
template <class Call>
lutra_status with_solver(lutra_solver* handle, const Call& call) noexcept {
  return guarded([&] {
    require(handle != nullptr, "solver: it is null");
    check_kokkos();
    handle->json.clear();
    return call(*handle->solver);
  });
}

/// Status of a call that ended without exception. `not_solved` means success of analyze and factorize.
lutra_status outcome(const AnySolver& solver);
/// Starts Kokkos unless it runs. @throws CallOrderError
void start_kokkos(int num_threads, int device);
/// @throws InputError for a number that is no lutra_scalar
void check_scalar(int scalar);
/// @throws InputError for a number that is no lutra_index
void check_index(int index);
/// Name of a built backend; null or "auto": the default. @throws NotBuiltError
std::string backend_of(const char* asked);
/// Makes a handle, which lutra_destroy frees and lutra_finalize counts.
lutra_solver* make_handle(std::unique_ptr<AnySolver> solver);
/// The same with the memory of a handle that holds its solver.
lutra_solver* hand_out(std::unique_ptr<lutra_solver> handle);

}  // namespace lutra::C

#endif
