#include <stdint.h>
#include <string.h>

static inline float u32_as_f32(uint32_t x) { float y; memcpy(&y, &x, sizeof y); return y; }

void mul(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float val0 = *(in0+ridx0);
    *(out0+ridx0) = (val0*0.0f);
  }
}

void add(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  float n0 = u32_as_f32((uint32_t)args[3]);
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float val0 = *(in0+ridx0);
    float val1 = *(in1+ridx0);
    *(out0+ridx0) = ((val0*n0)+val1);
  }
}
