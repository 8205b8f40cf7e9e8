__device__ static inline long long minimum_i64(long long a, long long b) { return a < b ? a : b; }
__device__ static inline float maximum_f32(float a, float b) { return a > b || a != a ? a : b; }

extern "C" __global__ void relu(float* out0, const float* in0, const float* in1, const float* in2, long long iterations) {
  float panel[768];
  float totals[96];
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    long long alu0 = ((ridx0/4)*16);
    for (long long ridx1 = 0; ridx1 < 16; ridx1++) {
      long long alu1 = (alu0+ridx1);
      for (long long ridx2 = 0; ridx2 < 48; ridx2++) {
        float val0 = *(in1+(alu1+(ridx2*80)));
        *(panel+((ridx2*16)+ridx1)) = val0;
      }
    }
    long long alu2 = (ridx0%4);
    long long alu3 = (alu2*864);
    long long alu4 = (alu2*(-18LL));
    long long alu5 = (alu0+(alu2*1440));
    for (long long ridx3 = 0; ridx3 < minimum_i64(((alu2*(-3LL))+10), 3); ridx3++) {
      long long alu6 = (alu3+(ridx3*288));
      for (long long ridx4 = 0; ridx4 < 16; ridx4++) {
        float acc0 = 0.0f;
        float acc1 = 0.0f;
        float acc2 = 0.0f;
        float acc3 = 0.0f;
        float acc4 = 0.0f;
        float acc5 = 0.0f;
        for (long long ridx5 = 0; ridx5 < 48; ridx5++) {
          float val1 = *(panel+((ridx5*16)+ridx4));
          long long alu7 = (alu6+ridx5);
          float val2 = *(in0+alu7);
          acc0 = fmaf(val2, val1, acc0);
          float val3 = *(in0+(alu7+48));
          acc1 = fmaf(val3, val1, acc1);
          float val4 = *(in0+(alu7+96));
          acc2 = fmaf(val4, val1, acc2);
          float val5 = *(in0+(alu7+144));
          acc3 = fmaf(val5, val1, acc3);
          float val6 = *(in0+(alu7+192));
          acc4 = fmaf(val6, val1, acc4);
          float val7 = *(in0+(alu7+240));
          acc5 = fmaf(val7, val1, acc5);
        }
        *(totals+ridx4) = acc0;
        *(totals+(16+ridx4)) = acc1;
        *(totals+(32+ridx4)) = acc2;
        *(totals+(48+ridx4)) = acc3;
        *(totals+(64+ridx4)) = acc4;
        *(totals+(80+ridx4)) = acc5;
      }
      long long alu8 = (alu5+(ridx3*480));
      for (long long ridx6 = 0; ridx6 < minimum_i64((alu4+(ridx3*(-6LL))+64), 6); ridx6++) {
        long long alu9 = (ridx6*16);
        long long alu10 = (alu8+(ridx6*80));
        for (long long ridx7 = 0; ridx7 < 16; ridx7++) {
          float val8 = *(totals+(alu9+ridx7));
          float val9 = *(in2+(alu0+ridx7));
          *(out0+(alu10+ridx7)) = maximum_f32(0.0f, (val8+val9));
        }
      }
    }
    for (long long ridx8 = 0; ridx8 < minimum_i64(((alu2*3)+(-7LL)), 1); ridx8++) {
      for (long long ridx9 = 0; ridx9 < 16; ridx9++) {
        float acc6 = 0.0f;
        float acc7 = 0.0f;
        float acc8 = 0.0f;
        float acc9 = 0.0f;
        for (long long ridx10 = 0; ridx10 < 48; ridx10++) {
          float val10 = *(panel+((ridx10*16)+ridx9));
          float val11 = *(in0+(ridx10+2880));
          acc6 = fmaf(val11, val10, acc6);
          float val12 = *(in0+(ridx10+2928));
          acc7 = fmaf(val12, val10, acc7);
          float val13 = *(in0+(ridx10+2976));
          acc8 = fmaf(val13, val10, acc8);
          float val14 = *(in0+(ridx10+3024));
          acc9 = fmaf(val14, val10, acc9);
        }
        *(totals+ridx9) = acc6;
        *(totals+(16+ridx9)) = acc7;
        *(totals+(32+ridx9)) = acc8;
        *(totals+(48+ridx9)) = acc9;
      }
      for (long long ridx11 = 0; ridx11 < 4; ridx11++) {
        long long alu11 = (ridx11*16);
        long long alu12 = (alu0+(ridx11*80));
        for (long long ridx12 = 0; ridx12 < 16; ridx12++) {
          float val15 = *(totals+(alu11+ridx12));
          float val16 = *(in2+(alu0+ridx12));
          *(out0+(alu12+ridx12+4800)) = maximum_f32(0.0f, (val15+val16));
        }
      }
    }
  }
}
