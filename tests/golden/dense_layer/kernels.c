#include <math.h>
#include <stdint.h>

static inline int64_t minimum_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }

void relu(int64_t* args, int64_t begin, int64_t end) {
  float* out0 = (float*)args[0];
  const float* in0 = (const float*)args[1];
  const float* in1 = (const float*)args[2];
  const float* in2 = (const float*)args[3];
  float totals[96];
  for (int64_t ridx0 = begin; ridx0 < end; ridx0++) {
    int64_t alu0 = (ridx0%4);
    int64_t alu1 = (alu0*864);
    int64_t alu2 = ((ridx0/4)*16);
    int64_t alu3 = (alu0*(-18LL));
    int64_t alu4 = (alu2+(alu0*1440));
    for (int64_t ridx1 = 0; ridx1 < minimum_i64(((alu0*(-3LL))+10), 3); ridx1++) {
      int64_t alu5 = (alu1+(ridx1*288));
      for (int64_t ridx2 = 0; ridx2 < 16; ridx2++) {
        float acc0 = 0.0f;
        float acc1 = 0.0f;
        float acc2 = 0.0f;
        float acc3 = 0.0f;
        float acc4 = 0.0f;
        float acc5 = 0.0f;
        for (int64_t ridx3 = 0; ridx3 < 48; ridx3++) {
          int64_t alu6 = (alu5+ridx3);
          float val0 = *(in0+alu6);
          float val1 = *(in1+(alu2+(ridx3*80)+ridx2));
          acc0 = fmaf(val0, val1, acc0);
          float val2 = *(in0+(alu6+48));
          acc1 = fmaf(val2, val1, acc1);
          float val3 = *(in0+(alu6+96));
          acc2 = fmaf(val3, val1, acc2);
          float val4 = *(in0+(alu6+144));
          acc3 = fmaf(val4, val1, acc3);
          float val5 = *(in0+(alu6+192));
          acc4 = fmaf(val5, val1, acc4);
          float val6 = *(in0+(alu6+240));
          acc5 = fmaf(val6, val1, acc5);
        }
        *(totals+ridx2) = acc0;
        *(totals+(16+ridx2)) = acc1;
        *(totals+(32+ridx2)) = acc2;
        *(totals+(48+ridx2)) = acc3;
        *(totals+(64+ridx2)) = acc4;
        *(totals+(80+ridx2)) = acc5;
      }
      int64_t alu7 = (alu4+(ridx1*480));
      for (int64_t ridx4 = 0; ridx4 < minimum_i64((alu3+(ridx1*(-6LL))+64), 6); ridx4++) {
        int64_t alu8 = (ridx4*16);
        int64_t alu9 = (alu7+(ridx4*80));
        for (int64_t ridx5 = 0; ridx5 < 16; ridx5++) {
          float val7 = *(totals+(alu8+ridx5));
          float val8 = *(in2+(alu2+ridx5));
          *(out0+(alu9+ridx5)) = maximum_f32(0.0f, (val7+val8));
        }
      }
    }
    for (int64_t ridx6 = 0; ridx6 < minimum_i64(((alu0*3)+(-7LL)), 1); ridx6++) {
      for (int64_t ridx7 = 0; ridx7 < 16; ridx7++) {
        float acc6 = 0.0f;
        float acc7 = 0.0f;
        float acc8 = 0.0f;
        float acc9 = 0.0f;
        for (int64_t ridx8 = 0; ridx8 < 48; ridx8++) {
          float val9 = *(in0+(ridx8+2880));
          float val10 = *(in1+(alu2+(ridx8*80)+ridx7));
          acc6 = fmaf(val9, val10, acc6);
          float val11 = *(in0+(ridx8+2928));
          acc7 = fmaf(val11, val10, acc7);
          float val12 = *(in0+(ridx8+2976));
          acc8 = fmaf(val12, val10, acc8);
          float val13 = *(in0+(ridx8+3024));
          acc9 = fmaf(val13, val10, acc9);
        }
        *(totals+ridx7) = acc6;
        *(totals+(16+ridx7)) = acc7;
        *(totals+(32+ridx7)) = acc8;
        *(totals+(48+ridx7)) = acc9;
      }
      for (int64_t ridx9 = 0; ridx9 < 4; ridx9++) {
        int64_t alu10 = (ridx9*16);
        int64_t alu11 = (alu2+(ridx9*80));
        for (int64_t ridx10 = 0; ridx10 < 16; ridx10++) {
          float val14 = *(totals+(alu10+ridx10));
          float val15 = *(in2+(alu2+ridx10));
          *(out0+(alu11+ridx10+4800)) = maximum_f32(0.0f, (val14+val15));
        }
      }
    }
  }
}
