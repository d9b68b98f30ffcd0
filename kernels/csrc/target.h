/* All functions from TARGET to END_TARGET are compiled for a processor that not everybody has. */
#define PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define DOTPROD "dotprod"
#define TARGET(names) PRAGMA(clang attribute push(__attribute__((target(names))), apply_to = function))
#define END_TARGET PRAGMA(clang attribute pop)
#else
#define DOTPROD "arch=armv8.2-a+dotprod"
#define TARGET(names) PRAGMA(GCC push_options) PRAGMA(GCC target(names))
#define END_TARGET PRAGMA(GCC pop_options)
#endif
