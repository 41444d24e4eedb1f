// SPDX-License-Identifier: Apache-2.0
// Here: a function with a stack of its own that can be left in the middle and taken up again, on one OS thread. Not here: who runs when
// (shim.hpp).
#pragma once

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tessera::simt_shim {

/// Where a fiber, or the thread that runs fibers, was left.
struct Context {
#if defined(__x86_64__)
  void* stack_pointer = nullptr;
#else
  ucontext_t machine{};
#endif
  void* stack_low = nullptr;  // sanitizers are told
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;
  void* tsan = nullptr;
};

/// Prepares `context` to call entry(argument) on a stack of its own. entry never returns: it leaves for good.
/// stagger  bytes that the top of the stack is moved down by, so that stacks of one size do not meet in the cache.
void prepare(Context& context, void* stack, std::size_t bytes, std::size_t stagger, void (*entry)(void*), void* argument);

/// Leaves `from` for `to`; returns when somebody switches back. last: `from` is never taken up again.
void switch_context(Context& from, Context& to, bool last = false);

/// To be called first thing on a stack of its own, with the context that was left for it.
void arrived(Context& self, Context& from);

/// The OS thread that calls, as a context.
void adopt_thread(Context& context);
/// Frees what sanitizers keep of a context.
void forget(Context& context);

}  // namespace tessera::simt_shim
