#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float u32_as_f32(uint32_t x) { float y; memcpy(&y, &x, sizeof y); return y; }
static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }

void add(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float val0 = *(in0+ridx0);
    *(out0+ridx0) = (val0+1.0f);
  }
}

void lt(int64_t* args, int64_t begin, int64_t end) {
  bool* out0 = (bool*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  int64_t n0 = args[3];
  float n1 = u32_as_f32((uint32_t)args[4]);
  float acc0 = -INFINITY;
  float acc0_lanes[8];
  for (int k = 0; k < 8; k++) { acc0_lanes[k] = acc0; }
  for (int64_t ridx0 = 0; ridx0 < n0; ridx0++) {
    int64_t lane0 = ridx0%8;
    float val0 = *(in0+ridx0);
    float val1 = *(in1+ridx0);
    acc0_lanes[lane0] = maximum_f32(acc0_lanes[lane0], fabsf(((val0*val0)-val1)));
  }
  for (int n = 4; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = maximum_f32(acc0_lanes[k], acc0_lanes[k+n]); } }
  acc0 = acc0_lanes[0];
  *(out0+0) = (n1<acc0);
}

void mul(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float val0 = *(in0+ridx0);
    float val1 = *(in1+ridx0);
    *(out0+ridx0) = ((val0+(val1/val0))*0.5f);
  }
}
