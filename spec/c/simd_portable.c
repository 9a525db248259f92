/* The same without instructions of any processor. */
#define AOI_PORTABLE
#include "simd.c"
