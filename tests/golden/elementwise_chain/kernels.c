#include <math.h>
#include <stdint.h>

static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }

void sqrt_(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  int64_t n0 = args[3];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0*n0);
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      int64_t alu1 = (alu0+ridx1);
      float val0 = *(in0+alu1);
      float val1 = *(in1+ridx1);
      *(out0+alu1) = sqrtf((maximum_f32(0.0f, ((val0*2.0f)+val1))-fabsf(val1)));
    }
  }
}
