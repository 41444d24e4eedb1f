// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what a shared build exports; all else stays hidden.
#if defined(__GNUC__)
#define TESSERA_API __attribute__((visibility("default")))
#else
#define TESSERA_API
#endif
