#include <stdint.h>
void scan_sum_100_5(int64_t* args, int64_t begin, int64_t end) {
  float* out = (float*)args[0];
  const float* x = (const float*)args[1];
  for (int64_t ridx0 = 0; ridx0 < 5; ridx0++) {
    double acc0 = -0.0;
    for (int64_t ridx1 = 0; ridx1 < 100; ridx1++) {
      int64_t alu0 = (ridx0+(ridx1*5));
      float val0 = *(x+alu0);
      acc0 = (acc0+(double)val0);
      *(out+alu0) = (float)acc0;
    }
  }
}
