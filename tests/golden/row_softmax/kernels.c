#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline int f32_as_i32(float x) { int y; memcpy(&y, &x, sizeof y); return y; }
static inline float i32_as_f32(int x) { float y; memcpy(&y, &x, sizeof y); return y; }
static inline int64_t minimum_i64(int64_t a, int64_t b) { return a < b ? a : b; }

void true_div(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  int64_t n0 = args[2];
  int64_t n1 = args[3];
  int64_t n2 = args[4];
  int64_t n3 = args[5];
  float kept0[512];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    float acc0 = -INFINITY;
    int64_t alu0 = (ridx0*n0);
    float acc0_lanes[8];
    for (int k = 0; k < 8; k++) { acc0_lanes[k] = acc0; }
    for (int64_t ridx1 = 0; ridx1 < n0; ridx1++) {
      int64_t lane0 = ridx1%8;
      float val0 = *(in0+(ridx1+alu0));
      acc0_lanes[lane0] = maximum_f32(acc0_lanes[lane0], val0);
    }
    for (int n = 4; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = maximum_f32(acc0_lanes[k], acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    float acc1 = 0.0f;
    float acc1_lanes[16];
    for (int k = 0; k < 16; k++) { acc1_lanes[k] = acc1; }
    for (int64_t ridx2 = 0; ridx2 < 16; ridx2++) {
      int64_t lane1 = ridx2%16;
      int64_t alu1 = (alu0+ridx2);
      int64_t alu2 = (ridx2+n1);
      bool alu3 = (alu2<n0);
      float val1 = (alu3?*(in0+(alu1+n1)):0.0f);
      float alu4 = maximum_f32((-105.0f), (val1-acc0));
      float alu5 = fmaf(alu4, 1.442695f, 1.2582912e+07f);
      float alu6 = (alu5-1.2582912e+07f);
      float alu7 = fmaf(alu6, 1.9046542e-09f, fmaf(alu6, (-0.6931472f), alu4));
      float alu8 = fmaf(fmaf(fmaf(0.001392625f, alu7, 0.008363233f), alu7, 0.041666552f), alu7, 0.16666576f);
      float alu9 = (fmaf(fmaf(fmaf(alu8, alu7, 0.5f), alu7, 1.0f), alu7, 1.0f)*i32_as_f32((int)(((uint32_t)f32_as_i32(alu5)+191u)<<23u)));
      float alu10 = (alu9*5.421011e-20f);
      float alu11 = (alu3?alu10:0.0f);
      float acc2 = 0.0f;
      *(kept0+alu2) = alu10;
      for (int64_t ridx3 = 0; ridx3 < 2; ridx3++) {
        float acc3 = 0.0f;
        int64_t alu12 = (ridx3*256);
        int64_t alu13 = (alu1+alu12);
        int64_t alu14 = ((ridx3*n2)+n3);
        int64_t alu15 = (ridx2+alu12);
        for (int64_t ridx4 = 0; ridx4 < minimum_i64(alu14, 16); ridx4++) {
          int64_t alu16 = (ridx4*16);
          float val2 = *(in0+(alu13+alu16));
          float alu17 = maximum_f32((-105.0f), (val2-acc0));
          float alu18 = fmaf(alu17, 1.442695f, 1.2582912e+07f);
          float alu19 = (alu18-1.2582912e+07f);
          float alu20 = fmaf(alu19, 1.9046542e-09f, fmaf(alu19, (-0.6931472f), alu17));
          float alu21 = fmaf(fmaf(fmaf(0.001392625f, alu20, 0.008363233f), alu20, 0.041666552f), alu20, 0.16666576f);
          float alu22 = (fmaf(fmaf(fmaf(alu21, alu20, 0.5f), alu20, 1.0f), alu20, 1.0f)*i32_as_f32((int)(((uint32_t)f32_as_i32(alu18)+191u)<<23u)));
          float alu23 = (alu22*5.421011e-20f);
          acc3 = (acc3+alu23);
          *(kept0+(alu15+alu16)) = alu23;
        }
        float acc4 = acc3;
        for (int64_t ridx5 = 0; ridx5 < minimum_i64((16-alu14), 1); ridx5++) {
          acc4 = (acc4+alu11);
        }
        acc2 = (acc2+acc4);
      }
      acc1_lanes[lane1] = (acc1_lanes[lane1]+acc2);
    }
    for (int n = 8; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc1_lanes[k] = (acc1_lanes[k]+acc1_lanes[k+n]); } }
    acc1 = acc1_lanes[0];
    for (int64_t ridx6 = 0; ridx6 < n0; ridx6++) {
      float val3 = *(kept0+ridx6);
      *(out0+(ridx6+alu0)) = (val3/acc1);
    }
  }
}
