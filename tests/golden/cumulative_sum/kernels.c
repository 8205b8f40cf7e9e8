#include <stdint.h>

static inline int64_t minimum_i64(int64_t a, int64_t b) { return a < b ? a : b; }

void scan_sum_100_5(int64_t* args, int64_t begin, int64_t end) {
  float* out = (float*)args[0];
  const float* x = (const float*)args[1];
  for (int64_t ridx0 = 0; ridx0 < 5; ridx0++) {
    double acc0 = -0.0;
    for (int64_t ridx1 = 0; ridx1 < 7; ridx1++) {
      double acc1 = -0.0;
      int64_t alu0 = (ridx1*16);
      for (int64_t ridx2 = 0; ridx2 < minimum_i64((100-alu0), 16); ridx2++) {
        int64_t alu1 = (((alu0+ridx2)*5)+ridx0);
        float val0 = *(x+alu1);
        acc1 = (acc1+(double)val0);
        *(out+alu1) = (float)((-0.0)+acc0+acc1);
      }
      acc0 = (acc0+acc1);
    }
  }
}
