#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float u32_as_f32(uint32_t x) { float y; memcpy(&y, &x, sizeof y); return y; }
static inline int64_t minimum_i64(int64_t a, int64_t b) { return a < b ? a : b; }

void add(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  const float* in2 = (const float*)args[3];
  int64_t n0 = args[4];
  int64_t n1 = args[5];
  int64_t n2 = args[6];
  int64_t n3 = args[7];
  float n4 = u32_as_f32((uint32_t)args[8]);
  float n5 = u32_as_f32((uint32_t)args[9]);
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0*n0);
    float acc0 = 0.0f;
    float acc0_lanes[16];
    for (int k = 0; k < 16; k++) { acc0_lanes[k] = acc0; }
    for (int64_t ridx1 = 0; ridx1 < 16; ridx1++) {
      int64_t lane0 = ridx1%16;
      int64_t alu1 = (alu0+ridx1);
      bool alu2 = ((ridx1+n1)<n0);
      float val0 = (alu2?*(in0+(alu1+n1)):0.0f);
      float alu3 = (alu2?val0:0.0f);
      float acc1 = 0.0f;
      for (int64_t ridx2 = 0; ridx2 < 2; ridx2++) {
        float acc2 = 0.0f;
        int64_t alu4 = (alu1+(ridx2*256));
        int64_t alu5 = ((ridx2*n2)+n3);
        for (int64_t ridx3 = 0; ridx3 < minimum_i64(alu5, 16); ridx3++) {
          float val1 = *(in0+(alu4+(ridx3*16)));
          acc2 = (acc2+val1);
        }
        float acc3 = acc2;
        for (int64_t ridx4 = 0; ridx4 < minimum_i64((16-alu5), 1); ridx4++) {
          acc3 = (acc3+alu3);
        }
        acc1 = (acc1+acc3);
      }
      acc0_lanes[lane0] = (acc0_lanes[lane0]+acc1);
    }
    for (int n = 8; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc0_lanes[k] = (acc0_lanes[k]+acc0_lanes[k+n]); } }
    acc0 = acc0_lanes[0];
    float alu6 = (acc0/n4);
    float acc4 = 0.0f;
    float acc4_lanes[16];
    for (int k = 0; k < 16; k++) { acc4_lanes[k] = acc4; }
    for (int64_t ridx5 = 0; ridx5 < 16; ridx5++) {
      int64_t lane1 = ridx5%16;
      int64_t alu7 = (alu0+ridx5);
      bool alu8 = ((ridx5+n1)<n0);
      float val2 = (alu8?*(in0+(alu7+n1)):0.0f);
      float alu9 = (val2-alu6);
      float alu10 = (alu8?(alu9*alu9):0.0f);
      float acc5 = 0.0f;
      for (int64_t ridx6 = 0; ridx6 < 2; ridx6++) {
        float acc6 = 0.0f;
        int64_t alu11 = (alu7+(ridx6*256));
        int64_t alu12 = ((ridx6*n2)+n3);
        for (int64_t ridx7 = 0; ridx7 < minimum_i64(alu12, 16); ridx7++) {
          float val3 = *(in0+(alu11+(ridx7*16)));
          float alu13 = (val3-alu6);
          acc6 = (acc6+(alu13*alu13));
        }
        float acc7 = acc6;
        for (int64_t ridx8 = 0; ridx8 < minimum_i64((16-alu12), 1); ridx8++) {
          acc7 = (acc7+alu10);
        }
        acc5 = (acc5+acc7);
      }
      acc4_lanes[lane1] = (acc4_lanes[lane1]+acc5);
    }
    for (int n = 8; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc4_lanes[k] = (acc4_lanes[k]+acc4_lanes[k+n]); } }
    acc4 = acc4_lanes[0];
    float alu14 = (1.0f/sqrtf(((acc4/n4)+n5)));
    for (int64_t ridx9 = 0; ridx9 < n0; ridx9++) {
      int64_t alu15 = (ridx9+alu0);
      float val4 = *(in0+alu15);
      float val5 = *(in1+ridx9);
      float val6 = *(in2+ridx9);
      *(out0+alu15) = (((val4-alu6)*alu14*val5)+val6);
    }
  }
}
