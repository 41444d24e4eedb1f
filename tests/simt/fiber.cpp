// SPDX-License-Identifier: Apache-2.0
#include "simt/fiber.hpp"

#include <pthread.h>

#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__x86_64__)
// Callee-saved registers are pushed, stacks exchanged, registers popped. The rest is the caller's business (System V ABI).
extern "C" void tessera_simt_switch(void** save, void* load);
extern "C" void tessera_simt_entry();
asm(R"(
.text
.align 16
.type tessera_simt_switch, @function
tessera_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tessera_simt_switch, .-tessera_simt_switch
.align 16
.type tessera_simt_entry, @function
tessera_simt_entry:
  movq %r12, %rdi
  callq *%rbx
  ud2
.size tessera_simt_entry, .-tessera_simt_entry
)");
#endif

namespace tessera::simt_shim {

void prepare(Context& context, void* stack, std::size_t bytes, std::size_t stagger, void (*entry)(void*), void* argument) {
  context.stack_low = stack;
  context.stack_bytes = bytes;
  context.fake_stack = nullptr;
#if defined(__x86_64__)
  auto top = reinterpret_cast<std::uintptr_t>(stack) + bytes - stagger;
  top &= ~std::uintptr_t{15};
  auto* slots = reinterpret_cast<void**>(top) - 7;  // six registers and the return address; the entry's call then finds its stack aligned
  std::memset(slots, 0, 7 * sizeof(void*));
  slots[3] = argument;                          // r12
  slots[4] = reinterpret_cast<void*>(entry);    // rbx
  slots[6] = reinterpret_cast<void*>(&tessera_simt_entry);
  context.stack_pointer = slots;
#else
  getcontext(&context.machine);
  context.machine.uc_stack.ss_sp = stack;
  context.machine.uc_stack.ss_size = bytes - stagger;
  context.machine.uc_link = nullptr;
  // makecontext hands on ints alone.
  const auto e = reinterpret_cast<std::uintptr_t>(entry);
  const auto a = reinterpret_cast<std::uintptr_t>(argument);
  const auto start = [](unsigned e1, unsigned e0, unsigned a1, unsigned a0) {
    const auto whole = [](unsigned high, unsigned low) { return static_cast<std::uintptr_t>(static_cast<std::uint64_t>(high) << 32 | low); };
    reinterpret_cast<void (*)(void*)>(whole(e1, e0))(reinterpret_cast<void*>(whole(a1, a0)));
  };
  makecontext(&context.machine, reinterpret_cast<void (*)()>(static_cast<void (*)(unsigned, unsigned, unsigned, unsigned)>(start)), 4,
              static_cast<unsigned>(static_cast<std::uint64_t>(e) >> 32), static_cast<unsigned>(e), static_cast<unsigned>(static_cast<std::uint64_t>(a) >> 32),
              static_cast<unsigned>(a));
#endif
#if defined(__SANITIZE_THREAD__)
  if (context.tsan == nullptr) context.tsan = __tsan_create_fiber(0);
#endif
}

void switch_context(Context& from, Context& to, [[maybe_unused]] bool last) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(last ? nullptr : &from.fake_stack, to.stack_low, to.stack_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.tsan, 0);
#endif
#if defined(__x86_64__)
  tessera_simt_switch(&from.stack_pointer, to.stack_pointer);
#else
  swapcontext(&from.machine, &to.machine);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

void arrived([[maybe_unused]] Context& self, [[maybe_unused]] Context& from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
#endif
}

void adopt_thread(Context& context) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &context.stack_low, &context.stack_bytes);
    pthread_attr_destroy(&attributes);
  }
#if defined(__SANITIZE_THREAD__)
  context.tsan = __tsan_get_current_fiber();
#endif
}

void forget([[maybe_unused]] Context& context) {
#if defined(__SANITIZE_THREAD__)
  if (context.tsan != nullptr) __tsan_destroy_fiber(context.tsan);
  context.tsan = nullptr;
#endif
}

}  // namespace tessera::simt_shim
