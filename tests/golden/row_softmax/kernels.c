#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline float minimum_f32(float a, float b) { return a < b || a != a ? a : b; }
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
      float alu4 = minimum_f32(89.5f, maximum_f32((-105.0f), (val1-acc0)));
      float alu5 = fmaf(alu4, 1.442695f, 1.2582912e+07f);
      float alu6 = (alu5-1.2582912e+07f);
      float alu7 = fmaf(alu6, 1.9046542e-09f, fmaf(alu6, (-0.6931472f), alu4));
      float alu8 = fmaf(fmaf(fmaf(0.001392625f, alu7, 0.008363233f), alu7, 0.041666552f), alu7, 0.16666576f);
      bool alu9 = (alu4<0.0f);
      float alu10 = i32_as_f32((int)(((uint32_t)f32_as_i32(alu5)+(uint32_t)(alu9?191:63))<<23u));
      float alu11 = (fmaf(fmaf(fmaf(alu8, alu7, 0.5f), alu7, 1.0f), alu7, 1.0f)*alu10*(alu9?5.421011e-20f:1.8446744e+19f));
      float alu12 = (alu3?alu11:0.0f);
      float acc2 = 0.0f;
      *(kept0+alu2) = alu11;
      for (int64_t ridx3 = 0; ridx3 < 2; ridx3++) {
        float acc3 = 0.0f;
        int64_t alu13 = (ridx3*256);
        int64_t alu14 = (alu1+alu13);
        int64_t alu15 = ((ridx3*n2)+n3);
        int64_t alu16 = (ridx2+alu13);
        for (int64_t ridx4 = 0; ridx4 < minimum_i64(alu15, 16); ridx4++) {
          int64_t alu17 = (ridx4*16);
          float val2 = *(in0+(alu14+alu17));
          float alu18 = minimum_f32(89.5f, maximum_f32((-105.0f), (val2-acc0)));
          float alu19 = fmaf(alu18, 1.442695f, 1.2582912e+07f);
          float alu20 = (alu19-1.2582912e+07f);
          float alu21 = fmaf(alu20, 1.9046542e-09f, fmaf(alu20, (-0.6931472f), alu18));
          float alu22 = fmaf(fmaf(fmaf(0.001392625f, alu21, 0.008363233f), alu21, 0.041666552f), alu21, 0.16666576f);
          bool alu23 = (alu18<0.0f);
          float alu24 = i32_as_f32((int)(((uint32_t)f32_as_i32(alu19)+(uint32_t)(alu23?191:63))<<23u));
          float alu25 = (fmaf(fmaf(fmaf(alu22, alu21, 0.5f), alu21, 1.0f), alu21, 1.0f)*alu24*(alu23?5.421011e-20f:1.8446744e+19f));
          acc3 = (acc3+alu25);
          *(kept0+(alu16+alu17)) = alu25;
        }
        float acc4 = acc3;
        for (int64_t ridx5 = 0; ridx5 < minimum_i64((16-alu15), 1); ridx5++) {
          acc4 = (acc4+alu12);
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
