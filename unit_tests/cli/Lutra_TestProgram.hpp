// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef LUTRA_TESTPROGRAM_HPP
#define LUTRA_TESTPROGRAM_HPP

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "Lutra_TestFile.hpp"

namespace lutra::Test {

/// What a run of the program gave.
struct Outcome {
  int status = -1;  ///< exit status; above 128 for a signal
  std::string output, error;

  nlohmann::json json() const { return nlohmann::json::parse(output); }
};

/// A folder of files and runs of `lutra` in it.
class Program {
 public:
  /// Runs the program; `arguments` are words of a shell, and files are in the folder. `before` and `after`
  /// surround the command: "cat a.mtx |", "< a.mtx".
  Outcome run(const std::string& arguments, const std::string& before = "",
              const std::string& after = "") const {
    const std::string command = "cd '" + m_folder.path("") + "' && " + before + " '" LUTRA_CLI_PROGRAM "' " +
                                arguments + " > .output 2> .error " + after;
    const int result = std::system(command.c_str());
    Outcome outcome;
    outcome.status = WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
    outcome.output = read_file(m_folder.path(".output"));
    outcome.error = read_file(m_folder.path(".error"));
    return outcome;
  }

  /// Begins a run in the folder, without a shell between, and all its signals as at first.
  ::pid_t start(std::vector<std::string> arguments) const {
    std::vector<char*> words{const_cast<char*>(LUTRA_CLI_PROGRAM)};
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    const std::string folder = m_folder.path("");
    const ::pid_t child = ::fork();
    if (child != 0) return child;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDERR_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execv(LUTRA_CLI_PROGRAM, words.data());
    ::_exit(126);
  }

  /// The exit status of such a run; above 128 for a signal.
  static int wait(::pid_t child) {
    int result = 0;
    ::waitpid(child, &result, 0);
    return WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
  }

  /// Whether the program was built for a scalar type: "f32", "f64", "c64" or "c128".
  bool has_scalar(const std::string& name) const { return has("scalars", name); }
  /// Whether it was built for a backend: "serial", "openmp", "cuda" or "hip".
  bool has_backend(const std::string& name) const { return has("backends", name); }

  void write(const std::string& name, const std::string& content) const { m_folder.write(name, content); }
  std::string read(const std::string& name) const { return read_file(m_folder.path(name)); }
  bool exists(const std::string& name) const { return std::filesystem::exists(m_folder.path(name)); }
  std::string path(const std::string& name) const { return m_folder.path(name); }

  /// Writes a coordinate file with the lines given after the banner.
  void write_matrix(const std::string& name, const std::string& lines) const {
    write(name, "%%MatrixMarket matrix coordinate real general\n" + lines);
  }
  /// [ 4 1 ; 2 3 ] as a.mtx.
  void write_small() const { write_matrix("a.mtx", "2 2 4\n1 1 4\n1 2 1\n2 1 2\n2 2 3\n"); }

 private:
  bool has(const char* list, const std::string& name) const {
    const auto names = run("version --json").json()[list];
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  TemporaryFolder m_folder;
};

}  // namespace lutra::Test

#endif
