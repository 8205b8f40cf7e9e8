#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float u32_as_f32(uint32_t x) { float y; memcpy(&y, &x, sizeof y); return y; }
static inline float minimum_f32(float a, float b) { return a < b || a != a ? a : b; }
static inline int f32_as_i32(float x) { int y; memcpy(&y, &x, sizeof y); return y; }
static inline float i32_as_f32(int x) { float y; memcpy(&y, &x, sizeof y); return y; }

void mul(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  const float* in2 = (const float*)args[3];
  const float* in3 = (const float*)args[4];
  int64_t n0 = args[5];
  float n1 = u32_as_f32((uint32_t)args[6]);
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float acc0 = 0.0f;
    int64_t alu0 = (ridx0/2);
    int64_t alu1 = (alu0*n0);
    int64_t alu2 = (ridx0%2);
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      float val0 = *(in0+(ridx1+alu1));
      float val1 = *(in1+((ridx1*2)+alu2));
      acc0 = (acc0+(val0*val1));
    }
    int64_t alu3 = ((alu0*2)+alu2);
    float val2 = *(in2+alu2);
    float alu4 = (acc0+val2);
    float alu5 = fabsf(alu4);
    float alu6 = (alu4*alu4);
    float alu7 = fmaf(fmaf(fmaf(0.0022896263f, alu6, (-0.008341189f)), alu6, 0.021768076f), alu6, (-0.053959157f));
    float alu8 = fmaf((fmaf(fmaf(alu7, alu6, 0.13333303f), alu6, (-0.33333334f))*alu6), alu5, alu5);
    float alu9 = minimum_f32(9.1f, alu5);
    float alu10 = (alu9+alu9);
    float alu11 = fmaf(alu10, 1.442695f, 1.2583038e+07f);
    float alu12 = (alu11-1.2583038e+07f);
    float alu13 = fmaf(alu12, 1.9046542e-09f, fmaf(alu12, (-0.6931472f), alu10));
    float alu14 = fmaf(fmaf(fmaf(0.001392625f, alu13, 0.008363233f), alu13, 0.041666552f), alu13, 0.16666576f);
    float alu15 = fmaf(fmaf(fmaf(fmaf(alu14, alu13, 0.5f), alu13, 1.0f), alu13, 1.0f), i32_as_f32((int)((uint32_t)f32_as_i32(alu11)<<23u)), 0.5f);
    float alu16 = copysignf(((alu5<0.625f)?alu8:(1.0f-(1/alu15))), alu4);
    float val3 = *(in3+alu3);
    *(out0+alu3) = (n1*(2.0f*(alu16-val3))*(1.0f-(alu16*alu16)));
  }
}

void sub(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  const float* in2 = (const float*)args[3];
  int64_t n0 = args[4];
  int64_t n1 = args[5];
  float n2 = u32_as_f32((uint32_t)args[6]);
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float acc0 = 0.0f;
    int64_t alu0 = (ridx0/2);
    int64_t alu1 = (ridx0%2);
    float acc0_lanes[8];
    for (int k = 0; k < 8; k++) { acc0_lanes[k] = acc0; }
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      int64_t lane0 = ridx1%8;
      float val0 = *(in1+((ridx1*n1)+alu0));
      float val1 = *(in2+((ridx1*2)+alu1));
      acc0_lanes[lane0] = (acc0_lanes[lane0]+(val0*val1));
    }
    for (int n = 4; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = (acc0_lanes[k]+acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    int64_t alu2 = ((alu0*2)+alu1);
    float val2 = *(in0+alu2);
    *(out0+alu2) = (val2-(n2*acc0));
  }
}

void sub_1(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  int64_t n0 = args[3];
  float n1 = u32_as_f32((uint32_t)args[4]);
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float acc0 = 0.0f;
    float acc0_lanes[8];
    for (int k = 0; k < 8; k++) { acc0_lanes[k] = acc0; }
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      int64_t lane0 = ridx1%8;
      float val0 = *(in1+(ridx0+(ridx1*2)));
      acc0_lanes[lane0] = (acc0_lanes[lane0]+val0);
    }
    for (int n = 4; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = (acc0_lanes[k]+acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    float val1 = *(in0+ridx0);
    *(out0+ridx0) = (val1-(n1*acc0));
  }
}
