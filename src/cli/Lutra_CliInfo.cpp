// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lutra_CliAnalysis.hpp"
#include "Lutra_CliCommands.hpp"
#include "Lutra_CliExit.hpp"
#include "Lutra_CliRecord.hpp"
#include "Lutra_CliSession.hpp"
#include "Lutra_StructureSvg.hpp"

namespace lutra::Cli {
namespace {

std::string header_text(const MatrixMarketHeader& header) {
  constexpr const char* fields[] = {"real", "integer", "complex", "pattern"};
  constexpr const char* symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
  return std::string(fields[static_cast<int>(header.field)]) + ", " +
         symmetries[static_cast<int>(header.symmetry)];
}

std::string properties_text(const std::string& file, const MatrixMarketHeader& header,
                            const MatrixProperties& properties) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  return text_line("matrix", file + ": " + number(properties.rows) + " × " + number(properties.cols) + ", " +
                                 number(properties.nnz) + " entries, " + header_text(header)) +
         text_line("symmetry", "pattern " + short_number(properties.pattern_symmetry) + ", values " +
                                   short_number(properties.value_symmetry)) +
         text_line(
             "rank",
             (properties.structural_rank ? "structural rank " + number(*properties.structural_rank) + ", "
                                         : "") +
                 "zero diagonals " + number(properties.zero_diagonals) + ", empty rows " +
                 number(properties.empty_rows) + ", empty columns " + number(properties.empty_columns)) +
         text_line("shape", "bandwidth " + number(properties.lower_bandwidth) + " below and " +
                                number(properties.upper_bandwidth) + " above the diagonal, longest row " +
                                number(properties.longest_row) + ", longest column " +
                                number(properties.longest_column));
}

// Inverse of a permutation.
std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    position[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  return position;
}

template <class Scalar>
StructurePicture picture(const std::string& file, const HostMatrix<Scalar>& A,
                         const FactorStructure& structure) {
  StructurePicture picture{file, {}, structure.level_widths};
  picture.panels.push_back(bin_density<int>("A", A.n_rows, A.n_cols, A.row_map, A.entries));
  if (structure.row_order.empty()) return picture;  // structurally singular: no ordering exists
  const auto rows = inverse(structure.row_order), cols = inverse(structure.col_order);
  picture.panels.push_back(bin_density<int>("P·A·Q", A.n_rows, A.n_cols, A.row_map, A.entries, rows, cols));
  picture.panels.push_back(
      bin_density<std::int64_t>("L+U", A.n_rows, A.n_cols, structure.row_map, structure.entries));
  return picture;
}

std::string analysis_text(const MatrixProperties& properties, const Report& report) {
  if (properties.rows != properties.cols || properties.rows == 0)
    return text_line("method", "none: a system needs a square matrix with rows");
  if (report.status == Status::cancelled) return text_line("status", describe(report, 1));
  std::string text = choice_text(report.choice) + factors_text(report.factors, true) +
                     forecast_text(report.memory.forecast, 1);
  if (report.status != Status::not_solved) text += text_line("status", describe(report, 1));
  return text;
}

template <class Scalar, class ExecutionSpace>
int inform(const Arguments& arguments, const ProgramOptions& options, MatrixMarketMatrix&& read) {
  const std::string& file = arguments.files.front();
  Progress progress(!arguments.quiet);
  progress.show("analyzing");
  const MatrixMarketHeader header = read.header;
  const auto A = convert_matrix<Scalar>(file, std::move(read));
  const MatrixProperties properties = matrix_properties(make_view(A));
  ReportRecord record;
  record.run = describe_run<ExecutionSpace>();
  record.matrix = summarize<Scalar>(file, properties);
  const auto own = with_symmetry(with_ordering(options, A.n_rows), header);
  const auto [structure, method] =
      analyze<Scalar, ExecutionSpace>(A, own, record.report, arguments.svg.has_value());
  if (record.report.status != Status::not_solved) record.message = describe(record.report, 1);
  const bool stopped = record.report.status == Status::cancelled;
  if (arguments.svg && !stopped) write_structure_svg(*arguments.svg, picture(file, A, structure));
  progress.clear();
  if (arguments.json) write_text(*arguments.json, to_json(record));
  if (!arguments.quiet && !json_on_output(arguments))
    write_output(properties_text(file, header, properties) + analysis_text(properties, record.report));
  if (arguments.quiet && stopped) print_error(file + ": " + record.message);
  return stopped ? exit_cancelled : exit_solved;
}

}  // namespace

int run_info(const Arguments& arguments) {
  ProgramOptions options = check_options(arguments);
  MatrixMarketMatrix read = read_checked_matrix_market(arguments.files.front(), check_memory(arguments, 0));
  if (std::visit([](const auto& A) { return A.n_rows == A.n_cols; }, read.matrix))
    options = with_backend_chosen(std::move(options), arguments, read);
  const bool is_complex = read.header.field == MatrixMarketHeader::Field::complex;
  return with_types(arguments.scalar, is_complex, options.backend, [&]<class Scalar, class ExecutionSpace>() {
    return inform<Scalar, ExecutionSpace>(arguments, options, std::move(read));
  });
}

}  // namespace lutra::Cli
