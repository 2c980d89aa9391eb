// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>

#include "Lutra_CliDeviceModel.hpp"
#include "Lutra_DeviceModel.hpp"
#include "Lutra_Fuzz.hpp"

// Any bytes as a device model: an error of the input or a model with finite numbers, which is the same after
// writing and reading. First byte: how many lines of the host's model, from its end, follow the bytes, so
// that short inputs become whole models.

namespace {

using lutra::Fuzz::require;

// The last lines of the host's model.
std::string last_lines(std::size_t count) {
  const lutra::DeviceModel host = lutra::host_device_model();
  const std::string text = lutra::Cli::to_text(host, host);
  std::size_t begin = text.size();
  for (std::size_t k = 0; k < count && begin > 0; ++k) {
    const std::size_t before = begin > 1 ? text.rfind('\n', begin - 2) : std::string::npos;
    begin = before == std::string::npos ? 0 : before + 1;
  }
  return text.substr(begin);
}

void check_model(lutra::DeviceModel model) {
  require(!model.name.empty(), "a model has a name");
  lutra::visit_numbers(model, [](const std::string& key, const auto& number) {
    require(std::isfinite(static_cast<double>(number)) && number >= 0, key + " is finite and not negative");
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lutra::Fuzz::Input input(data, size);
  const std::size_t n_lines = input.take_byte();
  const std::string file =
      lutra::Fuzz::written("model", std::string(input.text()) + "\n" + last_lines(n_lines));
  lutra::Fuzz::accepted([&] { lutra::Cli::is_device_model(file); });
  lutra::DeviceModel model;
  if (!lutra::Fuzz::accepted([&] { model = lutra::Cli::read_device_model(file); })) return 0;
  check_model(model);
  const std::string again =
      lutra::Fuzz::written("model_again", lutra::Cli::to_text(model, lutra::host_device_model()));
  require(lutra::Cli::is_device_model(again), "a written model is recognised");
  require(lutra::Cli::read_device_model(again) == model, "a model is the same after writing");
  return 0;
}
