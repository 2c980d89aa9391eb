// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliRecord.hpp"
#include "Lutra_CliSession.hpp"

namespace lutra::Cli {
namespace {

constexpr int worse(int a, int b) {
  // Exit statuses from worst to best: 1, a defect; 5, cancelled; 4, out of memory; 3, numerical failure; 2,
  // invalid input; 0.
  const auto rank = [](int status) { return status == exit_defect ? 6 : status; };
  return rank(a) >= rank(b) ? a : b;
}

// A matrix of the sequence and its reading time.
struct Step {
  MatrixMarketMatrix matrix;
  double read_seconds = 0;
};

Step read_step(const Arguments& arguments, const std::string& file) {
  Progress progress(!arguments.quiet);
  progress.show("reading " + file);
  const Kokkos::Timer timer;
  Step step{read_checked_matrix_market(file, check_memory(arguments, arguments.n_rhs.value_or(1))), 0};
  step.read_seconds = timer.seconds();
  check_solvable(file, step.matrix);
  return step;
}

bool is_complex(const Step& step) {
  return step.matrix.header.field == MatrixMarketHeader::Field::complex;
}

// @throws FileError unless the matrix has the pattern of the first
template <class Scalar>
void check_pattern(const Arguments& arguments, const std::string& file, const HostMatrix<Scalar>& first,
                   const HostMatrix<Scalar>& A) {
  const std::string expected = "the pattern of " + arguments.files.front();
  if (A.n_rows != first.n_rows) {
    throw FileError(file, 0,
                    std::to_string(A.n_rows) + " rows: a sequence needs " + expected + ", which has " +
                        std::to_string(first.n_rows));
  }
  if (A.row_map == first.row_map && A.entries == first.entries) return;
  for (std::size_t row = 0; row + 1 < A.row_map.size(); ++row) {
    const auto columns = [row](const HostMatrix<Scalar>& matrix) {
      return std::pair(matrix.entries.begin() + matrix.row_map[row],
                       matrix.entries.begin() + matrix.row_map[row + 1]);
    };
    const auto [begin, end] = columns(A);
    const auto [first_begin, first_end] = columns(first);
    if (!std::equal(begin, end, first_begin, first_end)) {
      throw FileError(file, 0,
                      "row " + std::to_string(row + 1) + " has other columns: a sequence needs " + expected);
    }
  }
}

template <class Scalar, class ExecutionSpace>
class Sequence {
 public:
  Sequence(const Arguments& arguments, ProgramOptions options)
      : m_arguments(arguments), m_options(std::move(options)) {}

  void solve(const std::string& file, Step&& step) {
    if (is_complex(step) && !ScalarTraits<Scalar>::is_complex) {
      throw FileError(file, 0, "complex, but " + m_arguments.files.front() + " is real");
    }
    const auto A = convert_matrix<Scalar>(file, std::move(step.matrix));
    if (!m_session) {
      m_options = with_ordering(std::move(m_options), A.n_rows);
      m_first = A;
    }
    check_pattern(m_arguments, file, m_first, A);
    const MatrixProperties properties = matrix_properties(make_view(A));
    if (!m_session) m_session.emplace(m_arguments, with_symmetry(m_options, step.matrix.header));
    const auto n = static_cast<std::size_t>(A.n_rows);
    const auto known = known_solution<Scalar>(n, static_cast<std::size_t>(m_arguments.n_rhs.value_or(1)));
    const auto B = right_hand_sides(file, A, m_session->options(), known, transposition(m_arguments));
    ReportRecord record;
    record.matrix = summarize<Scalar>(file, properties);
    const auto X = solve_with_session(A, B, record);
    finish(record, step.read_seconds);
    if (has_error(record.report)) record.report.errors.forward = forward_error(X, known, n);
    if (!m_arguments.quiet && !json_on_output(m_arguments) && !m_records.empty()) write_output("\n");
    write_report(m_arguments, record);
    m_exit = worse(m_exit, exit_status(record.report.status));
    m_records.push_back(std::move(record));
  }

  const std::vector<ReportRecord>& records() const { return m_records; }
  int exit() const { return m_exit; }

 private:
  /// @throws FileError naming the file, for input that the library rejects
  std::vector<Scalar> solve_with_session(const HostMatrix<Scalar>& A, const std::vector<Scalar>& B,
                                         ReportRecord& record) {
    try {
      return m_session->solve(A, B, record);
    } catch (const FileError&) {
      throw;
    } catch (const InputError& error) {
      throw about_file(error, record.matrix.file);
    }
  }

  const Arguments& m_arguments;
  ProgramOptions m_options;
  std::optional<Session<Scalar, ExecutionSpace>> m_session;
  HostMatrix<Scalar> m_first;
  std::vector<ReportRecord> m_records;
  int m_exit = exit_solved;
};

// Solves all systems. If a file is invalid, the preceding steps are still reported.
template <class Scalar, class ExecutionSpace>
int solve_all(const Arguments& arguments, const ProgramOptions& options, Step&& first) {
  Sequence<Scalar, ExecutionSpace> sequence(arguments, options);
  try {
    sequence.solve(arguments.files.front(), std::move(first));
    for (std::size_t k = 1; k < arguments.files.size() && !interrupt_flag()->is_raised(); ++k) {
      sequence.solve(arguments.files[k], read_step(arguments, arguments.files[k]));
    }
  } catch (const std::exception&) {
    if (arguments.json) write_text(*arguments.json, to_json(sequence.records()));
    throw;
  }
  if (arguments.json) write_text(*arguments.json, to_json(sequence.records()));
  return sequence.exit();
}

}  // namespace

int run_sequence(const Arguments& arguments) {
  ProgramOptions options = check_options(arguments);
  Step first = read_step(arguments, arguments.files.front());
  options = with_backend_chosen(std::move(options), arguments, first.matrix);
  const bool complex_sequence = is_complex(first);
  return with_types(arguments.scalar, complex_sequence, options.backend,
                    [&]<class Scalar, class ExecutionSpace>() {
                      return solve_all<Scalar, ExecutionSpace>(arguments, options, std::move(first));
                    });
}

}  // namespace lutra::Cli
