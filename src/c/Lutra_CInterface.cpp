// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "Lutra_CSolver.hpp"
#include "Lutra_Report.hpp"

namespace lutra::C {
namespace {

std::atomic<int>& solver_count() {
  static std::atomic<int> count = 0;
  return count;
}

std::atomic<bool>& started_kokkos() {
  static std::atomic<bool> started = false;
  return started;
}

/// Whether the process is ending and Kokkos' own data are about to be destroyed.
std::atomic<bool>& is_ending() {
  static std::atomic<bool> ending = false;
  return ending;
}

/// Made after Kokkos' data, and therefore destroyed before them.
struct EndOfProcess {
  ~EndOfProcess() { is_ending() = true; }
};

bool has_kokkos_ended() {
  return is_ending() || Kokkos::is_finalized();
}

std::unique_ptr<AnySolver> make(int method, int scalar, int index, const std::string& backend) {
  check_scalar(scalar);
  check_index(index);
  // by lutra_method
  constexpr std::array<const char*, 6> names = {"lu", "ldlt", "cholesky", "ilu", "krylov", "auto"};
  require(method >= LUTRA_LU && method <= LUTRA_AUTO,
          "method: it is none of LUTRA_LU, LUTRA_LDLT, LUTRA_CHOLESKY, LUTRA_ILU, LUTRA_KRYLOV, LUTRA_AUTO");
  auto solver = make_solver(names[static_cast<std::size_t>(method)], scalar, index, backend);
  if (method == LUTRA_CHOLESKY && (scalar == LUTRA_C64 || scalar == LUTRA_C128))
    solver->set_option("symmetry", "hermitian");
  return solver;
}

/// A text for C. A fixed array, because an observer must not fail.
class CText {
 public:
  explicit CText(std::string_view text) {
    const std::size_t length = std::min(text.size(), m_text.size() - 1);
    std::copy_n(text.begin(), length, m_text.begin());
  }
  const char* c_str() const { return m_text.data(); }

 private:
  std::array<char, 501> m_text{};
};

void tell(lutra_log log, void* user, const Event& event) {
  static_assert(static_cast<int>(EventKind::escalation) == LUTRA_ESCALATION);
  const CText name(event.name), text(event.text);
  const lutra_event told = {static_cast<int>(event.kind),
                            name.c_str(),
                            text.c_str(),
                            event.seconds,
                            static_cast<std::int64_t>(event.bytes),
                            static_cast<std::int64_t>(event.peak_bytes)};
  log(user, &told);
}

/// Text created once and kept; null if memory is exhausted.
template <class Make>
const char* constant_text(const Make& make) noexcept {
  const char* text = nullptr;
  guarded([&] {
    static const std::string made = make();
    text = made.c_str();
    return LUTRA_SUCCESS;
  });
  return text;
}

}  // namespace

std::string backend_of(const char* asked) {
  const std::vector<std::string> built = version_info().backends;
  const std::string backend = asked == nullptr ? "auto" : asked;
  if (backend == "auto") return built.front();
  if (std::find(built.begin(), built.end(), backend) != built.end()) return backend;
  std::string names = "auto";
  for (const std::string& name : built) names += ", " + name;
  throw NotBuiltError("backend: '" + backend + "' was not built (choose from " + names + ")");
}

lutra_status outcome(const AnySolver& solver) {
  const lutra_status status = to_c(solver.report().status);
  if (status == LUTRA_SUCCESS || status == LUTRA_NOT_SOLVED) return LUTRA_SUCCESS;
  return fail(status, solver.message().c_str());
}

void start_kokkos(int num_threads, int device) {
  static std::mutex mutex;  // serializes concurrent first calls of lutra_create
  const std::lock_guard lock(mutex);
  static const EndOfProcess end;
  if (has_kokkos_ended())
    throw CallOrderError("lutra_initialize: Kokkos was ended, and starts once in a process");
  if (Kokkos::is_initialized()) return;
  Kokkos::InitializationSettings settings;
  settings.set_disable_warnings(true);
  if (num_threads > 0) settings.set_num_threads(num_threads);
  if (device >= 0) settings.set_device_id(device);
  Kokkos::initialize(settings);
  started_kokkos() = true;
}

void check_kokkos() {
  if (has_kokkos_ended())
    throw CallOrderError("solver: Kokkos was ended, and nothing can be solved any more");
}

void check_scalar(int scalar) {
  require(scalar >= LUTRA_F32 && scalar <= LUTRA_C128,
          "scalar: it is none of LUTRA_F32, LUTRA_F64, LUTRA_C64, LUTRA_C128");
}

void check_index(int index) {
  require(index == LUTRA_INT32 || index == LUTRA_INT64, "index: it is neither LUTRA_INT32 nor LUTRA_INT64");
}

lutra_solver* make_handle(std::unique_ptr<AnySolver> solver) {
  auto handle = std::make_unique<lutra_solver>();
  handle->solver = std::move(solver);
  return hand_out(std::move(handle));
}

lutra_solver* hand_out(std::unique_ptr<lutra_solver> handle) {
  handle->solver->set_stop(handle->stop);
  ++solver_count();
  return handle.release();
}

}  // namespace lutra::C

using namespace lutra::C;

// ---- the library

lutra_status lutra_initialize(int num_threads, int device) {
  return guarded([&] {
    start_kokkos(num_threads, device);
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_finalize(void) {
  return guarded([] {
    if (solver_count() > 0)
      throw lutra::CallOrderError("lutra_finalize: " + std::to_string(solver_count()) +
                                  " solvers are left; call lutra_destroy first");
    if (started_kokkos().exchange(false) && !has_kokkos_ended()) Kokkos::finalize();
    return LUTRA_SUCCESS;
  });
}

const char* lutra_version(void) {
  return constant_text([] { return lutra::version_info().version; });
}

const char* lutra_version_json(void) {
  return constant_text([] { return lutra::to_json(lutra::version_info()); });
}

const char* lutra_message(void) {
  return message().data();
}

// ---- a solver

lutra_status lutra_create(lutra_solver** solver, int method, int scalar, int index, const char* backend) {
  return guarded([&] {
    require(solver != nullptr, "solver: it is null");
    *solver = nullptr;
    const std::string name = backend_of(backend);
    start_kokkos(0, -1);
    *solver = make_handle(make(method, scalar, index, name));
    return LUTRA_SUCCESS;
  });
}

void lutra_destroy(lutra_solver* solver) {
  if (solver == nullptr) return;
  if (has_kokkos_ended()) {  // its memory is Kokkos', and goes when the process ends
    --solver_count();
    return;
  }
  guarded([&] {
    solver->solver->close();
    return LUTRA_SUCCESS;
  });
  guarded([&] {
    delete solver;
    --solver_count();
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_set_option(lutra_solver* solver, const char* name, const char* value) {
  return with_solver(solver, [&](AnySolver& s) {
    require(name != nullptr, "name: it is null");
    require(value != nullptr, "value: it is null");
    s.set_option(name, value);
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_get_option(lutra_solver* solver, const char* name, const char** value) {
  return with_solver(solver, [&](AnySolver& s) {
    require(name != nullptr, "name: it is null");
    require(value != nullptr, "value: it is null");
    const auto options = s.options();
    const auto found = std::find_if(options.begin(), options.end(),
                                    [name](const auto& option) { return option.name == name; });
    if (found == options.end()) s.set_option(name, "");  // throws with the list of valid names
    solver->option = found->value;
    *value = solver->option.c_str();
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_set_permutation(lutra_solver* solver, int64_t n, const int64_t* permutation) {
  return with_solver(solver, [&](AnySolver& s) {
    require(n >= 0 && (n == 0 || permutation != nullptr), "permutation: it is null, or n below 0");
    s.set_permutation(std::vector<std::int64_t>(permutation, permutation + n));
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_set_memory(lutra_solver* solver, int memory) {
  return with_solver(solver, [&](AnySolver& s) {
    require(memory == LUTRA_HOST || memory == LUTRA_DEVICE,
            "memory: it is neither LUTRA_HOST nor LUTRA_DEVICE");
    s.set_memory(static_cast<lutra_memory>(memory));
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_set_progress(lutra_solver* solver, lutra_progress progress, void* data) {
  return with_solver(solver, [&](AnySolver& s) {
    std::shared_ptr<lutra::Observers> observers;
    if (progress != nullptr) {
      observers = std::make_shared<lutra::Observers>();
      observers->progress = [progress, data](const lutra::Progress& now) {
        return progress(data, now.stage.data(), now.share, now.seconds) == 0;
      };
    }
    s.set_observers(std::move(observers));
    return LUTRA_SUCCESS;
  });
}

void lutra_stop(lutra_solver* solver) {
  if (solver != nullptr) solver->stop->raise();
}

void lutra_resume(lutra_solver* solver) {
  if (solver != nullptr) solver->stop->clear();
}

lutra_status lutra_set_stream(lutra_solver* solver, void* stream) {
  return with_solver(solver, [&](AnySolver& s) {
    s.set_stream(stream);
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_set_log(lutra_solver* solver, lutra_log log, void* user) {
  return with_solver(solver, [&](AnySolver& s) {
    s.set_log(log == nullptr ? std::function<void(const lutra::Event&)>()
                             : [log, user](const lutra::Event& event) { tell(log, user, event); });
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_analyze(lutra_solver* solver, const lutra_matrix* A) {
  return with_solver(solver, [&](AnySolver& s) {
    require(A != nullptr, "matrix: it is null");
    s.analyze(*A);
    return outcome(s);
  });
}

lutra_status lutra_factorize(lutra_solver* solver, const lutra_matrix* A) {
  return with_solver(solver, [&](AnySolver& s) {
    require(A != nullptr, "matrix: it is null");
    s.factorize(*A);
    return outcome(s);
  });
}

lutra_status lutra_factorize_shifted(lutra_solver* solver, const lutra_matrix* A, const void* shift) {
  return with_solver(solver, [&](AnySolver& s) {
    require(A != nullptr, "matrix: it is null");
    s.factorize_shifted(*A, shift);
    return outcome(s);
  });
}

lutra_status lutra_solve(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx) {
  return with_solver(solver, [&](AnySolver& s) {
    s.solve(op, {n_rhs, B, ldb, X, ldx});
    return outcome(s);
  });
}

lutra_status lutra_apply(lutra_solver* solver, int op, int64_t n_rhs, const void* B, int64_t ldb, void* X,
                         int64_t ldx) {
  return with_solver(solver, [&](AnySolver& s) {
    s.apply(to_transposition(op), {n_rhs, B, ldb, X, ldx});
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_solve_parts(lutra_solver* solver, int parts, int op, int64_t n_rhs, const void* B,
                               int64_t ldb, void* X, int64_t ldx) {
  return with_solver(solver, [&](AnySolver& s) {
    require(parts > 0 && parts < 8, "parts: it is no sum of LUTRA_LOWER, LUTRA_DIAGONAL and LUTRA_UPPER");
    s.solve_parts(parts, to_transposition(op), {n_rhs, B, ldb, X, ldx});
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_determinant(lutra_solver* solver, void* sign, double* log_magnitude) {
  return with_solver(solver, [&](AnySolver& s) {
    require(sign != nullptr, "sign: it is null");
    require(log_magnitude != nullptr, "log_magnitude: it is null");
    *log_magnitude = s.determinant(sign);
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_forecast(lutra_solver* solver, std::int64_t n_rhs, lutra_memory_forecast* forecast) {
  return with_solver(solver, [&](AnySolver& s) {
    require(forecast != nullptr, "forecast: it is null");
    require(n_rhs > 0, "n_rhs: it is less than 1");
    const auto bytes = s.forecast(n_rhs);
    if (!bytes) return fail(LUTRA_NO_VALUE, "lutra_forecast: there is no forecast for this solver");
    *forecast = {bytes->factors.device,     bytes->factors.host, bytes->factorization.device,
                 bytes->factorization.host, bytes->solve.device, bytes->solve.host};
    return LUTRA_SUCCESS;
  });
}

lutra_status lutra_increase_quality(lutra_solver* solver, int* raised) {
  return with_solver(solver, [&](AnySolver& s) {
    require(raised != nullptr, "raised: it is null");
    *raised = s.increase_quality() ? 1 : 0;
    return LUTRA_SUCCESS;
  });
}
