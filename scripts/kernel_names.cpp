// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that CUDA loads into a program (CUDA_INJECTION64_PATH). It appends the name of each kernel that
// the program launches to the file LUTRA_KERNEL_LOG, once a process. scripts/device_sanitizer.py compiles and
// uses it.
#include <cupti.h>
#include <cxxabi.h>

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

namespace {

void note(const char* symbol) {
  static std::mutex mutex;
  static std::set<std::string> known;
  const std::lock_guard lock(mutex);
  if (!known.insert(symbol).second) return;
  const char* const file = std::getenv("LUTRA_KERNEL_LOG");
  if (file == nullptr) return;
  int status = 0;
  char* const name = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::ofstream(file, std::ios::app) << (status == 0 ? name : symbol) << '\n';
  std::free(name);
}

// Of all functions of the driver only launches have a symbol: the kernel.
void CUPTIAPI called(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER && call.symbolName != nullptr) note(call.symbolName);
}

}  // namespace

extern "C" int InitializeInjection() {
  CUpti_SubscriberHandle subscriber = nullptr;
  if (cuptiSubscribe(&subscriber, called, nullptr) != CUPTI_SUCCESS) return 0;
  return cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS ? 1 : 0;
}
