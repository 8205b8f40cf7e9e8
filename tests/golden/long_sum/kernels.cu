__device__ static inline long long minimum_i64(long long a, long long b) { return a < b ? a : b; }

extern "C" __global__ void reduce_sum(float* out0, const float* in0, long long n0, long long n1, long long n2, long long n3) {
  float acc0 = 0.0f;
  for (long long ridx0 = 0; ridx0 < 2; ridx0++) {
    long long alu0 = (ridx0*4096);
    long long alu1 = minimum_i64((((ridx0*n0)+n1)/16), 256);
    long long alu2 = minimum_i64(((alu1+1+n2)/16), 16);
    float acc1 = 0.0f;
    float acc1_lanes[16];
    for (int k = 0; k < 16; k++) { acc1_lanes[k] = acc1; }
    for (long long ridx1 = 0; ridx1 < 16; ridx1++) {
      long long lane0 = ridx1%16;
      long long alu3 = (alu0+ridx1);
      long long alu4 = (ridx1+n3);
      bool alu5 = (alu4<n1);
      float val0 = (alu5?*(in0+alu4):0.0f);
      float alu6 = (alu5?(val0*val0):0.0f);
      float acc2 = 0.0f;
      for (long long ridx2 = 0; ridx2 < alu2; ridx2++) {
        float acc3 = 0.0f;
        long long alu7 = (alu3+(ridx2*256));
        long long alu8 = (alu1-(ridx2*16));
        for (long long ridx3 = 0; ridx3 < minimum_i64(alu8, 16); ridx3++) {
          float val1 = *(in0+(alu7+(ridx3*16)));
          acc3 = (acc3+(val1*val1));
        }
        float acc4 = acc3;
        for (long long ridx4 = 0; ridx4 < minimum_i64((16-alu8), 1); ridx4++) {
          acc4 = (acc4+alu6);
        }
        acc2 = (acc2+acc4);
      }
      acc1_lanes[lane0] = (acc1_lanes[lane0]+acc2);
    }
    for (int n = 8; n > 0; n = n/2) { for (int k = 0; k < n; k++) { acc1_lanes[k] = (acc1_lanes[k]+acc1_lanes[k+n]); } }
    acc1 = acc1_lanes[0];
    acc0 = (acc0+acc1);
  }
  *(out0+0) = acc0;
}
