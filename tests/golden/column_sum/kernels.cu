__device__ static inline long long minimum_i64(long long a, long long b) { return a < b ? a : b; }

extern "C" __global__ void reduce_sum(float* out0, const float* in0, long long n0, long long n1, long long n2, long long n3, long long n4, long long n5, long long n6, long long n7, long long n8, long long n9, long long n10, long long n11, long long iterations) {
  long long ridx0 = ((long long)blockIdx.x*blockDim.x+threadIdx.x);
  if (ridx0 < iterations) {
    float acc0 = 0.0f;
    for (long long ridx1 = 0; ridx1 < 2; ridx1++) {
      long long alu0 = (ridx0+(ridx1*n0));
      long long alu1 = (ridx1*(-1LL));
      float acc1 = 0.0f;
      for (long long ridx2 = 0; ridx2 < 2; ridx2++) {
        long long alu2 = (alu0+(ridx2*n1));
        long long alu3 = (alu1+(ridx2*n2));
        float acc2 = 0.0f;
        for (long long ridx3 = 0; ridx3 < 2; ridx3++) {
          long long alu4 = (alu2+(ridx3*n3));
          long long alu5 = (alu3+(ridx3*n4));
          float acc3 = 0.0f;
          for (long long ridx4 = 0; ridx4 < 2; ridx4++) {
            long long alu6 = (alu4+(ridx4*n5));
            long long alu7 = (((alu5+(ridx4*n6)+n7)/16)+n8);
            float acc4 = 0.0f;
            for (long long ridx5 = 0; ridx5 < ((alu7+n9)/16); ridx5++) {
              float acc5 = 0.0f;
              long long alu8 = (alu6+(ridx5*n10));
              for (long long ridx6 = 0; ridx6 < minimum_i64((alu7-(ridx5*16)), 16); ridx6++) {
                float val0 = *(in0+(alu8+(ridx6*n11)));
                acc5 = (acc5+val0);
              }
              acc4 = (acc4+acc5);
            }
            acc3 = (acc3+acc4);
          }
          acc2 = (acc2+acc3);
        }
        acc1 = (acc1+acc2);
      }
      acc0 = (acc0+acc1);
    }
    *(out0+ridx0) = acc0;
  }
}
